//! Questions to the DBMS: what does a statement answer, and leave behind, if it finds these rows? What was asked once
//! is remembered.

use std::collections::HashMap;

use anchorite_model::{Case, Outcome, Run, RunError, SessionIndex};

use crate::evidence::evaluator::{Contents, Evaluator};
use crate::laboratory::Laboratory;

/// What a statement did: the answer, and what stands there afterwards; `None` if the rows cannot be put there.
pub(super) type Effect = Option<(Outcome, Contents)>;

/// Who asks.
pub(super) struct Questions<'f, 'r, 'l> {
    evaluator: &'f Evaluator<'r>,
    laboratory: &'f mut Laboratory<'l>,
    known: HashMap<String, Effect>,
}

impl<'f, 'r, 'l> Questions<'f, 'r, 'l> {
    pub(super) fn new(evaluator: &'f Evaluator<'r>, laboratory: &'f mut Laboratory<'l>) -> Self {
        Self { evaluator, laboratory, known: HashMap::new() }
    }

    /// How many different ones were asked.
    pub(super) fn asked(&self) -> usize {
        self.known.len()
    }

    /// What the statement does to these contents.
    pub(super) fn ask(
        &mut self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
    ) -> Result<Effect, RunError> {
        let case = self.evaluator.case_on(session, sql, contents);
        let key = key(&case);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let effect = read(&self.laboratory.run(&case)?);
        self.known.insert(key, effect.clone());
        Ok(effect)
    }

    /// Asks about several contents in as few round trips as possible.
    pub(super) fn find_out(
        &mut self,
        session: SessionIndex,
        sql: &str,
        all: &[Contents],
    ) -> Result<(), RunError> {
        let mut cases: HashMap<String, Case> = HashMap::new();
        for contents in all {
            let case = self.evaluator.case_on(session, sql, contents);
            let key = key(&case);
            if !self.known.contains_key(&key) {
                cases.insert(key, case);
            }
        }
        let (keys, cases): (Vec<String>, Vec<Case>) = cases.into_iter().unzip();
        let runs = self.laboratory.run_all(&cases)?;
        self.known.extend(keys.into_iter().zip(runs.iter().map(read)));
        Ok(())
    }
}

fn key(case: &Case) -> String {
    let session = case.steps.first().map_or(0, |step| step.session);
    let texts = case.steps.iter().map(|step| step.statement.sql.as_str());
    format!("{session}\n{}", texts.collect::<Vec<_>>().join(";\n"))
}

/// The last answer of a run in which everything before it went well, and what it left.
fn read(run: &Run) -> Effect {
    let (last, filling) = run.events.split_last()?;
    if filling.iter().any(|event| !matches!(event.outcome, Outcome::Ok(_))) {
        return None;
    }
    let tables = run.final_state.iter().enumerate();
    let contents = tables.map(|(table, (_, rows))| (table, rows.rows.clone())).collect();
    Some((last.outcome.clone(), contents))
}
