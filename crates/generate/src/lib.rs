//! From a seed to a case: tables, rows, transactions and a schedule that conflict on purpose.
//!
//! Idea: [`case`] is a pure function of a [`Recipe`], a seed and a number. The tables depend only on the number's
//! group, so that consecutive cases can share them; rows, transactions and schedule depend on the number. Statements
//! take predicates, columns and values from each other, and some of the cases are built around shapes that have shown
//! bugs (`shape`).
//!
//! Sources: WriteCheck (VLDB 2025, findings 3 to 5: one or two tables, at most 5 rows, 5 transactions of 5
//! statements are enough, and keys matter), Troc's forced conflicts, TxCheck's grammar.
//!
//! Assumption: what a statement does must not depend on the order in which rows are visited, else a serial replay
//! could differ from a correct run. The rules are in `set` and `insert`.
//!
//! Blind spot: values are few, mostly small; most tables have at most a handful of rows; views show one table, triggers
//! do one thing, and there are no other routines.

mod condition;
mod ddl;
mod feature;
mod generator;
mod insert;
mod joined;
mod locking;
mod random;
mod rows;
mod savepoints;
mod schedule;
mod schema;
mod select;
mod set;
mod shape;
mod support;
mod transactions;
mod value;
mod weights;
mod write;

use anchorite_model::sql::Dialect;
use anchorite_model::{Case, Header, Product, Statement};

pub use feature::{FEATURES, Feature, known_support, learn, unknown_feature};
pub use support::Support;
pub use weights::{Weights, WeightsError};

use generator::Generator;
use random::{Purpose, Random};

/// What kind of cases to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The product they are written for.
    pub product: Product,
    /// What the target rejects.
    pub support: Support,
    /// How often each option is chosen.
    pub weights: Weights,
}

impl Recipe {
    /// The built-in weights, and what the product is known to have.
    pub fn new(product: Product) -> Self {
        Self { product, support: known_support(product), weights: Weights::default() }
    }

    /// How many consecutive numbers share their tables.
    pub fn group(&self) -> u64 {
        u64::from(self.weights.case.group)
    }
}

/// Generates the case with this number: always and everywhere the same bytes for the same recipe.
pub fn case(recipe: &Recipe, seed: u64, number: u64) -> Case {
    let grammar = Grammar::of(recipe);
    let group = number / recipe.group();
    let schema = schema::make(&grammar, &mut Random::new(seed, Purpose::Schema, group));
    let rows = rows::make(&grammar, &schema, &mut Random::new(seed, Purpose::Rows, number));
    let ddl = schema.tables.iter().flat_map(|table| &table.ddl).chain(&schema.more).cloned();
    let setup: Vec<String> = ddl.chain(rows::inserts(&grammar, &schema, &rows)).collect();
    let random = Random::new(seed, Purpose::Play, number);
    let (sessions, steps) = transactions::make(Generator::new(&grammar, &schema, rows, random));
    Case {
        name: format!("s{seed}-{number}"),
        header: Header { targets: vec![recipe.product], ..Header::default() },
        setup: setup.into_iter().map(|sql| Statement { sql, line: 0 }).collect(),
        sessions,
        steps,
        ..Case::default()
    }
}

/// Cases that try the options of the grammar one by one; [`learn`] takes their results.
pub fn probe_cases(product: Product) -> impl Iterator<Item = (&'static Feature, Case)> {
    FEATURES.iter().map(move |feature| (feature, feature.probe(product)))
}

/// The recipe as the statement generators need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grammar<'r> {
    pub(crate) product: Product,
    pub(crate) dialect: Dialect,
    pub(crate) support: &'r Support,
    pub(crate) weights: &'r Weights,
}

impl<'r> Grammar<'r> {
    fn of(recipe: &'r Recipe) -> Self {
        Self {
            product: recipe.product,
            dialect: recipe.product.dialect(),
            support: &recipe.support,
            weights: &recipe.weights,
        }
    }

    /// Whether the target has this option.
    pub(crate) fn has(&self, feature: &str) -> bool {
        self.support.has(feature) && !self.product.descriptor().avoid.contains(feature)
    }

    /// The weight if the target has this option, else zero.
    pub(crate) fn if_has(&self, feature: &str, weight: u32) -> u32 {
        if self.has(feature) { weight } else { 0 }
    }
}
