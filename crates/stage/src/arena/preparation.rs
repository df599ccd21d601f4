//! What the arena may do with a case, by its text alone: pure.
//!
//! Idea: a *tame* case leaves nothing behind but rows. It consists of reads, writes and transaction control;
//! anything else (DDL, SET, LOCK, CALL, functions that change the session or a sequence) makes it wild, and
//! then it runs on a schema and sessions of its own. What is not recognised is wild.
//! Of a tame case's set-up the DDL comes first and the rows follow. Tables can be *refilled* if deleting their
//! rows makes them as good as new: not if they count (AUTO_INCREMENT, SERIAL), react (triggers), or
//! remember (system versioning).
//!
//! Blind spot: a stored function that is there before the case is not looked into.

use std::collections::HashMap;

use anchorite_model::sql::{Dialect, StatementKind, Token, TokenKind, Tokens};
use anchorite_model::{Case, Statement};

/// Functions after which a session is not what it was, or whose value depends on what it did before.
const SESSION_FUNCTIONS: [&str; 16] = [
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
    "LAST_INSERT_ID",
    "ROW_COUNT",
    "FOUND_ROWS",
    "SET_CONFIG",
    "NEXTVAL",
    "CURRVAL",
    "LASTVAL",
    "SETVAL",
    "LAST_INSERT_ROWID",
    "CHANGES",
    "TOTAL_CHANGES",
    "DBLINK",
    "LOAD_EXTENSION",
];
/// Beginnings of such functions' names: advisory locks, logical messages, large objects.
const SESSION_FUNCTION_PREFIXES: [&str; 3] = ["PG_", "LO_", "DBLINK_"];

/// Words in the DDL of tables that are not as good as new when their rows are deleted.
const LASTING_WORDS: [&str; 12] = [
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "AUTO_RANDOM",
    "SERIAL",
    "BIGSERIAL",
    "SMALLSERIAL",
    "IDENTITY",
    "SEQUENCE",
    "NEXTVAL",
    "VERSIONING",
    "TEMPORARY",
    "TEMP",
];

/// So many texts are remembered before all are forgotten.
const READINGS_MAX: usize = 2_000;

/// How a tame case is set up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Preparation<'c> {
    /// What makes the tables.
    pub ddl: &'c [Statement],
    /// What fills them.
    pub rows: &'c [Statement],
    /// The tables in the order of their making, if deleting their rows makes them as good as new.
    pub refilled: Option<Vec<String>>,
}

/// What the text of one statement says.
#[derive(Debug, Clone)]
struct Reading {
    kind: StatementKind,
    is_harmless: bool,
    made: Option<Option<String>>,
}

/// Reads the texts of cases. Most come again and again (tables of a group, statements in rehearsals), so
/// what was read is kept.
#[derive(Debug)]
pub(super) struct Reader {
    dialect: Dialect,
    known: HashMap<String, Reading>,
}

impl Reader {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, known: HashMap::new() }
    }

    fn read(&mut self, statement: &Statement) -> Reading {
        let sql = &statement.sql;
        if let Some(reading) = self.known.get(sql) {
            return reading.clone();
        }
        if self.known.len() >= READINGS_MAX {
            self.known.clear();
        }
        let kind = StatementKind::of(sql);
        let is_ddl = kind == StatementKind::Ddl;
        let reading = Reading {
            is_harmless: is_harmless(sql, self.dialect),
            made: if is_ddl { made_by(sql, self.dialect) } else { None },
            kind,
        };
        self.known.insert(sql.clone(), reading.clone());
        reading
    }

    /// `None` for a wild case.
    pub(super) fn preparation<'c>(&mut self, case: &'c Case) -> Option<Preparation<'c>> {
        if !case.check.is_empty() || !case.teardown.is_empty() {
            return None;
        }
        for step in &case.steps {
            let reading = self.read(&step.statement);
            if !reading.is_harmless || !is_recognised(&reading.kind) {
                return None;
            }
        }
        let setup: Vec<Reading> = case.setup.iter().map(|sql| self.read(sql)).collect();
        let is_ddl = |reading: &Reading| reading.kind == StatementKind::Ddl;
        if !setup
            .iter()
            .all(|reading| reading.is_harmless && (is_ddl(reading) || reading.kind.writes()))
        {
            return None;
        }
        let rows_at = setup.iter().position(|reading| !is_ddl(reading)).unwrap_or(setup.len());
        let (ddl, rows) = case.setup.split_at(rows_at);
        let (tables, filling) = setup.split_at(rows_at);
        let tables: Option<Vec<_>> = tables.iter().map(|reading| reading.made.clone()).collect();
        let refilled = tables
            .map(|tables| tables.into_iter().flatten().collect())
            .filter(|_| !filling.iter().any(is_ddl));
        Some(Preparation { ddl, rows, refilled })
    }
}

fn is_recognised(kind: &StatementKind) -> bool {
    use StatementKind::{Ddl, Other, SetCommand};
    !matches!(kind, Ddl | SetCommand | Other)
}

/// The significant tokens; `None` if the text cannot be read to its end, or hides something in a hint.
fn tokens(sql: &str, dialect: Dialect) -> Option<Vec<Token<'_>>> {
    let tokens: Vec<Token<'_>> = Tokens::new(sql, 0, dialect)
        .filter(|token| token.as_ref().map_or(true, Token::is_significant))
        .collect::<Result<_, _>>()
        .ok()?;
    let is_executed = |token: &Token<'_>| {
        token.kind == TokenKind::Semicolon
            || token.text.starts_with("/*!")
            || token.text.starts_with("/*M!")
    };
    (!tokens.iter().any(is_executed)).then_some(tokens)
}

