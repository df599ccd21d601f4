//! Statements that keep a record of who wrote each row, in the row itself.
//!
//! Idea: every table gets one more column, the *chain*. An INSERT begins it with a name that no other row has, an
//! UPDATE appends its own label, and a query also returns the rows that it has read. So whoever sees a row sees which
//! version it is, and which versions were before it: row key, version key and the order of the writes in one value.
//! Nothing is read in addition, except by a DELETE where the product has no RETURNING: there the rows are read and
//! locked immediately before.
//!
//! Source: the writer lists of IsoRel (ISSTA 2025); row and version keys of TxCheck (OSDI 2023). Assumption: a
//! statement may have one more column and mean the same. Blind spot: statements that change rows of several tables,
//! REPLACE, and whatever has no tree; an UPDATE that leaves a row as it was writes a version here.

mod query;
mod write;

use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;

use anchorite_model::StatementKind;
use anchorite_model::Value;
use anchorite_model::sql::{Dialect, literal};
use sqlparser::ast::{
    ColumnDef, DataType, Expr, Ident, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
};

use crate::parse::parse;
use crate::syntax::last_name;
use crate::walk::Node;
use crate::{ParsedStatement, tokens};

/// The name of the column.
pub const CHAIN: &str = "anchorite_chain";

/// What stands between the chains that an aggregate lists.
pub const BETWEEN_CHAINS: char = ';';

/// A statement that keeps or shows chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chained {
    /// What is sent immediately before: a locking query for the whole rows that a DELETE will find.
    pub before: Option<String>,
    /// The statement.
    pub sql: String,
    /// What it does with chains.
    pub effect: Effect,
    /// The table of which it chooses rows, if every row is chosen or not by its own values.
    pub decides_by_row: Option<String>,
    /// Tables that it reads without showing which rows, in lower case.
    pub unseen: BTreeSet<String>,
    /// Whether what an UPDATE writes does not depend on what it replaces.
    pub is_blind: bool,
}

/// What a statement does with chains. Tables are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// The last columns that it returns are the whole rows of these tables.
    Reads(Vec<String>),
    /// The last columns that it returns list the chains of these tables' rows.
    Lists(Vec<String>),
    /// It makes rows.
    Inserts {
        /// In this table.
        table: String,
        /// How many it has values for; `None` = as many as its query returns.
        rows: Option<usize>,
        /// Whether a row that is there already is no error.
        tolerant: bool,
    },
    /// It changes rows of this table.
    Updates(String),
    /// It removes rows of this table; what it returns ends with the whole rows, unless they were read before.
    Deletes(String),
}

/// Why a statement cannot keep chains.
pub type Unchained = &'static str;

/// The statement with chains; `label` is what it leaves in them, and `returning` whether DELETE … RETURNING exists.
pub fn chained(
    sql: &str,
    label: &str,
    dialect: Dialect,
    returning: bool,
) -> Result<Chained, Unchained> {
    let writer = Writer { label, dialect, returning };
    match StatementKind::of(sql) {
        StatementKind::Ddl => Err("there is DDL in the schedule"),
        StatementKind::Select { .. } => query::with_chains(sql, &writer),
        kind if kind.writes() => write::with_chains(sql, &writer),
        StatementKind::Other | StatementKind::SetCommand => {
            Err("a statement is of a kind that is not followed")
        }
        _ => Ok(Chained::plain(sql)),
    }
}

/// A statement of the set-up with chains.
pub fn chained_setup(sql: &str, label: &str, dialect: Dialect) -> Result<String, Unchained> {
    const UNKNOWN: Unchained = "the set-up does more than to make and fill tables";
    match StatementKind::of(sql) {
        StatementKind::Ddl => {}
        kind if kind.writes() => return Ok(chained(sql, label, dialect, false)?.sql),
        _ => return Err(UNKNOWN),
    }
    let mut parsed = ParsedStatement::read(sql, dialect);
    match parsed.tree() {
        Some(Statement::CreateIndex(_)) => return Ok(sql.to_owned()),
        Some(Statement::CreateTable(create)) if create.query.is_none() => {}
        Some(_) => return Err(UNKNOWN),
        None => return column_in_text(sql, dialect).ok_or(UNKNOWN),
    }
    parsed.edit(|tree| {
        if let Statement::CreateTable(create) = tree {
            let data_type = DataType::Varchar(None);
            let name = Ident::new(CHAIN);
            create.columns.push(ColumnDef { name, data_type, options: Vec::new() });
        }
    });
    let without_length = format!("{CHAIN} VARCHAR");
    let text = parsed.text().replacen(&without_length, &format!("{CHAIN} {TYPE}"), 1);
    if parsed.is_sound() && text != sql { Ok(text) } else { Err(UNKNOWN) }
}

