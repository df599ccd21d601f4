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
        self.folder.join("data")
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
    match product {
        Product::Mariadb => mariadb::init(files),
        Product::Mysql => mysql::init(files),
        Product::Postgres => postgres::init(files),
        Product::Tidb | Product::Cockroach | Product::Sqlite => Vec::new(),
    }
}

/// The command that is the server, listening on this port.
pub(crate) fn launch(product: Product, files: &ServerFiles<'_>, port: u16) -> Launch {
    match product {
        Product::Mariadb => mariadb::launch(files, port),
        Product::Mysql => mysql::launch(files, port),
        Product::Postgres => postgres::launch(files, port),
        Product::Tidb => tidb::launch(files, port),
        Product::Cockroach => cockroach::launch(files, port),
        Product::Sqlite => Launch::default(),
    }
}

/// The user that the server runs as, if it cannot be ourselves.
pub(crate) fn other_user(product: Product) -> Option<OtherUser> {
    if product == Product::Postgres { instead_of_root() } else { None }
}

/// The account that everything is done with.
pub(crate) const fn login(product: Product) -> &'static str {
    match product {
        Product::Postgres => postgres::LOGIN,
        _ => "root",
    }
}

/// The signal after which the server cleans up and ends at once. PostgreSQL's immediate shutdown takes its
/// backends along, which lead sessions of their own, and its shared memory; the others need only SIGKILL.
pub(crate) const fn polite_signal(product: Product) -> Option<Signal> {
    match product {
        Product::Postgres => Some(Signal::QUIT),
        _ => None,
    }
}

/// The arguments that make a program tell its version.
pub(crate) const fn version_args(product: Product) -> &'static [&'static str] {
    match product {
        Product::Tidb => &["-V"],
        Product::Cockroach => &["version"],
        _ => &["--version"],
    }
}
