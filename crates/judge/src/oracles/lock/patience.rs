//! Which transactions keep the locks that they take, and which wait for those of others.

use anchorite_model::Run;

use crate::evidence::transactions::{Performed, Transaction, is_optimistic};

/// Whether its locks are taken immediately, and kept.
pub(super) fn keeps_locks(reader: &Transaction<'_>) -> bool {
    let gives_up = |statement: &Performed<'_>| {
        statement.undone || statement.ignored || statement.reply.is_err()
    };
    reader.begin.is_some_and(|begin| !is_optimistic(begin))
        && !reader.statements.iter().any(gives_up)
}

/// Whether a transaction waits where another one has a lock.
pub(super) fn waits_for(writer: &Transaction<'_>, reader: &Transaction<'_>, run: &Run) -> bool {
    let singles_wait = run.target.product.descriptor().transactions.single_statements_wait;
    writer.session != reader.session
        && !writer.begin.is_some_and(is_optimistic)
        && (singles_wait || writer.begin.is_some())
}
