//! Edits of a case that take one thing away: what a known issue needs.
//!
//! Idea: "with the key not moved it passes" says what a bug is about better than any description of it. So an entry of
//! `known/` names the edits after which a case must no longer show anything, and they are tried on every hit before
//! it counts as that issue.
//!
//! Assumption: an edit changes nothing else that matters. If there is nothing in a case that it could take away, the
//! case is not that issue.

use std::str::FromStr;

use anchorite_model::sql::Dialect;
use anchorite_model::{Case, Level, Product, StatementKind};
use anchorite_sql::ParsedStatement;
use anchorite_sql::ast::{
    Assignment, AssignmentTarget, ColumnOption, Expr, Ident, Statement, TableConstraint,
};
use anchorite_sql::schema::{self, Table};
use anchorite_sql::syntax::{insert_table, last_name, relations};

use crate::draft::Draft;

/// An edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// No UPDATE changes a column of a key or an index.
    KeyNotMoved,
    /// Every statement is a transaction of its own.
    WithoutTransactions,
    /// Foreign keys only refuse.
    WithoutActions,
    /// Tables are not partitioned.
    NotPartitioned,
    /// An INSERT with a clause for keys that are taken becomes a query of its table.
    QueryForConflict,
    /// All sessions run at this level.
    AtLevel(Level),
}

impl Edit {
    const NAMED: [(&'static str, Self); 5] = [
        ("key-not-moved", Self::KeyNotMoved),
        ("without-transactions", Self::WithoutTransactions),
        ("without-actions", Self::WithoutActions),
        ("not-partitioned", Self::NotPartitioned),
        ("query-for-conflict", Self::QueryForConflict),
    ];

    /// What it does, to be read after "the same case".
    pub fn told(self) -> String {
        match self {
            Self::KeyNotMoved => "with no key moved".to_owned(),
            Self::WithoutTransactions => "without transactions".to_owned(),
            Self::WithoutActions => "with foreign keys that only refuse".to_owned(),
            Self::NotPartitioned => "without partitions".to_owned(),
            Self::QueryForConflict => {
                "with a query in place of the INSERT that may meet a taken key".to_owned()
            }
            Self::AtLevel(level) => format!("at {level}"),
        }
    }

    /// The edited case, and the level to run it at; `None` if there is nothing to take away.
    pub fn apply(
        self,
        case: &Case,
        product: Product,
        level: Option<Level>,
    ) -> Option<(Case, Option<Level>)> {
        if let Self::AtLevel(other) = self {
            return (level != Some(other)).then(|| (case.clone(), Some(other)));
        }
        let draft = Draft::of(case, product.dialect());
        let mut edited = draft.clone();
        match self {
            Self::KeyNotMoved => keep_keys(&mut edited),
            Self::WithoutTransactions => edited.lines.retain(|line| {
                !matches!(line.parsed.kind(), StatementKind::Begin | StatementKind::Commit { .. })
            }),
            Self::WithoutActions => edited.setup.iter_mut().for_each(drop_actions),
            Self::NotPartitioned => {
                let dialect = product.dialect();
                edited.setup.iter_mut().for_each(|parsed| drop_partitions(parsed, dialect));
            }
            Self::QueryForConflict => query_for_conflict(&mut edited, product.dialect()),
            Self::AtLevel(_) => {}
        }
        let case = edited.to_case();
        (case != draft.to_case()).then_some((case, level))
    }
}

impl FromStr for Edit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(level) = text.strip_prefix("at ") {
            return level.parse().map(Self::AtLevel).map_err(|error| format!("{error}"));
        }
        let found = Self::NAMED.iter().find(|(name, _)| *name == text);
        found.map(|(_, edit)| *edit).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMED.iter().map(|(name, _)| *name).collect();
            format!("unknown edit '{text}': expected {} or at LEVEL", names.join(", "))
        })
    }
}

