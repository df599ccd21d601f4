//! Runs programs that fetch, unpack, build or initialise in a folder: with their output passed on and a time limit.

use std::process::Command;
use std::time::Duration;

use crate::folder::OwnedFolder;
use crate::tool::{capture, follow, tail};
use crate::{Error, Progress};

/// Runs a program as part of the work in a folder: it ends with the folder. Its output goes to `progress`
/// line by line; it is an error if it fails or takes longer than `limit`.
pub(crate) fn run(
    folder: &OwnedFolder,
    mut command: Command,
    what: &str,
    limit: Duration,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let failed = |reason: String| Error::Tool { what: what.to_owned(), reason };
    let output = capture(&mut command).map_err(|error| failed(error.to_string()))?;
    let spawned = folder.spawn(command, None)?;
    let mut lines = Vec::new();
    let ended = follow(&spawned.watch, output, limit, &mut |line| {
        progress.detail(line);
        lines.push(line.to_owned());
    });
    let status = folder.end_process(spawned.pid);
    if folder.has_ended() {
        return Err(Error::Interrupted);
    }
    match status.filter(|_| ended) {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(format!("{status}{}", tail(&lines)))),
        None => Err(failed(format!("not done within {} s{}", limit.as_secs(), tail(&lines)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;
    use crate::tool::feed;
    use std::sync::Mutex;

    struct Lines(Mutex<Vec<String>>);

    impl Progress for Lines {
        fn step(&self, _text: &str) {}
        fn detail(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    fn shell(script: &str, limit: Duration) -> (Result<(), Error>, Vec<String>) {
        let parent = tempfile::tempdir().unwrap();
        let folder = OwnedFolder::create(parent.path()).unwrap();
        let lines = Lines(Mutex::default());
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        feed(&mut command, None).unwrap();
        let result = run(&folder, command, "the script", limit, &lines);
        (result, lines.0.into_inner().unwrap())
    }

    #[test]
    fn lines_of_both_streams_are_followed() {
        let (result, lines) = shell("echo one; echo two >&2; printf three", limits::ASK);
        assert!(result.is_ok());
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn a_failure_shows_the_last_lines() {
        let (result, _) = shell("seq 100; exit 3", limits::ASK);
        let message = result.unwrap_err().to_string();
        assert!(message.contains("the script failed: exit status: 3"), "{message}");
        assert!(message.ends_with("\n  99\n  100"), "{message}");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let (result, _) = shell("echo started; sleep 600", Duration::from_millis(100));
        assert!(result.unwrap_err().to_string().contains("not done within"));
    }
}
