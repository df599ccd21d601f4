//! An account with a password: every place that the password can come from, and that it shows up nowhere.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::bed::{Certificates, Server, anchorite, document, servers, words};

/// Letters that URLs, option files and password files treat specially.
const PASSWORD: &str = "s3:c\\r#e%t @'/";
/// Its form in a URL, in ~/.pgpass, and in ~/.my.cnf.
const IN_URL: &str = "s3%3Ac%5Cr%23e%25t%20%40%27%2F";
const IN_PGPASS: &str = "s3\\:c\\\\r#e%t @'/";
const IN_MY_CNF: &str = "\"s3:c\\\\r#e%t @'/\"";

const CASE: &str = "/* setup */ CREATE TABLE t (a INT);\n/* t1 */ INSERT INTO t VALUES (1);\n";

/// A server with an account `tester` that may do everything and has the password. PostgreSQL asks only for
/// passwords over TLS here, which nothing below has to care about.
fn server(name: &str, certificates: &Certificates) -> Server {
    let server = certificates.demanding_server(name);
    let quoted = PASSWORD.replace('\'', "''");
    if server.is_postgres() {
        server.execute(&[&format!("CREATE ROLE tester SUPERUSER LOGIN PASSWORD '{quoted}'")]);
    } else {
        let quoted = quoted.replace('\\', "\\\\");
        server.execute(&[
            &format!("CREATE USER tester IDENTIFIED BY '{quoted}'"),
            "GRANT ALL ON *.* TO tester WITH GRANT OPTION",
        ]);
    }
    server
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("it can be written");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
}

#[test]
fn passwords_come_from_all_places_and_show_up_nowhere() {
    let certificates = Certificates::make();
    for name in servers() {
        let server = server(&name, &certificates);
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let case = home.join("x.case");
        write(&case, CASE);
        let case = case.to_str().expect("a plain path");
        let url = server.url_for("tester", "127.0.0.1", "");
        let run =
            |more: &[&str]| anchorite(home, &[&["run", case, "--on", &url][..], more].concat());
        let passes = |command: &mut Command| {
            let output = command.output().expect("it starts");
            assert_eq!(output.status.code(), Some(0), "{command:?}: {}", words(&output));
            shows_nothing(&words(&output));
        };
        let refused = |command: &mut Command, expected: &str| {
            let output = command.output().expect("it starts");
            assert_eq!(output.status.code(), Some(3), "{command:?}: {}", words(&output));
            assert!(words(&output).contains(expected), "{}", words(&output));
            shows_nothing(&words(&output));
        };
        refused(run(&[]).stdin(Stdio::null()), "--password-file FILE");
        // The server asks, and on a terminal so do we.
        prompt(&mut run(&[]));
        let file = home.join("password");
        write(&file, &format!("{PASSWORD}\nthe second line is not read\n"));
        passes(&mut run(&["--password-file", file.to_str().expect("a plain path")]));
        let in_url = server.url_for(&format!("tester:{IN_URL}"), "127.0.0.1", "");
        passes(&mut anchorite(home, &["run", case, "--on", &in_url]));
        let variable = if server.is_postgres() { "PGPASSWORD" } else { "MYSQL_PWD" };
        passes(run(&[]).env(variable, PASSWORD));
        refused(run(&[]).env(variable, "wrong"), "tester");
        if server.is_postgres() {
            write(&home.join(".pgpass"), &format!("127.0.0.1:*:postgres:tester:{IN_PGPASS}\n"));
        } else {
            write(&home.join(".my.cnf"), &format!("[client]\nuser=tester\npassword={IN_MY_CNF}\n"));
        }
        passes(&mut run(&[]));
        prompt(&mut run(&["--password"]));
        hunt(home, &url);
    }
}

fn shows_nothing(text: &str) {
    assert!(!text.contains(PASSWORD) && !text.contains(IN_URL), "the password is in: {text}");
}

/// A campaign, and going on with it: the password is taken from the home folder each time.
fn hunt(home: &Path, url: &str) {
    let folder = home.join("findings");
    let with = |more: &[&str]| {
        let out = folder.to_str().expect("a plain path");
        let common = ["hunt", "--out", out, "--format", "json", "--strict", "--seed", "1"];
        anchorite(home, &[&common[..], more].concat())
    };
    let first = document(&mut with(&["--on", url, "--level", "rc", "--cases", "6"]), &[0, 1]);
    assert_eq!(first["cases"], 6, "{url}: {first}");
    let second = document(&mut with(&["--resume", "--cases", "12"]), &[0, 1]);
    assert_eq!(second["cases"], 12, "{url}: {second}");
    look_through(&folder);
}

fn look_through(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look_through(&path);
        } else {
            shows_nothing(&String::from_utf8_lossy(&fs::read(&path).expect("a file")));
        }
    }
}

/// Types the password on a terminal.
#[allow(clippy::print_stdout, reason = "tests tell what they skip")]
fn prompt(command: &mut Command) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it can be used");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())
        .expect("its other end opens");
    // Only the leader of a session can have a terminal of its own; `setsid` is a part of util-linux.
    let mut leader = Command::new("setsid");
    leader.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => leader.env(name, value),
            None => leader.env_remove(name),
        };
    }
    leader.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(child) = leader.spawn() else {
        println!("skipped: there is no setsid, so nobody can be asked on a terminal");
        return;
    };
    let mut terminal = fs::File::from(ours);
    let mut shown = Vec::new();
    let mut letter = [0];
    while !shown.ends_with(b": ") {
        terminal.read_exact(&mut letter).expect("the question");
        shown.push(letter[0]);
    }
    terminal.write_all(format!("{PASSWORD}\r").as_bytes()).expect("it is typed");
    let output = child.wait_with_output().expect("it ends");
    let asked = String::from_utf8_lossy(&shown);
    assert!(asked.contains("Password for ") && asked.contains("tester@127.0.0.1"), "{asked}");
    assert_eq!(output.status.code(), Some(0), "{asked}{}", words(&output));
    shows_nothing(&words(&output));
}
