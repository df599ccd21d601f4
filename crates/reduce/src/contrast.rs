//! The nearest variants of a reduced case: the effect of one change.
//!
//! Idea: "if the index is removed, the UPDATE waits" tells a developer more than any explanation. The reducer has
//! already shown that every part is needed to show the finding; the contrast says what happens instead. So the
//! variants here keep the statements and change what is around them: level, keys, indexes, rows, order.
//!
//! Assumption: the caller runs the variants and keeps those that do not show the finding.

use anchorite_model::sql::Dialect;
use anchorite_model::{Case, Level, Outcome, Product, Run, StatementKind};
use anchorite_sql::ast::{ColumnOption, Statement, TableConstraint};

use crate::draft::Draft;
use anchorite_sql::ParsedStatement;
use anchorite_sql::schema;
use anchorite_sql::syntax::{self, columns_in, values_of, values_of_mut};

/// A variant of the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// How it differs, to be read after "the same case".
    pub change: String,
    /// What to run.
    pub case: Case,
    /// At which level; `None` = as the case itself.
    pub level: Option<Level>,
}

/// The rows that are left out one at a time, at most.
const ROWS_MAX: usize = 3;

/// The variants to try, most informative first. `levels` are those of the target, `level` the case's own.
pub fn contrasts(
    case: &Case,
    product: Product,
    levels: &[Level],
    level: Option<Level>,
) -> Vec<Variant> {
    let draft = Draft::of(case, product.dialect());
    let own = level.or(case.header.level);
    let mut variants: Vec<Variant> = levels
        .iter()
        .filter(|other| Some(**other) != own)
        .map(|other| Variant {
            change: format!("at {other}"),
            case: case.clone(),
            level: Some(*other),
        })
        .collect();
    let changed = without_indexes(&draft)
        .into_iter()
        .chain(with_keys(&draft))
        .chain(without_rows(&draft))
        .chain(other_orders(&draft));
    variants.extend(changed.map(|(change, draft)| Variant {
        change,
        case: draft.to_case(),
        level,
    }));
    variants.retain(|variant| variant.level != level || variant.case != draft.to_case());
    variants
}

type Changed = (String, Draft);

/// Without each index and each key.
fn without_indexes(draft: &Draft) -> Vec<Changed> {
    let mut variants = Vec::new();
    for (at, parsed) in draft.setup.iter().enumerate() {
        match parsed.tree() {
            Some(Statement::CreateIndex(index)) => {
                let mut variant = draft.clone();
                variant.setup.remove(at);
                let columns = schema::names(&index.columns).join(", ");
                let table = syntax::last_name(&index.table_name);
                variants.push((format!("without the index on {table} ({columns})"), variant));
            }
            Some(Statement::CreateTable(create)) => {
                let table = syntax::last_name(&create.name);
                for place in 0..create.constraints.len() {
                    let what = constraint_name(&create.constraints[place]);
                    let variant = edited(draft, at, |tree| {
                        if let Statement::CreateTable(create) = tree {
                            create.constraints.remove(place);
                        }
                    });
                    variants.push((format!("without the {what} of {table}"), variant));
                }
                for (place, column) in create.columns.iter().enumerate() {
                    let options = column.options.iter().enumerate();
                    for (number, what) in
                        options.filter_map(|(n, option)| Some((n, option_name(&option.option)?)))
                    {
                        let variant = edited(draft, at, |tree| {
                            if let Statement::CreateTable(create) = tree {
                                create.columns[place].options.remove(number);
                            }
                        });
                        let name = &column.name;
                        variants.push((format!("without the {what} on {table}.{name}"), variant));
                    }
                }
            }
            _ => {}
        }
    }
    variants
}

fn edited(draft: &Draft, at: usize, change: impl FnOnce(&mut Statement)) -> Draft {
    let mut variant = draft.clone();
    variant.setup[at].edit(change);
    variant
}

const fn constraint_name(constraint: &TableConstraint) -> &'static str {
    match constraint {
        TableConstraint::PrimaryKey(_) => "primary key",
        TableConstraint::Unique(_) => "unique key",
        TableConstraint::ForeignKey(_) => "foreign key",
        TableConstraint::Check(_) => "check",
        TableConstraint::Index(_) => "index",
        _ => "constraint",
    }
}

