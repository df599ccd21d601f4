//! Twin schemas: the same case on tables that are stored differently.
//!
//! Idea: an index, a partition or the storage of the rows (heap or clustered) changes how a statement finds its rows,
//! never which rows these are. So a twin has the same tables, rows, sessions and schedule, but one of these things more
//! or less.
//!
//! Assumption: nothing in the schedule refers to indexes or partitions; a case with DDL in its schedule has no twins.
//! Blind spot: what all twins share. Unique keys stay, because they decide which rows there may be.

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Statement};
use anchorite_sql::created::{Created, CreatedTable, Element, Storage};
use anchorite_sql::tokens::significant;

/// The most twins of a case.
const TWINS_MAX: usize = 4;

/// The name of the additional index of a twin.
const ADDED: &str = "anchorite_twin";

/// The same case on other tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Twin {
    /// How its tables differ, to be read after "the same tables".
    pub change: String,
    /// What to run.
    pub case: Case,
}

/// The twins of a case: without each of its indexes, without partitions, stored differently; if there is no index, with
/// one.
pub(super) fn twins(case: &Case, dialect: Dialect) -> Vec<Twin> {
    let is_ddl = |sql: &str| StatementKind::of(sql) == StatementKind::Ddl;
    if case.steps.iter().any(|step| is_ddl(&step.statement.sql)) {
        return Vec::new();
    }
    let mut twins = Vec::new();
    for (at, statement) in case.setup.iter().enumerate() {
        match Created::read(&statement.sql, dialect) {
            Some(Created::Index) => {
                twins.push(with_setup(case, "without an index", |setup| drop(setup.remove(at))));
            }
            Some(Created::Table(table)) => {
                twins.extend(without_inline_indexes(case, at, &table));
                twins.extend(without_partitions(case, at, &table, dialect));
                twins.extend(stored_otherwise(case, at, &table, dialect));
            }
            Some(Created::Partition { .. }) | None => {}
        }
    }
    if twins.is_empty() {
        twins.extend(with_index(case, dialect));
    }
    twins.truncate(TWINS_MAX);
    twins
}

fn with_setup(case: &Case, change: &str, edit: impl FnOnce(&mut Vec<Statement>)) -> Twin {
    let mut case = case.clone();
    edit(&mut case.setup);
    Twin { change: change.to_owned(), case }
}

/// Without each index that is declared among the columns of a table.
fn without_inline_indexes(case: &Case, at: usize, table: &CreatedTable<'_>) -> Vec<Twin> {
    let sql = &case.setup[at].sql;
    let pairs = table.elements.windows(2).filter(|pair| pair[1].is_index());
    pairs
        .map(|pair| {
            // The comma before it is removed too.
            let text = [&sql[..pair[0].place.end], &sql[pair[1].place.end..]].concat();
            with_setup(case, "without an index", |setup| setup[at].sql = text)
        })
        .collect()
}

/// The table in one piece.
fn without_partitions(
    case: &Case,
    at: usize,
    table: &CreatedTable<'_>,
    dialect: Dialect,
) -> Option<Twin> {
    let whole = case.setup[at].sql[..table.partitioned_from?].trim_end().to_owned();
    let partition = |statement: &Statement| match Created::read(&statement.sql, dialect) {
        Some(Created::Partition { name, of }) if of == table.name => Some(name.to_owned()),
        _ => None,
    };
    let names: Vec<String> = case.setup.iter().filter_map(partition).collect();
    // A partition may be written to by its own name, or chosen in a query.
    let mut tokens = filling(case).flat_map(|sql| significant(sql, dialect));
    if tokens.any(|token| token.is_word("PARTITION") || names.iter().any(|n| n == token.text)) {
        return None;
    }
    Some(with_setup(case, "without partitions", |setup| {
        setup[at].sql = whole;
        setup.retain(|statement| partition(statement).is_none());
    }))
}

/// What is done to the tables: the rows of the set-up and the schedule.
fn filling(case: &Case) -> impl Iterator<Item = &str> {
    let fills = case.setup.iter().filter(|s| StatementKind::of(&s.sql) != StatementKind::Ddl);
    fills.chain(case.steps.iter().map(|step| &step.statement)).map(|s| s.sql.as_str())
}

