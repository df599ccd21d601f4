//! How each product is initialised and started: pure data, one file per product.
//!
//! Idea: what differs between products is command lines, so this is what the files here produce; running
//! them is the same code for all (`running`). The settings are made for throw-away servers: no durability,
//! no background work that would change timing, long lock waits, because a lock wait is what we study.

pub(crate) mod cockroach;
pub(crate) mod mariadb;
pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod tidb;

use std::path::{Path, PathBuf};

use anchorite_model::Product;
use rustix::process::Signal;

use crate::user::{OtherUser, instead_of_root};
use crate::{Error, catalog};

/// The folder with the data of a server, in its own folder.
pub(crate) const DATA: &str = "data";

/// A server that is about to be started: which program, which version, where its files are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerFiles<'a> {
    /// The server program.
    pub program: &'a Path,
    /// Its version.
    pub version: &'a str,
    /// The folder of this server.
    pub folder: &'a Path,
    /// Whether we are root (and the server runs as ourselves).
    pub as_root: bool,
}

impl ServerFiles<'_> {
    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// The folder for sockets, logs and temporary files; the server's working directory.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// A path inside the run folder, as an argument.
    pub(crate) fn in_run(&self, name: &str) -> String {
        self.run().join(name).display().to_string()
    }

    /// The folder above the program's folder: where `share` and `lib` are.
    pub(crate) fn base(&self) -> PathBuf {
        let folder = self.program.parent();
        folder.and_then(Path::parent).unwrap_or(Path::new("/usr")).to_owned()
    }
}

/// One command that helps to create the data folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InitStep {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Further environment variables.
    pub env: Vec<(&'static str, String)>,
    /// What it reads from standard input, piece by piece.
    pub input: Vec<Piece>,
}

/// A part of an input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// This text.
    Text(&'static str),
    /// The contents of this file.
    File(PathBuf),
}

/// The command that is the server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The arguments.
    pub args: Vec<String>,
    /// Further environment variables.
    pub env: Vec<(&'static str, String)>,
    /// Files that must be there before: path and contents.
    pub files: Vec<(PathBuf, String)>,
    /// The Unix socket, if it has one.
    pub socket: Option<PathBuf>,
    /// The log that the server writes itself, beside what it prints.
    pub log: Option<PathBuf>,
}

/// The commands that create the data folder; empty for products that need none.
pub(crate) fn init(product: Product, files: &ServerFiles<'_>) -> Vec<InitStep> {
    match catalog::server(product).start.as_str() {
        "mariadb" => mariadb::init(files),
        "mysql" => mysql::init(files),
        "postgres" => postgres::init(files),
        _ => Vec::new(),
    }
}

/// The command that is the server, listening on this port.
pub(crate) fn launch(product: Product, files: &ServerFiles<'_>, port: u16) -> Launch {
    let server = catalog::server(product);
    let mut launch = match server.start.as_str() {
        "mariadb" => mariadb::launch(files, port),
        "mysql" => mysql::launch(files, port),
        "postgres" => postgres::launch(files, port),
        "tidb" => tidb::launch(files, port),
        "cockroach" => cockroach::launch(files, port),
        _ => Launch::default(),
    };
    launch.args.extend(server.arguments.iter().cloned());
    launch
}

/// The arguments that do not depend on where the server is: also for containers.
pub(crate) fn settings(product: Product, version: &str) -> Vec<String> {
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    let server = catalog::server(product);
    let mut settings: Vec<String> = match server.start.as_str() {
        "mariadb" => owned(mariadb::settings()),
        "mysql" => owned(mysql::settings(version)),
        "postgres" => postgres::settings(),
        "tidb" => {
            let quiet = ["-L", "error"].map(str::to_owned);
            tidb::settings().into_iter().chain(quiet).collect()
        }
        _ => cockroach::settings(version),
    };
    settings.extend(server.arguments.iter().cloned());
    settings
}

/// The arguments that give a setting of this product's server a value.
pub fn set(product: Product, name: &str, value: &str) -> Result<Vec<String>, Error> {
    match catalog::server(product).start.as_str() {
        "mariadb" | "mysql" => Ok(vec![format!("--{}={value}", name.replace('_', "-"))]),
        "postgres" => Ok(vec!["-c".to_owned(), format!("{name}={value}")]),
        _ => Err(Error::Request {
            request: format!("{name}={value}"),
            reason: format!("{product} has no settings on its command line; it may have an option"),
        }),
    }
}

/// The arguments with which what is committed survives the end of the server, as the vendor documents it; empty if
/// none are known.
pub fn durable(product: Product) -> &'static [String] {
    &catalog::server(product).durable
}

/// Arguments that leave out what only costs time where many sessions run at full speed.
pub fn fast(product: Product) -> &'static [String] {
    &catalog::server(product).fast
}

/// The user that the server runs as, if it cannot be ourselves.
pub(crate) fn other_user(product: Product) -> Option<OtherUser> {
    if is_postgres(product) { instead_of_root() } else { None }
}

/// The account that everything is done with.
pub(crate) fn login(product: Product) -> &'static str {
    &catalog::server(product).login
}

/// The signal after which the server cleans up and ends at once. PostgreSQL's immediate shutdown takes its
/// backends along, which lead sessions of their own, and its shared memory; the others need only SIGKILL.
pub(crate) fn polite_signal(product: Product) -> Option<Signal> {
    is_postgres(product).then_some(Signal::QUIT)
}

/// The arguments that make a program tell its version.
pub(crate) fn version_args(product: Product) -> &'static [String] {
    &catalog::server(product).version_arguments
}

fn is_postgres(product: Product) -> bool {
    catalog::server(product).start == "postgres"
}
