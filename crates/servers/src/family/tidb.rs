//! TiDB with its embedded store: one process, no cluster.
//!
//! The debug log is on, because its "blocked by" lines are the only exact answer to the question who waits
//! for whom on this store. It grows by some 350 bytes per statement, so it is rotated at [`LOG_MEGABYTES`]:
//! whoever follows it must notice that the file was replaced. At this log level newer versions also write
//! every statement to a slow log, whatever the settings say; it is rotated in the same way.
//! Blind spot: the embedded store is not TiKV; what is wrong on it alone is no evidence against TiDB.

use super::{Launch, ServerFiles};
use crate::version::numbers;

/// Size at which the log is put aside; one old log is kept.
const LOG_MEGABYTES: u32 = 64;

/// From this version on the slow log is switched off by another setting.
const INSTANCE_SETTINGS: [u32; 2] = [6, 1];
/// From this version on the folder for temporary files is an option.
const TEMP_DIR_OPTION: [u32; 2] = [6, 3];

pub(crate) fn launch(files: &ServerFiles<'_>, port: u16) -> Launch {
    let numbers = numbers(files.version);
    let log = files.run().join("tidb.log");
    let config = files.run().join("tidb.toml");
    let mut args: Vec<String> = Vec::new();
    let mut option = |name: &str, value: String| args.extend([name.to_owned(), value]);
    option("-config", config.display().to_string());
    option("-path", files.data().display().to_string());
    option("-host", "127.0.0.1".to_owned());
    option("-P", port.to_string());
    option("-socket", files.in_run("s.sock"));
    option("-log-file", log.display().to_string());
    if numbers[..] >= TEMP_DIR_OPTION[..] {
        option("-temp-dir", files.in_run("tmp"));
    }
    option("-L", "debug".to_owned());
    args.extend(settings());
    Launch {
        args,
        // Versions without the option put their temporary files below this folder.
        env: vec![("TMPDIR", files.in_run("tmp"))],
        files: vec![(config, configuration(&numbers))],
        socket: Some(files.run().join("s.sock")),
        log: Some(log),
    }
}

/// Settings that do not depend on where the server is: also for containers.
pub(crate) fn settings() -> Vec<String> {
    // Without `-lease 0s` a DDL statement may end half a minute after its blocker.
    ["-store", "unistore", "-report-status=false", "-lease", "0s"].map(str::to_owned).to_vec()
}

fn configuration(numbers: &[u32]) -> String {
    let slow_log = if *numbers >= INSTANCE_SETTINGS[..] {
        "[instance]\ntidb_enable_slow_log = false\n"
    } else {
        "[log]\nenable-slow-log = false\n"
    };
    format!("{slow_log}[log.file]\nmax-size = {LOG_MEGABYTES}\nmax-backups = 1\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_version_gets_the_options_that_it_knows() {
        let files = |version| ServerFiles {
            program: Path::new("/x/tidb-server"),
            version,
            folder: Path::new("/tmp/x"),
            as_root: false,
        };
        let new = launch(&files("8.5.0-20260903-gac41d7e3c8fc"), 4000);
        assert!(new.args.iter().any(|arg| arg == "-temp-dir"));
        assert!(new.files[0].1.contains("[instance]"));
        let old = launch(&files("4.0.0-20200921-g501466fb690d"), 4000);
        assert!(!old.args.iter().any(|arg| arg == "-temp-dir"));
        assert!(old.files[0].1.contains("[log]\nenable-slow-log"));
        assert_eq!(old.log.unwrap(), Path::new("/tmp/x/run/tidb.log"));
    }
}
