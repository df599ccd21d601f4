//! One Ctrl-C is enough, wherever a command is, and nothing of it stays on somebody else's server: no schema, no
//! prepared transaction.
//!
//! Real processes and a real SIGINT, in the set-up of a case, in its middle, while its end is read, and in a hunt.
//! Servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

#[path = "../../hunt/tests/until/mod.rs"]
mod until;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anchorite_drivers::{Schema, Session, Target, execute, open};
use anchorite_model::Product;
use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(300);
/// Far less than the limits of statements, which would end the waits here at last.
const AT_ONCE: Duration = Duration::from_secs(15);

/// The servers that waits can be made on with a function that sleeps.
fn targets() -> Vec<(String, Box<dyn Target>)> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let targets = urls.split_whitespace().map(|url| (url.to_owned(), open(url).expect("it opens")));
    let targets: Vec<_> =
        targets.filter(|(_, target)| target.info().product != Product::named("tidb")).collect();
    if targets.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    targets
}

/// Somebody who looks at what others do on the server.
struct Spy {
    session: Box<dyn Session>,
    product: Product,
    _schema: Box<dyn Schema>,
}

impl Spy {
    fn new(target: &dyn Target) -> Self {
        let schema = target.create_schema().expect("a schema");
        let session = schema.own_session(LIMIT).expect("a session");
        Self { session, product: target.info().product, _schema: schema }
    }

    fn told(&mut self, sql: &str) -> String {
        let answer = execute(self.session.as_mut(), sql, LIMIT).expect("it may be asked");
        format!("{:?}", answer.results)
    }

    fn sees_statement(&mut self, text: &str) -> bool {
        let statements = match self.product.name() {
            "postgres" => "SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
            "cockroach" => "SELECT query FROM crdb_internal.cluster_queries",
            _ => "SELECT info FROM information_schema.processlist",
        };
        self.told(statements).contains(text)
    }

    fn sees_prepared(&mut self, id: &str) -> bool {
        match self.product.name() {
            "postgres" => self.told("SELECT gid FROM pg_prepared_xacts").contains(id),
            "mariadb" | "mysql" => self.told("XA RECOVER").contains(id),
            _ => false,
        }
    }
}

/// Asks again and again; the condition itself waits for an answer of the server.
fn wait_until(what: &str, child: &mut Child, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "waited too long until {what}");
        assert!(child.try_wait().expect("a state").is_none(), "it ended before {what}");
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Interrupts the command once; it ends at once, with the code for that, and has left nothing.
fn interrupt(child: &mut Child, target: &dyn Target, place: &str) {
    let number = child.id();
    let pid = Pid::from_raw(number.cast_signed()).expect("a process");
    let begun = Instant::now();
    kill_process(pid, Signal::INT).expect("it can be interrupted");
    if !until::has_ended(number, LIMIT) {
        child.kill().expect("it can be killed");
    }
    let place = format!("{}, {place}", target.info());
    let code = child.wait().expect("it has ended").code();
    assert_eq!(code, Some(130), "{place}: after {:?}", begun.elapsed());
    assert!(begun.elapsed() < AT_ONCE, "{place}: after {:?}", begun.elapsed());
    let marked = target.marked().expect("a list");
    let is_of_it = |name: &&str| name.contains(&format!("_{number}_"));
    let left: Vec<&str> = marked.iter().map(|m| m.name.as_str()).filter(is_of_it).collect();
    assert!(left.is_empty(), "{place}: {left:?} is left");
    println!("{place}: ended {} ms after SIGINT", begun.elapsed().as_millis());
}

/// Steps that prepare a transaction of this name, or begin one where nothing can be prepared.
fn preparing(product: Product, id: &str) -> String {
    let steps: &[&str] = match product.name() {
        "mariadb" | "mysql" => {
            &["XA START 'ID'", "UPDATE t SET a = 2", "XA END 'ID'", "XA PREPARE 'ID'"]
        }
        "postgres" => &["BEGIN", "UPDATE t SET a = 2", "PREPARE TRANSACTION 'ID'"],
        _ => &["BEGIN", "UPDATE t SET a = 2"],
    };
    steps.iter().map(|sql| format!("/* t1 */ {};\n", sql.replace("ID", id))).collect()
}

