//! A server's process with everything that it has started: killed, stopped and continued as a whole.
//!
//! Idea: some servers serve each client by a process of its own, which leads its own group (PostgreSQL). A crash of the
//! machine takes all of them at once, so a kill that stands for one has to do the same: first the leader is stopped, so
//! that it starts no more processes, then all of them are killed.
//!
//! Source: `/proc/PID/stat`, signal(7). Blind spot: a process whose parent has ended already is not found.

use std::fs;

use anchorite_owner::{Identity, stat_field};
use rustix::process::{Pid, Signal, kill_process};

use crate::limits;
use crate::process::Process;

/// The field of `/proc/PID/stat` with the number of the parent.
const PARENT: usize = 4;

/// The processes that descend from this one, itself first.
fn members(leader: u32) -> Vec<Identity> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u64)> = numbers
        .filter_map(|pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, stat_field(&stat, PARENT)?))
        })
        .collect();
    let mut found = vec![leader];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = parents.iter().filter(|(_, of)| *of == u64::from(parent));
        found.extend(children.map(|(pid, _)| *pid));
        at += 1;
    }
    found.into_iter().filter_map(Identity::of).collect()
}

fn signal(member: Identity, signal: Signal) {
    let pid = i32::try_from(member.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| member.is_alive()) {
        // It may have ended a moment before.
        let _ = kill_process(pid, signal);
    }
}

/// Stops all of them; gives what was stopped.
pub(crate) fn stop(leader: u32) -> Vec<Identity> {
    let first = Identity::of(leader);
    first.into_iter().for_each(|first| signal(first, Signal::STOP));
    let all = members(leader);
    all.iter().for_each(|member| signal(*member, Signal::STOP));
    all
}

/// Lets those go on that were stopped.
pub(crate) fn resume(stopped: &[Identity]) {
    stopped.iter().rev().for_each(|member| signal(*member, Signal::CONT));
}

/// Kills all of them. The leader, our child, is still to be reaped.
pub(crate) fn kill(leader: u32) {
    let all = stop(leader);
    let handles: Vec<Process> =
        all.iter().filter_map(|member| Process::of_others(*member, None)).collect();
    all.iter().rev().for_each(|member| signal(*member, Signal::KILL));
    let watches = handles.iter().filter_map(|handle| handle.watch().ok());
    for watch in watches {
        watch.ended_within(limits::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    /// A shell with a child in a session of its own; the numbers of both.
    fn family() -> (std::process::Child, Identity, Identity) {
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 600 & echo $!; wait"]).stdout(Stdio::piped());
        let mut parent = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child = Identity::of(line.trim().parse().unwrap()).unwrap();
        let identity = Identity::of(parent.id()).unwrap();
        (parent, identity, child)
    }

    fn is_stopped(member: Identity) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", member.pid)).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    }

    #[test]
    fn a_family_is_stopped_resumed_and_killed_as_a_whole() {
        let (mut parent, identity, child) = family();
        let stopped = stop(identity.pid);
        assert!(stopped.contains(&identity) && stopped.contains(&child), "{stopped:?}");
        // A stop is complete when the kernel has scheduled the process once more.
        while !(is_stopped(identity) && is_stopped(child)) {
            std::thread::yield_now();
        }
        resume(&stopped);
        kill(identity.pid);
        parent.wait().unwrap();
        assert!(identity.is_gone() && !child.is_alive());
    }
}
