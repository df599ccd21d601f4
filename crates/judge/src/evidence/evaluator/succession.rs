//! Statements one after the other, each on what the one before has left, in one round trip.
//!
//! Idea: where transactions do not meet, each statement sees what all before it have left. So most of what a run will
//! be asked about is found out by performing its statements once more in a row, with a look at the tables after each
//! write. What was seen at another state is asked by itself later; nothing is concluded here.

use anchorite_model::{Outcome, Rows, RunError, SessionIndex};

use super::{Contents, Evaluator};
use crate::laboratory::Laboratory;

/// A statement of a succession.
pub struct Successive<'s> {
    /// Whose it is.
    pub session: SessionIndex,
    /// The statement.
    pub sql: &'s str,
    /// The tables that matter to it.
    pub reach: Vec<usize>,
    /// Whether it may change them.
    pub writes: bool,
}

impl Evaluator<'_> {
    /// Finds out what statements do in a row; what is asked afterwards about the same states is known then.
    pub fn find_out_in_a_row(
        &mut self,
        initial: &Contents,
        succession: &[Successive<'_>],
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(), RunError> {
        let Some(first) = succession.first() else { return Ok(()) };
        let mut statements = self.filling(initial);
        statements.extend(self.programs.iter().cloned());
        let filling = statements.len();
        for one in succession {
            statements.push(one.sql.to_owned());
            if one.writes {
                statements.extend(self.reading());
            }
        }
        let run = laboratory.run(&self.case(first.session, statements))?;
        let mut events = run.events.into_iter().map(|event| event.outcome);
        if events.by_ref().take(filling).any(|outcome| !matches!(outcome, Outcome::Ok(_))) {
            return Ok(());
        }
        let mut before = initial.clone();
        for one in succession {
            let Some(outcome) = events.next() else { break };
            let mut after = before.clone();
            if one.writes {
                let read: Option<Vec<Rows>> =
                    events.by_ref().take(self.run.final_state.len()).map(rows).collect();
                let Some(read) = read else { break };
                after = read.into_iter().map(|rows| rows.rows).enumerate().collect();
            }
            let seen = limited(&before, &one.reach);
            let left = limited(&after, &one.reach);
            let tables = self.run.final_state.iter().enumerate().map(|(table, (name, shape))| {
                let rows = left.get(&table).cloned().unwrap_or_default();
                (name.clone(), Rows { columns: shape.columns.clone(), rows })
            });
            let tried = Some((outcome, tables.collect()));
            self.known.insert(self.key(one.sql, &seen), tried);
            before = after;
        }
        Ok(())
    }

    /// The queries that read all tables.
    fn reading(&self) -> impl Iterator<Item = String> {
        self.run.final_state.iter().map(|(name, shape)| {
            let columns = shape.columns.join(", ");
            format!("SELECT {columns} FROM {name}")
        })
    }
}

/// The rows of these tables.
fn limited(contents: &Contents, tables: &[usize]) -> Contents {
    let of_tables = contents.iter().filter(|(table, _)| tables.contains(table));
    of_tables.map(|(table, rows)| (*table, rows.clone())).collect()
}

fn rows(outcome: Outcome) -> Option<Rows> {
    match outcome {
        Outcome::Ok(answer) => answer.results.into_iter().next(),
        _ => None,
    }
}
