//! A server that runs: from a request to a handle whose end is the server's end.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anchorite_owner::Identity;

use crate::folder::OwnedFolder;
use crate::install::Installation;
use crate::life::Life;
use crate::options::Options;
use crate::process::Ended;
use crate::starter::Starter;
use crate::{
    Endpoint, Error, Request, copy, data_folder, family, leftovers, limits, obtain, port, tree,
};

/// Where a copy of them is kept.
const IMAGE: &str = "image";

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

    /// Kills the server and everything that it has started, as a crash of its machine would; what it had written to
    /// its files stays, because the system keeps it. To be followed by [`RunningServer::start_again`].
    pub fn kill(&self) -> Result<(), Error> {
        self.folder.kill_process(self.process()?);
        Ok(())
    }

    /// Starts a server that was killed, on the data that it left and on the same port.
    pub fn start_again(&mut self, options: &Options<'_>) -> Result<(), Error> {
        let port = self.endpoint.port;
        let (installation, folder) = (&self.installation, &self.folder);
        let starter =
            Starter { installation, folder, options, keep: false, next_port: &|| Ok(port) };
        let (endpoint, _, life) = starter.run()?;
        if let Life::Process { group, .. } = &life {
            self.pid = Some(*group);
        }
        (self.endpoint, self.life) = (endpoint, life);
        Ok(())
    }

    /// Waits until a server that may be in trouble answers again, and starts one that has ended.
    pub fn revive(&mut self, options: &Options<'_>) -> Result<(), Error> {
        let begun = Instant::now();
        while begun.elapsed() < limits::READY && !self.life.ended_within(limits::READY_SLICE) {
            if (options.ready)(&self.endpoint).is_ok() {
                return Ok(());
            }
        }
        self.kill()?;
        self.start_again(options)
    }

    /// Copies its data as they are at one moment, in which all its processes are stopped.
    pub fn take_image(&self) -> Result<(), Error> {
        let stopped = self.pause()?;
        let copied = self.copy(family::DATA, IMAGE);
        drop(stopped);
        copied
    }

    /// Puts that copy in the place of the data of a server that was killed.
    pub fn restore_image(&self) -> Result<(), Error> {
        self.copy(IMAGE, family::DATA)
    }

    fn copy(&self, from: &str, to: &str) -> Result<(), Error> {
        let [from, to] = [from, to].map(|name| self.folder().join(name));
        if to.exists() {
            fs::remove_dir_all(&to).map_err(Error::io("remove", &to))?;
        }
        let owner = family::other_user(self.endpoint.product);
        copy::tree(&from, &to, owner).map_err(Error::io("copy", &from))
    }

    /// Stops all processes of the server until the value is dropped. They do not notice.
    pub fn pause(&self) -> Result<Paused, Error> {
        Ok(Paused(tree::stop(self.process()?)))
    }

    /// The process that the server is; one in a container is not ours to kill.
    fn process(&self) -> Result<u32, Error> {
        match &self.life {
            Life::Process { group, .. } => Ok(*group),
            Life::Container { .. } => {
                let reason = "it runs in a container".to_owned();
                Err(Error::Request { request: self.endpoint.product.to_string(), reason })
            }
        }
    }

    /// Ends the server and removes its folder. Dropping the value does the same.
    pub fn stop(self) {
        self.folder.end();
    }
}

/// A server that is stopped; it goes on when this is dropped.
#[derive(Debug)]
pub struct Paused(Vec<Identity>);

impl Drop for Paused {
    fn drop(&mut self) {
        tree::resume(&self.0);
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
