//! PostgreSQL: `initdb` beside the server program, then the server itself (no `pg_ctl`).
//!
//! Trap: both refuse to run as root; see `user`.
//! Trap: shared memory outlives a killed server when it is not a file in the data folder, so it is one here.

use super::{InitStep, Launch, ServerFiles};

/// The superuser.
pub(crate) const LOGIN: &str = "postgres";

pub(crate) fn init(files: &ServerFiles<'_>) -> Vec<InitStep> {
    let args = vec![
        format!("--pgdata={}", files.data().display()),
        format!("--username={LOGIN}"),
        "--auth=trust".to_owned(),
        "--encoding=UTF8".to_owned(),
        "--locale=C".to_owned(),
        "--no-sync".to_owned(),
    ];
    let program = files.program.with_file_name("initdb");
    vec![InitStep { program, args, env: Vec::new(), input: Vec::new() }]
}

pub(crate) fn launch(files: &ServerFiles<'_>, port: u16) -> Launch {
    let mut args = vec![
        "-D".to_owned(),
        files.data().display().to_string(),
        "-p".to_owned(),
        port.to_string(),
        "-k".to_owned(),
        files.run().display().to_string(),
        "-c".to_owned(),
        "listen_addresses=127.0.0.1".to_owned(),
    ];
    args.extend(settings());
    let socket = files.run().join(format!(".s.PGSQL.{port}"));
    let env = vec![("LC_ALL", "C".to_owned())];
    Launch { args, env, socket: Some(socket), ..Launch::default() }
}

/// Settings that do not depend on where the server is: also for containers.
pub(crate) fn settings() -> Vec<String> {
    let settings = [
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "wal_level=minimal",
        "max_wal_senders=0",
        "max_wal_size=256MB",
        // A background vacuum would take locks and prune rows in the middle of a case.
        "autovacuum=off",
        "deadlock_timeout=1ms",
        "max_prepared_transactions=10",
        "max_connections=200",
        "dynamic_shared_memory_type=mmap",
        // The one time zone that needs no file.
        "timezone=GMT",
        "log_timezone=GMT",
    ];
    settings.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_socket_is_in_the_folder_and_nothing_listens_outside() {
        let files = ServerFiles {
            program: Path::new("/usr/lib/postgresql/15/bin/postgres"),
            version: "15.20",
            folder: Path::new("/tmp/x"),
            as_root: false,
        };
        let launch = launch(&files, 5433);
        assert_eq!(launch.socket.unwrap(), Path::new("/tmp/x/run/.s.PGSQL.5433"));
        assert!(launch.args.contains(&"listen_addresses=127.0.0.1".to_owned()));
        assert_eq!(init(&files)[0].program, Path::new("/usr/lib/postgresql/15/bin/initdb"));
    }
}
