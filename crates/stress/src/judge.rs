//! Judges a run while it goes on: records in, counts and findings out. Pure.
//!
//! Idea: [`anchorite_check::live`] finds the anomalies that each transaction completes, [`crate::promise`] says what
//! the level promises about them. Every committed transaction has one verdict, the worst of what it completed.
//!
//! How much is kept: what the judge of running histories keeps, with the reads and writes of these transactions; the
//! first witnesses of every kind of anomaly.

mod aftermath;

use std::collections::{BTreeMap, HashMap};

use anchorite_check::live::{Found, Live, Options};
use anchorite_check::model::Outcome;
use anchorite_model::ErrorClass;

use crate::faults::Fault;
use crate::ledger::Ledger;
use crate::promise::{Promises, Standing, Weighed, Witnesses};
use crate::record::{Blunder, Record, Seen, Way};
use crate::status::Status;
use crate::text::Tongue;
use crate::token::version;
use crate::workload::{Workload, plan};

/// Witnesses that are kept of one kind of anomaly.
const WITNESSES_MAX: u64 = 3;

/// How many ended transactions may be known beyond those that the graph keeps, before the others are forgotten.
const SPARE: usize = 1_000;

/// How a run is made again: which transactions it consists of.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The seed.
    pub seed: u64,
    /// The product's SQL.
    pub tongue: Tongue,
}

/// A transaction of a witness.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Told {
    /// Its number.
    pub txn: u64,
    /// Its session, if it is still known.
    pub session: Option<u32>,
    /// When it began and ended, in the order of all begins and ends, if that is still known.
    pub times: Option<(u64, u64)>,
    /// Its statements.
    pub sql: Vec<String>,
}

/// An anomaly with its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is and what is promised about it.
    pub weighed: Weighed,
    /// A sentence per step.
    pub because: Vec<String>,
    /// Who takes part.
    pub transactions: Vec<Told>,
    /// What became of it when its transactions were repeated statement by statement, if that was tried.
    pub repeated: Option<String>,
    /// A case that shows it.
    pub case: Option<String>,
}

/// How often a kind of anomaly was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// The first witnesses.
    pub findings: Vec<Finding>,
}

/// What has been counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that were meant to roll back, and did.
    pub rolled_back: u64,
    /// Transactions whose COMMIT was not answered.
    pub unknown: u64,
    /// Transactions that were meant to commit and failed, by class.
    pub aborts: BTreeMap<ErrorClass, u64>,
    /// Committed transactions that completed nothing; then those whose worst is allowed, undecided, a violation.
    pub pass: u64,
    /// See `pass`.
    pub by_standing: BTreeMap<Standing, u64>,
    /// Everything that was seen, by what it is worth and its name.
    pub anomalies: BTreeMap<(Standing, &'static str), Tally>,
    /// Statements of transactions that committed.
    pub statements: u64,
    /// What was done to sessions and to the server.
    pub faults: BTreeMap<Fault, u64>,
    /// How often all rows were read.
    pub looks: u64,
    /// Transactions of unknown outcome that turned out to be gone, and to be there.
    pub resolved: [u64; 2],
}

/// The judge of a run.
pub struct Judge {
    live: Live,
    promises: Promises,
    recipe: Recipe,
    recent: HashMap<u64, Recent>,
    swept: usize,
    /// When those began that are open.
    begins: HashMap<u64, u64>,
    /// What must be there; only where there are faults.
    ledger: Option<Ledger>,
    counts: Counts,
}

struct Recent {
    session: u32,
    times: (u64, u64),
    seen: Vec<Seen>,
}

struct Archive<'j> {
    recent: &'j HashMap<u64, Recent>,
    recipe: &'j Recipe,
}

impl Witnesses for Archive<'_> {
    fn ways(&self, txn: u64, row: u64) -> Vec<Way> {
        let recent = self.recent.get(&txn);
        let seen = recent.into_iter().flat_map(|recent| &recent.seen);
        seen.filter(|seen| seen.row == row).map(|seen| seen.way).collect()
    }

    fn is_blind(&self, txn: u64, row: u64) -> bool {
        plan(&self.recipe.workloads, self.recipe.seed, txn).is_blind(row)
    }
}

impl Judge {
    /// A judge that has seen nothing.
    pub fn new(promises: Promises, recipe: Recipe) -> Self {
        let live = Live::new(Options { session: false, real_time: true, keep: 0 });
        let (recent, counts) = (HashMap::new(), Counts::default());
        let begins = HashMap::new();
        Self { live, promises, recipe, recent, swept: 0, begins, ledger: None, counts }
    }

    /// The same for a run with faults: it remembers what must be there when all rows are read.
    pub fn with_ledger(self) -> Self {
        Self { ledger: Some(Ledger::default()), ..self }
    }

    /// A transaction begins.
    pub fn begin(&mut self, number: u64, at: u64) {
        self.begins.insert(number, at);
        self.live.begin(number, at);
    }

