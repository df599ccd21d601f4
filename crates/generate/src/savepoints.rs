//! Savepoints inside transactions: one with what undoes it, or several inside each other.
//!
//! Idea: the savepoints that exist are followed while statements are added, so that every ROLLBACK TO and RELEASE
//! names one of them. ROLLBACK TO keeps the savepoint and removes those after it; RELEASE removes it too.
//!
//! Assumption: setting a name again hides the savepoint that had it (standard SQL, PostgreSQL, SQLite), or removes it
//! (MySQL: "If the current transaction has a savepoint with the same name, the old savepoint is deleted and a new one
//! is set", <https://dev.mysql.com/doc/refman/8.4/en/savepoint.html>).

use anchorite_model::sql::Dialect;

use crate::generator::Generator;

/// Percentage of the new savepoints that take the name of one that exists.
const SAME_NAME_PERCENT: u32 = 20;

impl Generator<'_> {
    /// Adds a savepoint, or several, and what rolls back to them or releases them.
    pub(crate) fn add_savepoints(&mut self, statements: &mut Vec<String>) {
        let share = self.grammar.weights.transactions.nested_savepoint_percent;
        if self.random.percent(share) {
            *statements = self.with_nested_savepoints(std::mem::take(statements));
        } else {
            self.add_savepoint(statements);
        }
    }

    /// Sets a savepoint somewhere, and later rolls back to it or releases it.
    fn add_savepoint(&mut self, statements: &mut Vec<String>) {
        let name = format!("s{}", self.next_name());
        let start = self.random.below(statements.len());
        let end = self.random.between(start + 1, statements.len());
        let undo = self.undo_to(75);
        statements.insert(end, format!("{undo} {name}"));
        statements.insert(start, format!("SAVEPOINT {name}"));
    }

    /// The statements with savepoints before them and ends of savepoints behind them.
    fn with_nested_savepoints(&mut self, statements: Vec<String>) -> Vec<String> {
        let mut existing: Vec<String> = Vec::new();
        let mut all = Vec::new();
        for (at, statement) in statements.into_iter().enumerate() {
            if at == 0 || self.random.percent(60) {
                let name = self.savepoint_name(&existing);
                all.push(format!("SAVEPOINT {name}"));
                if self.grammar.dialect == Dialect::Mysql {
                    existing.retain(|known| *known != name);
                }
                existing.push(name);
            }
            all.push(statement);
            if !existing.is_empty() && self.random.percent(50) {
                let name = self.random.pick(&existing).clone();
                let undo = self.undo_to(70);
                all.push(format!("{undo} {name}"));
                let place = existing.iter().rposition(|known| *known == name).unwrap_or_default();
                let stays = usize::from(undo.starts_with("ROLLBACK"));
                existing.truncate(place + stays);
            }
        }
        all
    }

    fn savepoint_name(&mut self, existing: &[String]) -> String {
        let is_same = self.random.percent(SAME_NAME_PERCENT);
        match self.random.try_pick(existing).filter(|_| is_same) {
            Some(name) => name.clone(),
            None => format!("s{}", self.next_name()),
        }
    }

    fn undo_to(&mut self, back_percent: u32) -> &'static str {
        let is_back = self.random.percent(back_percent);
        if is_back { "ROLLBACK TO SAVEPOINT" } else { "RELEASE SAVEPOINT" }
    }
}
