//! What the user asks for: `mariadb`, `mariadb@10.11`, `tidb@v8.5.0`, perhaps with a program of their own, or
//! a recipe file (`recipe:server.toml`).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anchorite_model::Product;
use anchorite_model::product::listed;

use crate::recipe::RecipeFile;
use crate::{Error, catalog};

/// What stands before the name of a recipe file.
const RECIPE: &str = "recipe:";

/// A request for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The product.
    pub product: Product,
    /// The version or a prefix of it, without a leading `v`; `None` = whatever is easiest to get here.
    pub version: Option<String>,
    /// The server program to use instead of looking for one.
    pub binary: Option<PathBuf>,
    /// The recipe file by which the server is built.
    pub recipe: Option<PathBuf>,
}

impl Request {
    /// A request for any version of a product.
    pub fn any(product: Product) -> Self {
        Self { product, version: None, binary: None, recipe: None }
    }

    /// A request for what a recipe file builds.
    fn by_recipe(file: PathBuf) -> Result<Self, Error> {
        let recipe = RecipeFile::read(&file)?;
        let unknown =
            |reason| Error::Given { named_by: "the recipe", program: file.clone(), reason };
        let product = recipe.product().map_err(unknown)?;
        Ok(Self { version: recipe.version.clone(), recipe: Some(file), ..Self::any(product) })
    }

    /// The version that is looked for: where none is asked for, some products mean one certain version,
    /// the others mean what the machine has.
    pub(crate) fn effective_version(&self) -> Option<&str> {
        let usual = || catalog::server(self.product).default_version.as_deref();
        self.version.as_deref().or_else(usual)
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
        if let Some(file) = text.trim().strip_prefix(RECIPE) {
            return Self::by_recipe(PathBuf::from(file));
        }
        let bad = |reason: String| Error::Request { request: text.to_owned(), reason };
        let (name, version) = name_and_version(text);
        let name = name.as_str();
        if name.contains("://") {
            return Err(
                bad("this is the address of a running server, not one to start".to_owned()),
            );
        }
        let product: Product = name.parse().map_err(|_| {
            let names = listed(catalog::products().map(Product::name));
            bad(format!("expected {names}, with an optional @VERSION{}", Product::hint(name)))
        })?;
        if product.descriptor().is_embedded() {
            return Err(bad(format!("{product} runs inside the program and needs no server")));
        }
        let version = version.map(|version| version.strip_prefix('v').unwrap_or(version));
        if let Some(version) = version
            && !is_version(version)
        {
            let example = catalog::example(product);
            return Err(bad(format!("expected a version after the @, for instance {example}")));
        }
        Ok(Self { product, version: version.map(str::to_owned), ..Self::any(product) })
    }
}

/// Both halves of `mariadb@10.11`. An engine may stand behind either: `mariadb:rocksdb@10.11`, `mariadb@10.11:rocksdb`.
fn name_and_version(text: &str) -> (String, Option<&str>) {
    let Some((name, version)) = text.trim().split_once('@') else {
        return (text.trim().to_owned(), None);
    };
    match version.split_once(':') {
        Some((version, engine)) if !name.contains("://") => {
            (format!("{name}:{engine}"), Some(version))
        }
        _ => (name.to_owned(), Some(version)),
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
            ("mariadb", Product::named("mariadb"), None),
            ("mariadb@10.11", Product::named("mariadb"), Some("10.11")),
            ("mariadb:rocksdb", Product::named("mariadb:rocksdb"), None),
            ("mariadb:rocksdb@10.11", Product::named("mariadb:rocksdb"), Some("10.11")),
            ("mariadb@10.11:rocksdb", Product::named("mariadb:rocksdb"), Some("10.11")),
            ("mysql@9.7", Product::named("mysql"), Some("9.7")),
            ("PostgreSQL@17", Product::named("postgres"), Some("17")),
            ("tidb@v8.5.0", Product::named("tidb"), Some("8.5.0")),
            ("cockroach", Product::named("cockroach"), None),
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
