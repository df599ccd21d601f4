//! Twin schemas: the same case on tables that are stored differently.
//!
//! Idea: an index, a partition or the storage of the rows (heap or clustered) changes how a statement finds its rows,
//! never which rows these are. So a twin has the same tables, rows, sessions and schedule, but one of these things more
//! or less.
//!
//! Assumption: nothing in the schedule refers to indexes or partitions; a case with DDL in its schedule has no twins.
//! Blind spot: what all twins share. Unique keys stay, because they decide which rows there may be.

use anchorite_model::sql::{Dialect, StatementKind, Token, TokenKind, Tokens};
use anchorite_model::{Case, Statement};

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
        let tokens = significant(&statement.sql, dialect);
        match Created::of(&tokens) {
            Some(Created::Index) => {
                twins.push(with_setup(case, "without an index", |setup| drop(setup.remove(at))));
            }
            Some(Created::Table) => {
                twins.extend(without_inline_indexes(case, at, &tokens));
                twins.extend(without_partitions(case, at, &tokens, dialect));
                twins.extend(stored_otherwise(case, at, &tokens));
            }
            None => {}
        }
    }
    if twins.is_empty() {
        twins.extend(with_index(case, dialect));
    }
    twins.truncate(TWINS_MAX);
    twins
}

/// What a statement of the set-up creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Created {
    /// A table that is not a partition of another.
    Table,
    /// An index that allows several rows per key.
    Index,
}

