//! From a URL, or the name of an embedded engine, to a target.

use anchorite_model::Product;
use anchorite_model::nearest::did_you_mean;
use anchorite_model::product::listed;

use crate::cockroach::Cockroach;
use crate::endpoint::{BadUrl, Endpoint};
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{Target, TargetError, mysql_family};

/// Why a text did not become a target.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not a URL.
    #[error(transparent)]
    BadUrl(#[from] BadUrl),
    /// It is a URL of something else.
    #[error(
        "unknown target '{0}': expected {embedded}, or a URL that begins with {schemes}{hint}",
        embedded = embedded().join(", "), schemes = schemes(), hint = hint(.0)
    )]
    UnknownScheme(String),
    /// It could not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Opens the target that `text` names, with the password in it, if any.
pub fn open(text: &str) -> Result<Box<dyn Target>, OpenError> {
    Address::parse(text)?.open()
}

/// Where a target is. Shown without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// In this process: the name, `sqlite:wal`.
    Embedded(String),
    /// A server.
    Server(Box<Endpoint>),
}

impl Address {
    /// Reads a name or a URL.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        if sqlite_variant(text).is_some() {
            return Ok(Self::Embedded(text.to_owned()));
        }
        Ok(Self::Server(Box::new(Endpoint::parse(text)?)))
    }

    /// Opens what is there.
    pub fn open(&self) -> Result<Box<dyn Target>, OpenError> {
        let endpoint = match self {
            Self::Server(endpoint) => endpoint,
            Self::Embedded(name) => {
                let sqlite = Sqlite::connect(sqlite_variant(name).unwrap_or_default());
                let unknown = |_| OpenError::UnknownScheme(name.clone());
                return Ok(Box::new(sqlite.map_err(unknown)?));
            }
        };
        let unknown = || OpenError::UnknownScheme(endpoint.scheme.clone());
        let product = endpoint.product().ok_or_else(unknown)?;
        Ok(match product.descriptor().driver.as_str() {
            "postgres" => {
                let target = Postgres::connect(endpoint)?;
                if target.is_cockroach() {
                    Box::new(Cockroach::connect(endpoint)?)
                } else {
                    Box::new(target)
                }
            }
            "cockroach" => Box::new(Cockroach::connect(endpoint)?),
            "mysql" => mysql_family::connect(endpoint)?,
            _ => return Err(unknown()),
        })
    }
}

/// What an unknown scheme or engine was probably meant to be.
fn hint(text: &str) -> String {
    let embedded = embedded();
    let products: Vec<&str> = Product::all().into_iter().map(Product::name).collect();
    did_you_mean(text, products.into_iter().chain(embedded.iter().map(String::as_str)))
}

/// The engines in this process, in all their variants.
fn embedded() -> Vec<String> {
    let products = Product::all().into_iter().filter(|product| product.descriptor().is_embedded());
    let names = products.flat_map(|product| {
        let variants = product.descriptor().variants.iter();
        let variants = variants.map(move |variant| format!("{product}:{variant}"));
        std::iter::once(product.to_string()).chain(variants)
    });
    names.collect()
}

/// What URLs begin with, in words.
fn schemes() -> String {
    let products = Product::all().into_iter();
    let schemes = products.filter_map(|product| product.descriptor().schemes.first());
    let schemes: Vec<String> = schemes.map(|scheme| format!("{scheme}://")).collect();
    listed(schemes.iter().map(String::as_str))
}

fn sqlite_variant(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("sqlite")?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(':') }
}