const fn option_name(option: &ColumnOption) -> Option<&'static str> {
    match option {
        ColumnOption::PrimaryKey(_) => Some("primary key"),
        ColumnOption::Unique(_) => Some("unique key"),
        ColumnOption::ForeignKey(_) => Some("foreign key"),
        ColumnOption::Check(_) => Some("check"),
        ColumnOption::NotNull => Some("NOT NULL"),
        ColumnOption::Generated { .. } => Some("generation"),
        _ => None,
    }
}

/// With an index on a column that a condition uses and no index covers.
fn with_keys(draft: &Draft) -> Vec<Changed> {
    let mut variants = Vec::new();
    let used = draft.lines.iter().filter_map(|line| line.parsed.tree());
    let used: Vec<String> = used.flat_map(|tree| columns_in(tree)).collect();
    for table in schema::tables(&draft.setup) {
        let covered = |column: &String| {
            [&table.primary, &table.unique, &table.indexed].iter().any(|keys| keys.contains(column))
        };
        let wanted =
            table.columns.iter().filter(|column| !covered(column) && used.contains(column));
        for column in wanted {
            let mut variant = draft.clone();
            let sql = format!("CREATE INDEX anchorite_contrast ON {} ({column})", table.name);
            let dialect = draft.setup.first().map_or(Dialect::Postgres, ParsedStatement::dialect);
            variant.setup.push(ParsedStatement::read(&sql, dialect));
            variants.push((format!("with an index on {}.{column}", table.name), variant));
        }
    }
    variants
}

/// Without one of the rows.
fn without_rows(draft: &Draft) -> Vec<Changed> {
    let mut variants = Vec::new();
    for (at, parsed) in draft.setup.iter().enumerate() {
        let rows = parsed.tree().and_then(values_of).map_or(&[][..], |values| &values.rows);
        for (place, row) in rows.iter().enumerate().filter(|_| rows.len() > 1) {
            let variant = edited(draft, at, |tree| {
                if let Some(values) = values_of_mut(tree) {
                    values.rows.remove(place);
                }
            });
            let cells: Vec<String> = row.content.iter().map(ToString::to_string).collect();
            variants.push((format!("without the row ({})", cells.join(", ")), variant));
        }
    }
    variants.truncate(ROWS_MAX);
    variants
}

/// One session after the other; and each COMMIT right after the last statement of its transaction.
fn other_orders(draft: &Draft) -> Vec<Changed> {
    let speakers = draft.speakers();
    let mut variants = Vec::new();
    for order in [speakers.clone(), speakers.iter().rev().copied().collect()] {
        let mut variant = draft.clone();
        variant.lines.sort_by_key(|line| order.iter().position(|other| *other == line.session));
        let names: Vec<&str> = order.iter().map(|at| draft.sessions[*at].as_str()).collect();
        variants.push((format!("{}, one after the other", names.join(", then ")), variant));
    }
    for (at, line) in draft.lines.iter().enumerate() {
        let is_end = matches!(line.parsed.kind(), StatementKind::Commit { .. });
        let before = draft.lines[..at].iter().rposition(|other| other.session != line.session);
        if let Some(before) = before.filter(|before| is_end && *before + 1 < at) {
            // The transaction's statements that come after the other session's are moved before it, together with the
            // COMMIT.
            let mut variant = draft.clone();
            let moved: Vec<_> = variant.lines.drain(before + 1..=at).collect();
            variant.lines.splice(before..before, moved);
            let name = &draft.sessions[line.session];
            let other = &draft.sessions[draft.lines[before].session];
            let sql = draft.lines[before].parsed.text();
            variants.push((format!("{name} commits before {other}'s {sql}"), variant));
        }
    }
    variants
}

/// The result of a variant that does not show the finding, in one line; `original` shows it.
pub fn told(original: &Run, variant: &Run) -> String {
    let name = |session: usize| variant.case.sessions[session].as_str();
    let failure = variant.events.iter().find_map(|event| match &event.outcome {
        Outcome::Error(error) => Some((event.session, error.class.name(), &error.message)),
        _ => None,
    });
    let waits =
        |run: &Run| run.events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }));
    let detail = match failure {
        Some((session, "other", message)) => format!(": {} fails: {message}", name(session)),
        Some((session, class, _)) => format!(": {} fails with {class}", name(session)),
        None if waits(original) && !waits(variant) => ": nobody waits".to_owned(),
        None if !waits(original) && waits(variant) => ": somebody waits".to_owned(),
        None => String::new(),
    };
    format!("does not show it{detail}")
}
