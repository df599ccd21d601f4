//! Servers that outlive the command that started them, recorded one file each.
//!
//! Idea: the record holds the process's number *and* start time, so a number that the system has reused is never taken
//! for the server. A record whose server is gone (killed, machine restarted) is removed with its folder the next time
//! the records are read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anchorite_model::Product;
use anchorite_owner::Identity;
use serde::{Deserialize, Serialize};

use crate::cache::{make_folder, user_folder};
use crate::container::Container;
use crate::install::Runs;
use crate::options::Options;
use crate::process::Process;
use crate::running::{self, RunningServer};
use crate::{Error, Request, family, folder, life};

/// A kept server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name: product and port.
    pub name: String,
    /// What was asked for.
    pub target: String,
    /// The version.
    pub version: String,
    /// Where the server came from.
    pub source: String,
    /// The address.
    pub url: String,
    /// The port.
    pub port: u16,
    /// The process.
    pub pid: u32,
    /// When the process started, in clock ticks since boot; 0 for a container.
    pub started: u64,
    /// The data folder.
    pub folder: PathBuf,
    /// The container engine, if it is a container; the container has the name of the folder.
    pub engine: Option<PathBuf>,
}

/// Like [`crate::start`], but the server outlives this process until [`stop_kept`] stops it.
pub fn keep(request: &Request, options: &Options<'_>) -> Result<Kept, Error> {
    let server = running::start_with(request, options, true)?;
    let kept = Kept::record(request, &server)?;
    server.folder.release();
    Ok(kept)
}

impl Kept {
    /// Writes the record of a server that was just started.
    fn record(request: &Request, server: &RunningServer) -> Result<Self, Error> {
        let port = server.endpoint.port;
        let engine = match &server.installation.runs {
            Runs::Image { engine, .. } => Some(engine.clone()),
            Runs::Program(_) => None,
        };
        let pid = server.pid.unwrap_or(0);
        let identity = Identity::of(pid).filter(|_| engine.is_none());
        let kept = Self {
            name: format!("{}-{port}", request.product),
            target: request.to_string(),
            version: match &engine {
                // The tag of an image may not be a version.
                Some(_) => server.version.clone(),
                None => server.installation.version.clone(),
            },
            source: server.installation.source.name().to_owned(),
            url: server.url(),
            port,
            pid,
            started: identity.map_or(0, |identity| identity.started),
            folder: server.folder().to_owned(),
            engine,
        };
        kept.write(&records()?)?;
        Ok(kept)
    }

    fn write(&self, state: &Path) -> Result<(), Error> {
        make_folder(state)?;
        let path = self.file(state);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        // Written to a temporary file and renamed: a reader sees all of it or nothing.
        let half = path.with_extension("half");
        fs::write(&half, text + "\n").map_err(Error::io("write", &half))?;
        fs::rename(&half, &path).map_err(Error::io("write", &path))
    }

    fn file(&self, state: &Path) -> PathBuf {
        state.join(format!("{}.json", self.name))
    }

    fn container(&self) -> Option<Container> {
        let name = self.folder.file_name()?.to_string_lossy().into_owned();
        Some(Container { name, engine: self.engine.clone()? })
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        match self.container() {
            Some(container) => container.runs(),
            None => Identity { pid: self.pid, started: self.started }.is_alive(),
        }
    }

    /// Whether this text identifies the server.
    fn is_called(&self, name: &str) -> bool {
        let product = self.target.split('@').next();
        [self.name.as_str(), &self.target, &self.url].contains(&name)
            || product == Some(name)
            || name == self.port.to_string()
    }

    /// What the server has printed or written into its log so far.
    pub fn log(&self) -> String {
        match self.container() {
            Some(container) => container.log(),
            None => life::log(&self.folder),
        }
    }