/// The type of the column.
const TYPE: &str = "VARCHAR(255)";

/// The column at the end of a list that the parser does not know: MySQL's tables with storage options.
fn column_in_text(sql: &str, dialect: Dialect) -> Option<String> {
    let tokens = tokens::significant(sql, dialect);
    let is_table = tokens.get(1).is_some_and(|token| token.is_word("TABLE"));
    if dialect != Dialect::Mysql || !is_table || !tokens.first()?.is_word("CREATE") {
        return None;
    }
    let mut depth = 0;
    let end = tokens.iter().find(|token| {
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        token.text == ")" && depth == 0
    })?;
    let (head, tail) = sql.split_at(end.start);
    Some(format!("{head}, {CHAIN} {TYPE}{tail}"))
}

impl Chained {
    fn plain(sql: &str) -> Self {
        Self {
            before: None,
            sql: sql.to_owned(),
            effect: Effect::None,
            decides_by_row: None,
            unseen: BTreeSet::new(),
            is_blind: false,
        }
    }
}

/// How chains are written.
pub(crate) struct Writer<'w> {
    label: &'w str,
    dialect: Dialect,
    returning: bool,
}

impl Writer<'_> {
    /// An expression from its text.
    fn expression(&self, text: &str) -> Option<Expr> {
        let Statement::Query(query) = parse(&format!("SELECT {text}"), self.dialect)? else {
            return None;
        };
        let SetExpr::Select(mut select) = *query.body else { return None };
        match select.projection.pop()? {
            SelectItem::UnnamedExpr(expr) => Some(expr),
            _ => None,
        }
    }

    /// The chain of a row that this statement makes.
    fn begin(&self, row: usize) -> Option<Expr> {
        self.expression(&self.quoted(&format!("{}.{row}", self.label)))
    }

    fn quoted(&self, text: &str) -> String {
        literal(&Value::Text(text.to_owned()), self.dialect)
    }

    /// The chain of a row that this statement changes; `column` names its present one.
    fn append(&self, column: &str) -> Option<Expr> {
        let label = self.quoted(&format!(",{}", self.label));
        self.expression(&self.joined(&[column, &label]))
    }

    fn joined(&self, parts: &[&str]) -> String {
        match self.dialect {
            Dialect::Mysql => format!("CONCAT({})", parts.join(", ")),
            Dialect::Postgres | Dialect::Sqlite => parts.join(" || "),
        }
    }

    /// All chains of a group of rows.
    fn listed(&self, column: &str) -> Option<Expr> {
        let between = self.quoted(&BETWEEN_CHAINS.to_string());
        self.expression(&match self.dialect {
            Dialect::Mysql => format!("GROUP_CONCAT({column} SEPARATOR {between})"),
            Dialect::Postgres => format!("STRING_AGG({column}, {between})"),
            Dialect::Sqlite => format!("GROUP_CONCAT({column}, {between})"),
        })
    }

    /// `name.*`
    fn whole_row(&self, name: &str) -> Option<SelectItem> {
        let Statement::Query(query) = parse(&format!("SELECT {name}.*"), self.dialect)? else {
            return None;
        };
        let SetExpr::Select(mut select) = *query.body else { return None };
        select.projection.pop()
    }
}

/// A table in a FROM: its name, and what it is called there.
pub(crate) struct Named {
    table: String,
    called: String,
}

/// The table that stands alone here.
fn named(factor: &TableFactor) -> Option<Named> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    let called = alias.as_ref().map_or_else(|| name.to_string(), |alias| alias.name.to_string());
    Some(Named { table: last_name(name), called })
}

/// The only table of a FROM.
fn only(from: &TableWithJoins) -> Option<Named> {
    from.joins.is_empty().then(|| named(&from.relation))?
}

/// The tables of queries inside others: from this depth on.
fn tables_below(tree: &Statement, from: usize) -> BTreeSet<String> {
    let (mut depth, mut found) = (0, BTreeSet::new());
    crate::walk::Part::walk(tree, &mut |node| {
        match node {
            Node::Query(_) => depth += 1,
            Node::QueryEnd => depth -= 1,
            Node::Table(name) if depth >= from => drop(found.insert(last_name(name))),
            _ => {}
        }
        Continue(())
    });
    found
}
