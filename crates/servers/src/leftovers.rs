//! What dead processes left behind: their folders are removed, and what they left running is ended.
//!
//! Blind spot: folders of another PID namespace are left alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anchorite_owner::Identity;

use crate::container::Container;
use crate::folder::{RUNNING, remove};
use crate::owner::Owner;
use crate::process::Process;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Life, spawn};
    use std::process::Command;

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
