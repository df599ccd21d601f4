//! Whether some serial order of the committed transactions gives the same answers.
//!
//! Idea: a cycle of dependencies follows from who wrote after whom. But where writes commute, or nothing ever read
//! their result, another order may give exactly the same rows: then nothing is proved, and nothing is named. So every
//! order is executed on a model of the tables, and compared with what the server answered. Assumption: the same as in
//! [`super::history`]. Blind spot: keys are not checked, and queries that are not understood are not compared; both can
//! only make an order look possible that is not.

use anchorite_model::{Run, Value};
use anchorite_sql::formula::{Formula, Scope};

use crate::evidence::transactions::{Performed, Transaction};
use anchorite_sql::followed::{Row, Tables, Write};

/// The most transactions whose orders are tried.
const TRANSACTIONS_MAX: usize = 6;

/// Whether an order explains the run; true if there are too many to try.
pub fn is_explained(
    run: &Run,
    tables: &Tables,
    initial: &[Row],
    transactions: &[Transaction<'_>],
) -> bool {
    let committed: Vec<&Transaction<'_>> = transactions.iter().filter(|t| t.committed).collect();
    if committed.len() > TRANSACTIONS_MAX {
        return true;
    }
    let state = State { tables, rows: initial.to_vec() };
    explains(run, &state, &committed)
}

/// Whether some order of the remaining transactions completes the run.
fn explains(run: &Run, state: &State<'_>, left: &[&Transaction<'_>]) -> bool {
    if left.is_empty() {
        return state.is_final(run);
    }
    (0..left.len()).any(|next| {
        let mut after = state.clone();
        let mut rest = left.to_vec();
        let transaction = rest.remove(next);
        let statements = transaction.statements.iter().filter(|statement| !statement.ignored);
        // What is not understood explains everything.
        statements.clone().all(|statement| after.answers_alike(statement).unwrap_or(true))
            && explains(run, &after, &rest)
    })
}

#[derive(Clone)]
struct State<'a> {
    tables: &'a Tables,
    rows: Vec<Row>,
}

impl State<'_> {
    /// Performs a statement; whether it answers as in the run, `None` if that is not understood.
    fn answers_alike(&mut self, statement: &Performed<'_>) -> Option<bool> {
        let Ok(answer) = statement.reply else { return Some(true) };
        if statement.is_write() {
            let write = self.tables.write(statement.sql)?;
            return Some(Some(self.perform(write)?) == answer.affected);
        }
        let read = self.tables.read(statement.sql)?;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for (_, row) in self.rows.iter().filter(|(table, _)| *table == read.table) {
            if self.matches(read.table, row, read.filter.as_ref())? {
                rows.push(read.columns.iter().map(|column| row[*column].clone()).collect());
            }
        }
        let mut returned: Vec<Vec<Value>> = answer.results.first()?.rows.clone();
        rows.sort();
        returned.sort();
        Some(rows == returned)
    }

    /// Performs a write and gives its count.
    fn perform(&mut self, write: Write) -> Option<u64> {
        let mut count = 0;
        match write {
            Write::Insert { table, rows } => {
                count = rows.len() as u64;
                self.rows.extend(rows.into_iter().map(|row| (table, row)));
            }
            Write::Delete { table, filter } => {
                let mut kept = Vec::new();
                for (of, row) in &self.rows {
                    let goes = *of == table && self.matches(table, row, filter.as_ref())?;
                    count += u64::from(goes);
                    if !goes {
                        kept.push((*of, row.clone()));
                    }
                }
                self.rows = kept;
            }
            Write::Update { table, set, filter } => {
                let columns = &self.tables.all[table].columns;
                let mut after = self.rows.clone();
                for (of, new) in &mut after {
                    if *of != table || !self.matches(table, new, filter.as_ref())? {
                        continue;
                    }
                    let row = new.clone();
                    for (column, formula) in &set {
                        new[*column] = formula.value(Scope { columns, row: &row })?;
                    }
                    count += u64::from(*new != row || !self.tables.counts_changes());
                }
                self.rows = after;
            }
        }
        Some(count)
    }

    fn matches(&self, table: usize, row: &[Value], filter: Option<&Formula>) -> Option<bool> {
        let columns = &self.tables.all[table].columns;
        match filter {
            None => Some(true),
            Some(filter) => Some(filter.truth(Scope { columns, row })? == Some(true)),
        }
    }

    /// Whether these are the tables that the run ended with.
    fn is_final(&self, run: &Run) -> bool {
        (0..self.tables.all.len()).all(|table| {
            let own = self.rows.iter().filter(|(of, _)| *of == table).map(|(_, row)| row);
            self.tables.is_final(run, table, own.collect())
        })
    }
}
