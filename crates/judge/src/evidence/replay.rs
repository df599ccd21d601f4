//! Serial schedules as cases: the same sessions and statements, one transaction after the other.
//!
//! Two forms (WriteCheck's tx-WSS and stmt-WSS): as transactions, or each statement on its own without BEGIN, COMMIT
//! and what a ROLLBACK TO undid. Statements that were refused because of others (deadlock, lock timeout) left no trace
//! and are left out; statements that failed on their own account must fail again.

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Outcome, Run, Statement, Step};
use anchorite_sql::skips_locked;

use super::ends::last_event;
use super::transactions::{Performed, Transaction};

/// How a serial order is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As transactions.
    Transactions,
    /// Statement by statement.
    Statements,
}

/// A serial schedule to run, and which statements of the run its steps are.
pub struct Replay {
    /// What to run.
    pub case: Case,
    /// For each step the number of the statement in the run; `None` for BEGIN, COMMIT and the like.
    origins: Vec<Option<usize>>,
}

impl Replay {
    /// The statements whose answers are compared: their numbers in the run and here.
    pub fn compared(&self) -> impl Iterator<Item = (usize, usize)> {
        self.origins.iter().enumerate().filter_map(|(step, origin)| Some(((*origin)?, step + 1)))
    }

    /// What a statement of the run was answered when this was performed; `None` if it is not compared.
    pub fn answer<'p>(&self, performed: &'p Run, n: usize) -> Option<&'p Outcome> {
        let step = self.compared().find_map(|(of, step)| (of == n).then_some(step))?;
        last_event(performed, step).map(|event| &event.outcome)
    }
}

/// The schedule for these transactions in this order. Reads are kept where they are compared.
pub fn replay(run: &Run, order: &[&Transaction<'_>], form: Form, keep_reads: bool) -> Replay {
    let dialect = run.target.product.dialect();
    let mut steps = Vec::new();
    let mut origins = Vec::new();
    for transaction in order {
        let mut push = |sql: &str, origin: Option<usize>| {
            let statement = Statement { sql: sql.to_owned(), line: 0 };
            steps.push(Step { session: transaction.session, statement });
            origins.push(origin);
        };
        let begin = transaction.begin.filter(|_| form == Form::Transactions);
        if let Some(begin) = begin {
            push(begin, None);
        }
        for statement in &transaction.statements {
            if belongs(statement, form, keep_reads) {
                push(statement.sql, compared(statement, dialect).then_some(statement.n));
            }
        }
        if begin.is_some() {
            push("COMMIT", None);
        }
    }
    let case = Case { steps, check: Vec::new(), ..run.case.clone() };
    Replay { case, origins }
}

fn belongs(statement: &Performed<'_>, form: Form, keep_reads: bool) -> bool {
    if statement.was_refused() {
        return false;
    }
    match statement.kind {
        StatementKind::Select { .. } => keep_reads,
        StatementKind::Savepoint(_) | StatementKind::RollbackTo(_) | StatementKind::Release(_) => {
            form == Form::Transactions
        }
        _ => form == Form::Transactions || !statement.undone,
    }
}

/// Whether its answer is compared: its own effect is part of the serial order. What a ROLLBACK TO undid is not: its
/// locks may also be gone, so that others came in between. Nor is a read that leaves out what others have locked:
/// "Queries that skip locked rows return an inconsistent view of the data"
/// (<https://dev.mysql.com/doc/refman/8.4/en/innodb-locking-reads.html>).
fn compared(statement: &Performed<'_>, dialect: Dialect) -> bool {
    let tells = match statement.kind {
        StatementKind::Select { locking } => !(locking && skips_locked(statement.sql, dialect)),
        _ => statement.is_write(),
    };
    tells && !statement.undone
}
