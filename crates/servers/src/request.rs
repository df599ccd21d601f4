//! What the user asks for: `mariadb`, `mariadb@10.11`, `tidb@v8.5.0`, perhaps with a binary of their own.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anchorite_model::Product;

use crate::Error;

/// A request for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The product.
    pub product: Product,
    /// The version or a prefix of it, without a leading `v`; `None` = whatever is easiest to get here.
    pub version: Option<String>,
    /// The server program to use instead of looking for one.
    pub binary: Option<PathBuf>,
}

impl Request {
    /// A request for any version of a product.
    pub fn any(product: Product) -> Self {
        Self { product, version: None, binary: None }
    }

    /// The version that is looked for: where no version is asked for, `mysql` and `tidb` mean one certain
    /// version, the others mean what the machine has.
    pub(crate) fn effective_version(&self) -> Option<&str> {
        self.version.as_deref().or(match self.product {
            Product::Mysql => Some("9.7"),
            Product::Tidb => Some("8.5"),
            _ => None,
        })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}@{version}", self.product),
            None => write!(f, "{}", self.product),
        }
    }
}

impl FromStr for Request {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |reason: String| Error::Request { request: text.to_owned(), reason };
        let (name, version) = match text.trim().split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text.trim(), None),
        };
        if name.contains("://") {
            return Err(
                bad("this is the address of a running server, not one to start".to_owned()),
            );
        }
        let product: Product = name.parse().map_err(|_| {
            let expected =
                "expected mariadb, mysql, postgres, tidb or cockroach, with an optional @VERSION";
            bad(format!("{expected}{}", Product::hint(name)))
        })?;
        if product == Product::Sqlite {
            return Err(bad("sqlite runs inside the program and needs no server".to_owned()));
        }
        let version = version.map(|version| version.strip_prefix('v').unwrap_or(version));
        if let Some(version) = version
            && !is_version(version)
        {
            let example = crate::catalog::example(product);
            return Err(bad(format!("expected a version after the @, for instance {example}")));
        }
        Ok(Self { product, version: version.map(str::to_owned), binary: None })
    }
}

/// Numbers first, then letters, digits, dots and dashes: nothing that could be a path or an option.
fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
        && text.split('.').all(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_and_version_are_read() {
        let table = [
            ("mariadb", Product::Mariadb, None),
            ("mariadb@10.11", Product::Mariadb, Some("10.11")),
            ("mysql@9.7", Product::Mysql, Some("9.7")),
            ("PostgreSQL@17", Product::Postgres, Some("17")),
            ("tidb@v8.5.0", Product::Tidb, Some("8.5.0")),
            ("cockroach", Product::Cockroach, None),
        ];
        for (text, product, version) in table {
            let request: Request = text.parse().unwrap();
            assert_eq!((request.product, request.version.as_deref()), (product, version), "{text}");
        }
        assert_eq!("tidb@v8.5.0".parse::<Request>().unwrap().to_string(), "tidb@8.5.0");
    }

    #[test]
    fn bad_requests_say_what_was_expected() {
        let table = [
            ("oracle", "expected mariadb, mysql"),
            ("", "expected mariadb, mysql"),
            ("sqlite", "needs no server"),
            ("mariadb@", "expected a version"),
            ("mariadb@latest", "expected a version"),
            ("mariadb@10..1", "expected a version"),
            ("mariadb@10/../..", "expected a version"),
            ("mysql://root@localhost", "running server"),
        ];
        for (text, expected) in table {
            let error = text.parse::<Request>().unwrap_err();
            assert!(error.is_usage());
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
