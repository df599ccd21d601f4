//! What the level promises about an anomaly that a run shows.
//!
//! Idea: cycles get the names of the classic table, and the claims say of each whether the level prevents it. As in the
//! graph oracle, what writes and locking reads see is asked about separately, because vendors promise less about it.
//!
//! * A read of what had been replaced before its transaction began (no cycle of data alone) is judged by what the
//!   claims say about reads: a snapshot, or the latest version, of what was committed.
//! * A long fork among plain reads, at a level whose reads see one snapshot, is judged by the same claim: two snapshots
//!   of one history cannot miss one commit each.
//!
//! Assumption: the claims about a product hold while its sessions run in parallel as they do one at a time. Blind spot:
//! other cycles that need real time are undecided, because no page speaks of real time.

use anchorite_check::graph::Kind;
use anchorite_check::live::{Found, Step};
use anchorite_claims::{Anomaly, Claims, Loss, Promise, ReadKind, ReadView, Version};
use anchorite_model::{Level, TargetInfo};

use crate::faults::Fault;
use crate::record::{LOCK_NOT_HELD, Way};

/// What is known about the level of a run.
pub struct Promises {
    info: TargetInfo,
    level: Option<Level>,
    read_back: String,
    claims: &'static Claims,
    /// The settings by whose pages a crash may lose commits, and their values.
    losses: Vec<(&'static Loss, String)>,
}

/// What becomes of an anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// It is documented as possible.
    Allowed,
    /// Nothing is documented about it.
    Undecided,
    /// The level forbids it.
    Violation,
}

impl Standing {
    /// The word of the four verdicts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Undecided => "undecided",
            Self::Violation => "violation",
        }
    }
}

/// An anomaly with what is promised about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// Its name in the classic table, or what else it is called.
    pub name: &'static str,
    /// What it is, for people.
    pub explained: &'static str,
    /// Its name among cycles.
    pub shape: &'static str,
    /// What is promised.
    pub standing: Standing,
    /// The page that says so.
    pub page: Option<String>,
}

/// What the judge knows about the transactions of a witness.
pub trait Witnesses {
    /// How a transaction saw a row.
    fn ways(&self, txn: u64, row: u64) -> Vec<Way>;
    /// Whether all that a transaction wrote to a row is independent of what was there.
    fn is_blind(&self, txn: u64, row: u64) -> bool;
}

const STALE: &str = "stale-read";

impl Promises {
    /// For the sessions of a run, which read back their level in these words.
    pub fn new(info: &TargetInfo, level: Option<Level>, read_back: &str) -> Self {
        let claims = Claims::for_target(info);
        let (read_back, losses) = (read_back.to_owned(), Vec::new());
        Self { info: info.clone(), level, read_back, claims, losses }
    }

