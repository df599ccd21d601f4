//! What a campaign counts.
//!
//! Idea: a hunt that finds nothing must be able to show that it looked: how often sessions really met
//! (blocked, aborted, in how many different ways), and what each oracle said in all four values.
//!
//! A *conflict shape* is who waited for whom with which kinds of statements, and which kinds failed how, as a hash.
//! Their number says how varied the conflicts were, not how many there were.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_judge::evidence::ends::{End, ends};
use anchorite_model::sql::StatementKind;
use anchorite_model::{
    Blocker, ErrorClass, HuntSummary, Outcome, Run, Verdict, VerdictCounts, disagreements, worst,
};
use anchorite_store::Counts;
use serde::{Deserialize, Serialize};

use crate::Examined;
use crate::hash::Fnv;

/// More reasons than this are counted together.
const REASONS_MAX: usize = 40;
/// Beyond this many, shapes are no longer distinguished.
const SHAPES_MAX: usize = 100_000;

/// Whose verdicts they are where a journal's line does not say it: the only oracle that there was then.
const FIRST_ORACLE: &str = "final-state";

/// What was counted. Small enough for a line of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Cases that were run.
    pub cases: u64,
    /// Cases with more than one session.
    pub concurrent: u64,
    /// Of those, the ones in which sessions conflicted: a statement waited, or an error says so.
    pub contended: u64,
    /// Statements that were submitted.
    pub statements: u64,
    /// Transactions that committed, autocommit statements among them.
    pub commits: u64,
    /// Transactions that were ended by an error, by its class.
    pub aborts: BTreeMap<ErrorClass, u64>,
    /// Statements that failed without ending their transaction, by class.
    pub failures: BTreeMap<ErrorClass, u64>,
    /// Statements that had to wait.
    pub blocked: u64,
    /// Deadlocks.
    pub deadlocks: u64,
    /// What was said about the cases, each counted by its worst verdict.
    pub verdicts: VerdictCounts,
    /// What each oracle said.
    pub by_oracle: BTreeMap<String, VerdictCounts>,
    /// Cases in which oracles contradict each other.
    pub disagreements: u64,
    /// Which documented exceptions explained what was allowed.
    pub exceptions: BTreeMap<String, u64>,
    /// Why something was undecided.
    pub reasons: BTreeMap<String, u64>,
    /// Cases whose tables the target refused.
    pub rejected: u64,
    /// Cases during which a connection was lost although the server was up.
    pub lost_connections: u64,
    /// Cases that were abandoned because nothing moved any more.
    pub hung: u64,
    /// The different conflict shapes.
    pub shapes: BTreeSet<u64>,
}

impl Tally {
    /// Counts a case; with `strict`, documented exceptions are violations.
    pub fn count(&mut self, tried: &Examined, strict: bool) {
        self.count_run(&tried.run);
        let stances = tried.stances();
        let said = |verdict: &Verdict| match strict {
            true => verdict.clone().strictly(),
            false => verdict.clone(),
        };
        worst(&stances).iter().for_each(|verdict| self.verdicts.count(&said(verdict)));
        self.disagreements += u64::from(!disagreements(&stances, strict).is_empty());
        for stance in stances {
            let verdict = said(stance.verdict);
            self.by_oracle.entry(stance.oracle.to_owned()).or_default().count(&verdict);
            match &verdict {
                Verdict::Pass | Verdict::Violation { .. } => {}
                Verdict::Allowed { exception, .. } => raise(&mut self.exceptions, exception, 1),
                Verdict::Undecided { reason } => raise(&mut self.reasons, reason, 1),
            }
        }
    }

