//! Everything about a product: the file `targets/NAME.toml`, parsed.
//!
//! Every section has a default, so a descriptor that is `like` another states only the differences. Which values are
//! required is checked when the two are merged (`read`). `docs/adding-a-dbms.md` explains each key.

use std::collections::HashSet;

use serde::Deserialize;

use super::classes::{ErrorClasses, ErrorRule};
use super::sections::{
    Connection, Damage, EndWords, Levels, Question, Scripts, SessionText, Transactions,
    VersionText, Waits,
};
use super::server::Server;
use crate::sql::Dialect;

/// The driver of the engine in this process.
const EMBEDDED: &str = "sqlite";

/// Everything that is known about a product.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Descriptor {
    /// The name in targets, `.case` headers, claims files and JSON; in lower case.
    pub name: String,
    /// The name in the vendor's spelling.
    pub title: String,
    /// Further names.
    pub aliases: Vec<String>,
    /// The descriptor that this one is like, except for what it says itself.
    pub like: Option<String>,
    /// The schemes of its URLs.
    pub schemes: Vec<String>,
    /// The code that speaks to it: `sqlite`, `mysql`, `postgres` or `cockroach`.
    pub driver: String,
    /// Its family of lexical rules.
    pub dialect: Option<Dialect>,
    /// The engine: products with the same engine share bugs.
    pub engine: String,
    /// The products that mostly understand its SQL.
    pub speakers: Vec<String>,
    /// Its claims: a file next to the descriptor, or the name of the product whose claims also apply here. Built-in
    /// products have the file of their own name.
    pub claims: Option<String>,
    /// The options of the generator's grammar that it is known to have.
    pub features: HashSet<String>,
    /// Options that it accepts and that are not used all the same, because what they do there cannot be judged.
    pub avoid: HashSet<String>,
    /// The variants of an embedded engine, as in `--on NAME:VARIANT`.
    pub variants: Vec<String>,
    /// What a URL leaves out, and how a server is recognised.
    pub connection: Connection,
    /// The peculiarities of its version numbers.
    pub version: VersionText,
    /// The peculiarities of its transactions.
    pub transactions: Transactions,
    /// Its levels.
    pub levels: Levels,
    /// The preparation of a session before its first statement.
    pub session: SessionText,
    /// How to ask it who waits for whom.
    pub waits: Waits,
    /// The settings that a run records.
    pub settings: Vec<Question>,
    /// What its errors mean, in order: the first that matches counts.
    pub error: Vec<ErrorRule>,
    /// What an error leaves of the transaction if no rule matches.
    pub other_errors_leave: super::Leaves,
    /// The codes of duplicate keys.
    pub duplicate_key: Vec<String>,
    /// The codes of a statement that was cancelled.
    pub cancelled: Vec<String>,
    /// The codes of a missing privilege.
    pub forbidden: Vec<String>,
    /// How it reports that its own data is damaged.
    pub damage: Damage,
    /// How it says why it ended.
    pub ending: EndWords,
    /// What scripts for its developers look like.
    pub scripts: Scripts,
    /// Where private servers come from, and how they start; `None` where there are none.
    pub server: Option<Server>,

    /// The rules, indexed.
    #[serde(skip)]
    pub(super) classes: ErrorClasses,
    /// Its index among the known products.
    #[serde(skip)]
    pub(super) place: usize,
    /// The file as data, for descriptors that are like it.
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
    pub fn is_embedded(&self) -> bool {
        self.driver == EMBEDDED
    }
}
