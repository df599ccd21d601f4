//! `--client`: the vendor's own clients, side by side in panes of tmux, in a schema of their own.
//!
//! Idea: whoever doubts the shell, or wants to show something to the vendor's people, uses what they use. Nothing is
//! hidden: what prepares a session (its schema, its level) is typed into its client.
//!
//! Assumption: `tmux` runs as a server of its own, with a socket in a temporary folder, so the user's is not touched.
//! The password is in the environment of that server, never in an argument.
//!
//! Blind spot: settings of encryption in a URL are not passed on, the client uses its own.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anchorite_drivers::Address;
use anchorite_drivers::sqlite::scratch_folder;
use anchorite_model::{Level, Product};
use anyhow::Context;

use crate::exit::{BadInput, Exit};
use crate::output::tell;
use crate::targets::OpenTarget;

/// What runs in each pane, and what is typed into it at first.
#[derive(Debug, PartialEq, Eq)]
struct Client {
    program: String,
    arguments: Vec<String>,
    /// The variable for the password.
    password: &'static str,
    prepare: Vec<String>,
}

impl Client {
    /// The client for a target, in the schema of this name; an error says why there is none.
    fn of(
        product: Product,
        address: &Address,
        schema: &str,
        level: Option<Level>,
    ) -> Result<Self, String> {
        let descriptor = product.descriptor();
        let endpoint = match address {
            Address::Server(endpoint) => endpoint,
            Address::Embedded(name) if name.ends_with(":shared-cache") => {
                return Err(
                    "--client: the sessions of sqlite:shared-cache are in one process".to_owned()
                );
            }
            Address::Embedded(_) => {
                // Its client does not wait for a lock by itself.
                let prepare = vec![".timeout 3600000".to_owned(), ".headers on".to_owned()];
                let arguments = vec![schema.to_owned()];
                return Ok(Self {
                    program: "sqlite3".to_owned(),
                    arguments,
                    password: "",
                    prepare,
                });
            }
        };
        let program = descriptor.connection.client.split_whitespace().next();
        let program =
            program.ok_or_else(|| format!("--client: no client of {product} is known"))?.to_owned();
        let port = endpoint.port.unwrap_or(descriptor.connection.port).to_string();
        let user = match endpoint.user.as_str() {
            "" => descriptor.connection.user.clone(),
            user => user.to_owned(),
        };
        let is_mysql = descriptor.driver == "mysql";
        let [host_is, port_is, user_is] =
            if is_mysql { ["-h", "-P", "-u"] } else { ["-h", "-p", "-U"] };
        let address = [host_is, &endpoint.host, port_is, &port, user_is, &user];
        let mut arguments = address.map(str::to_owned).to_vec();
        let mut prepare = Vec::new();
        if is_mysql {
            // A name such as localhost would mean the socket.
            arguments.extend(["--protocol=TCP".to_owned(), schema.to_owned()]);
        } else {
            arguments.push(match endpoint.database.as_str() {
                "" => descriptor.connection.database.clone(),
                database => database.to_owned(),
            });
            prepare.push(format!("SET search_path TO {schema};"));
        }
        let set = level.map(|level| descriptor.levels.set(level)).unwrap_or_default();
        prepare.extend(set.iter().map(|sql| format!("{sql};")));
        let password = if is_mysql { "MYSQL_PWD" } else { "PGPASSWORD" };
        Ok(Self { program, arguments, password, prepare })
    }
}

/// Starts the clients and stays until the user leaves them.
pub fn run(open: &OpenTarget, sessions: usize, level: Option<Level>) -> anyhow::Result<Exit> {
    let tmux = found("tmux").ok_or_else(|| missing("tmux", "puts the clients side by side"))?;
    let schema = open.target.create_schema()?;
    let product = open.target.info().product;
    let client = Client::of(product, &open.address, schema.name(), level).map_err(BadInput)?;
    let program = found(&client.program)
        .ok_or_else(|| missing(&client.program, &format!("is the client of {product}")))?;
    let folder = scratch_folder().context("cannot create a temporary folder")?;
    let panes =
        Panes { tmux, socket: folder.path().join("tmux"), password: password(open, &client) };
    for number in 1..=sessions {
        panes.open(number, &program, &client)?;
    }
    tell(&format!("{sessions} × {}; the tables are in {}", client.program, schema.name()));
    panes.call(&["select-pane", "-t", "anchorite:.0"])?;
    let attached = panes.command(&["attach-session", "-t", "anchorite"]).status();
    // The clients may have ended already, and tmux with them.
    let _ = panes.command(&["kill-server"]).stderr(Stdio::null()).status();
    attached.context("cannot start tmux")?;
    Ok(Exit::Fine)
}

