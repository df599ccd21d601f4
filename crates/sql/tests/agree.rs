//! What the tokens of generated statements say agrees with their syntax trees, and with the text searches that were
//! there before, but for differences that have a name here.

use std::collections::BTreeMap;

use anchorite_generate::{Recipe, case};
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Product};
use anchorite_sql::ast::{OnConflictAction, OnInsert, Statement, TableFactor};
use anchorite_sql::syntax::{insert_table, last_name, relations};
use anchorite_sql::walk::{Node, Part};
use anchorite_sql::{Definition, ParsedStatement, RowStatement, locked_table, write_shape};

/// So many statements of each product, at least.
const STATEMENTS: usize = 5_000;
const SEED: u64 = 8;

/// Generated cases, far apart, so that few of them share their tables.
fn cases(product: Product) -> Vec<Case> {
    let recipe = Recipe::new(product);
    let mut cases = Vec::new();
    let mut statements = 0;
    for number in (0..).step_by(50) {
        let case = case(&recipe, SEED, number);
        statements += case.setup.len() + case.steps.len();
        cases.push(case);
        if statements >= STATEMENTS {
            break;
        }
    }
    cases
}

fn products() -> [Product; 3] {
    ["mariadb", "postgres", "sqlite"].map(Product::named)
}

fn statements(case: &Case) -> impl Iterator<Item = &str> {
    let steps = case.steps.iter().map(|step| &step.statement);
    case.setup.iter().chain(steps).map(|statement| statement.sql.as_str())
}

/// The text searches of before.
mod before {
    pub fn updates(sql: &str) -> bool {
        sql.to_ascii_uppercase().contains(" ON ")
    }

    pub fn acts(sql: &str) -> bool {
        let sql = sql.to_ascii_uppercase();
        ["CASCADE", "SET NULL", "SET DEFAULT"].iter().any(|action| sql.contains(action))
    }

    pub fn refers(sql: &str) -> bool {
        sql.to_ascii_uppercase().contains("REFERENCES")
    }

    pub fn mentions(sql: &str, name: &str) -> bool {
        sql.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    }

    pub fn refers_to_itself(sql: &str) -> bool {
        let words = sql.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words: Vec<String> = words.filter(|w| !w.is_empty()).map(str::to_uppercase).collect();
        let created = words.windows(2).find(|pair| pair[0] == "TABLE").map(|pair| &pair[1]);
        words.iter().any(|word| word == "ALTER")
            || words.windows(2).any(|pair| pair[0] == "REFERENCES" && Some(&pair[1]) == created)
    }
}

/// Why an answer may be another one than before.
fn difference(sql: &str, was: bool, is: bool) -> Option<&'static str> {
    match (was, is) {
        _ if was == is => None,
        (true, false) if sql.contains("DO NOTHING") => Some("an INSERT that does nothing"),
        (true, false) if sql.contains(" INDEX ") => Some("the ON of an index"),
        _ => Some("unexplained"),
    }
}

#[test]
fn answers_are_those_of_the_text_searches_or_better() {
    let mut differences: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for product in products() {
        let dialect = product.dialect();
        for case in cases(product) {
            for sql in statements(&case) {
                let kind = StatementKind::of(sql);
                let mut note = |was: bool, is: bool| {
                    if let Some(why) = difference(sql, was, is) {
                        differences.entry(why).or_default().push(sql.to_owned());
                    }
                };
                if let Some(shape) = write_shape(sql, dialect).filter(|_| kind.writes()) {
                    note(before::updates(sql), shape.updates_on_conflict);
                }
                if kind == StatementKind::Ddl {
                    let definition = Definition::read(sql, dialect);
                    note(before::acts(sql), definition.acts);
                    note(before::refers(sql), definition.refers);
                    note(before::refers_to_itself(sql), definition.refers_to_itself());
                }
            }
            assert_same_order(&case, dialect);
        }
    }
    assert_eq!(differences.get("unexplained"), None);
}

