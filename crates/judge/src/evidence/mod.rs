//! What a run has left for the oracles to look at.
//!
//! Idea: several oracles ask the same things of one run. Each of them is found out when the first one asks, and kept.
//!
//! Where something cannot be told, the reason is a sentence; an oracle that needs it passes it on, and its verdict is
//! Undecided.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use anchorite_claims::{Claims, DocumentedWrites};
use anchorite_model::{BlockingKnowledge, Ending, Level, Outcome, Run};

use crate::oracles::Needs;
use crate::oracles::final_state::transactions::{self, Transaction};

/// The further runs that oracles prepared, by their names; `None` where the target refused a case.
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
}

impl<'a> Evidence<'a> {
    /// What is known of a run; `prepared` are the further runs that oracles wanted to see, by their names.
    pub fn new(run: &'a Run, claims: &'a Claims, prepared: Prepared) -> Self {
        let (writes, transactions) = (OnceCell::new(), OnceCell::new());
        Self { run, claims, prepared, writes, transactions }
    }

    /// The further runs that an oracle wanted to see, in its order; `None` where the target refused the case.
    pub fn prepared(&self, oracle: &str) -> &[Option<Run>] {
        self.prepared.get(oracle).map_or(&[], Vec::as_slice)
    }

    /// Whether what an oracle needs is there, or what is missing.
    pub fn has(&self, needs: Needs) -> Result<(), String> {
        match needs {
            Needs::Nothing => Ok(()),
            Needs::Writes => self.writes().map(|_| ()),
        }
    }

    /// What is documented about writes at the level of the run.
    pub fn writes(&self) -> Result<&DocumentedWrites<'a>, String> {
        let writes = self.writes.get_or_init(|| documented_writes(self.run, self.claims));
        writes.as_ref().map_err(Clone::clone)
    }

    /// The transactions, in the order of their ends.
    pub fn transactions(&self) -> Result<&[Transaction<'a>], String> {
        let found = self.transactions.get_or_init(|| transactions::transactions(self.run));
        found.as_ref().map(Vec::as_slice).map_err(Clone::clone)
    }
}

fn documented_writes<'a>(run: &'a Run, claims: &'a Claims) -> Result<DocumentedWrites<'a>, String> {
    if let Ending::TargetLost(why) = &run.ending {
        return Err(format!("the run is not complete: {why}"));
    }
    if let BlockingKnowledge::Timeout { reason, .. } = &run.blocking
        && run.events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }))
    {
        return Err(format!("who waited for whom was guessed, because {reason}"));
    }
    let level = common_level(run)?;
    claims.writes(&run.target, level).ok_or_else(|| {
        format!("nothing is claimed about writes at {level} of {}", run.target.product)
    })
}

/// The level that all sessions really ran at, if it is one and the same.
pub fn level_of(run: &Run) -> Option<Level> {
    common_level(run).ok()
}

fn common_level(run: &Run) -> Result<Level, String> {
    let mut levels = run.sessions.iter().map(|session| {
        let level = session.level.or_else(|| session.effective_level());
        level.ok_or_else(|| format!("the level of {} is not known", session.name))
    });
    let first = levels.next().unwrap_or_else(|| Err("there are no sessions".to_owned()))?;
    for level in levels {
        if level? != first {
            return Err("the sessions ran at different levels".to_owned());
        }
    }
    Ok(first)
}