#[test]
fn a_case_is_interrupted_at_once_wherever_it_is() {
    for (url, target) in targets() {
        let target = target.as_ref();
        let product = target.info().product;
        let is_postgres = matches!(product.name(), "postgres" | "cockroach");
        let sleep = if is_postgres { "pg_sleep(120)" } else { "SLEEP(120)" };
        let mut spy = Spy::new(target);
        for place in ["setup", "t2", "check"] {
            let id = format!("anchorite-{}-{place}", std::process::id());
            let marker = format!("in_{place}_of_{}", std::process::id());
            let slow = format!("/* {place} */ SELECT {sleep} AS {marker};\n");
            let [in_setup, in_steps] =
                if place == "setup" { [slow.as_str(), ""] } else { ["", slow.as_str()] };
            let text = format!(
                "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
                 /* setup */ INSERT INTO t VALUES (1);\n{in_setup}{}{in_steps}",
                preparing(product, &id)
            );
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("slow.case");
            fs::write(&path, text).expect("it can be written");
            let path = path.to_str().expect("a plain path");
            let mut child =
                command(&["run", path, "--on", &url]).spawn().expect("the command starts");
            wait_until(place, &mut child, || spy.sees_statement(&marker));
            interrupt(&mut child, target, place);
            assert!(!spy.sees_prepared(&id), "{url}, {place}: {id} is prepared");
        }
    }
}

/// A spec whose set-up lasts, and one that has something prepared when it is interrupted; each has a database of its
/// own.
#[test]
fn a_spec_is_interrupted_at_once() {
    let is_postgres = |target: &dyn Target| target.info().product == Product::named("postgres");
    for (url, target) in targets().into_iter().filter(|(_, target)| is_postgres(target.as_ref())) {
        let mut spy = Spy::new(target.as_ref());
        for place in ["set-up", "step"] {
            let id = format!("anchorite-{}-spec-{place}", std::process::id());
            let marker = format!("in_spec_{}_of_{}", place.replace('-', "_"), std::process::id());
            let slow = format!("SELECT pg_sleep(120) AS {marker};");
            let in_setup = if place == "set-up" { slow.as_str() } else { "" };
            let text = format!(
                "setup {{ CREATE TABLE t (a INT); }}\nsession s1\nsetup {{ SELECT 1; {in_setup} }}\n\
                 step p {{ BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION '{id}'; }}\n\
                 session s2\nstep q {{ {slow} }}\npermutation p q\n"
            );
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("slow.spec");
            fs::write(&path, text).expect("it can be written");
            let path = path.to_str().expect("a plain path");
            let mut child =
                command(&["run", path, "--on", &url]).spawn().expect("the command starts");
            wait_until(place, &mut child, || spy.sees_statement(&marker));
            interrupt(&mut child, target.as_ref(), &format!("{place} of a spec"));
            assert!(!spy.sees_prepared(&id), "{url}, {place}: {id} is prepared");
            let databases = spy.told("SELECT datname FROM pg_database");
            assert!(!databases.contains("isolation_regression"), "{url}: {databases}");
        }
    }
}

#[test]
fn a_hunt_is_interrupted_at_once() {
    for (url, target) in targets() {
        // Without any knowledge of the target it first learns the dialect, with one schema at a time.
        for (place, schemas) in [("learning", 1), ("hunting", 3)] {
            let folder = tempfile::tempdir().expect("a folder");
            let out = folder.path().join("findings");
            let out = out.to_str().expect("a plain path");
            let arguments = ["hunt", "--on", &url, "--time", "10m", "--jobs", "3", "--out", out];
            let mut command = command(&arguments);
            let command = command.env("ANCHORITE_STATE", folder.path());
            let mut child = command.spawn().expect("the command starts");
            let number = format!("_{}_", child.id());
            wait_until(place, &mut child, || {
                let marked = target.marked().expect("a list");
                marked.iter().filter(|m| m.name.contains(&number)).count() >= schemas
            });
            interrupt(&mut child, target.as_ref(), place);
        }
    }
}