    /// A crash may lose commits, by the pages of these settings with these values.
    pub fn loses(&mut self, losses: Vec<(&'static Loss, String)>) {
        self.losses = losses;
    }

    /// Whether a setting says that no disk is told to keep what is committed.
    pub fn forgets(&self) -> bool {
        self.losses.iter().any(|(loss, _)| loss.needs_machine)
    }

    /// The page that allows a loss after this fault, and its words.
    pub fn loss(&self, after: Fault) -> Option<(String, String)> {
        let is_machine = after == Fault::LosePower;
        if !is_machine && !after.needs_durability() {
            return None;
        }
        let mut allowing = self.losses.iter().filter(|(loss, _)| is_machine || !loss.needs_machine);
        let (loss, value) = allowing.next()?;
        let words = format!("{} = {value}: \u{201c}{}\u{201d}", loss.setting, loss.quote.words);
        Some((loss.url.clone(), words))
    }

    /// What is promised about what was found.
    pub fn weigh(&self, found: &Found, witnesses: &dyn Witnesses) -> Weighed {
        let shape = found.name;
        let is_timed = shape.ends_with("-realtime");
        if shape == "thin-air-read" {
            return broken("unwritten-version", "a version that nobody wrote", shape);
        }
        if shape.starts_with("G-single") && is_before_its_reader(found) {
            return self.stale(found, witnesses);
        }
        let anomaly = match shape {
            "G1a" => Anomaly::G1a,
            "G1b" => Anomaly::G1b,
            "dirty-update" | "incompatible-order" => Anomaly::G0,
            _ => named(found, witnesses),
        };
        let by_write = is_by_write(found, witnesses);
        if shape.starts_with("G-nonadjacent") && !is_timed && !by_write && self.has_snapshots() {
            let weighed = self.by_reads(ReadKind::Plain, "long-fork", "long fork", shape);
            return weighed;
        }
        let (promise, page) = self.about(anomaly, by_write);
        let standing = match promise {
            Promise::Possible => Standing::Allowed,
            Promise::Prevented if !is_timed => Standing::Violation,
            Promise::Prevented | Promise::Unspecified => Standing::Undecided,
        };
        let (name, explained) = match shape {
            "dirty-update" => (shape, "a version of an aborted transaction was replaced"),
            "incompatible-order" => (shape, "one version was replaced twice: a write is lost"),
            _ => (anomaly.name(), anomaly.explained()),
        };
        Weighed { name, explained, shape, standing, page }
    }

    /// What is promised about what a single answer shows.
    pub fn blunder(&self, name: &'static str) -> Weighed {
        match name {
            LOCK_NOT_HELD => {
                let explained = "a row was changed by others while it was locked";
                self.by_reads(ReadKind::Locking, name, explained, name)
            }
            "unreadable-row" | "torn-row" => broken(name, "a row that nobody wrote", name),
            _ => {
                self.by_reads(ReadKind::Plain, name, "a statement misses what it has to see", name)
            }
        }
    }

    fn about(&self, anomaly: Anomaly, by_write: bool) -> (Promise, Option<String>) {
        let Some(level) = self.level else { return (Promise::Unspecified, None) };
        let case = format!("{anomaly}{}", if by_write { "-write" } else { "" });
        let said = self.claims.about_session(&self.info, level, &self.read_back, anomaly, &case);
        (said.promise, said.claim.map(|claim| claim.url.clone()))
    }

    /// What a kind of read sees, with the page.
    fn read(&self, kind: ReadKind) -> Option<(ReadView, &str)> {
        let level = self.claims.level(self.level?)?;
        let level = level.same_as.and_then(|same| self.claims.level(same)).unwrap_or(level);
        let version = Version::of(&self.info);
        let holds = level.reads.iter().filter(|claim| {
            claim.kind == kind
                && claim.bounds.hold(&version, Some(&self.read_back))
                && (claim.variants.is_empty() || claim.variants.contains(&self.info.variant))
        });
        let best = holds.max_by_key(|claim| !claim.variants.is_empty())?;
        Some((best.sees, &best.url))
    }

    fn has_snapshots(&self) -> bool {
        self.read(ReadKind::Plain).is_some_and(|(sees, _)| sees == ReadView::TransactionSnapshot)
    }

    /// Whatever is committed when a transaction begins is seen by every view except that of uncommitted versions, about
    /// which no page promises that they are the latest.
    fn by_reads(
        &self,
        kind: ReadKind,
        name: &'static str,
        explained: &'static str,
        shape: &'static str,
    ) -> Weighed {
        let read = self.read(kind);
        let is_promised = read.is_some_and(|(sees, _)| sees != ReadView::Uncommitted);
        let standing = if is_promised { Standing::Violation } else { Standing::Undecided };
        let page = read.map(|(_, url)| url.to_owned());
        Weighed { name, explained, shape, standing, page }
    }

    fn stale(&self, found: &Found, witnesses: &dyn Witnesses) -> Weighed {
        let kind = match is_by_write(found, witnesses) {
            true => ReadKind::Locking,
            false => ReadKind::Plain,
        };
        let explained = "a read misses what was committed before its transaction began";
        self.by_reads(kind, STALE, explained, found.name)
    }
}

fn broken(name: &'static str, explained: &'static str, shape: &'static str) -> Weighed {
    Weighed { name, explained, shape, standing: Standing::Violation, page: None }
}

/// Whether what a read missed had been committed before its transaction began. If the transaction itself saw something
/// later in another way, its read may have been right when it was made.
fn is_before_its_reader(found: &Found) -> bool {
    let mut readers = found.steps.iter().filter(is_rw).map(|step| step.from);
    let is_invoked_later =
        |reader| found.steps.iter().any(|step| step.to == reader && step.kind == Kind::RealTime);
    found.steps.len() == 1 || readers.any(is_invoked_later)
}

fn is_rw(step: &&Step) -> bool {
    matches!(step.kind, Kind::Rw | Kind::RwPredicate)
}

fn saw(witnesses: &dyn Witnesses, txn: u64, step: &Step, ways: &[Way]) -> bool {
    let row = step.row.unwrap_or_default();
    witnesses.ways(txn, row).iter().any(|way| ways.contains(way))
}

/// Whether a transaction that takes part in an anti-dependency saw what it saw by a write or a locking read.
fn is_by_write(found: &Found, witnesses: &dyn Witnesses) -> bool {
    const OWN: [Way; 2] = [Way::Locking, Way::Replaced];
    if let [only] = found.steps.as_slice() {
        return !saw(witnesses, only.to, only, &[Way::Plain, Way::Absent]);
    }
    found.steps.iter().filter(is_rw).any(|rw| {
        let into = found.steps.iter().filter(|step| step.to == rw.from);
        let by_read = saw(witnesses, rw.from, rw, &OWN);
        by_read
            || into.into_iter().any(|step| match step.kind {
                Kind::Ww | Kind::WwPredicate => true,
                Kind::Wr | Kind::WrPredicate => saw(witnesses, step.to, step, &OWN),
                _ => false,
            })
    })
}

/// What claims call a cycle.
fn named(found: &Found, witnesses: &dyn Witnesses) -> Anomaly {
    let rw: Vec<&Step> = found.steps.iter().filter(is_rw).collect();
    let by_condition = rw.iter().any(|step| saw(witnesses, step.from, step, &[Way::Absent]));
    match (&rw[..], &found.steps[..]) {
        ([], _) if found.name.starts_with("G0") => Anomaly::G0,
        ([], _) => Anomaly::G1c,
        ([one], [a, b]) if !by_condition && a.row == b.row => {
            let is_lost = [a, b].into_iter().any(|step| step.kind == Kind::Ww)
                && witnesses.is_blind(one.from, one.row.unwrap_or_default());
            if is_lost { Anomaly::P4 } else { Anomaly::GSingle }
        }
        ([_], _) if by_condition => Anomaly::Pmp,
        ([_], _) => Anomaly::GSingle,
        _ if by_condition => Anomaly::G2,
        _ => Anomaly::G2Item,
    }
}
