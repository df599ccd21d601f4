//! Completion: which words may be meant by the letters before the cursor. Pure.
//!
//! Idea: the tables of the shell are its own, so what was typed says which there are; the server is not asked, because
//! a question could wait for the very locks that somebody is looking at.
//!
//! Blind spot: tables that a procedure creates, and columns that ALTER TABLE adds.

use std::collections::BTreeSet;

use anchorite_model::sql::Dialect;
use anchorite_sql::ParsedStatement;
use anchorite_sql::schema::tables;

use super::commands;

/// Words that statements of experiments consist of.
const KEYWORDS: &str = "ABORT ALTER AND AS ASC BEGIN BETWEEN BY CASE COMMIT COUNT CREATE DEFAULT DELETE DESC DISTINCT \
    DROP ELSE END EXISTS EXPLAIN FOR FOREIGN FROM GROUP HAVING IN INDEX INNER INSERT INT INTO IS ISOLATION JOIN KEY \
    LEFT LEVEL LIKE LIMIT LOCK MODE NOT NOWAIT NULL ON OR ORDER PRIMARY READ REFERENCES RELEASE REPLACE RETURNING \
    ROLLBACK SAVEPOINT SELECT SERIALIZABLE SESSION SET SHARE SKIP LOCKED START SUM TABLE THEN TO TRANSACTION TRUNCATE \
    UNION UNIQUE UPDATE VALUES VARCHAR WHEN WHERE WITH WORK COMMITTED UNCOMMITTED REPEATABLE";
/// After these words comes the name of a table.
const BEFORE_TABLE: [&str; 6] = ["FROM", "INTO", "UPDATE", "JOIN", "TABLE", "TRUNCATE"];

/// The words that are known.
#[derive(Debug)]
pub struct Words {
    dialect: Dialect,
    tables: BTreeSet<String>,
    columns: BTreeSet<String>,
}

impl Words {
    /// Only the keywords.
    pub const fn new(dialect: Dialect) -> Self {
        Self { dialect, tables: BTreeSet::new(), columns: BTreeSet::new() }
    }

    /// Learns the tables that a statement creates.
    pub fn learn(&mut self, sql: &str) {
        for table in tables(&[ParsedStatement::read(sql, self.dialect)]) {
            self.tables.insert(table.name);
            self.columns.extend(table.columns);
        }
    }

    /// Where the word before the cursor begins, and what it may become.
    pub fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = &line[..cursor];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let start = before
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        if before.trim_start().starts_with('.') {
            let found =
                commands::names().into_iter().filter(|name| name.starts_with(before.trim_start()));
            return (before.len() - before.trim_start().len(), found.map(str::to_owned).collect());
        }
        let word = &before[start..];
        let last = before[..start].split_whitespace().last().unwrap_or_default();
        let wants_table = BEFORE_TABLE.iter().any(|keyword| last.eq_ignore_ascii_case(keyword));
        let begins = |candidate: &str| candidate.to_lowercase().starts_with(&word.to_lowercase());
        let mut found: Vec<String> =
            self.tables.iter().filter(|table| begins(table)).cloned().collect();
        if !wants_table || found.is_empty() {
            found.extend(self.columns.iter().filter(|column| begins(column)).cloned());
            if !word.is_empty() {
                found.extend(keywords_like(word));
            }
        }
        found.dedup();
        (start, found)
    }
}

/// The keywords that begin with this word, in its case.
fn keywords_like(word: &str) -> Vec<String> {
    let is_lower = word.chars().all(|c| !c.is_uppercase());
    let found =
        KEYWORDS.split_whitespace().filter(|keyword| keyword.starts_with(&word.to_uppercase()));
    let mut found: Vec<String> = found
        .map(|keyword| if is_lower { keyword.to_lowercase() } else { keyword.to_owned() })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str) -> Vec<String> {
        let mut words = Words::new(Dialect::Mysql);
        words.learn("CREATE TABLE account (id INT PRIMARY KEY, balance INT)");
        words.learn("this is no statement");
        let (start, found) = words.complete(line, line.len());
        found.into_iter().map(|word| format!("{}{word}", &line[..start])).collect()
    }

    #[test]
    fn keywords_tables_and_columns_are_completed() {
        assert_eq!(completed("sel"), ["select"]);
        assert_eq!(completed("SEL"), ["SELECT"]);
        assert_eq!(completed("SELECT * FROM a"), ["SELECT * FROM account"]);
        assert_eq!(completed("SELECT * FROM "), ["SELECT * FROM account"]);
        assert_eq!(completed("UPDATE account SET bal"), ["UPDATE account SET balance"]);
        assert_eq!(completed(".wa"), [".waits"]);
        assert_eq!(completed("SELECT 'é', bal"), ["SELECT 'é', balance"]);
        assert_eq!(completed("zz"), [""; 0]);
    }
}