/// Whether nothing in the text changes more than rows, beyond what the statement's first words say.
fn is_harmless(sql: &str, dialect: Dialect) -> bool {
    let Some(tokens) = tokens(sql, dialect) else { return false };
    let is_select =
        tokens.first().is_some_and(|token| !token.is_word("INSERT") && !token.is_word("REPLACE"));
    !tokens.iter().enumerate().any(|(at, token)| {
        // SELECT … INTO makes a table or sets variables.
        let is_into = is_select && token.is_word("INTO") && !in_insert(&tokens[..at]);
        let is_variable = token.text.starts_with('@');
        is_into || is_variable || (token.kind == TokenKind::Word && changes_session(token.text))
    })
}

/// `WITH … INSERT INTO`, `MERGE INTO`, `REPLACE INTO`: the INTO of a write.
fn in_insert(before: &[Token<'_>]) -> bool {
    before
        .iter()
        .rev()
        .take(3)
        .any(|token| ["INSERT", "REPLACE", "MERGE"].iter().any(|word| token.is_word(word)))
}

fn changes_session(word: &str) -> bool {
    let has_prefix = |prefix: &&str| {
        word.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    SESSION_FUNCTIONS.iter().any(|function| word.eq_ignore_ascii_case(function))
        || SESSION_FUNCTION_PREFIXES.iter().any(has_prefix)
}

/// The table that a DDL statement makes, if any: `Some(None)` for an index or a view. `None` if it does
/// something that deleting rows does not undo.
fn made_by(sql: &str, dialect: Dialect) -> Option<Option<String>> {
    let tokens = tokens(sql, dialect)?;
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    let lasts = |token: &Token<'_>| LASTING_WORDS.iter().any(|word| token.is_word(word));
    if !is(0, "CREATE") || tokens.iter().any(lasts) {
        return None;
    }
    if is(1, "INDEX") || (is(1, "UNIQUE") && is(2, "INDEX")) || is(1, "VIEW") {
        return Some(None);
    }
    // Rows that come with the table would be deleted for good.
    if !is(1, "TABLE") || tokens.iter().any(|token| token.is_word("SELECT")) {
        return None;
    }
    let name = if is(2, "IF") { 5 } else { 2 };
    let is_qualified = tokens.get(name + 1).is_some_and(|token| token.is_symbol("."));
    let name = tokens.get(name).filter(|_| !is_qualified)?;
    Some(Some(name.text.trim_matches(['"', '`', '[', ']']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(setup: &str, steps: &str) -> Case {
        let text: String = setup
            .split(';')
            .map(|sql| format!("/* setup */ {sql};\n"))
            .chain(steps.split(';').map(|sql| format!("/* t1 */ {sql};\n")))
            .collect();
        Case::parse("c", &text).expect("a case")
    }

    #[test]
    fn only_reads_writes_and_transaction_control_are_tame() {
        let table = [
            ("BEGIN; UPDATE t SET a = 1; SAVEPOINT s; ROLLBACK TO s; COMMIT AND CHAIN", true),
            ("INSERT INTO t SELECT * FROM u; SELECT a FROM t FOR UPDATE", true),
            ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", true),
            ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2", true),
            ("BEGIN; ALTER TABLE t ADD b INT", false),
            ("SET autocommit = 0", false),
            ("LOCK TABLE t", false),
            ("SELECT GET_LOCK('a', 1)", false),
            ("SELECT pg_advisory_lock(1)", false),
            ("SELECT a INTO b FROM t", false),
            ("SELECT @x", false),
            ("SELECT /*! SQL_NO_CACHE */ 1", false),
        ];
        for (steps, tame) in table {
            let case = case("CREATE TABLE t (a INT)", steps);
            for dialect in Dialect::ALL {
                assert_eq!(Reader::new(dialect).preparation(&case).is_some(), tame, "{steps}");
            }
        }
    }

    #[test]
    fn a_set_up_is_tables_then_rows() {
        let refilled = |setup: &str| {
            let case = case(setup, "SELECT 1");
            let preparation = Reader::new(Dialect::Mysql).preparation(&case);
            preparation.map(|preparation| {
                (preparation.ddl.len(), preparation.rows.len(), preparation.refilled)
            })
        };
        let tables = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        let simple = "CREATE TABLE b (a INT); CREATE TABLE IF NOT EXISTS `a` (a INT); \
                      CREATE INDEX i ON b (a); INSERT INTO b VALUES (1)";
        assert_eq!(refilled(simple), Some((3, 1, tables(&["b", "a"]))));
        assert_eq!(refilled("CREATE TABLE b (a INT AUTO_INCREMENT)"), Some((1, 0, None)));
        assert_eq!(refilled("CREATE TABLE b AS SELECT 1"), Some((1, 0, None)));
        assert_eq!(refilled("CREATE TABLE s.b (a INT)"), Some((1, 0, None)));
        let late = "CREATE TABLE b (a INT); INSERT INTO b VALUES (1); CREATE INDEX i ON b (a)";
        assert_eq!(refilled(late), Some((1, 2, None)));
        assert_eq!(refilled("SET x = 1; CREATE TABLE b (a INT)"), None);
    }
}
