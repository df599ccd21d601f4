//! The families of lexical rules; what they differ in is in the table of [`super::scan`].

use crate::Product;

/// A family of products with the same lexical rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

    /// The family that a product belongs to.
    pub const fn of(product: Product) -> Self {
        match product {
            Product::Sqlite => Self::Sqlite,
            Product::Mariadb | Product::Mysql | Product::Tidb => Self::Mysql,
            Product::Postgres | Product::Cockroach => Self::Postgres,
        }
    }
}
