//! The database products that Anchorite speaks to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::did_you_mean;

/// A database product, as opposed to one running server of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Product {
    /// SQLite, in process.
    Sqlite,
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// TiDB.
    Tidb,
    /// CockroachDB.
    Cockroach,
}

impl Product {
    /// Every product.
    pub const ALL: [Self; 6] =
        [Self::Sqlite, Self::Mariadb, Self::Mysql, Self::Postgres, Self::Tidb, Self::Cockroach];

    /// The name in targets, `.case` headers, claims files and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Tidb => "tidb",
            Self::Cockroach => "cockroach",
        }
    }

    /// What a misspelt name was probably meant to be, as the end of a message; empty where nothing is near.
    pub fn hint(name: &str) -> String {
        did_you_mean(name, Self::ALL.into_iter().map(Self::name))
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no product.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown product '{0}': expected sqlite, mariadb, mysql, postgres, tidb or cockroach{hint}",
    hint = Product::hint(.0)
)]
pub struct UnknownProduct(pub String);

impl FromStr for Product {
    type Err = UnknownProduct;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim().to_lowercase();
        let name = match name.as_str() {
            "postgresql" => "postgres",
            "cockroachdb" => "cockroach",
            other => other,
        };
        Self::ALL
            .into_iter()
            .find(|product| product.name() == name)
            .ok_or_else(|| UnknownProduct(text.to_owned()))
    }
}

/// Which server answered: product, its own version text, and the variant of an embedded engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// The product.
    pub product: Product,
    /// The version as the server itself says it, for instance `10.11.19-MariaDB`.
    pub version: String,
    /// How the engine is set up where that changes its behaviour (`wal`, `shared-cache`), else empty.
    pub variant: String,
}

impl fmt::Display for TargetInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.product, self.version)?;
        if self.variant.is_empty() { Ok(()) } else { write!(f, " ({})", self.variant) }
    }
}
