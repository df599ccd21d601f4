//! Which DDL beside the transactions changes no row, and no rule about rows.
//!
//! Idea: what makes or drops an index that is not unique changes neither what a read gives nor what a write does, and a
//! DDL statement that failed has done nothing. A run with no other DDL is followed as if it were not there.
//!
//! Assumption: such a statement is a transaction of its own, or ends the one before it; inside a transaction it might
//! have taken the snapshot. Blind spot: in which order a scan comes to its rows may depend on the new index, so writes
//! that met other transactions are not judged in such a run.

use anchorite_model::Run;
use anchorite_model::sql::StatementKind;

use crate::evidence::index_ddl::is_of_index;
use crate::evidence::transactions::{Performed, Transaction};

/// Whether DDL in the schedule may have changed more than indexes.
pub fn are_changed(run: &Run, transactions: &[Transaction<'_>]) -> bool {
    transactions.iter().any(|transaction| {
        let mut ddl = transaction.statements.iter().filter(|one| is_ddl(one));
        ddl.any(|one| transaction.begin.is_some() || (one.reply.is_ok() && !is_of_index(run, one)))
    })
}

/// Whether there is any DDL in the schedule.
pub fn meet_ddl(run: &Run) -> bool {
    run.case.steps.iter().any(|step| StatementKind::of(&step.statement.sql) == StatementKind::Ddl)
}

fn is_ddl(statement: &Performed<'_>) -> bool {
    statement.kind == StatementKind::Ddl
}