    fn count_run(&mut self, run: &Run) {
        self.cases += 1;
        self.concurrent += u64::from(run.sessions.len() > 1);
        let mut contended = false;
        for event in &run.events {
            match &event.outcome {
                Outcome::Ok(_) => self.statements += 1,
                Outcome::Blocked { .. } => {
                    self.statements += 1;
                    self.blocked += 1;
                    contended = true;
                }
                Outcome::Error(error) => {
                    let had_waited = run.events.iter().any(|other| {
                        other.n == event.n && matches!(other.outcome, Outcome::Blocked { .. })
                    });
                    self.statements += u64::from(!had_waited);
                    self.deadlocks += u64::from(error.class == ErrorClass::Deadlock);
                    contended |= is_conflict(error.class);
                    let counts =
                        if error.transaction_gone { &mut self.aborts } else { &mut self.failures };
                    *counts.entry(error.class).or_default() += 1;
                }
                Outcome::Resumed(_) | Outcome::Skipped { .. } => {}
            }
        }
        for session in 0..run.case.sessions.len() {
            let committed = ends(run, session).into_iter().filter(|end| *end == End::Committed);
            self.commits += committed.count() as u64;
        }
        if contended {
            self.contended += 1;
            if self.shapes.len() < SHAPES_MAX {
                self.shapes.insert(shape(run));
            }
        }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.cases, other.cases),
            (&mut self.concurrent, other.concurrent),
            (&mut self.contended, other.contended),
            (&mut self.statements, other.statements),
            (&mut self.commits, other.commits),
            (&mut self.blocked, other.blocked),
            (&mut self.deadlocks, other.deadlocks),
            (&mut self.disagreements, other.disagreements),
            (&mut self.rejected, other.rejected),
            (&mut self.lost_connections, other.lost_connections),
            (&mut self.hung, other.hung),
        ];
        for (sum, more) in sums {
            *sum += more;
        }
        self.verdicts.add(&other.verdicts);
        if other.by_oracle.is_empty() && other.verdicts.total() > 0 {
            self.by_oracle.entry(FIRST_ORACLE.to_owned()).or_default().add(&other.verdicts);
        }
        for (oracle, counts) in &other.by_oracle {
            self.by_oracle.entry(oracle.clone()).or_default().add(counts);
        }
        for (map, more) in
            [(&mut self.aborts, &other.aborts), (&mut self.failures, &other.failures)]
        {
            more.iter().for_each(|(class, count)| *map.entry(*class).or_default() += count);
        }
        let maps = [(&mut self.exceptions, &other.exceptions), (&mut self.reasons, &other.reasons)];
        for (map, more) in maps {
            more.iter().for_each(|(name, count)| raise(map, name, *count));
        }
        if self.shapes.len() < SHAPES_MAX {
            self.shapes.extend(&other.shapes);
        }
    }

    /// Adds the counts of another, which keeps only the shapes that are new here.
    pub fn take_in(&mut self, other: &mut Self) {
        other.shapes.retain(|shape| !self.shapes.contains(shape));
        self.add(other);
    }

    /// The counts in a summary.
    pub fn fill(&self, summary: &mut HuntSummary) {
        summary.cases = self.cases;
        summary.statements = self.statements;
        summary.blocked = self.blocked;
        summary.deadlocks = self.deadlocks;
        summary.commits = self.commits;
        summary.aborts.clone_from(&self.aborts);
        summary.conflict_shapes = self.shapes.len() as u64;
        summary.verdicts = self.verdicts;
        summary.by_oracle.clone_from(&self.by_oracle);
        summary.disagreements = self.disagreements;
        summary.allowed_by.clone_from(&self.exceptions);
        summary.undecided_because.clone_from(&self.reasons);
    }
}

impl Counts for Tally {
    fn add(&mut self, other: &Self) {
        Self::add(self, other);
    }
}

fn raise(counts: &mut BTreeMap<String, u64>, name: &str, by: u64) {
    let name = match counts.contains_key(name) || counts.len() < REASONS_MAX {
        true => name,
        false => "other",
    };
    *counts.entry(name.to_owned()).or_default() += by;
}

const fn is_conflict(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Deadlock
            | ErrorClass::Serialization
            | ErrorClass::LockTimeout
            | ErrorClass::Conflict
    )
}

/// Which statements conflicted, and how.
fn shape(run: &Run) -> u64 {
    let mut hash = Fnv::default();
    let mut last_kind = vec!["none"; run.case.sessions.len()];
    for event in &run.events {
        let kind = kind_name(&StatementKind::of(&event.sql));
        match &event.outcome {
            Outcome::Blocked { by, .. } => {
                hash.add(b"waits");
                hash.add(kind.as_bytes());
                for blocker in by {
                    let doing = match blocker {
                        Blocker::Session(session) => last_kind.get(*session).copied(),
                        Blocker::Outside(_) => Some("outside"),
                        Blocker::Prepared(_) => Some("prepared"),
                    };
                    hash.add(doing.unwrap_or("none").as_bytes());
                }
            }
            Outcome::Error(error) if is_conflict(error.class) => {
                hash.add(error.class.name().as_bytes());
                hash.add(kind.as_bytes());
            }
            _ => {}
        }
        if let Some(last) = last_kind.get_mut(event.session) {
            *last = kind;
        }
    }
    hash.finish()
}

const fn kind_name(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Begin => "begin",
        StatementKind::Commit { .. } => "commit",
        StatementKind::Rollback { .. } | StatementKind::RollbackTo(_) => "rollback",
        StatementKind::Savepoint(_) | StatementKind::Release(_) => "savepoint",
        StatementKind::Select { locking: true } => "locking select",
        StatementKind::Select { locking: false } => "select",
        StatementKind::Insert => "insert",
        StatementKind::Update => "update",
        StatementKind::Delete => "delete",
        StatementKind::Replace => "replace",
        StatementKind::Merge => "merge",
        StatementKind::Ddl => "ddl",
        StatementKind::Autocommit(_) => "autocommit",
        StatementKind::SetCommand | StatementKind::Other => "other",
    }
}
