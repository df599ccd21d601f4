//! Whether what a write does may depend on an order that SQL leaves open.
//!
//! Idea: LIMIT takes some of the rows that match, and a joined UPDATE that takes its values from a partner takes those
//! of any partner, if a row has several. Whatever else a write says, equal tables give equal results.
//!
//! Blind spot: it goes only by the tokens, so a partner of which there can be only one counts as one of several.

use anchorite_model::sql::{Dialect, Token};

use crate::tokens::{is_any, name, outside_parentheses, significant};

/// Whether a write may choose between rows.
pub fn may_choose(sql: &str, dialect: Dialect) -> bool {
    let tokens = significant(sql, dialect);
    let has = |word: &str| tokens.iter().any(|token| token.is_word(word));
    has("LIMIT") || has("FETCH") || takes_from_a_partner(&outside_parentheses(&tokens))
}

/// Whether an UPDATE assigns what is qualified with another name than that of the table that it writes.
fn takes_from_a_partner(tokens: &[Token<'_>]) -> bool {
    let Some((first, rest)) = tokens.split_first() else { return false };
    if !first.is_word("UPDATE") {
        return false;
    }
    let assigned = rest.iter().position(|token| token.is_word("SET")).unwrap_or(rest.len());
    let (head, values) = rest.split_at(assigned);
    let ends = ["JOIN", "ON", "LEFT", "INNER", "CROSS"];
    let is_named = |token: &&Token<'_>| !is_any(token, &["ONLY", "IGNORE", "LOW_PRIORITY", "AS"]);
    let own = head.iter().take_while(|token| !is_any(token, &ends) && !token.is_symbol(","));
    let own: Vec<&str> = own.filter(is_named).filter_map(name).collect();
    let until = |token: &&Token<'_>| !is_any(token, &["FROM", "WHERE"]);
    let values: Vec<&Token<'_>> = values.iter().take_while(until).collect();
    let qualifiers = values.windows(2).filter(|two| two[1].is_symbol(".")).map(|two| two[0]);
    qualifiers.filter_map(name).any(|one| !own.iter().any(|own| own.eq_ignore_ascii_case(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_choose_between_rows() {
        let postgres = |sql| may_choose(sql, Dialect::Postgres);
        let mysql = |sql| may_choose(sql, Dialect::Mysql);
        assert!(mysql("DELETE FROM t ORDER BY a LIMIT 1"));
        assert!(mysql("UPDATE t a JOIN u b ON a.k = b.k SET a.c = b.c"));
        assert!(mysql("UPDATE t, u SET t.c = u.c WHERE t.k = u.k"));
        assert!(!mysql("UPDATE t a JOIN u b ON a.k = b.k SET a.c = a.c + 1 WHERE b.c = 2"));
        assert!(postgres("UPDATE t AS a SET c = b.c FROM u AS b WHERE a.k = b.k"));
        assert!(!postgres("UPDATE t AS a SET c = 5 FROM u AS b WHERE a.k = b.k"));
        assert!(!postgres("DELETE FROM t AS a USING u AS b WHERE a.k = b.k"));
        assert!(!postgres(
            "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET c = u.c"
        ));
        assert!(!postgres("UPDATE t SET c = (SELECT MIN(u.c) FROM u)"));
    }
}
