//! Statements that keep a record of who wrote each row, in the row itself.
//!
//! Idea: every table gets one more column, the *chain*. An INSERT begins it with a name that no other row has, an
//! UPDATE appends its own label, and a query also returns the rows that it has read. So whoever sees a row sees which
//! version it is, and which versions were before it: row key, version key and the order of the writes in one value.
//! Nothing is read in addition, except for the rows that a statement removes without returning them: they are read and
//! locked immediately before.
//!
//! Source: the writer lists of IsoRel (ISSTA 2025); row and version keys of TxCheck (OSDI 2023). Assumption: a
//! statement may have one more column and mean the same. Blind spot: statements that change rows of several tables,
//! and whatever has no tree; an UPDATE that leaves a row as it was writes a version here.

mod merge;
mod query;
mod setup;
mod several;
mod write;

use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;

use anchorite_model::StatementKind;
use anchorite_model::Value;
use anchorite_model::sql::{Dialect, literal};
use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, ObjectName, SelectItem, SetExpr, Statement,
    TableFactor, TableWithJoins,
};

use crate::parse::parse;
use crate::syntax::last_name;
use crate::tokens::significant;
use crate::walk::Node;

/// The name of the column.
pub const CHAIN: &str = "anchorite_chain";

/// What stands between the chains that an aggregate lists.
pub const BETWEEN_CHAINS: char = ';';

pub use setup::{chained_setup, view};

/// A statement that keeps or shows chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chained {
    /// What is sent immediately before: a locking query for the whole rows that the statement may remove.
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
        /// Whether it may remove such a row.
        removes: bool,
    },
    /// It changes rows of this table.
    Updates(String),
    /// It removes rows of this table; what it returns ends with the whole rows, unless they were read before.
    Deletes(String),
}

/// Why a statement cannot keep chains.
pub type Unchained = &'static str;

/// How the statements of a case keep chains.
#[derive(Debug, Clone)]
pub struct Style {
    /// The family of their language.
    pub dialect: Dialect,
    /// Whether DELETE … RETURNING exists.
    pub returning: bool,
    /// The views of the set-up, each with its table.
    pub views: Vec<(String, String)>,
}

impl Style {
    /// The table behind a name.
    fn base(&self, name: &str) -> String {
        let view = self.views.iter().find(|(view, _)| view == name);
        view.map_or(name, |(_, table)| table).to_owned()
    }
}

/// The statement with chains; `label` is what it leaves in them.
pub fn chained(sql: &str, label: &str, style: &Style) -> Result<Chained, Unchained> {
    let writer = Writer { label, style };
    let made = match StatementKind::of(sql) {
        StatementKind::Ddl if setup::is_index(sql, style.dialect) => Chained::plain(sql),
        StatementKind::Ddl => return Err("there is DDL in the schedule"),
        StatementKind::Select { .. } => query::with_chains(sql, &writer)?,
        kind if kind.writes() => match ignoring(sql, style.dialect)? {
            Some(plain) => write::with_chains(&plain, &writer)?.ignoring(),
            None => write::with_chains(sql, &writer)?,
        },
        StatementKind::Other | StatementKind::SetCommand => {
            return Err("a statement is of a kind that is not followed");
        }
        _ => Chained::plain(sql),
    };
    Ok(made.about_tables(style))
}

/// The UPDATE without IGNORE, which the parser takes for a table; `None` if there is none.
fn ignoring(sql: &str, dialect: Dialect) -> Result<Option<String>, Unchained> {
    let tokens = significant(sql, dialect);
    let [first, second, third, ..] = tokens.as_slice() else { return Ok(None) };
    if dialect != Dialect::Mysql || !first.is_word("UPDATE") {
        return Ok(None);
    }
    if second.is_word("LOW_PRIORITY") {
        return Err(UNKNOWN);
    }
    let plain = || format!("{} {}", first.text, &sql[third.start..]);
    Ok(second.is_word("IGNORE").then(plain))
}

impl Chained {
    /// An UPDATE that leaves out rows of which it would make duplicates: which ones it has seen does not show.
    fn ignoring(mut self) -> Self {
        if let Effect::Updates(table) = &self.effect {
            self.unseen.insert(table.clone());
        }
        let sql = self.sql.replacen("UPDATE", "UPDATE IGNORE", 1);
        Self { sql, decides_by_row: None, ..self }
    }

