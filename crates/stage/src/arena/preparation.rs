//! What the arena may do with a case, by its text alone: pure.
//!
//! Idea: a case that consists of reads, writes and transaction control leaves nothing behind but rows. Anything else
//! (DDL, SET, LOCK, CALL, functions that change the session or a sequence), and whatever is not recognised, runs on a
//! schema and sessions of its own. The set-up of a case that leaves only rows has its DDL first; its rows follow.
//! Tables can be *refilled* if deleting their rows makes them as good as new: not if they count (AUTO_INCREMENT,
//! SERIAL), react (triggers), or remember (system versioning).
//!
//! Blind spot: a stored function that is there before the case is not looked into.

use std::collections::HashMap;

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Statement};
use anchorite_sql::Definition;
use anchorite_sql::side_effects::{changes_only_rows, made_by};

use crate::one_session::is_recognised;

/// The most texts that are remembered before all are forgotten.
const READINGS_MAX: usize = 2_000;

/// How a case that leaves only rows is set up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Preparation<'c> {
    /// What makes the tables.
    pub ddl: &'c [Statement],
    /// What fills them.
    pub rows: &'c [Statement],
    /// The tables in the order of their making, if deleting their rows makes them as good as new.
    pub refilled: Option<Vec<String>>,
    /// Whether some table refers to another one.
    pub refers: bool,
}

/// What the text of one statement says.
#[derive(Debug, Clone)]
struct Reading {
    kind: StatementKind,
    changes_only_rows: bool,
    made: Option<Option<String>>,
    refers: bool,
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
            changes_only_rows: changes_only_rows(sql, self.dialect),
            made: if is_ddl { made_by(sql, self.dialect) } else { None },
            refers: is_ddl && Definition::read(sql, self.dialect).refers,
            kind,
        };
        self.known.insert(sql.clone(), reading.clone());
        reading
    }

    /// `None` for a case that may leave more than rows.
    pub(super) fn preparation<'c>(&mut self, case: &'c Case) -> Option<Preparation<'c>> {
        if !case.check.is_empty() || !case.teardown.is_empty() {
            return None;
        }
        for step in &case.steps {
            let reading = self.read(&step.statement);
            if !reading.changes_only_rows || !is_recognised(&reading.kind) {
                return None;
            }
        }
        let setup: Vec<Reading> = case.setup.iter().map(|sql| self.read(sql)).collect();
        let is_ddl = |reading: &Reading| reading.kind == StatementKind::Ddl;
        if !setup
            .iter()
            .all(|reading| reading.changes_only_rows && (is_ddl(reading) || reading.kind.writes()))
        {
            return None;
        }
        let rows_at = setup.iter().position(|reading| !is_ddl(reading)).unwrap_or(setup.len());
        let (ddl, rows) = case.setup.split_at(rows_at);
        let (tables, filling) = setup.split_at(rows_at);
        let refers = tables.iter().any(|reading| reading.refers);
        let tables: Option<Vec<_>> = tables.iter().map(|reading| reading.made.clone()).collect();
        let refilled = tables
            .map(|tables| tables.into_iter().flatten().collect())
            .filter(|_| !filling.iter().any(is_ddl));
        Some(Preparation { ddl, rows, refilled, refers })
    }
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
    fn only_reads_writes_and_transaction_control_leave_only_rows() {
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
        for (steps, leaves_only_rows) in table {
            let case = case("CREATE TABLE t (a INT)", steps);
            for dialect in Dialect::ALL {
                assert_eq!(
                    Reader::new(dialect).preparation(&case).is_some(),
                    leaves_only_rows,
                    "{steps}"
                );
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
