//! A container that was started, and what its engine can be asked about it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tool;

/// A container that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Container {
    /// Its name.
    pub name: String,
    /// The podman or docker command.
    pub engine: PathBuf,
}

impl Container {
    /// Stops and removes it, if it still exists.
    pub(crate) fn remove(&self) {
        let _ = tool::ask(&self.engine, ["rm", "-f", "-v", &self.name]);
    }

    /// Whether it runs.
    pub(crate) fn runs(&self) -> bool {
        let format = ["inspect", "--format", "{{.State.Running}}", &self.name];
        tool::ask(&self.engine, format).is_some_and(|(_, output)| output.trim() == "true")
    }

    /// The command that ends when the container ends.
    pub(crate) fn waiting(&self) -> Command {
        let mut command = Command::new(&self.engine);
        command.args(["wait", &self.name]).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The number of its first process on this machine, if the engine tells.
    pub(crate) fn pid(&self) -> Option<u32> {
        let format = ["inspect", "--format", "{{.State.Pid}}", &self.name];
        tool::ask(&self.engine, format)?.1.trim().parse().ok().filter(|pid| *pid != 0)
    }

    /// The last lines that the server printed.
    pub(crate) fn log(&self) -> String {
        let output = tool::ask(&self.engine, ["logs", "--tail", "15", &self.name]);
        output.map(|(_, text)| text).unwrap_or_default()
    }
}
