//! From a URL, or the name of an embedded engine, to a target.

use anchorite_model::Product;
use anchorite_model::nearest::did_you_mean;

use crate::cockroach::Cockroach;
use crate::endpoint::{BadUrl, Endpoint};
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{Target, TargetError, mysql_family};

/// Why a text did not become a target.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is no URL.
    #[error(transparent)]
    BadUrl(#[from] BadUrl),
    /// It is a URL of something else.
    #[error(
        "unknown target '{0}': expected sqlite, sqlite:wal, sqlite:shared-cache, or a URL that begins \
         with mariadb://, mysql://, tidb://, postgres:// or cockroach://{hint}",
        hint = hint(.0)
    )]
    UnknownScheme(String),
    /// It could not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Opens the target that `text` names.
pub fn open(text: &str) -> Result<Box<dyn Target>, OpenError> {
    if let Some(variant) = sqlite_variant(text) {
        let sqlite = Sqlite::connect(variant);
        return Ok(Box::new(sqlite.map_err(|_| OpenError::UnknownScheme(text.to_owned()))?));
    }
    let endpoint = Endpoint::parse(text)?;
    Ok(match endpoint.scheme.as_str() {
        "postgres" | "postgresql" => {
            let target = Postgres::connect(&endpoint)?;
            if target.is_cockroach() {
                Box::new(Cockroach::connect(&endpoint)?)
            } else {
                Box::new(target)
            }
        }
        "cockroach" | "cockroachdb" => Box::new(Cockroach::connect(&endpoint)?),
        "mysql" | "mariadb" | "tidb" => mysql_family::connect(&endpoint)?,
        other => return Err(OpenError::UnknownScheme(other.to_owned())),
    })
}

/// What an unknown scheme or engine was probably meant to be.
fn hint(text: &str) -> String {
    let products = Product::ALL.into_iter().map(Product::name);
    did_you_mean(text, products.chain(["sqlite:wal", "sqlite:shared-cache"]))
}

fn sqlite_variant(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("sqlite")?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(':') }
}