/// Assigns to every column of a key what it has.
fn keep_keys(draft: &mut Draft) {
    let tables = schema::tables(&draft.setup);
    for line in &mut draft.lines {
        let Some(tree) = line.parsed.tree() else { continue };
        let relations = relations(tree);
        let keys: Vec<String> = tables
            .iter()
            .filter(|table| relations.contains(&table.name))
            .flat_map(keys_of)
            .collect();
        line.parsed.edit(|tree| {
            if let Statement::Update(update) = tree {
                update.assignments.iter_mut().for_each(|assignment| keep_key(assignment, &keys));
            }
        });
    }
}

fn keys_of(table: &Table) -> Vec<String> {
    let Table { primary, unique, indexed, foreign, .. } = table;
    [primary, unique, indexed, foreign].into_iter().flatten().cloned().collect()
}

fn keep_key(assignment: &mut Assignment, keys: &[String]) {
    if let AssignmentTarget::ColumnName(name) = &assignment.target {
        let name = last_name(name);
        if keys.contains(&name) {
            assignment.value = Expr::Identifier(Ident::new(name));
        }
    }
}

fn drop_actions(parsed: &mut ParsedStatement) {
    parsed.edit(|tree| {
        let Statement::CreateTable(create) = tree else { return };
        let of_columns = create.columns.iter_mut().flat_map(|column| &mut column.options);
        let of_columns = of_columns.filter_map(|option| match &mut option.option {
            ColumnOption::ForeignKey(key) => Some(key),
            _ => None,
        });
        let of_table = create.constraints.iter_mut().filter_map(|constraint| match constraint {
            TableConstraint::ForeignKey(key) => Some(key),
            _ => None,
        });
        for key in of_columns.chain(of_table) {
            key.on_delete = None;
            key.on_update = None;
        }
    });
}

fn drop_partitions(parsed: &mut ParsedStatement, dialect: Dialect) {
    let text = parsed.text();
    if let (StatementKind::Ddl, Some(at)) = (parsed.kind(), text.find(" PARTITION BY")) {
        *parsed = ParsedStatement::read(&text[..at], dialect);
    }
}

fn query_for_conflict(draft: &mut Draft, dialect: Dialect) {
    for line in &mut draft.lines {
        if let Some(Statement::Insert(insert)) = line.parsed.tree()
            && (insert.on.is_some() || insert.or.is_some() || insert.ignore)
        {
            let query = format!("SELECT * FROM {}", insert_table(insert));
            line.parsed = ParsedStatement::read(&query, dialect);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_takes_one_thing_away_or_does_not_apply() {
        let text = "/* setup */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n\
                    /* setup */ INSERT INTO t VALUES (1, 1);\n\
                    /* t1 */ BEGIN;\n\
                    /* t1 */ UPDATE t SET a = 2, b = 3;\n\
                    /* t2 */ INSERT INTO t VALUES (1, 2) ON CONFLICT DO NOTHING;\n\
                    /* t1 */ COMMIT;\n";
        let case = Case::parse("edited", text).expect("a case");
        let product = Product::named("postgres");
        let apply = |name: &str| {
            let edit: Edit = name.parse().expect(name);
            edit.apply(&case, product, Some(Level::ReadCommitted))
        };
        let steps = |name: &str| {
            let (case, _) = apply(name).expect(name);
            case.steps.iter().map(|step| step.statement.sql.clone()).collect::<Vec<_>>().join("; ")
        };
        assert!(steps("key-not-moved").contains("UPDATE t SET a = a, b = 3"));
        assert!(steps("query-for-conflict").contains("SELECT * FROM t; COMMIT"));
        assert!(!steps("without-transactions").contains("BEGIN"));
        assert_eq!(apply("without-actions"), None);
        assert_eq!(apply("not-partitioned"), None);
        assert_eq!(apply("at read committed"), None);
        assert_eq!(apply("at serializable").expect("another level").1, Some(Level::Serializable));
        assert!("key-moved".parse::<Edit>().is_err_and(|error| error.contains("key-not-moved")));
    }
}
