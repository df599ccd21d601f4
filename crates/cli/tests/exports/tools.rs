//! The vendors' own runners: found where they are installed, and told apart from a failure where not.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anchorite_drivers::endpoint::Endpoint;
use anchorite_model::{Outcome, Run, Value};

/// `mariadb-test` with the folder of its include files.
pub struct MysqlTest {
    program: PathBuf,
    base: PathBuf,
}

fn said(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// PostgreSQL's isolationtester.
pub fn isolationtester() -> Option<PathBuf> {
    let installed = (13..=19).rev().map(|version| {
        let tester = "lib/pgxs/src/test/isolation/isolationtester";
        PathBuf::from(format!("/usr/lib/postgresql/{version}/{tester}"))
    });
    let found = said("ANCHORITE_ISOLATIONTESTER").into_iter().chain(installed);
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        println!("skipped: isolationtester is not installed");
    }
    found
}

/// MariaDB's test interpreter.
pub fn mysqltest() -> Option<MysqlTest> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let named = on_path
        .iter()
        .flat_map(|folder| ["mariadb-test", "mysqltest"].map(|name| folder.join(name)));
    let program = said("ANCHORITE_MYSQLTEST").or_else(|| named.into_iter().find(|p| p.exists()));
    let usual = ["/usr/share/mysql/mysql-test", "/usr/share/mariadb/mariadb-test"];
    let base = said("ANCHORITE_MYSQLTEST_BASE").into_iter().chain(usual.map(PathBuf::from));
    let base = base.into_iter().find(|folder| folder.join("include/wait_condition.inc").exists());
    match (program, base) {
        (Some(program), Some(base)) => Some(MysqlTest { program, base }),
        _ => {
            println!("skipped: mariadb-test with its include files is not installed");
            None
        }
    }
}

fn fed(command: &mut Command, text: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let mut input = child.stdin.take().expect("it has an input");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    child.wait_with_output().expect("it ends")
}

/// Runs a spec; complains where other steps wait than did in the run.
pub fn run_spec(tester: &Path, url: &str, spec: &str, run: &Run) -> Option<String> {
    let endpoint = Endpoint::parse(url).expect("a URL that was opened");
    let schema = format!("anchorite_export_{}", std::process::id());
    let connection = format!(
        "host={} port={} user={} dbname={} options='-csearch_path={schema}'",
        endpoint.host,
        endpoint.port.unwrap_or(5432),
        endpoint.user,
        if endpoint.database.is_empty() { "postgres" } else { &endpoint.database },
    );
    // The set-up of the spec itself makes a place of its own.
    let spec = format!(
        "setup {{ DROP SCHEMA IF EXISTS {schema} CASCADE; }}\nsetup {{ CREATE SCHEMA {schema}; }}\n{spec}"
    );
    let dropped = format!("teardown {{ DROP SCHEMA {schema} CASCADE; }}");
    let spec = match spec.lines().find(|line| line.starts_with("teardown")) {
        Some(line) => spec.replace(line, &dropped),
        None => spec.replacen("\nsession", &format!("\n{dropped}\nsession"), 1),
    };
    let mut command = Command::new(tester);
    let output = fed(command.arg(&connection).env("PGPASSWORD", endpoint.password()), &spec);
    let text = String::from_utf8_lossy(&output.stdout);
    let waited: BTreeSet<usize> = text
        .lines()
        .filter(|line| line.ends_with("<waiting ...>"))
        .filter_map(|line| {
            line.strip_prefix("step ")?.split(':').next()?.rsplit('_').next()?.parse().ok()
        })
        .collect();
    let blocked = run.events.iter().filter(|e| matches!(e.outcome, Outcome::Blocked { .. }));
    let blocked: BTreeSet<usize> = blocked.map(|event| event.n).collect();
    let fine = output.status.success() && waited == blocked;
    (!fine).then(|| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!(
            "{}: isolationtester on {endpoint}: {blocked:?} waited\n{text}{stderr}",
            run.case.name
        )
    })
}

/// Runs an mtr test, over TCP and through the server's socket, as `mtr` does; complains where it fails or the tables
/// end otherwise.
pub fn run_mtr(tool: &MysqlTest, url: &str, test: &str, run: &Run) -> Option<String> {
    let endpoint = Endpoint::parse(url).expect("a URL that was opened");
    let database = format!("anchorite_export_{}", std::process::id());
    let (host, port) = (endpoint.host.clone(), endpoint.port.unwrap_or(3306));
    let tcp = vec![format!("--host={host}"), format!("--port={port}")];
    let with = |way: &[String], database: &str, text: &str| {
        let mut command = Command::new(&tool.program);
        command.arg("--silent").args(way).arg(format!("--user={}", endpoint.user));
        command.arg(format!("--basedir={}/", tool.base.display()));
        command.arg(format!("--database={database}"));
        fed(&mut command, text)
    };
    let renew = format!("DROP DATABASE IF EXISTS {database};\nCREATE DATABASE {database};\n");
    let asked = with(&tcp, "mysql", "SELECT @@socket;\n");
    let socket = String::from_utf8_lossy(&asked.stdout);
    let socket = socket.lines().find(|line| Path::new(line).exists());
    let socket = socket.map(|socket| vec![format!("--socket={socket}")]);
    for way in std::iter::once(&tcp).chain(&socket) {
        let made = with(&tcp, "mysql", &format!("--disable_warnings\n{renew}"));
        let output = with(way, &database, test);
        with(&tcp, "mysql", &format!("DROP DATABASE {database};\n"));
        let text = String::from_utf8_lossy(&output.stdout);
        if !(made.status.success() && output.status.success() && ends_like(&text, run)) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let name = &run.case.name;
            return Some(format!("{name}: mysqltest {way:?}:\n{test}\n{text}{stderr}"));
        }
    }
    None
}

/// Whether the rows that the test printed last are the run's final state.
fn ends_like(output: &str, run: &Run) -> bool {
    let cell = |value: &Value| value.to_string();
    run.final_state.iter().all(|(table, rows)| {
        let mut expected = vec![rows.columns.join("\t")];
        let lines = rows.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("\t"));
        expected.extend(lines);
        expected[1..].sort();
        let asked = format!("SELECT * FROM {table};\n");
        let Some(at) = output.rfind(&asked) else { return false };
        let shown = output[at + asked.len()..].lines();
        expected.iter().eq(shown.take(expected.len()))
    })
}
