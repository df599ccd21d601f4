//! Passwords for the servers of `--on`: where they come from if they are not in the URL.
//!
//! Order: the URL; `--password-file`; `--password` (a prompt); then what each vendor's own clients would use
//! (`environment`); finally, if the server wants a password and there is none, a prompt on the terminal, if there is
//! one. A password is kept in memory only. For private servers, which have none, nothing is looked up.

mod environment;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anchorite_drivers::endpoint::Endpoint;
use anchorite_drivers::{Address, OpenError, Target, TargetError};
use anchorite_servers::kept_servers;
use anchorite_stage::StageError;
use clap::Args;

use self::environment::Environment;
use crate::exit::BadInput;
use crate::interrupt::Interrupt;
use crate::output::tell;

/// Arguments of every command with `--on`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Passwords")]
pub struct LoginArgs {
    /// Take the password from this file's first line, for URLs that have none
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Ask for the password, for URLs that have none; PGPASSWORD, ~/.pgpass, MYSQL_PWD and ~/.my.cnf also work
    #[arg(long, conflicts_with = "password_file")]
    password: bool,
}

impl LoginArgs {
    /// Reads the file, if there is one.
    pub fn read(&self, interrupt: &Interrupt) -> Result<Login, BadInput> {
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).map_err(|error| {
                BadInput(format!("--password-file {}: {error}", path.display()))
            })?;
            let line = text.lines().next().unwrap_or_default();
            if line.is_empty() {
                let message = format!(
                    "--password-file {}: expected a password in the first line, which is empty",
                    path.display()
                );
                return Err(BadInput(message));
            }
            Ok(line.to_owned())
        };
        let from_file = self.password_file.as_ref().map(read).transpose()?;
        Ok(Login { from_file, ask: self.password, interrupt: interrupt.clone() })
    }
}

/// Where passwords come from.
pub struct Login {
    from_file: Option<String>,
    ask: bool,
    interrupt: Interrupt,
}

impl Login {
    /// Only passwords in URLs, for tests.
    #[cfg(test)]
    pub fn none() -> Self {
        Self { from_file: None, ask: false, interrupt: Interrupt::default() }
    }

    /// Opens the target of a name or URL, with its password; also returns the address.
    pub fn open(&self, text: &str) -> anyhow::Result<(Box<dyn Target>, Address)> {
        let mut address = Address::parse(text).map_err(told)?;
        if let Address::Server(endpoint) = &mut address
            && !is_private(text)
        {
            self.complete(endpoint)?;
            endpoint.tls.check().map_err(BadInput)?;
        }
        match (address.open(), &mut address) {
            (
                Err(OpenError::Target(TargetError::PasswordWanted { .. })),
                Address::Server(endpoint),
            ) if endpoint.password.is_none() && io::stdin().is_terminal() => {
                endpoint.password = Some(self.ask_for(endpoint)?);
                Ok((address.open().map_err(told)?, address))
            }
            (target, _) => Ok((target.map_err(told)?, address)),
        }
    }

    fn complete(&self, endpoint: &mut Endpoint) -> anyhow::Result<()> {
        if endpoint.password.is_none() {
            endpoint.password = match &self.from_file {
                Some(password) => Some(password.clone()),
                None if self.ask => Some(self.ask_for(endpoint)?),
                None => None,
            };
        }
        Environment::of_this_process().complete(endpoint, &tell)?;
        Ok(())
    }

    fn ask_for(&self, endpoint: &Endpoint) -> anyhow::Result<String> {
        let question = format!("Password for {endpoint}: ");
        // Here Ctrl-C arrives as a character, because the terminal's mode must be restored before we exit.
        let answer = self.interrupt.attend(|| rpassword::prompt_password(question));
        answer.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => StageError::Interrupted.into(),
            _ => BadInput(format!("cannot ask for the password: {error}")).into(),
        })
    }
}

/// Whether the server was started by `anchorite server start --keep`, and so has no password.
fn is_private(url: &str) -> bool {
    kept_servers().is_ok_and(|kept| kept.iter().any(|server| server.url == url))
}

/// A password given as the value of an option would be visible in the process list, and in the error about it.
pub fn refuse_password_argument() -> Result<(), BadInput> {
    let is_password =
        |argument: std::ffi::OsString| argument.to_string_lossy().starts_with("--password=");
    if std::env::args_os().any(is_password) {
        let message = "--password takes no value, because everybody on this machine could read it: it prompts; \
                       see --password-file FILE for scripts";
        return Err(BadInput(message.to_owned()));
    }
    Ok(())
}

/// The error with its exit code.
pub fn told(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Target(error) => error.into(),
        error => BadInput(error.to_string()).into(),
    }
}
