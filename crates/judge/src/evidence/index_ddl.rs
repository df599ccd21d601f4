//! DDL that changes neither rows nor rules about rows: it makes or drops an index that is not unique.
//!
//! Idea: such a statement decides how rows are found, never which. Blind spot: where a scan that waits has come to
//! depends on how the rows are found, so whoever follows scans cannot pass over it.

use anchorite_model::{Run, Statement};
use anchorite_sql::tokens::{name, significant};

use super::transactions::Performed;

/// Whether a statement makes or drops an index that is not unique.
pub fn is_of_index(run: &Run, statement: &Performed<'_>) -> bool {
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
