//! Which DDL beside the transactions changes no row, and no rule about rows.
//!
//! Idea: what makes or drops an index that is not unique changes neither what a read gives nor what a write does, and a
//! DDL statement that failed has done nothing. A run with no other DDL is followed as if it were not there.
//!
//! Assumption: such a statement is a transaction of its own, or ends the one before it; inside a transaction it might
//! have taken the snapshot. Blind spot: in which order a scan comes to its rows may depend on the new index, so writes
//! that met other transactions are not judged in such a run.

use anchorite_model::sql::StatementKind;
use anchorite_model::{Run, Statement};
use anchorite_sql::tokens::{name, significant};

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

/// Whether a statement makes or drops an index that is not unique.
fn is_of_index(run: &Run, statement: &Performed<'_>) -> bool {
    let dialect = run.target.product.dialect();
    let tokens = significant(statement.sql, dialect);
    let begins = |word: &str| {
        tokens.first().is_some_and(|first| first.is_word(word))
            && tokens.get(1).is_some_and(|second| second.is_word("INDEX"))
    };
    if begins("CREATE") {
        return true;
    }
    let dropped = tokens.get(2).and_then(name).filter(|_| begins("DROP"));
    let makes_it = |setup: &Statement| {
        let made = significant(&setup.sql, dialect);
        let is_index = made.get(1).is_some_and(|second| second.is_word("INDEX"));
        let named = made.get(2).and_then(name).filter(|_| is_index);
        named.zip(dropped).is_some_and(|(made, gone)| made.eq_ignore_ascii_case(gone))
    };
    run.case.setup.iter().any(makes_it)
}