fn password(open: &OpenTarget, client: &Client) -> Option<(&'static str, String)> {
    match &open.address {
        Address::Server(endpoint) => Some((client.password, endpoint.password.clone()?)),
        Address::Embedded(_) => None,
    }
}

fn missing(program: &str, what: &str) -> BadInput {
    BadInput(format!("--client: `{program}`, which {what}, is not on the PATH"))
}

/// The program of this name on the PATH.
fn found(name: &str) -> Option<PathBuf> {
    let folders: OsString = std::env::var_os("PATH")?;
    let is_program = |file: &Path| {
        std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// A tmux of our own.
struct Panes {
    tmux: PathBuf,
    socket: PathBuf,
    password: Option<(&'static str, String)>,
}

impl Panes {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tmux);
        // The user's own settings may number panes in another way.
        command
            .args(["-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(arguments)
            .env_remove("TMUX");
        command.envs(self.password.iter().map(|(name, value)| (name, value)));
        command
    }

    fn call(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = self.command(arguments).output().context("cannot start tmux")?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "tmux {}: {}", arguments[0], said.trim());
        Ok(())
    }

    /// Opens the pane of a session and prepares its client.
    fn open(&self, number: usize, program: &Path, client: &Client) -> anyhow::Result<()> {
        let program = program.to_string_lossy();
        let arguments = client.arguments.iter().map(String::as_str);
        let run: Vec<&str> = std::iter::once(program.as_ref()).chain(arguments).collect();
        let open: &[&str] = match number {
            1 => &["new-session", "-d", "-s", "anchorite", "--"],
            _ => &["split-window", "-t", "anchorite", "-h", "--"],
        };
        self.call(&[open, &run].concat())?;
        let pane = format!("anchorite:.{}", number - 1);
        if number == 1 {
            self.call(&["set-option", "-t", "anchorite", "pane-border-status", "top"])?;
            self.call(&["set-option", "-t", "anchorite", "pane-border-format", " #T "])?;
        }
        self.call(&["select-pane", "-t", &pane, "-T", &format!("t{number}")])?;
        for line in &client.prepare {
            // At the end of an argument `;` would separate two commands of tmux.
            let line =
                line.strip_suffix(';').map_or_else(|| line.clone(), |sql| format!("{sql}\\;"));
            self.call(&["send-keys", "-t", &pane, "-l", &line])?;
            self.call(&["send-keys", "-t", &pane, "Enter"])?;
        }
        self.call(&["select-layout", "-t", "anchorite", "even-horizontal"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(product: &str, address: &str, level: Option<Level>) -> Result<Client, String> {
        let address = Address::parse(address).expect("a target");
        Client::of(Product::named(product), &address, "anchorite_1", level)
    }

    #[test]
    fn each_product_has_its_client() {
        let url = "mysql://me:secret@db:3307";
        let mysql = client("mysql", url, Some(Level::ReadCommitted)).expect("a client");
        assert_eq!(mysql.program, "mysql");
        assert_eq!(mysql.arguments.join(" "), "-h db -P 3307 -u me --protocol=TCP anchorite_1");
        assert_eq!(mysql.prepare, ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"]);
        let postgres = client("postgres", "postgres://db/x", None).expect("a client");
        assert_eq!(postgres.arguments.join(" "), "-h db -p 5432 -U postgres x");
        assert_eq!(postgres.prepare, ["SET search_path TO anchorite_1;"]);
        assert_eq!(client("sqlite", "sqlite:wal", None).expect("a client").program, "sqlite3");
        let told = client("sqlite", "sqlite:shared-cache", None).expect_err("no client");
        assert!(told.contains("in one process"), "{told}");
    }
}
