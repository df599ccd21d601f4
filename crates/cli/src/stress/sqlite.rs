//! SQLite sessions in processes of their own: this program, called with a variable that names the file.

use std::path::Path;
use std::process::{Command, ExitCode};

use anchorite_drivers::sqlite::{SqliteApart, serve};
use anchorite_stress::Fault;

use crate::exit::Exit;

/// Names the file of the session that this process is to serve.
const FILE: &str = "ANCHORITE_SQLITE_SESSION";

/// The target whose sessions can be killed.
const TARGET: &str = "sqlite:wal";

/// Serves a session if this process was started for one.
pub fn serve_sqlite() -> Option<ExitCode> {
    let file = std::env::var_os(FILE)?;
    // The other end may be closed at any moment.
    let _ = serve(Path::new(&file));
    Some(Exit::Fine.into())
}

/// SQLite in processes of their own, if it is to be killed.
pub fn apart(on: &str, faults: &[Fault]) -> anyhow::Result<Option<SqliteApart>> {
    if on != TARGET || !faults.contains(&Fault::KillServer) {
        return Ok(None);
    }
    let us = std::env::current_exe()?;
    Ok(Some(SqliteApart::new(move |file| {
        let mut command = Command::new(&us);
        command.env(FILE, file);
        command
    })))
}
