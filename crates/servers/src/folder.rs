//! Temporary folders that end with their owner, together with every process that works in them.
//!
//! Idea: one thing to end. A folder holds the data of one server (or a half-built cache entry) and knows the
//! processes that were started for it. Ending it — by drop, by a panic that unwinds, by [`stop_all`] — kills
//! them first and then removes the folder. The folder's *name* says who owns it ([`Owner`]),
//! so the name is the record, and whoever comes later can remove a dead owner's folder (`leftovers::sweep`).
//! Blind spot: a panic strategy of `abort` runs no drop; then the next start cleans up.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use anchorite_owner::Identity;
use rustix::process::Signal;

use crate::container::Container;
use crate::owner::Owner;
use crate::process::{Life, Process, Watch, spawn};
use crate::{Error, limits};

/// The file in a folder that names what runs for it, for those who come after a killed owner.
pub(crate) const RUNNING: &str = "running";

/// A process that was just started for a folder.
#[derive(Debug)]
pub(crate) struct Spawned {
    /// Its number.
    pub pid: u32,
    /// Tells when it has ended.
    pub watch: Watch,
}

/// A folder and the processes that work in it.
#[derive(Debug)]
pub(crate) struct OwnedFolder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ended: bool,
    processes: Vec<Process>,
    container: Option<Container>,
}

static ALL: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// A panic elsewhere must not keep us from cleaning up: the data behind the lock is valid at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Ends every server of this process that is not kept and removes its folder, and everything half-built in
/// the cache. Made for the Ctrl-C path: may be called from any thread at any time.
pub fn stop_all() {
    let all: Vec<_> = lock(&ALL).iter().filter_map(Weak::upgrade).collect();
    for shared in all {
        shared.end();
    }
}

impl OwnedFolder {
    /// Makes a folder in `parent` whose name says that it is ours.
    pub(crate) fn create(parent: &Path) -> Result<Self, Error> {
        let owner = Owner::us().map_err(Error::io("make a folder in", parent))?;
        Self::create_named(parent, |n| owner.folder_name(n))
    }

    /// Makes a folder that is to be released: nobody will take it for one of a dead owner.
    pub(crate) fn create_kept(parent: &Path) -> Result<Self, Error> {
        let us = std::process::id();
        Self::create_named(parent, |n| format!("anchorite-kept-{us}-{n}"))
    }

    fn create_named(parent: &Path, name: impl Fn(u64) -> String) -> Result<Self, Error> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = parent.join(name(COUNTER.fetch_add(1, Ordering::Relaxed)));
            // Others may search it, not list it: a server that runs as another user must reach its data.
            match DirBuilder::new().mode(0o711).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &path)(error)),
                Ok(()) => {
                    let shared = Arc::new(Shared { path, state: Mutex::default() });
                    let mut all = lock(&ALL);
                    all.retain(|weak| weak.strong_count() > 0);
                    all.push(Arc::downgrade(&shared));
                    return Ok(Self(shared));
                }
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Starts a process that ends with the folder.
    pub(crate) fn spawn(&self, command: Command, polite: Option<Signal>) -> Result<Spawned, Error> {
        self.spawn_for(command, polite, Life::WithUs(polite.unwrap_or(Signal::KILL)))
    }

    /// Starts a process that ends with the folder, but not with us: see [`OwnedFolder::release`].
    pub(crate) fn spawn_detached(
        &self,
        command: Command,
        polite: Option<Signal>,
    ) -> Result<Spawned, Error> {
        self.spawn_for(command, polite, Life::OfItsOwn)
    }

    fn spawn_for(
        &self,
        command: Command,
        polite: Option<Signal>,
        life: Life,
    ) -> Result<Spawned, Error> {
        let program = PathBuf::from(command.get_program());
        let mut state = lock(&self.0.state);
        if state.ended {
            return Err(Error::Interrupted);
        }
        let process = spawn(command, life, polite).map_err(Error::io("start", &program))?;
        let watch = process.watch().map_err(Error::io("watch", &program));
        let pid = process.id();
        state.processes.push(process);
        self.0.record(&state);
        Ok(Spawned { pid, watch: watch? })
    }

    /// Notes a container that ends with the folder.
    pub(crate) fn adopt_container(&self, container: Container) -> Result<(), Error> {
        let mut state = lock(&self.0.state);
        if state.ended {
            container.remove();
            return Err(Error::Interrupted);
        }
        state.container = Some(container);
        self.0.record(&state);
        Ok(())
    }

    /// Ends one process and forgets it. Gives its exit status, if it was still listed.
    pub(crate) fn end_process(&self, pid: u32) -> Option<ExitStatus> {
        let mut state = lock(&self.0.state);
        let at = state.processes.iter().position(|process| process.id() == pid)?;
        let status = state.processes.swap_remove(at).end();
        self.0.record(&state);
        status
    }

    /// Kills one process with all that it has started, without any warning, and forgets it.
    pub(crate) fn kill_process(&self, pid: u32) {
        let mut state = lock(&self.0.state);
        let Some(at) = state.processes.iter().position(|process| process.id() == pid) else {
            return;
        };
        crate::tree::kill(pid);
        state.processes.swap_remove(at).end();
        self.0.record(&state);
    }

    /// Whether [`stop_all`] or a drop has ended it.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.0.state).ended
    }

    /// Gives the folder and its processes away: they go on after us.
    pub(crate) fn release(self) {
        let mut state = lock(&self.0.state);
        state.ended = true;
        state.processes.clear();
        state.container = None;
        drop(state);
        lock(&ALL).retain(|weak| !std::ptr::eq(weak.as_ptr(), Arc::as_ptr(&self.0)));
        std::mem::forget(self);
    }

    /// Ends everything in it and removes it.
    pub(crate) fn end(&self) {
        self.0.end();
    }
}

impl Drop for OwnedFolder {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Shared {
    fn end(&self) {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        for process in state.processes.drain(..) {
            process.end();
        }
        if let Some(container) = state.container.take() {
            container.remove();
        }
        remove(&self.path);
    }

    /// Writes down what runs. Best effort: it is only read after we were killed, and then the kernel's
    /// parent-death signal has normally ended the processes already.
    fn record(&self, state: &State) {
        let mut text = String::new();
        for process in &state.processes {
            if let Some(identity) = Identity::of(process.id()) {
                text += &format!("process {} {}\n", identity.pid, identity.started);
            }
        }
        if let Some(container) = &state.container {
            text += &format!("container {} {}\n", container.name, container.engine.display());
        }
        let _ = fs::write(self.path.join(RUNNING), text);
    }
}

/// Removes a folder; a process that is just dying may still create a file in it meanwhile.
pub(crate) fn remove(path: &Path) {
    for _ in 0..limits::REMOVE_TRIES {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => return,
        }
    }
}