    fn end(&self, state: &Path) -> Result<(), Error> {
        if let Some(container) = self.container() {
            container.remove();
        }
        let identity = Identity { pid: self.pid, started: self.started };
        let product: Option<Product> = self.target.split('@').next().and_then(|p| p.parse().ok());
        let polite = product.and_then(family::polite_signal);
        if let Some(process) = Process::of_others(identity, polite) {
            process.end();
        }
        folder::remove(&self.folder);
        let file = self.file(state);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &file)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Where Anchorite keeps its state: `ANCHORITE_STATE`, else the user's state folder.
pub fn state_folder() -> Result<PathBuf, Error> {
    user_folder("ANCHORITE_STATE", "XDG_STATE_HOME", ".local/state")
}

/// Where the records are.
fn records() -> Result<PathBuf, Error> {
    Ok(state_folder()?.join("servers"))
}

/// The kept servers that run, by name. Records of servers that are gone are removed.
pub fn kept_servers() -> Result<Vec<Kept>, Error> {
    kept_in(&records()?)
}

fn kept_in(state: &Path) -> Result<Vec<Kept>, Error> {
    let Ok(entries) = fs::read_dir(state) else { return Ok(Vec::new()) };
    let mut kept: Vec<Kept> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
        .filter_map(|entry| serde_json::from_str(&fs::read_to_string(entry.path()).ok()?).ok())
        .collect();
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    let (running, gone): (Vec<Kept>, Vec<Kept>) = kept.into_iter().partition(Kept::runs);
    gone.iter().try_for_each(|server| server.end(state))?;
    Ok(running)
}

/// The kept server of this name (or port, target, product).
pub fn kept_server(name: &str) -> Result<Kept, Error> {
    let mut running = kept_servers()?;
    match running.iter().position(|server| server.is_called(name)) {
        Some(at) => Ok(running.swap_remove(at)),
        None => Err(not_kept(name, &running)),
    }
}

fn not_kept(name: &str, running: &[Kept]) -> Error {
    let known: Vec<&str> = running.iter().map(|server| server.name.as_str()).collect();
    let known = match known.as_slice() {
        [] => "there are none".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    Error::NotKept { name: name.to_owned(), known }
}

/// Stops the kept servers of these names (or ports, targets, products); all of them if `names` is `None`.
/// Nothing is stopped if one of the names is unknown.
pub fn stop_kept(names: Option<&[String]>) -> Result<Vec<Kept>, Error> {
    stop_in(&records()?, names)
}

fn stop_in(state: &Path, names: Option<&[String]>) -> Result<Vec<Kept>, Error> {
    let running = kept_in(state)?;
    if let Some(unknown) =
        names.and_then(|names| names.iter().find(|name| !running.iter().any(|s| s.is_called(name))))
    {
        return Err(not_kept(unknown, &running));
    }
    let meant = |server: &Kept| names.is_none_or(|names| names.iter().any(|n| server.is_called(n)));
    let stopped: Vec<Kept> = running.into_iter().filter(meant).collect();
    stopped.iter().try_for_each(|server| server.end(state))?;
    Ok(stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn kept(child: &Child, port: u16, folder: &Path) -> Kept {
        let Identity { pid, started } = Identity::of(child.id()).unwrap();
        Kept {
            name: format!("mariadb-{port}"),
            target: "mariadb@10.11".to_owned(),
            version: "10.11.19".to_owned(),
            source: "path".to_owned(),
            url: format!("mariadb://root@127.0.0.1:{port}"),
            port,
            pid,
            started,
            folder: folder.join(format!("data-{port}")),
            engine: None,
        }
    }

    #[test]
    fn kept_servers_are_listed_stopped_and_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let sleep = || Command::new("sleep").arg("600").spawn().unwrap();
        let mut children: Vec<Child> = (0..3).map(|_| sleep()).collect();
        for (child, port) in children.iter().zip([4001, 4002, 4003]) {
            let server = kept(child, port, state.path());
            fs::create_dir(&server.folder).unwrap();
            server.write(state.path()).unwrap();
        }
        let names = |servers: &[Kept]| servers.iter().map(|s| s.port).collect::<Vec<_>>();
        assert_eq!(names(&kept_in(state.path()).unwrap()), [4001, 4002, 4003]);

        let unknown = stop_in(state.path(), Some(&["4001".to_owned(), "4009".to_owned()]));
        let message = unknown.unwrap_err().to_string();
        assert!(message.contains("'4009'") && message.contains("mariadb-4001"), "{message}");
        assert_eq!(kept_in(state.path()).unwrap().len(), 3);

        let stopped = stop_in(state.path(), Some(&["mariadb-4001".to_owned()])).unwrap();
        assert_eq!(names(&stopped), [4001]);
        assert!(!stopped[0].folder.exists());

        children[1].kill().unwrap();
        children[1].wait().unwrap();
        assert_eq!(names(&kept_in(state.path()).unwrap()), [4003]);
        assert!(!state.path().join("data-4002").exists());

        assert_eq!(names(&stop_in(state.path(), Some(&["mariadb".to_owned()])).unwrap()), [4003]);
        assert!(stop_in(state.path(), None).unwrap().is_empty());
        children.iter_mut().for_each(|child| drop(child.wait()));
    }

    #[test]
    fn a_foreign_process_with_the_same_number_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let mut server = kept(&child, 4001, state.path());
        server.started += 1;
        server.write(state.path()).unwrap();
        assert!(kept_in(state.path()).unwrap().is_empty());
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
