//! Child processes that cannot outlive us.
//!
//! Idea: each child leads a process group of its own, so that the terminal's Ctrl-C does not reach it and
//! one signal ends it with its helpers; and the kernel signals it when we die (parent-death signal), so that
//! even SIGKILL to us leaves no server.
//! Trap: the parent-death signal fires when the *thread* that forked ends. So all children are forked by
//! one thread that lives as long as the process.
//! Trap: a change of user clears the parent-death signal; the standard library changes the user before it
//! runs `pre_exec`, where the signal is set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anchorite_owner::Identity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid,
    kill_process, kill_process_group, pidfd_open, set_parent_process_death_signal, setrlimit,
    waitid, waitpid,
};

use crate::limits;

/// How long a child lives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Life {
    /// As long as this process; the kernel sends the signal when we die.
    WithUs(Signal),
    /// As long as it likes, in a session of its own.
    OfItsOwn,
}

/// Starts a command as the leader of its own process group. `polite` is the signal that makes it clean up and
/// end at once, if it has one.
pub(crate) fn spawn(
    mut command: Command,
    life: Life,
    polite: Option<Signal>,
) -> io::Result<Process> {
    let us = getpid();
    if matches!(life, Life::WithUs(_)) {
        command.process_group(0);
    }
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe system calls.
    unsafe {
        command.pre_exec(move || match life {
            Life::OfItsOwn => rustix::process::setsid().map(drop).map_err(io::Error::from),
            Life::WithUs(signal) => {
                set_parent_process_death_signal(Some(signal))?;
                // We may have died before the signal was set. No allocation here, so no message either.
                if getppid() == Some(us) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
            }
        });
    }
    Process::adopt(forker(command)?, polite)
}

/// Runs a command to its end, without a core file, and says how it ended; `None` if the limit came first.
pub fn run_to_end(mut command: Command, limit: Duration) -> io::Result<Option<Ended>> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // SAFETY: the closure runs between fork and exec and makes only an async-signal-safe system call.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Core, none)?)) };
    let process = spawn(command, Life::WithUs(Signal::KILL), None)?;
    let ended = process.watch.ended_within(limit).then(|| ended(process.id())).flatten();
    process.end();
    Ok(ended)
}

type Job = (Command, Sender<io::Result<Child>>);

/// Hands the command to the thread that forks.
fn forker(command: Command) -> io::Result<Child> {
    static FORKER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts processes is gone");
    let jobs = FORKER.get_or_init(|| {
        let (jobs, inbox) = channel::<Job>();
        std::thread::spawn(move || {
            for (mut command, answer) in inbox {
                // A requester that no longer listens has ended; its child ends through its folder.
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(jobs)
    });
    let (answer, result) = channel();
    let sender = jobs.lock().unwrap_or_else(|poison| poison.into_inner()).clone();
    sender.send((command, answer)).map_err(|_| gone())?;
    result.recv().map_err(|_| gone())?
}

/// Tells when a process has ended.
#[derive(Debug)]
pub(crate) struct Watch(OwnedFd);

impl Watch {
    /// Waits until the process has ended; false if the limit was reached first.
    pub(crate) fn ended_within(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut polled = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
            match poll(&mut polled, Some(&timespec(left))) {
                Ok(0) => return false,
                Ok(_) => return true,
                // A signal to us: look again for the rest of the time.
                Err(_) if left.is_zero() => return false,
                Err(_) => {}
            }
        }
    }

    /// For polling it together with other things.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// How a child of ours ended; it is not reaped by this. `None` if it runs, or is no child.
pub(crate) fn ended(pid: u32) -> Option<Ended> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid), options).ok()??;
    let signal = status.terminating_signal().map(Ended::Signal);
    signal.or_else(|| status.exit_status().map(Ended::Code))
}

/// A duration in the kernel's form.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

/// A process that was started and has not been reaped: its number cannot be given to another one.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    watch: Watch,
    polite: Option<Signal>,
}

impl Process {
    /// Takes over a child; from here on it is ours to end and to reap.
    fn adopt(mut child: Child, polite: Option<Signal>) -> io::Result<Self> {
        let pid = Pid::from_child(&child);
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Self { pid, watch: Watch(handle), polite }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error.into())
            }
        }
    }

    /// A process that is not our child (a kept server); `None` if it is gone.
    pub(crate) fn of_others(identity: Identity, polite: Option<Signal>) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(identity.pid).ok()?)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Looked at after the handle was taken: from here on the number cannot change its meaning.
        identity.is_alive().then_some(Self { pid, watch: Watch(handle), polite })
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// A watch of its own on the same process.
    pub(crate) fn watch(&self) -> io::Result<Watch> {
        Ok(Watch(self.watch.0.try_clone()?))
    }

    /// Ends the process and its group, politely first where that makes sense. Gives the exit status if the
    /// process was our child.
    pub(crate) fn end(&self) -> Option<ExitStatus> {
        if let Some(signal) = self.polite
            && kill_process(self.pid, signal).is_ok()
        {
            self.watch.ended_within(limits::POLITE_STOP);
        }
        // The group also after a polite end: helpers may be left. Failure means that nobody is.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = kill_process(self.pid, Signal::KILL);
        self.watch.ended_within(limits::KILL);
        // Reaps our child; for a process of others there is nothing to reap.
        let (_, status) = waitpid(Some(self.pid), WaitOptions::NOHANG).ok()??;
        Some(ExitStatus::from_raw(status.as_raw()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_with_its_group_and_outlives_the_thread_that_asked_for_it() {
        let process = std::thread::spawn(|| {
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 600 & wait"]);
            spawn(command, Life::WithUs(Signal::KILL), None).unwrap()
        })
        .join()
        .unwrap();
        assert!(
            !process.watch().unwrap().ended_within(Duration::from_millis(50)),
            "ended with the asking thread"
        );
        process.end();
        assert!(Identity::of(process.id()).is_none());
    }

    #[test]
    fn how_a_child_ended_is_known_before_it_is_reaped() {
        for (script, how) in [
            ("exit 0", Ended::Code(0)),
            ("exit 3", Ended::Code(3)),
            ("kill -TERM $$", Ended::Signal(15)),
            ("kill -SEGV $$", Ended::Signal(11)),
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let process = spawn(command, Life::WithUs(Signal::KILL), None).unwrap();
            assert!(process.watch().unwrap().ended_within(limits::KILL), "{script}");
            assert_eq!((ended(process.id()), ended(process.id())), (Some(how), Some(how)));
            process.end();
            assert_eq!(ended(process.id()), None, "{script}");
        }
    }
}
