//! Who owns a temporary folder, and what happens to the folders of dead processes.
//!
//! Idea: the folder's name holds the owner's process number, its start time (numbers are reused) and its PID
//! namespace (containers may share `/dev/shm`). No file has to be written for it, so there is no moment at
//! which a killed process leaves a folder that nobody can attribute.
//! Blind spot: folders of another PID namespace are left alone.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anchorite_owner::{Identity, pid_namespace};

use crate::folder::{RUNNING, remove};
use crate::process::Process;
use crate::source::container::Container;

const PREFIX: &str = "anchorite-";

/// Removes the folders in `parent` whose owners are dead, and ends what those left running.
pub(crate) fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let me = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(Owner::from_name);
        if !owner.is_some_and(|owner| owner.is_dead_here()) {
            continue;
        }
        // Only what is ours: a folder that another user made could name any process.
        let path = entry.path();
        if fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir() && data.uid() == me) {
            end_leftovers(&path);
            remove(&path);
        }
    }
}

fn end_leftovers(folder: &Path) {
    let text = fs::read_to_string(folder.join(RUNNING)).unwrap_or_default();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["process", pid, started] => {
                if let (Ok(pid), Ok(started)) = (pid.parse(), started.parse())
                    && let Some(process) = Process::of_others(Identity { pid, started }, None)
                {
                    process.end();
                }
            }
            ["container", name, engine] => {
                Container { name: name.to_owned(), engine: engine.into() }.remove();
            }
            _ => {}
        }
    }
}

/// Who a folder belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    namespace: u64,
    identity: Identity,
}

impl Owner {
    /// This process.
    pub(crate) fn us() -> io::Result<Self> {
        let identity = Identity::us()
            .ok_or_else(|| io::Error::other("/proc does not identify this process"))?;
        Ok(Self { namespace: pid_namespace(), identity })
    }

    /// The name of this owner's folder number `n`.
    pub(crate) fn folder_name(self, n: u64) -> String {
        let Self { namespace, identity } = self;
        format!("{PREFIX}{namespace}-{}-{}-{n}", identity.pid, identity.started)
    }

    fn from_name(name: &str) -> Option<Self> {
        let mut fields = name.strip_prefix(PREFIX)?.split('-').map(|field| field.parse().ok());
        let namespace = fields.next()??;
        let pid = u32::try_from(fields.next()??).ok()?;
        let started = fields.next()??;
        fields.next()??;
        fields.next().is_none().then_some(Self { namespace, identity: Identity { pid, started } })
    }

    fn is_dead_here(self) -> bool {
        self.namespace == pid_namespace() && self.identity.is_gone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Life, spawn};
    use std::process::Command;

    #[test]
    fn a_name_tells_its_owner() {
        let us = Owner::us().unwrap();
        assert_eq!(Owner::from_name(&us.folder_name(7)), Some(us));
        for name in ["anchorite-kept-1", "anchorite-1-2-3", "anchorite-1-2-3-4-5", "other-1-2-3-4"]
        {
            assert_eq!(Owner::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn only_the_folders_of_the_dead_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let us = Owner::us().unwrap();
        let dead = Owner { identity: Identity { started: 1, ..us.identity }, ..us };
        let elsewhere = Owner { namespace: us.namespace + 1, ..dead };
        for owner in [us, dead, elsewhere] {
            fs::create_dir_all(parent.path().join(owner.folder_name(0)).join("data")).unwrap();
        }
        fs::create_dir(parent.path().join("anchorite-kept-1")).unwrap();
        sweep(parent.path());
        let left = |owner: Owner| parent.path().join(owner.folder_name(0)).exists();
        assert_eq!([left(us), left(dead), left(elsewhere)], [true, false, true]);
        assert!(parent.path().join("anchorite-kept-1").exists());
    }

    #[test]
    fn a_server_that_survived_its_owner_is_ended() {
        let parent = tempfile::tempdir().unwrap();
        let us = Owner::us().unwrap();
        let dead = Owner { identity: Identity { started: 1, ..us.identity }, ..us };
        let folder = parent.path().join(dead.folder_name(0));
        fs::create_dir(&folder).unwrap();
        let mut command = Command::new("sleep");
        command.arg("600");
        let process = spawn(command, Life::OfItsOwn, None).unwrap();
        let Identity { pid, started } = Identity::of(process.id()).unwrap();
        fs::write(folder.join(RUNNING), format!("process {pid} {started}\n")).unwrap();
        sweep(parent.path());
        assert!(process.watch().unwrap().ended_within(crate::limits::KILL));
        assert!(!folder.exists());
        process.end();
    }
}