impl Created {
    fn of(tokens: &[Token<'_>]) -> Option<Self> {
        let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
        if !word(0, "CREATE") {
            return None;
        }
        if word(1, "INDEX") {
            return Some(Self::Index);
        }
        let is_partition =
            tokens.windows(2).any(|pair| pair[0].is_word("PARTITION") && pair[1].is_word("OF"));
        (word(1, "TABLE") && !is_partition).then_some(Self::Table)
    }
}

fn significant(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
    Tokens::new(sql, 0, dialect).map_while(Result::ok).filter(Token::is_significant).collect()
}

fn with_setup(case: &Case, change: &str, edit: impl FnOnce(&mut Vec<Statement>)) -> Twin {
    let mut case = case.clone();
    edit(&mut case.setup);
    Twin { change: change.to_owned(), case }
}

/// Without each index that is declared among the columns of a table.
fn without_inline_indexes(case: &Case, at: usize, tokens: &[Token<'_>]) -> Vec<Twin> {
    let sql = &case.setup[at].sql;
    let elements = elements(tokens);
    let is_index = |element: &&[Token<'_>]| {
        element.first().is_some_and(|first| first.is_word("INDEX") || first.is_word("KEY"))
    };
    elements
        .iter()
        .enumerate()
        .filter(|(place, element)| *place > 0 && is_index(element))
        .map(|(place, element)| {
            // The comma before it is removed too.
            let from = elements[place - 1].last().map_or(0, Token::end);
            let to = element.last().map_or(from, Token::end);
            let text = [&sql[..from], &sql[to..]].concat();
            with_setup(case, "without an index", |setup| setup[at].sql = text)
        })
        .collect()
}

/// The comma-separated items of the first parentheses.
fn elements<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let Some(open) = tokens.iter().position(|token| token.is_symbol("(")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let (mut depth, mut from) = (0_usize, open + 1);
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" => depth += 1,
            ")" if depth == 1 => {
                found.push(&tokens[from..at]);
                return found;
            }
            ")" => depth -= 1,
            "," if depth == 1 => {
                found.push(&tokens[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    Vec::new()
}

/// The table in one piece.
fn without_partitions(
    case: &Case,
    at: usize,
    tokens: &[Token<'_>],
    dialect: Dialect,
) -> Option<Twin> {
    let by = tokens
        .windows(2)
        .find(|pair| pair[0].is_word("PARTITION") && pair[1].is_word("BY"))?
        .first()?
        .start;
    let table = tokens.get(2)?.text;
    let is_part = |statement: &Statement| {
        let tokens = significant(&statement.sql, dialect);
        tokens.windows(3).any(|three| {
            three[0].is_word("PARTITION") && three[1].is_word("OF") && three[2].text == table
        })
    };
    let names_part = |sql: &str| {
        // A partition that is written to by its own name.
        let parts = case.setup.iter().filter(|statement| is_part(statement));
        let mut names =
            parts.filter_map(|part| Some(significant(&part.sql, dialect).get(2)?.text.to_owned()));
        names.any(|name| significant(sql, dialect).iter().any(|token| token.text == name))
            || significant(sql, dialect).iter().any(|token| token.is_word("PARTITION"))
    };
    let fills = case.setup.iter().filter(|s| StatementKind::of(&s.sql) != StatementKind::Ddl);
    let mut texts = fills.map(|s| &s.sql).chain(case.steps.iter().map(|step| &step.statement.sql));
    if texts.any(|sql| names_part(sql)) {
        return None;
    }
    let whole = case.setup[at].sql[..by].trim_end().to_owned();
    Some(with_setup(case, "without partitions", |setup| {
        setup[at].sql = whole;
        setup.retain(|statement| !is_part(statement));
    }))
}

/// Rows in the other kind of table: SQLite's with a row number, TiDB's with rows in the order of the key.
fn stored_otherwise(case: &Case, at: usize, tokens: &[Token<'_>]) -> Option<Twin> {
    let sql = &case.setup[at].sql;
    let cut = |from: usize, to: usize| [sql[..from].trim_end(), &sql[to..]].concat();
    if let [.., without, rowid] = tokens
        && without.is_word("WITHOUT")
        && rowid.is_word("ROWID")
    {
        // A key of a table with row numbers may be NULL, or be assigned by the server.
        let says_null = |sql: &str| sql.to_ascii_uppercase().contains("NULL");
        let steps = case.steps.iter().map(|step| &step.statement.sql);
        let fills = case.setup.iter().map(|statement| &statement.sql);
        let mut texts = steps.chain(fills.filter(|sql| *sql != &case.setup[at].sql));
        return (!texts.any(|sql| says_null(sql))).then(|| {
            let text = cut(without.start, rowid.end());
            with_setup(case, "with row numbers", |setup| setup[at].sql = text)
        });
    }
    let apart = tokens.iter().find(|token| token.is_word("NONCLUSTERED"))?;
    let text = cut(apart.start, apart.end());
    Some(with_setup(case, "with its rows in the order of the primary key", |setup| {
        setup[at].sql = text;
    }))
}

/// With an index on the first column of a table that has none.
fn with_index(case: &Case, dialect: Dialect) -> Option<Twin> {
    let (at, table, column) = case.setup.iter().enumerate().find_map(|(at, statement)| {
        let tokens = significant(&statement.sql, dialect);
        Created::of(&tokens).filter(|created| *created == Created::Table)?;
        let column = elements(&tokens).into_iter().find_map(indexable)?;
        Some((at, tokens.get(2)?.text.to_owned(), column.to_owned()))
    })?;
    let sql = format!("CREATE INDEX {ADDED} ON {table} ({column})");
    let change = format!("with an index on {table} ({column})");
    Some(with_setup(case, &change, |setup| setup.insert(at + 1, Statement { sql, line: 0 })))
}

/// The name of an integer column that is not a key.
fn indexable<'a>(element: &[Token<'a>]) -> Option<&'a str> {
    let [name, kind, ..] = element else { return None };
    let is_name = matches!(name.kind, TokenKind::Word | TokenKind::QuotedName);
    let is_number = ["INT", "INTEGER", "BIGINT", "SMALLINT", "INT4", "INT8"]
        .iter()
        .any(|word| kind.is_word(word));
    let is_special = |token: &Token<'_>| {
        ["PRIMARY", "UNIQUE", "GENERATED", "AS"].iter().any(|word| token.is_word(word))
    };
    (is_name && is_number && !element.iter().any(is_special)).then_some(name.text)
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