/// Tables are found where they were found before: at the first statement that names them.
fn assert_same_order(case: &Case, dialect: Dialect) {
    let ddl = case.setup.iter().map(|statement| statement.sql.as_str());
    let ddl: Vec<&str> = ddl.filter(|sql| StatementKind::of(sql) == StatementKind::Ddl).collect();
    let definitions: Vec<Definition> =
        ddl.iter().map(|sql| Definition::read(sql, dialect)).collect();
    for (at, table) in
        definitions.iter().enumerate().filter_map(|(at, d)| Some((at, d.table.as_ref()?)))
    {
        assert_eq!(ddl.iter().position(|sql| before::mentions(sql, table)), Some(at), "{case}");
    }
}

/// What the tree says about the things that are asked of the tokens.
fn assert_tree_agrees(sql: &str, tree: &Statement, dialect: Dialect) {
    let mut queries = 0;
    let mut tables = 0;
    tree.walk(&mut |node| {
        queries += u32::from(matches!(node, Node::Query(_)));
        tables += u32::from(matches!(node, Node::Table(_)));
        std::ops::ControlFlow::Continue(())
    });
    let shape = write_shape(sql, dialect);
    match tree {
        Statement::Insert(insert) => {
            let Some(shape) = shape else { return };
            assert_eq!(shape.table.to_lowercase(), insert_table(insert), "{sql}");
            let updates = match &insert.on {
                Some(OnInsert::DuplicateKeyUpdate(_)) => true,
                Some(OnInsert::OnConflict(on)) => {
                    matches!(on.action, OnConflictAction::DoUpdate(_))
                }
                _ => false,
            };
            assert_eq!(shape.updates_on_conflict, updates, "{sql}");
        }
        Statement::Update(update) => {
            let Some(shape) = shape else { return };
            let TableFactor::Table { name, .. } = &update.table.relation else { panic!("{sql}") };
            assert_eq!(shape.table.to_lowercase(), last_name(name), "{sql}");
            assert_eq!(shape.has_subquery, queries > 0, "{sql}");
        }
        Statement::Delete(_) => {
            let Some(shape) = shape else { return };
            assert!(relations(tree).contains(&shape.table.to_lowercase()), "{sql}");
            assert_eq!(shape.has_subquery, queries > 0, "{sql}");
            let rows = RowStatement::read(sql, dialect);
            assert!(rows.is_none_or(|rows| rows.is_about(&shape.table)), "{sql}");
        }
        Statement::Query(query) => {
            // What the tokens call sure is so; they may be silent.
            let locked = locked_table(sql, dialect, true);
            let locked = locked.filter(|_| !query.locks.is_empty());
            assert!(
                locked.is_none_or(|table| tables == 1 && relations(tree).contains(&table)),
                "{sql}"
            );
        }
        _ => {}
    }
}

#[test]
fn tokens_and_trees_agree() {
    for product in products() {
        let dialect = product.dialect();
        let mut asked = 0;
        for sql in cases(product).iter().flat_map(statements) {
            let parsed = ParsedStatement::read(sql, dialect);
            // The parser takes MySQL's IGNORE for a table, and the table for its alias.
            let tree = parsed.tree().filter(|_| !sql.starts_with("UPDATE IGNORE"));
            if let Some(tree) = tree {
                assert_tree_agrees(sql, tree, dialect);
                asked += 1;
            }
            let outline = parsed.outline();
            if let Some(Statement::CreateTable(create)) = outline.as_deref() {
                let definition = Definition::read(sql, dialect);
                let table = anchorite_sql::schema::tables(std::slice::from_ref(&parsed)).remove(0);
                assert_eq!(
                    definition.table.map(|name| name.to_lowercase()),
                    Some(last_name(&create.name)),
                    "{sql}"
                );
                let generated: Vec<String> =
                    definition.generated.iter().map(|c| c.to_lowercase()).collect();
                assert_eq!(generated, table.generated, "{sql}");
                assert_eq!(definition.refers, !table.foreign.is_empty(), "{sql}");
            }
        }
        assert!(asked >= STATEMENTS / 2, "{product}: only {asked} statements have a tree");
    }
}
