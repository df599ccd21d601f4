//! Programs: where they are, what they print, and how their output is followed up to a time limit.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;

use crate::process::{Life, Watch, spawn, timespec};
use crate::{Error, limits};

/// How many of a program's last lines an error message shows.
const TAIL_LINES: usize = 12;

/// Runs a program that should answer at once; `None` if it cannot be started or does not answer.
pub(crate) fn ask<Word: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = Word>,
) -> Option<(ExitStatus, String)> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    let output = capture(&mut command).ok()?;
    let process = spawn(command, Life::WithUs(Signal::KILL), None).ok()?;
    let mut text = String::new();
    let ended = follow(&process.watch().ok()?, output, limits::ASK, &mut |line| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    });
    let status = process.end();
    Some((status.filter(|_| ended)?, text))
}

/// Directs standard output and standard error into one pipe. Without an input file it reads nothing.
pub(crate) fn capture(command: &mut Command) -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    command.stdout(writer.try_clone()?).stderr(writer);
    Ok(reader)
}

/// Gives a command an input file, or none.
pub(crate) fn feed(command: &mut Command, input: Option<&Path>) -> Result<(), Error> {
    match input {
        Some(path) => command.stdin(File::open(path).map_err(Error::io("read", path))?),
        None => command.stdin(Stdio::null()),
    };
    Ok(())
}

/// Passes on the lines until the process ends; false if the limit was reached first.
pub(crate) fn follow(
    watch: &Watch,
    mut output: PipeReader,
    limit: Duration,
    line: &mut dyn FnMut(&str),
) -> bool {
    let deadline = Instant::now() + limit;
    let mut pending = Vec::new();
    let mut open = true;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut polled = vec![PollFd::from_borrowed_fd(watch.fd(), PollFlags::IN)];
        if open {
            polled.push(PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN));
        }
        // An error is a signal to us: look again.
        let _ = poll(&mut polled, Some(&timespec(left)));
        let ended = !polled[0].revents().is_empty();
        open = open && drain(&mut output, &mut pending, line);
        if ended || left.is_zero() {
            emit(&mut pending, line);
            return ended;
        }
    }
}

/// Reads what is there; false at the end of the stream.
fn drain(output: &mut PipeReader, pending: &mut Vec<u8>, line: &mut dyn FnMut(&str)) -> bool {
    let mut buffer = [0; 8192];
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) => {
                for byte in &buffer[..n] {
                    if *byte == b'\n' || *byte == b'\r' {
                        emit(pending, line)
                    } else {
                        pending.push(*byte)
                    }
                }
            }
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

fn emit(pending: &mut Vec<u8>, line: &mut dyn FnMut(&str)) {
    let text = String::from_utf8_lossy(pending);
    if !text.trim().is_empty() {
        line(text.trim_end());
    }
    pending.clear();
}

/// The last lines, indented, for an error message; empty if there are none.
pub(crate) fn tail(lines: &[String]) -> String {
    let from = lines.len().saturating_sub(TAIL_LINES);
    lines[from..].iter().fold(String::new(), |text, line| text + "\n  " + line)
}

/// The first of the programs that is on PATH.
pub(crate) fn on_path(names: &[&str]) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
    })
}

/// Whether this is a file that we may execute.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_asked() {
        let (status, text) = ask(Path::new("/bin/sh"), ["-c", "echo hello"]).unwrap();
        assert!(status.success());
        assert_eq!(text, "hello\n");
        assert!(ask(Path::new("/no/such/program"), [""; 0]).is_none());
    }
}
