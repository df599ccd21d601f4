//! A pseudo terminal with the shell in it: what a user types, and what a user sees.
//!
//! Idea: everything is waited for with a limit, and nothing sleeps. What is seen is searched forwards: each expectation
//! begins where the last one ended. Blind spot: the cursor's movements are dropped, so a word that is typed and then
//! drawn anew is seen twice.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Longest wait for anything; a server may have to be started first.
const LIMIT: Duration = Duration::from_secs(120);

/// The shell in a terminal of its own.
pub struct Terminal {
    ours: File,
    child: Child,
    /// Everything that was shown, without the cursor's movements.
    seen: String,
    /// What was expected so far ends here.
    from: usize,
    /// Bytes that are not a whole character or escape sequence yet.
    rest: Vec<u8>,
}

impl Terminal {
    /// Starts the shell in this folder, which also keeps its history.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it can be used");
        let size = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).expect("it has a size");
        let name = ptsname(&ours, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let theirs = || rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("it opens");
        // Only the leader of a session can have a terminal of its own; `setsid` is a part of util-linux.
        let mut leader = Command::new("setsid");
        leader.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_anchorite"), "shell"]);
        leader.args(arguments).current_dir(folder).stdin(theirs()).stdout(theirs());
        leader.stderr(theirs()).env("ANCHORITE_STATE", folder).env("TERM", "xterm");
        leader.env("NO_COLOR", "1").env_remove("COLUMNS");
        let child = leader.spawn().expect("setsid starts");
        Self { ours: ours.into(), child, seen: String::new(), from: 0, rest: Vec::new() }
    }

    /// Types a line.
    pub fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\r"));
    }

    /// Presses keys.
    pub fn keys(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).expect("it is typed");
    }

    /// Waits until this is shown, and returns what was shown before it since the last expectation.
    pub fn expect(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.seen[self.from..].find(text) {
                let before = self.seen[self.from..self.from + at].to_owned();
                self.from += at + text.len();
                return before;
            }
            let is_late = begun.elapsed() > LIMIT;
            assert!(!is_late && self.read(), "{text:?} was not shown after:\n{}", self.seen);
        }
    }

    /// Types a line and waits until this is shown.
    pub fn says(&mut self, line: &str, text: &str) -> String {
        self.line(line);
        self.expect(text)
    }

    /// Waits for the end of the shell and returns its exit code.
    pub fn end(mut self) -> Option<i32> {
        let begun = Instant::now();
        while self.read() {
            assert!(begun.elapsed() < LIMIT, "it does not end:\n{}", self.seen);
        }
        self.child.wait().expect("it has ended").code()
    }

    /// The process of the shell.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Reads what is there, or comes within a second; false if the shell has closed the terminal.
    fn read(&mut self) -> bool {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let mut polled = [PollFd::from_borrowed_fd(self.ours.as_fd(), PollFlags::IN)];
        if poll(&mut polled, Some(&second)) == Ok(0) {
            return true;
        }
        let mut bytes = [0; 4096];
        // Without anybody at the other end reading fails.
        let Ok(count @ 1..) = self.ours.read(&mut bytes) else { return false };
        self.rest.extend_from_slice(&bytes[..count]);
        self.draw();
        true
    }

    /// Moves whole characters to what was seen, and drops escape sequences.
    fn draw(&mut self) {
        let text = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.to_owned(),
            Err(error) => String::from_utf8_lossy(&self.rest[..error.valid_up_to()]).into_owned(),
        };
        let mut left = text.as_str();
        while let Some(at) = left.find('\u{1b}') {
            let Some(length) = escape_length(&left[at..]) else { break };
            self.seen.extend(left[..at].chars().filter(|c| *c != '\r'));
            left = &left[at + length..];
        }
        let whole = if left.contains('\u{1b}') { 0 } else { left.len() };
        self.seen.extend(left[..whole].chars().filter(|c| *c != '\r'));
        let used = text.len() - left.len() + whole;
        self.rest.drain(..used);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // After a failure; otherwise it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of the escape sequence that the text begins with; `None` if it is not whole.
fn escape_length(text: &str) -> Option<usize> {
    let second = text.chars().nth(1)?;
    if second != '[' {
        return Some(1 + second.len_utf8());
    }
    let end = text[2..].find(|c: char| c.is_ascii_alphabetic() || c == '~')?;
    Some(2 + end + 1)
}

#[test]
fn escape_sequences_are_measured() {
    assert_eq!(escape_length("\u{1b}[?2004hx"), Some(8));
    assert_eq!(escape_length("\u{1b}[2K"), Some(4));
    assert_eq!(escape_length("\u{1b}[2"), None);
    assert_eq!(escape_length("\u{1b}"), None);
}
