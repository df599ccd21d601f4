//! Queries that lock the rows that they return.

use anchorite_model::sql::{Dialect, Token};

use crate::tokens::{name, outside_parentheses, significant};

/// A query without its locking clause.
pub fn without_locking_clause(sql: &str, dialect: Dialect) -> Option<&str> {
    let outer = outside_parentheses(&significant(sql, dialect));
    let clause = outer.iter().find(|token| token.is_word("FOR") || token.is_word("LOCK"))?;
    Some(sql[..clause.start].trim_end())
}

/// Whether a query leaves out what others have locked: what it returns depends on who else is there.
pub fn skips_locked(sql: &str, dialect: Dialect) -> bool {
    let tokens = outside_parentheses(&significant(sql, dialect));
    tokens.windows(2).any(|two| two[0].is_word("SKIP") && two[1].is_word("LOCKED"))
}

/// The only table of a locking query whose lock keeps all writers out; `None` where that is not sure. `shares`: whether
/// the product takes shared locks at all.
pub fn locked_table(sql: &str, dialect: Dialect, shares: bool) -> Option<String> {
    let tokens = significant(sql, dialect);
    let has = |word: &str| tokens.iter().any(|token| token.is_word(word));
    let others = ["JOIN", "UNION", "EXCEPT", "INTERSECT", "DISTINCT", "GROUP", "LIMIT", "FETCH"];
    let queries = tokens.iter().filter(|token| token.is_word("SELECT")).count();
    // KEY SHARE lets writers in.
    let lets_in = has("SHARE") && (has("KEY") || !shares);
    if queries != 1 || lets_in || others.into_iter().any(has) {
        return None;
    }
    names_table(&tokens)
}

/// The table after the first FROM, if it is the only one.
fn names_table(tokens: &[Token<'_>]) -> Option<String> {
    let from = tokens.iter().position(|token| token.is_word("FROM"))?;
    let table = name(tokens.get(from + 1)?)?.to_owned();
    let goes_on = tokens.get(from + 2).is_some_and(|t| t.is_symbol(",") || t.is_symbol("."));
    (!goes_on).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locking_clause_is_taken_away() {
        let plain = |sql| without_locking_clause(sql, Dialect::Mysql);
        assert_eq!(
            plain("SELECT * FROM t WHERE a FOR UPDATE NOWAIT"),
            Some("SELECT * FROM t WHERE a")
        );
        assert_eq!(plain("SELECT * FROM t LOCK IN SHARE MODE"), Some("SELECT * FROM t"));
        assert_eq!(plain("SELECT * FROM t"), None);
    }

    #[test]
    fn what_leaves_out_locked_rows_is_known() {
        let skips = |sql| skips_locked(sql, Dialect::Mysql);
        assert!(skips("SELECT * FROM t FOR UPDATE OF t SKIP LOCKED"));
        assert!(!skips("SELECT skip FROM t WHERE a = 'SKIP LOCKED' FOR UPDATE"));
    }

    #[test]
    fn only_locks_that_keep_writers_out_count() {
        let postgres = |sql| locked_table(sql, Dialect::Postgres, true);
        assert_eq!(postgres("SELECT * FROM t WHERE a = 1 FOR UPDATE").as_deref(), Some("t"));
        assert_eq!(postgres("SELECT * FROM t FOR NO KEY UPDATE").as_deref(), Some("t"));
        assert_eq!(postgres("SELECT * FROM t FOR KEY SHARE"), None);
        assert_eq!(postgres("SELECT * FROM t, u FOR UPDATE"), None);
        assert_eq!(postgres("SELECT * FROM t WHERE a IN (SELECT a FROM u) FOR UPDATE"), None);
        assert_eq!(locked_table("SELECT * FROM t LOCK IN SHARE MODE", Dialect::Mysql, false), None);
    }
}