    /// Whether it changes this table.
    pub fn writes(&self, name: &str) -> bool {
        match &self.effect {
            Effect::Inserts { table, .. } | Effect::Updates(table) | Effect::Deletes(table) => {
                table == name
            }
            Effect::None | Effect::Reads(_) | Effect::Lists(_) => false,
        }
    }

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

    /// The same with the names of tables instead of views.
    fn about_tables(mut self, style: &Style) -> Self {
        match &mut self.effect {
            Effect::None => {}
            Effect::Reads(names) | Effect::Lists(names) => {
                names.iter_mut().for_each(|name| *name = style.base(name));
            }
            Effect::Inserts { table, .. } | Effect::Updates(table) | Effect::Deletes(table) => {
                *table = style.base(table);
            }
        }
        self.decides_by_row = self.decides_by_row.map(|name| style.base(&name));
        self.unseen = self.unseen.iter().map(|name| style.base(name)).collect();
        self
    }
}

/// How chains are written.
pub(crate) struct Writer<'w> {
    label: &'w str,
    style: &'w Style,
}

impl Writer<'_> {
    /// An expression from its text.
    fn expression(&self, text: &str) -> Option<Expr> {
        let Statement::Query(query) = parse(&format!("SELECT {text}"), self.style.dialect)? else {
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

    /// The chain of a row that this statement makes from another one, as text; `column` names the chain of that.
    fn copied(&self, column: &str) -> String {
        let head = self.quoted(&format!("{}(", self.label));
        self.joined(&[&head, column, &self.quoted(")")])
    }

    fn quoted(&self, text: &str) -> String {
        literal(&Value::Text(text.to_owned()), self.style.dialect)
    }

    /// The chain of a row that this statement changes; `column` names its present one.
    fn append(&self, column: &str) -> Option<Expr> {
        let label = self.quoted(&format!(",{}", self.label));
        self.expression(&self.joined(&[column, &label]))
    }

    fn joined(&self, parts: &[&str]) -> String {
        match self.style.dialect {
            Dialect::Mysql => format!("CONCAT({})", parts.join(", ")),
            Dialect::Postgres | Dialect::Sqlite => parts.join(" || "),
        }
    }

    /// All chains of a group of rows.
    fn listed(&self, column: &str) -> Option<Expr> {
        let between = self.quoted(&BETWEEN_CHAINS.to_string());
        self.expression(&match self.style.dialect {
            Dialect::Mysql => format!("GROUP_CONCAT({column} SEPARATOR {between})"),
            Dialect::Postgres => format!("STRING_AGG({column}, {between})"),
            Dialect::Sqlite => format!("GROUP_CONCAT({column}, {between})"),
        })
    }

    /// `name.*`
    fn whole_row(&self, name: &str) -> Option<SelectItem> {
        let Statement::Query(query) = parse(&format!("SELECT {name}.*"), self.style.dialect)?
        else {
            return None;
        };
        let SetExpr::Select(mut select) = *query.body else { return None };
        select.projection.pop()
    }
}

const UNKNOWN: Unchained = "a write is not understood";

type Edit<'e> = Box<dyn FnOnce(&mut Statement) -> Option<()> + 'e>;

fn assignment(value: Expr) -> Assignment {
    let name = ObjectName::from(vec![Ident::new(CHAIN)]);
    Assignment { target: AssignmentTarget::ColumnName(name), value }
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

/// The tables of queries inside others: from this depth on; not the names that WITH gives to queries.
fn tables_below(tree: &Statement, from: usize) -> BTreeSet<String> {
    let (mut depth, mut found, mut given) = (0, BTreeSet::new(), BTreeSet::new());
    crate::walk::Part::walk(tree, &mut |node| {
        match node {
            Node::Query(query) => {
                depth += 1;
                let queries = query.with.iter().flat_map(|with| &with.cte_tables);
                given.extend(queries.map(|query| query.alias.name.value.to_lowercase()));
            }
            Node::QueryEnd => depth -= 1,
            Node::Table(name) if depth >= from => drop(found.insert(last_name(name))),
            _ => {}
        }
        Continue(())
    });
    found.difference(&given).cloned().collect()
}
