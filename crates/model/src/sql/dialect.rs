//! The families of lexical rules; their differences are in the table of [`super::scan`].

use serde::Deserialize;

/// A family of products with the same lexical rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// MySQL, MariaDB and TiDB.
    Mysql,
    /// PostgreSQL and CockroachDB.
    Postgres,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// Every family.
    pub const ALL: [Self; 3] = [Self::Mysql, Self::Postgres, Self::Sqlite];
}
