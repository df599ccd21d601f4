//! MySQL: 5.7 and later initialise themselves; 5.6 is bootstrapped like MariaDB.
//!
//! Trap: the folder for `secure-file-priv` that is compiled in does not exist outside the package's place.
//! Trap: root may log in from `localhost` only. The server takes a loopback connection for `localhost`
//! without asking any name server, but not with `skip-name-resolve`; so that option is not set here.

use super::mariadb::{network, places, script_pieces};
use super::{InitStep, Launch, ServerFiles};
use crate::version::numbers;

/// Before this version the server cannot initialise its data folder.
const INITIALISES_ITSELF: [u32; 2] = [5, 7];
/// Before this version the redo log is two files of a fixed size.
const REDO_LOG_CAPACITY: [u32; 3] = [8, 0, 30];
/// From this version on there is a second protocol on a second port.
const X_PROTOCOL: [u32; 3] = [8, 0, 11];

/// From this version on the binary log is on by default.
const LOGS_BY_DEFAULT: [u32; 2] = [8, 0];

const PREAMBLE: &str = "create database mysql;\nuse mysql;\n";

pub(crate) fn init(files: &ServerFiles<'_>) -> Vec<InitStep> {
    let mut args = common(files);
    let input = if at_least(files, &INITIALISES_ITSELF) {
        args.push("--initialize-insecure".to_owned());
        args.extend(
            ["--innodb-doublewrite=0", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"]
                .map(str::to_owned),
        );
        Vec::new()
    } else {
        args.push("--bootstrap".to_owned());
        script_pieces(files, PREAMBLE)
    };
    vec![InitStep { program: files.program.to_owned(), args, env: environment(files), input }]
}

pub(crate) fn launch(files: &ServerFiles<'_>, port: u16) -> Launch {
    let mut args = common(files);
    args.extend(network(files, port));
    args.extend(settings(files.version).into_iter().map(str::to_owned));
    let env = environment(files);
    Launch { args, env, socket: Some(files.run().join("s.sock")), ..Launch::default() }
}

/// Settings that do not depend on where the server is: also for containers.
pub(crate) fn settings(version: &str) -> Vec<&'static str> {
    let mut args = vec![
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--innodb-stats-persistent=0",
        "--innodb-lock-wait-timeout=100000",
        "--max-connections=500",
        "--character-set-server=utf8mb4",
        "--default-time-zone=+00:00",
    ];
    let numbers = numbers(version);
    let at_least = |known: &[u32]| numbers.is_empty() || numbers[..] >= *known;
    if at_least(&X_PROTOCOL) {
        args.push("--mysqlx=0");
    }
    if at_least(&LOGS_BY_DEFAULT) {
        // The binary log stays on, as users have it: without it an UPDATE reads fewer columns, and then
        // writes a version of a row that it does not change.
        args.extend([
            "--sync-binlog=0",
            "--max-binlog-size=16M",
            "--binlog-expire-logs-seconds=60",
        ]);
    } else {
        args.push("--skip-log-bin");
    }
    args
}

fn common(files: &ServerFiles<'_>) -> Vec<String> {
    let mut args = places(files);
    // A small redo log: the files are allocated at once, and the folder is memory.
    let redo = if at_least(files, &REDO_LOG_CAPACITY) {
        "--innodb-redo-log-capacity=64M"
    } else {
        "--innodb-log-file-size=32M"
    };
    args.push(redo.to_owned());
    args
}

fn at_least(files: &ServerFiles<'_>, version: &[u32]) -> bool {
    numbers(files.version)[..] >= *version
}

/// Only the old server needs a library that lies beside it.
fn environment(files: &ServerFiles<'_>) -> Vec<(&'static str, String)> {
    match files.program.parent() {
        Some(beside) if !at_least(files, &INITIALISES_ITSELF) => {
            vec![("LD_LIBRARY_PATH", beside.display().to_string())]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_version_gets_the_options_that_it_knows() {
        let files = |version| ServerFiles {
            program: Path::new("/opt/mysql/bin/mysqld"),
            version,
            folder: Path::new("/tmp/x"),
            as_root: false,
        };
        let has = |args: &[String], arg: &str| args.iter().any(|other| other == arg);
        let new = files("9.7.4");
        assert!(has(&init(&new)[0].args, "--initialize-insecure"));
        assert!(has(&launch(&new, 1).args, "--mysqlx=0"));
        assert!(has(&launch(&new, 1).args, "--innodb-redo-log-capacity=64M"));
        assert!(launch(&new, 1).env.is_empty());
        let old = files("5.6.24");
        assert!(has(&init(&old)[0].args, "--bootstrap"));
        assert!(!has(&launch(&old, 1).args, "--mysqlx=0"));
        assert!(has(&launch(&old, 1).args, "--innodb-log-file-size=32M"));
        assert_eq!(launch(&old, 1).env, [("LD_LIBRARY_PATH", "/opt/mysql/bin".to_owned())]);
        assert!(!has(&launch(&new, 1).args, "--skip-name-resolve"));
    }
}
