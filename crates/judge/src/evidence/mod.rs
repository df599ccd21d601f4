//! What the oracles can know about a run.
//!
//! Idea: several oracles ask the same things of one run. Each of them is found out when the first one asks, and kept,
//! so that more oracles do not cost more. If something cannot be determined, the reason is a sentence; an oracle that
//! needs it passes it on, and its verdict is Undecided.
//!
//! * [`transactions`]: which there were, and what became of them; [`ends`]: only the latter; [`together`]: in which
//!   orders statements that were set free at once may have worked.
//! * [`serial`]: whether a serial order explains the run, by [`orders`] and [`replay`]; [`refusals`]: INSERTs that were
//!   refused, and have to be again.
//! * [`versions`]: the versions of every row, [`world`]: the same with views of them; [`actions`]: what happened to
//!   them; [`evaluator`]: what a statement does to given rows.
//! * [`difference`]: how two runs differ; [`words`]: rows and statements in sentences.

pub mod actions;
pub mod difference;
pub mod ends;
pub mod evaluator;
pub mod index_ddl;
pub mod orders;
pub mod refusals;
pub mod replay;
pub mod savepoints;
pub mod serial;
pub mod together;
pub mod transactions;
pub mod versions;
pub mod words;
pub mod world;

use std::any::Any;
use std::cell::{OnceCell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

use anchorite_claims::{Claims, DocumentedWrites};
use anchorite_model::{
    BlockingKnowledge, Case, Ending, Level, Outcome, Rows, Run, RunError, SessionInfo,
};
use anchorite_sql::side_effects;

use crate::laboratory::Laboratory;
use evaluator::Evaluator;
use serial::{STRICT, Search, Serial};
use transactions::Transaction;

const LEVEL_UNKNOWN: &str = "the level of a session is not known";

/// What an oracle needs from a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: what it looks for is wrong at every level.
    Nothing,
    /// What the level promises about writes; and a complete run, at one level, whose waits are known.
    Writes,
    /// The same, but each session may have its own level.
    WritesOfEach,
}

/// Why there is no judgement.
#[derive(Debug)]
pub enum Unjudged {
    /// An assumption of the oracle is not met, in a sentence.
    Undecided(String),
    /// A further run could not be made.
    Failed(RunError),
}

impl From<String> for Unjudged {
    fn from(reason: String) -> Self {
        Self::Undecided(reason)
    }
}

impl From<RunError> for Unjudged {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

/// The further runs that oracles prepared, by oracle; `None` if the target refused a case.
pub type Prepared = BTreeMap<&'static str, Vec<Option<Run>>>;

/// A run, and what is known about it.
pub struct Evidence<'a> {
    /// What happened.
    pub run: &'a Run,
    /// What the target promises.
    pub claims: &'a Claims,
    prepared: Prepared,
    writes: OnceCell<Result<DocumentedWrites<'a>, String>>,
    transactions: OnceCell<Result<Vec<Transaction<'a>>, String>>,
    evaluator: OnceCell<Result<RefCell<Evaluator<'a>>, String>>,
    initial: OnceCell<Vec<(String, Rows)>>,
    serial: OnceCell<Serial>,
    serial_with_refusals: OnceCell<Option<Serial>>,
    found: RefCell<BTreeMap<&'static str, Rc<dyn Any>>>,
}

impl<'a> Evidence<'a> {
    /// What is known about a run; `prepared` are the further runs that oracles requested, by oracle.
    pub fn new(run: &'a Run, claims: &'a Claims, prepared: Prepared) -> Self {
        Self {
            run,
            claims,
            prepared,
            writes: OnceCell::new(),
            transactions: OnceCell::new(),
            evaluator: OnceCell::new(),
            initial: OnceCell::new(),
            serial: OnceCell::new(),
            serial_with_refusals: OnceCell::new(),
            found: RefCell::default(),
        }
    }