    /// A transaction has ended.
    pub fn end(&mut self, record: &Record, at: u64) {
        let committed = record.outcome == Outcome::Committed;
        match record.outcome {
            Outcome::Committed => {
                self.counts.committed += 1;
                self.counts.statements += record.seen.len() as u64;
            }
            Outcome::Unknown => self.counts.unknown += 1,
            Outcome::Aborted => match record.error {
                Some(class) => *self.counts.aborts.entry(class).or_default() += 1,
                None => self.counts.rolled_back += 1,
            },
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.note(record, &plan(&self.recipe.workloads, self.recipe.seed, record.number));
        }
        let times = (self.begins.remove(&record.number).unwrap_or(at), at);
        let recent = Recent { session: record.session, times, seen: record.seen.clone() };
        self.recent.insert(record.number, recent);
        let found = self.live.end(record.transaction(at));
        let mut worst = self.weigh(&found);
        if committed {
            worst = worst.max(self.blunders(&record.blunders, record.number));
            match worst {
                Some(standing) => *self.counts.by_standing.entry(standing).or_default() += 1,
                None => self.counts.pass += 1,
            }
        }
        self.forget();
    }

    /// The final state: everything has ended, and these are the rows, as a transaction read them that began afterwards.
    pub fn finish(mut self, last: &Record, at: (u64, u64)) -> Counts {
        self.live.begin(last.number, at.0);
        let recent = Recent { session: last.session, times: at, seen: last.seen.clone() };
        self.recent.insert(last.number, recent);
        let found = self.live.end(last.transaction(at.1));
        self.weigh(&found);
        let there: HashMap<u64, u64> =
            last.seen.iter().map(|seen| (seen.row, seen.token)).collect();
        for row in self.live.rows() {
            let newest = self.live.newest(row);
            let found = there.get(&row).map(|token| version(*token));
            // What is deleted now and then may be gone without a trace.
            let is_gone =
                found.is_none() && !Workload::is_permanent(row) && Workload::members(row).is_none();
            if newest.txn == 0 || found == Some(newest) || is_gone && is_churned(row) {
                continue;
            }
            let told = self.told(newest.txn);
            let what = match found {
                Some(found) => format!(
                    "T{} wrote {} and committed; in the end the row is as T{} left it",
                    newest.txn,
                    name_of(row),
                    found.txn
                ),
                None => format!(
                    "T{} wrote {} and committed; in the end the row is not there",
                    newest.txn,
                    name_of(row)
                ),
            };
            let weighed = Weighed {
                name: "lost-commit",
                explained: "a committed write is not in the final state",
                shape: "lost-commit",
                standing: Standing::Violation,
                page: None,
            };
            self.count(weighed, || (vec![what], vec![told]));
        }
        let found = std::mem::replace(&mut self.live, Live::new(Options::default())).finish();
        self.weigh(&found);
        self.counts
    }

    /// What a single answer proves to be wrong.
    pub fn blunders(&mut self, blunders: &[Blunder], number: u64) -> Option<Standing> {
        let mut worst = None;
        for blunder in blunders {
            let weighed = self.promises.blunder(blunder.name);
            worst = worst.max(Some(weighed.standing));
            let told = self.told(number);
            self.count(weighed, || (vec![blunder.because.clone()], vec![told]));
        }
        worst
    }

    /// The counts in few words.
    pub fn status(&self) -> Status {
        Status {
            committed: self.counts.committed,
            statements: self.counts.statements,
            aborts: self.counts.aborts.clone(),
            names: self.counts.anomalies.iter().map(|(kind, tally)| (*kind, tally.count)).collect(),
            kept: self.live.kept(),
            ..Status::default()
        }
    }

    /// What has been counted so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many transactions are kept.
    pub fn kept(&self) -> usize {
        self.live.kept()
    }

    fn weigh(&mut self, found: &[Found]) -> Option<Standing> {
        let mut worst = None;
        for one in found {
            let archive = Archive { recent: &self.recent, recipe: &self.recipe };
            let weighed = self.promises.weigh(one, &archive);
            worst = worst.max(Some(weighed.standing));
            let told: Vec<Told> =
                one.transactions().into_iter().map(|txn| self.told(txn)).collect();
            self.count(weighed, || (one.because(name_of), told));
        }
        worst
    }

    fn count(&mut self, weighed: Weighed, told: impl FnOnce() -> (Vec<String>, Vec<Told>)) {
        let tally = self.counts.anomalies.entry((weighed.standing, weighed.name)).or_default();
        tally.count += 1;
        if tally.count <= WITNESSES_MAX {
            let (because, transactions) = told();
            tally.findings.push(Finding {
                weighed,
                because,
                transactions,
                repeated: None,
                case: None,
            });
        }
    }

    fn told(&self, txn: u64) -> Told {
        let recent = self.recent.get(&txn);
        let (session, times) = (recent.map(|one| one.session), recent.map(|one| one.times));
        let plan = plan(&self.recipe.workloads, self.recipe.seed, txn);
        Told { txn, session, times, sql: self.recipe.tongue.all(&plan, txn) }
    }

    fn forget(&mut self) {
        if self.recent.len() > 2 * self.swept + SPARE {
            let live = &self.live;
            self.recent.retain(|number, _| live.keeps(*number));
            self.swept = self.recent.len();
        }
    }
}

/// Whether rows like this one are deleted.
fn is_churned(row: u64) -> bool {
    Workload::of_row(row) == Some(Workload::Generated)
}

/// A row in sentences.
pub fn name_of(row: u64) -> String {
    match Workload::of_row(row) {
        Some(workload) => format!("row {row} ({workload})"),
        None => format!("row {row}"),
    }
}
