//! The set-up of a case with chains: one more column in each table.
//!
//! Idea: a table gets the column at its end; a view of all columns of one table shows it, too. Blind spot: other views,
//! triggers and routines.

use anchorite_model::StatementKind;
use anchorite_model::sql::Dialect;
use sqlparser::ast::{ColumnDef, DataType, Ident, ObjectType, Statement};

use super::{CHAIN, Style, Unchained, chained, only, tables_below};
use crate::parse::parse;
use crate::syntax::last_name;
use crate::{ParsedStatement, tokens};

/// The type of the column.
const TYPE: &str = "VARCHAR(255)";

/// A statement of the set-up with chains.
pub fn chained_setup(sql: &str, label: &str, style: &Style) -> Result<String, Unchained> {
    const UNKNOWN: Unchained = "the set-up does more than to make and fill tables";
    match StatementKind::of(sql) {
        StatementKind::Ddl => {}
        kind if kind.writes() => return Ok(chained(sql, label, style)?.sql),
        _ => return Err(UNKNOWN),
    }
    let dialect = style.dialect;
    let mut parsed = ParsedStatement::read(sql, dialect);
    match parsed.tree() {
        Some(Statement::CreateIndex(_)) => return Ok(sql.to_owned()),
        Some(Statement::CreateTable(create)) if create.query.is_none() => {}
        Some(_) if view(sql, dialect).is_some() => return Ok(sql.to_owned()),
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

/// The name of a view that shows all columns of some rows of one table, and that table.
pub fn view(sql: &str, dialect: Dialect) -> Option<(String, String)> {
    let tree = parse(sql, dialect)?;
    let tables = tables_below(&tree, 1);
    let Statement::CreateView(view) = &tree else { return None };
    let shown = view.query.to_string().to_uppercase();
    let [table] = tables.iter().collect::<Vec<_>>()[..] else { return None };
    let sqlparser::ast::SetExpr::Select(select) = view.query.body.as_ref() else { return None };
    let [from] = select.from.as_slice() else { return None };
    let is_plain = view.columns.is_empty()
        && shown.starts_with("SELECT * FROM ")
        && shown.matches("SELECT").count() == 1
        && super::query::takes_all(&view.query, select);
    (is_plain && only(from).is_some()).then(|| (last_name(&view.name), table.clone()))
}

/// Whether a statement makes or drops an index, and so nothing that a row shows.
pub(super) fn is_index(sql: &str, dialect: Dialect) -> bool {
    match parse(sql, dialect) {
        Some(Statement::CreateIndex(_)) => true,
        Some(Statement::Drop { object_type, .. }) => object_type == ObjectType::Index,
        _ => false,
    }
}