    /// What several oracles want to know, found out by the first of them, under a name.
    pub fn found<T: 'static, E>(
        &self,
        name: &'static str,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<Rc<T>, E> {
        let known = self.found.borrow().get(name).cloned();
        if let Some(Ok(known)) = known.map(Rc::downcast) {
            return Ok(known);
        }
        let found = Rc::new(find()?);
        self.found.borrow_mut().insert(name, found.clone());
        Ok(found)
    }

    /// The further runs that an oracle requested, in its order; `None` if the target refused the case.
    pub fn prepared(&self, oracle: &str) -> &[Option<Run>] {
        self.prepared.get(oracle).map_or(&[], Vec::as_slice)
    }

    /// Whether what an oracle needs is available, or what is missing.
    pub fn has(&self, needs: Needs) -> Result<(), String> {
        match needs {
            Needs::Nothing => Ok(()),
            Needs::Writes => self.writes().map(|_| ()),
            Needs::WritesOfEach => self.writes_of_each().map(|_| ()),
        }
    }

    /// What is documented about writes at the level of the run.
    pub fn writes(&self) -> Result<&DocumentedWrites<'a>, String> {
        let writes = self.writes.get_or_init(|| documented_writes(self.run, self.claims));
        writes.as_ref().map_err(Clone::clone)
    }

    /// What is documented about writes at the level of each session.
    pub fn writes_of_each(&self) -> Result<Vec<DocumentedWrites<'a>>, String> {
        is_followed(self.run)?;
        let of_session = |session: &SessionInfo| {
            let level = level_of_session(session).ok_or_else(|| LEVEL_UNKNOWN.to_owned())?;
            documented_at(self.run, self.claims, level, &[&session.level_read_back])
        };
        self.run.sessions.iter().map(of_session).collect()
    }

    /// Whether the case makes something that hands out numbers.
    pub fn has_numbered_rows(&self) -> bool {
        let dialect = self.run.target.product.descriptor().dialect();
        let (case, numbers) = (&self.run.case, side_effects::numbers_rows);
        case.setup.iter().any(|statement| numbers(&statement.sql, dialect))
            || case.steps.iter().any(|step| numbers(&step.statement.sql, dialect))
    }

    /// The transactions, in the order of their ends.
    pub fn transactions(&self) -> Result<&[Transaction<'a>], String> {
        let found = self.transactions.get_or_init(|| transactions::transactions(self.run));
        found.as_ref().map(Vec::as_slice).map_err(Clone::clone)
    }

    /// Who knows what a statement does to given rows, one by one: nothing may act by itself.
    pub fn evaluator(&self) -> Result<RefMut<'_, Evaluator<'a>>, String> {
        let evaluator = self.evaluator_of_tables()?;
        match evaluator.has_programs() {
            true => Err("the set-up makes triggers or routines".to_owned()),
            false => Ok(evaluator),
        }
    }

    /// Who knows what a statement does to whole tables.
    pub fn evaluator_of_tables(&self) -> Result<RefMut<'_, Evaluator<'a>>, String> {
        let evaluator =
            self.evaluator.get_or_init(|| Evaluator::new(self.run).map(RefCell::new)).as_ref();
        evaluator.map(RefCell::borrow_mut).map_err(Clone::clone)
    }

    /// The tables before the first statement.
    pub fn initial(&self, laboratory: &mut Laboratory<'_>) -> Result<&[(String, Rows)], RunError> {
        if self.initial.get().is_none() {
            let case = Case { steps: Vec::new(), check: Vec::new(), ..self.run.case.clone() };
            let _ = self.initial.set(laboratory.run(&case)?.final_state);
        }
        Ok(self.initial.get().map_or(&[], Vec::as_slice))
    }

    /// Whether a serial order explains the run.
    pub fn serial(&self, laboratory: &mut Laboratory<'_>) -> Result<&Serial, Unjudged> {
        // An order that explains the refusals as well explains the rest by itself.
        if let Some(explained @ Serial::Explained) = self.serial_with_refusals(laboratory)? {
            return Ok(explained);
        }
        if let Some(known) = self.serial.get() {
            return Ok(known);
        }
        let found = self.search(&[])?.perform(STRICT, laboratory)?;
        Ok(self.serial.get_or_init(|| found))
    }

    /// Whether a serial order explains the run and the INSERTs that were refused; `None` if there are none.
    pub fn serial_with_refusals(
        &self,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<&Serial>, Unjudged> {
        if let Some(known) = self.serial_with_refusals.get() {
            return Ok(known.as_ref());
        }
        let (product, sees) = (self.run.target.product, self.writes()?.claims.sees);
        let refused = refusals::refused_inserts(self.transactions()?, product, sees);
        let found = match refused.as_slice() {
            [] => None,
            refused => Some(self.search(refused)?.perform(STRICT, laboratory)?),
        };
        Ok(self.serial_with_refusals.get_or_init(|| found).as_ref())
    }

    /// A search for serial orders with these refusals in them.
    pub fn search<'s>(&'s self, refused: &'s [Transaction<'a>]) -> Result<Search<'s, 'a>, String> {
        let (claims, transactions) = (self.writes()?.claims, self.transactions()?);
        Ok(Search { run: self.run, claims, transactions, refused })
    }
}

fn documented_writes<'a>(run: &'a Run, claims: &'a Claims) -> Result<DocumentedWrites<'a>, String> {
    is_followed(run)?;
    let level = common_level(run)?;
    let read_back: Vec<&str> =
        run.sessions.iter().map(|session| session.level_read_back.as_str()).collect();
    documented_at(run, claims, level, &read_back)
}

/// Whether the run is complete, and its waits are known.
fn is_followed(run: &Run) -> Result<(), String> {
    if let Ending::TargetLost(_) = &run.ending {
        return Err("the run is not complete, because the server went away".to_owned());
    }
    if let BlockingKnowledge::Timeout { reason, .. } = &run.blocking
        && run.events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }))
    {
        return Err(format!("who waited for whom was guessed, because {reason}"));
    }
    Ok(())
}

fn documented_at<'a>(
    run: &Run,
    claims: &'a Claims,
    level: Level,
    read_back: &[&str],
) -> Result<DocumentedWrites<'a>, String> {
    claims.writes_of_sessions(&run.target, level, read_back).ok_or_else(|| {
        format!("nothing is claimed about writes at {level} of {}", run.target.product)
    })
}

/// The level that all sessions really ran at, if it is the same.
pub fn level_of(run: &Run) -> Option<Level> {
    common_level(run).ok()
}

/// The level that a session really ran at.
pub fn level_of_session(session: &SessionInfo) -> Option<Level> {
    session.level.or_else(|| session.effective_level())
}

fn common_level(run: &Run) -> Result<Level, String> {
    let mut levels = run
        .sessions
        .iter()
        .map(|session| level_of_session(session).ok_or_else(|| LEVEL_UNKNOWN.to_owned()));
    let first = levels.next().unwrap_or_else(|| Err("there are no sessions".to_owned()))?;
    for level in levels {
        if level? != first {
            return Err("the sessions ran at different levels".to_owned());
        }
    }
    Ok(first)
}
