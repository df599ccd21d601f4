//! What there is to know about a product: the file `targets/NAME.toml`, read.
//!
//! Every section has a default, so that a descriptor which is `like` another one says only what differs. Which values
//! are required is checked when the two are put together (`read`). What each key means is told to people in
//! `docs/adding-a-dbms.md`.

use std::collections::HashSet;

use serde::Deserialize;

use super::classes::{ErrorClasses, ErrorRule};
use super::sections::{
    Connection, Damage, Levels, Question, Scripts, SessionText, Transactions, VersionText, Waits,
};
use super::server::Server;
use crate::sql::Dialect;

/// All that is known about a product.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Descriptor {
    /// The name in targets, `.case` headers, claims files and JSON; in lower case.
    pub name: String,
    /// The name as its makers write it.
    pub title: String,
    /// Further names.
    pub aliases: Vec<String>,
    /// The descriptor that this one is like, except for what it says itself.
    pub like: Option<String>,
    /// What its URLs begin with.
    pub schemes: Vec<String>,
    /// The code that speaks to it: `sqlite`, `mysql`, `postgres` or `cockroach`.
    pub driver: String,
    /// Its family of lexical rules.
    pub dialect: Option<Dialect>,
    /// What findings of products with the same engine have in common.
    pub engine: String,
    /// The products that understand its SQL, mostly.
    pub speakers: Vec<String>,
    /// Its claims: a file beside the descriptor, or the name of the product whose claims hold here too. Built-in
    /// products have the file of their own name.
    pub claims: Option<String>,
    /// The options of the generator's grammar that it is known to have.
    pub features: HashSet<String>,
    /// The ways in which an embedded engine can be set up, as `--on NAME:VARIANT` says them.
    pub variants: Vec<String>,
    /// What a URL leaves out, and how a server is recognised.
    pub connection: Connection,
    /// What is peculiar about its version numbers.
    pub version: VersionText,
    /// What its transactions do in their own way.
    pub transactions: Transactions,
    /// Its levels.
    pub levels: Levels,
    /// What a session is given before its first statement.
    pub session: SessionText,
    /// How it is asked who waits for whom.
    pub waits: Waits,
    /// The settings that a run records.
    pub settings: Vec<Question>,
    /// What its errors mean, in order: the first that fits counts.
    pub error: Vec<ErrorRule>,
    /// What an error leaves of the transaction where no rule fits.
    pub other_errors_leave: super::Leaves,
    /// The codes that say that a key is taken.
    pub duplicate_key: Vec<String>,
    /// The codes of a statement that was cancelled.
    pub cancelled: Vec<String>,
    /// The codes by which it refuses an account that lacks a privilege.
    pub forbidden: Vec<String>,
    /// How it says that its own data is damaged.
    pub damage: Damage,
    /// What scripts for its developers look like.
    pub scripts: Scripts,
    /// Where private servers come from, and how they start; `None` for an engine in this process.
    pub server: Option<Server>,

    /// The rules, indexed.
    #[serde(skip)]
    pub(super) classes: ErrorClasses,
    /// Its place among the known ones.
    #[serde(skip)]
    pub(super) place: usize,
    /// The file as data, for those that are like it.
    #[serde(skip)]
    pub(super) source: toml::Table,
}

impl Descriptor {
    /// What its errors mean.
    pub const fn errors(&self) -> &ErrorClasses {
        &self.classes
    }

    /// Its family of lexical rules.
    pub fn dialect(&self) -> Dialect {
        self.dialect.unwrap_or(Dialect::Postgres)
    }

    /// Whether it runs inside this process.
    pub const fn is_embedded(&self) -> bool {
        self.server.is_none()
    }
}
