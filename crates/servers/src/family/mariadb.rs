//! MariaDB: bootstrapped from its own SQL files, which is what `mariadb-install-db` does too.
//!
//! Idea: `mariadbd --bootstrap` reads the scripts in `share`; so no shell script, no other program and no
//! fixed folder is needed, and a tree unpacked anywhere works.
//! Assumption: the scripts' names, with the prefix `mysql_` (up to 10.x) or `mariadb_` (11.x).

use std::path::{Path, PathBuf};

use super::{InitStep, Launch, Piece, ServerFiles};

/// The scripts in the order in which they must run, without their prefix; those that a version lacks are left out.
const SCRIPTS: [&str; 4] =
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql", "sys_schema.sql"];

/// Root without a password instead of the operating system's user.
const PREAMBLE: &str =
    "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n";

pub(crate) fn init(files: &ServerFiles<'_>) -> Vec<InitStep> {
    let mut args = common(files);
    args.push("--bootstrap".to_owned());
    let input = script_pieces(files, PREAMBLE);
    vec![InitStep { program: files.program.to_owned(), args, env: Vec::new(), input }]
}

/// The preamble and the scripts that are there.
pub(crate) fn script_pieces(files: &ServerFiles<'_>, preamble: &'static str) -> Vec<Piece> {
    let share = share(files).unwrap_or_else(|| files.base().join("share"));
    let mut input = vec![Piece::Text(preamble)];
    for script in SCRIPTS {
        let names = ["mariadb_", "mysql_"].map(|prefix| share.join(format!("{prefix}{script}")));
        input.extend(names.into_iter().find(|file| file.exists()).map(Piece::File));
    }
    input
}

pub(crate) fn launch(files: &ServerFiles<'_>, port: u16) -> Launch {
    let mut args = common(files);
    args.extend(network(files, port));
    args.extend(settings().into_iter().map(str::to_owned));
    // The accounts are made for 127.0.0.1 too, so no name is ever looked up.
    args.push("--skip-name-resolve".to_owned());
    Launch { args, socket: Some(files.run().join("s.sock")), ..Launch::default() }
}

/// Settings that do not depend on where the server is: also for containers.
pub(crate) fn settings() -> Vec<&'static str> {
    vec![
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--skip-log-bin",
        "--innodb-stats-persistent=0",
        // The lock probe reads the locks in SHOW ENGINE INNODB STATUS.
        "--innodb-status-output-locks=ON",
        // It asks for metadata locks here. Without the rest of the performance schema this costs neither
        // time nor, with its tables cut down, much memory.
        "--performance-schema=ON",
        "--performance-schema-instrument=%=OFF",
        "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON",
        "--performance-schema-digests-size=0",
        "--performance-schema-max-statement-classes=0",
        "--performance-schema-max-memory-classes=0",
        "--performance-schema-max-stage-classes=0",
        "--innodb-lock-wait-timeout=100000",
        "--max-connections=500",
        "--character-set-server=utf8mb4",
        "--default-time-zone=+00:00",
    ]
}

/// Socket, port, and files outside the data folder.
pub(crate) fn network(files: &ServerFiles<'_>, port: u16) -> Vec<String> {
    vec![
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--socket={}", files.in_run("s.sock")),
        format!("--pid-file={}", files.in_run("pid")),
    ]
}

/// What initialising and running have in common.
fn common(files: &ServerFiles<'_>) -> Vec<String> {
    let mut args = places(files);
    // A small redo log: the file is allocated at once, and the folder is memory.
    args.push("--innodb-log-file-size=32M".to_owned());
    args
}

/// Where everything is, for MySQL's servers too.
pub(crate) fn places(files: &ServerFiles<'_>) -> Vec<String> {
    let base = files.base();
    let mut args = vec![
        "--no-defaults".to_owned(),
        format!("--basedir={}", base.display()),
        format!("--datadir={}", files.data().display()),
        format!("--tmpdir={}", files.in_run("tmp")),
        // Files that SQL reads and writes stay inside, also when the server runs as root.
        format!("--secure-file-priv={}", files.in_run("files")),
    ];
    if files.as_root {
        args.push("--user=root".to_owned());
    }
    if let Some(share) = share(files) {
        args.push(format!("--lc-messages-dir={}", share.display()));
        let charsets = share.join("charsets");
        if charsets.exists() {
            args.push(format!("--character-sets-dir={}", charsets.display()));
        }
    }
    let plugins = base.join("lib/mysql/plugin");
    if plugins.exists() {
        args.push(format!("--plugin-dir={}", plugins.display()));
    }
    args
}

/// The folder with the messages and scripts: beside the program, else where distributions put it.
pub(crate) fn share(files: &ServerFiles<'_>) -> Option<PathBuf> {
    let beside = files.program.parent().map(|folder| folder.join("share"));
    let base = files.base().join("share");
    let folders = [base.join("mariadb"), base.join("mysql"), base]
        .into_iter()
        .chain(beside)
        .chain(["/usr/share/mariadb", "/usr/share/mysql"].map(PathBuf::from));
    let has_messages =
        |folder: &Path| folder.join("english").exists() || folder.join("errmsg-utf8.txt").exists();
    folders.into_iter().find(|folder| has_messages(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_unpacked_tree_is_used_whole() {
        let tree = tempfile::tempdir().unwrap();
        let share = tree.path().join("usr/share/mariadb");
        fs::create_dir_all(share.join("english")).unwrap();
        fs::create_dir_all(tree.path().join("usr/lib/mysql/plugin")).unwrap();
        for file in ["mariadb_system_tables.sql", "mariadb_system_tables_data.sql"] {
            fs::write(share.join(file), "").unwrap();
        }
        let program = tree.path().join("usr/sbin/mariadbd");
        let folder = Path::new("/tmp/x");
        let files = ServerFiles { program: &program, version: "11.8.6", folder, as_root: true };
        let step = &init(&files)[0];
        assert_eq!(
            step.input,
            [
                Piece::Text(PREAMBLE),
                Piece::File(share.join("mariadb_system_tables.sql")),
                Piece::File(share.join("mariadb_system_tables_data.sql")),
            ]
        );
        let launch = launch(&files, 4321);
        let has = |arg: &str| launch.args.iter().any(|other| other == arg);
        assert_eq!(launch.args[0], "--no-defaults");
        assert!(has("--port=4321") && has("--bind-address=127.0.0.1") && has("--user=root"));
        assert!(has("--datadir=/tmp/x/data") && has("--innodb-status-output-locks=ON"));
        assert!(has(&format!("--lc-messages-dir={}", share.display())));
        assert!(has(&format!("--plugin-dir={}/usr/lib/mysql/plugin", tree.path().display())));
    }
}
