//! Literals and the types of columns.
//!
//! Equal literals stay equal: one mapping holds for the whole case, because a value that one statement writes is often
//! the one that another looks for. First all numbers become small ones in the same order, and all strings letters; then
//! each is tried on its own.

use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;

use anchorite_model::sql::{TokenKind, Tokens};
use anchorite_sql::ast::{ColumnOption, DataType, Expr, Statement, Value};

use crate::draft::Draft;
use crate::search::{Picker, Search, Stop};
use anchorite_sql::ParsedStatement;
use anchorite_sql::schema;
use anchorite_sql::syntax::{self, insert_table, values_of};
use anchorite_sql::walk::change_expressions;

/// From a literal's text to another one.
type Renaming = BTreeMap<String, String>;

/// Types become INT, and the values of the column numbers.
pub(super) fn types(draft: &mut Draft, picker: &mut Picker<'_>) {
    for table in schema::tables(&draft.setup) {
        for (at, column) in table.columns.iter().enumerate() {
            let mut changed = false;
            for parsed in &mut draft.setup {
                parsed.edit(|tree| {
                    changed |= to_int(tree, &table.name, column, picker);
                });
            }
            if changed {
                let values = values_in_column(draft, &table.name, at);
                let numbers = values.into_iter().enumerate();
                rename(draft, &numbers.map(|(n, value)| (value, (n + 1).to_string())).collect());
            }
        }
    }
}

fn to_int(tree: &mut Statement, table: &str, name: &str, picker: &mut Picker<'_>) -> bool {
    let Statement::CreateTable(create) = tree else { return false };
    if syntax::last_name(&create.name) != table {
        return false;
    }
    let mut columns = create.columns.iter_mut();
    let column = columns.find(|column| column.name.value.eq_ignore_ascii_case(name));
    let Some(column) = column.filter(|column| {
        !matches!(column.data_type, DataType::Int(None) | DataType::Integer(None))
    }) else {
        return false;
    };
    if !picker.goes() {
        return false;
    }
    column.data_type = DataType::Int(None);
    column.options.retain(|option| {
        !matches!(option.option, ColumnOption::Collation(_) | ColumnOption::CharacterSet(_))
    });
    true
}

/// The literals that are inserted into a column and are not integers.
fn values_in_column(draft: &Draft, table: &str, at: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for tree in draft.parsed_statements().filter_map(ParsedStatement::tree) {
        let Statement::Insert(insert) = tree else { continue };
        if insert_table(insert) != table {
            continue;
        }
        for row in values_of(tree).map_or(&[][..], |values| values.rows.as_slice()) {
            if let Some(Expr::Value(value)) = row.content.get(at) {
                let text = value.to_string();
                let is_other = !matches!(value.value, Value::Null) && text.parse::<i64>().is_err();
                if is_other && !found.contains(&text) {
                    found.push(text);
                }
            }
        }
    }
    found
}

/// Gives every literal of the draft its new text.
fn rename(draft: &mut Draft, renaming: &Renaming) {
    for parsed in draft.sentences_mut() {
        if parsed.tree().is_some() {
            parsed.edit(|tree| {
                change_expressions(tree, &mut |expr| {
                    if let Expr::Value(value) = expr
                        && let Some(new) = renaming.get(&value.to_string())
                    {
                        *expr = literal(new);
                    }
                    Continue(())
                });
            });
        } else {
            let text = renamed_tokens(parsed, renaming);
            parsed.rewrite(&text);
        }
    }
}

fn literal(text: &str) -> Expr {
    let value = match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => Value::SingleQuotedString(inner.to_owned()),
        None => Value::Number(text.to_owned(), false),
    };
    Expr::Value(value.into())
}

fn renamed_tokens(parsed: &ParsedStatement, renaming: &Renaming) -> String {
    let tokens = Tokens::new(parsed.text(), 0, parsed.dialect()).map_while(Result::ok);
    tokens
        .map(|token| match token.kind {
            TokenKind::Number | TokenKind::String => {
                renaming.get(token.text).map_or(token.text, String::as_str)
            }
            _ => token.text,
        })
        .collect()
}

/// The literals of sessions and inserted rows: numbers in order, then strings in order.
fn literals(draft: &Draft) -> (Vec<String>, Vec<String>) {
    let (mut numbers, mut strings) = (Vec::new(), Vec::new());
    let speaking = draft.parsed_statements().filter(|parsed| {
        !matches!(parsed.tree(), Some(Statement::CreateTable(_) | Statement::CreateIndex(_)))
    });
    for token in speaking.flat_map(|parsed| parsed.tokens()) {
        let found = match token.kind {
            TokenKind::Number => &mut numbers,
            TokenKind::String => &mut strings,
            _ => continue,
        };
        if !found.contains(&token.text.to_owned()) {
            found.push(token.text.to_owned());
        }
    }
    let value = |text: &String| text.parse::<f64>().unwrap_or(f64::MAX);
    numbers.sort_by(|a, b| value(a).total_cmp(&value(b)));
    strings.sort();
    (numbers, strings)
}

/// Small numbers and letters.
pub(super) fn simplify(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    let (numbers, strings) = literals(&search.best);
    let ranked: Renaming = numbers
        .iter()
        .filter(|text| *text != "0")
        .zip(1..)
        .map(|(text, rank): (&String, u32)| (text.clone(), rank.to_string()))
        .chain(strings.iter().zip('a'..='z').map(|(text, c)| (text.clone(), format!("'{c}'"))))
        .collect();
    offer(search, &ranked)?;
    let (numbers, strings) = literals(&search.best);
    for text in numbers.iter().rev() {
        for small in ["0", "1", "2"] {
            if offer(search, &Renaming::from([(text.clone(), small.to_owned())]))? {
                break;
            }
        }
    }
    for text in strings.iter().rev() {
        offer(search, &Renaming::from([(text.clone(), "'a'".to_owned())]))?;
    }
    // What is left in the middle moves together, so that the numbers in use are the first ones.
    let (numbers, _) = literals(&search.best);
    let ranked = numbers.iter().filter(|text| *text != "0").zip(1..);
    let ranked = ranked.map(|(text, rank): (&String, u32)| (text.clone(), rank.to_string()));
    offer(search, &ranked.collect()).map(drop)
}

fn offer(search: &mut Search<'_, '_>, renaming: &Renaming) -> Result<bool, Stop> {
    let mut candidate = search.best.clone();
    rename(&mut candidate, renaming);
    search.offer(candidate)
}
