//! A server that runs: from a request to a handle whose end is the server's end.

use std::path::Path;
use std::time::Duration;

use crate::folder::OwnedFolder;
use crate::install::Installation;
use crate::life::Life;
use crate::options::Options;
use crate::process::Ended;
use crate::starter::Starter;
use crate::{Endpoint, Error, Request, data_folder, leftovers, obtain, port};

/// A throw-away server. It ends, and its folder goes, with this value.
#[derive(Debug)]
pub struct RunningServer {
    /// How to reach it.
    pub endpoint: Endpoint,
    /// The version, from the readiness check or else from the program itself.
    pub version: String,
    /// What was started.
    pub installation: Installation,
    /// The number of the server's process; `None` if a container engine does not say.
    pub pid: Option<u32>,
    life: Life,
    pub(crate) folder: OwnedFolder,
}

impl RunningServer {
    /// The address as a target.
    pub fn url(&self) -> String {
        self.endpoint.url()
    }

    /// The folder with its data and log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        self.life.log_tail(self.folder.path(), self.endpoint.log.as_deref())
    }

    /// Waits until the server has ended by itself or by [`crate::stop_all`]; false if the limit came first.
    pub fn ended_within(&self, limit: Duration) -> bool {
        self.life.ended_within(limit)
    }

    /// How it ended; `None` if it runs, or if that cannot be known.
    pub fn ended(&self) -> Option<Ended> {
        self.life.ended()
    }

    /// Whether [`crate::stop_all`] ended it, as opposed to an end of its own.
    pub fn was_stopped(&self) -> bool {
        self.folder.has_ended()
    }

    /// Ends the server and removes its folder. Dropping the value does the same.
    pub fn stop(self) {
        self.folder.end();
    }
}

/// Finds or fetches a server and starts it.
pub fn start(request: &Request, options: &Options<'_>) -> Result<RunningServer, Error> {
    start_with(request, options, false)
}

/// Starts it; whoever keeps it records it and releases its folder.
pub(crate) fn start_with(
    request: &Request,
    options: &Options<'_>,
    keep: bool,
) -> Result<RunningServer, Error> {
    let installation = obtain(request, options.progress)?;
    for parent in data_folder::all_parents() {
        leftovers::sweep(&parent);
    }
    let parent = data_folder::parent();
    let folder =
        if keep { OwnedFolder::create_kept(&parent)? } else { OwnedFolder::create(&parent)? };
    let next_port = &port::free;
    let starter =
        Starter { installation: &installation, folder: &folder, options, keep, next_port };
    let (endpoint, version, life) = starter.start()?;
    let pid = match &life {
        Life::Process { group, .. } => Some(*group),
        Life::Container { container, .. } => container.pid(),
    };
    Ok(RunningServer { endpoint, version, installation, pid, life, folder })
}