/// Rows in the other kind of table: SQLite's with a row number, TiDB's with rows in the order of the key.
fn stored_otherwise(
    case: &Case,
    at: usize,
    table: &CreatedTable<'_>,
    dialect: Dialect,
) -> Option<Twin> {
    let sql = &case.setup[at].sql;
    let (place, change) = match table.storage.clone()? {
        // A key of a table with row numbers may be NULL, or be assigned by the server.
        Storage::WithoutRowid(_) if says_null(case, dialect) => return None,
        Storage::WithoutRowid(place) => (place, "with row numbers"),
        Storage::Nonclustered(place) => (place, "with its rows in the order of the primary key"),
    };
    let text = [sql[..place.start].trim_end(), &sql[place.end..]].concat();
    Some(with_setup(case, change, |setup| setup[at].sql = text))
}

/// Whether a NULL may come into a table.
fn says_null(case: &Case, dialect: Dialect) -> bool {
    filling(case).flat_map(|sql| significant(sql, dialect)).any(|token| token.is_word("NULL"))
}

/// With an index on the first column of a table that has none.
fn with_index(case: &Case, dialect: Dialect) -> Option<Twin> {
    let (at, table, column) = case.setup.iter().enumerate().find_map(|(at, statement)| {
        let Some(Created::Table(table)) = Created::read(&statement.sql, dialect) else {
            return None;
        };
        let column = table.elements.iter().find_map(Element::plain_integer)?;
        Some((at, table.name, column))
    })?;
    let sql = format!("CREATE INDEX {ADDED} ON {table} ({column})");
    let change = format!("with an index on {table} ({column})");
    Some(with_setup(case, &change, |setup| setup.insert(at + 1, Statement { sql, line: 0 })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setups(sql: &[&str], dialect: Dialect) -> Vec<(String, Vec<String>)> {
        let setup = sql.iter().map(|sql| Statement { sql: (*sql).to_owned(), line: 0 }).collect();
        let case = Case { setup, ..Case::default() };
        let told = |twin: Twin| {
            let setup = twin.case.setup.into_iter().map(|statement| statement.sql);
            (twin.change, setup.collect())
        };
        twins(&case, dialect).into_iter().map(told).collect()
    }

    #[test]
    fn an_index_is_left_out() {
        let twins = setups(
            &["CREATE TABLE t (a INT, KEY (a), b INT)", "CREATE INDEX i ON t (b)"],
            Dialect::Mysql,
        );
        let texts: Vec<&[String]> = twins.iter().map(|(_, setup)| setup.as_slice()).collect();
        assert_eq!(texts[0], ["CREATE TABLE t (a INT, b INT)", "CREATE INDEX i ON t (b)"]);
        assert_eq!(texts[1], ["CREATE TABLE t (a INT, KEY (a), b INT)"]);
        assert_eq!(texts.len(), 2);
    }

    #[test]
    fn unique_keys_stay_and_a_table_without_an_index_gets_one() {
        let twins =
            setups(&["CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, c INT)"], Dialect::Postgres);
        let [(change, setup)] = twins.as_slice() else { panic!("{twins:?}") };
        assert_eq!(change, "with an index on t (c)");
        assert_eq!(setup[1], "CREATE INDEX anchorite_twin ON t (c)");
    }

    #[test]
    fn partitions_become_one_table() {
        let sql = [
            "CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY RANGE (a)",
            "CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (3)",
            "CREATE TABLE t_1 PARTITION OF t DEFAULT",
            "INSERT INTO t VALUES (1)",
        ];
        let twins = setups(&sql, Dialect::Postgres);
        let [(change, setup)] = twins.as_slice() else { panic!("{twins:?}") };
        assert_eq!(change, "without partitions");
        assert_eq!(*setup, ["CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]);
        let by_name = [sql[0], sql[1], sql[2], "INSERT INTO t_1 VALUES (1)"];
        assert!(setups(&by_name, Dialect::Postgres).is_empty());
    }

    #[test]
    fn rows_are_stored_otherwise_where_that_means_the_same() {
        let table = "CREATE TABLE t (a INT PRIMARY KEY, b TEXT) WITHOUT ROWID";
        let twins = setups(&[table, "INSERT INTO t VALUES (1, 'x')"], Dialect::Sqlite);
        assert_eq!(twins[0].1[0], "CREATE TABLE t (a INT PRIMARY KEY, b TEXT)");
        assert!(setups(&[table, "INSERT INTO t VALUES (NULL, 'x')"], Dialect::Sqlite).is_empty());
    }
}
