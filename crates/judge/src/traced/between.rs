//! Whether something came between a query and the statement that it was made for.
//!
//! Idea: what another session did to other tables, or only read, changes nothing about the rows that the query
//! returned. What counts is a write to the same table, and the end of a transaction that has one. Assumption: rows
//! change by themselves only where a foreign key passes changes on; there everything counts.

use anchorite_model::Run;
use anchorite_sql::chained::Effect;

use super::case::ChainedCase;

/// What happened in an instrumented run, and when.
#[derive(Clone, Copy)]
pub struct Between<'b> {
    /// The run.
    pub run: &'b Run,
    /// Its statements.
    pub case: &'b ChainedCase,
}

impl Between<'_> {
    /// Whether a table may have changed between two moments, by any other statement than those of one original step.
    pub fn is_disturbed(self, of: usize, table: &str, after: usize, before: usize) -> bool {
        let passes_on = self.passes_on();
        let others = self.run.events.iter().filter(|event| self.case.of(event.n) != of);
        let mut others = others.filter(|event| {
            event.answered.is_some_and(|answered| answered > after && answered < before)
        });
        others.any(|event| passes_on || self.may_change(event.session, event.n, table))
    }

    /// Whether a statement writes the table, or may end a transaction that has.
    fn may_change(self, session: usize, n: usize, table: &str) -> bool {
        let Some(step) = self.case.step(n) else { return true };
        match &step.chained.effect {
            Effect::None => {
                let steps = self.case.case.steps.iter().zip(1..).take_while(|(_, at)| *at < n);
                let mut own = steps.filter(|(step, _)| step.session == session);
                own.any(|(_, at)| self.case.step(at).is_none_or(|step| step.chained.writes(table)))
            }
            Effect::Reads(_) | Effect::Lists(_) => false,
            _ => step.chained.writes(table),
        }
    }

    fn passes_on(self) -> bool {
        let acts = |sql: &str| {
            let sql = sql.to_uppercase();
            sql.contains("ON DELETE") || sql.contains("ON UPDATE")
        };
        self.run.case.setup.iter().any(|statement| acts(&statement.sql))
    }
}
