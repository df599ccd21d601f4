//! A server that demands TLS: who gets in, who is refused with which words, and that everything works there.

use std::path::Path;

use anchorite_drivers::{SessionOptions, open, wait_readable};
use serde_json::Value;

use crate::bed::{
    Certificates, LIMIT, Server, anchorite, ask, document, servers, wait_until, words,
};

/// t2 waits for t1.
const CASE: &str = "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                    /* setup */ INSERT INTO t VALUES (1, 10);\n\
                    /* t1 */ BEGIN;\n\
                    /* t1 */ UPDATE t SET v = 11 WHERE id = 1;\n\
                    /* t2 */ UPDATE t SET v = 12 WHERE id = 1;\n\
                    /* t1 */ COMMIT;\n";

#[test]
fn a_server_that_demands_tls_is_used_over_tls() {
    let certificates = Certificates::make();
    for name in servers() {
        let server = certificates.demanding_server(&name);
        let home = tempfile::tempdir().expect("a folder");
        let user = if server.is_postgres() { "postgres" } else { "root" };
        let parameters =
            format!("?sslmode=verify-full&sslrootcert={}", certificates.path("ca.pem"));
        let url = server.url_for(user, "127.0.0.1", &parameters);
        refusals(&server, &certificates, home.path(), user);
        is_encrypted(&server, &url);
        run(home.path(), &url);
        probe(home.path(), &url);
        hunt(home.path(), &url);
        cancel(&server, &url);
    }
}

/// What must not work, with the words that say why.
fn refusals(server: &Server, certificates: &Certificates, home: &Path, user: &str) {
    let case = home.join("x.case");
    std::fs::write(&case, CASE).expect("it can be written");
    let case = case.to_str().expect("a plain path");
    let [ca, other] = ["ca.pem", "other.pem"].map(|name| certificates.path(name));
    let table = [
        ("127.0.0.1", "sslmode=disable".to_owned(), 3, "sslmode=disable forbids"),
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={other}"),
            3,
            "not signed by any CA",
        ),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={other}"), 3, "not signed by any CA"),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={ca}"),
            3,
            "not for the host 'localhost'",
        ),
        ("127.0.0.1", "sslmode=verify-full".to_owned(), 2, "sslrootcert=FILE"),
        ("127.0.0.1", "sslrootcert=/nowhere".to_owned(), 2, "sslrootcert=/nowhere"),
        ("127.0.0.1", "sslmode=sometimes".to_owned(), 2, "verify-full"),
        ("127.0.0.1", "tls=1".to_owned(), 2, "'tls'"),
        // And what must.
        ("localhost", format!("sslmode=verify-ca&sslrootcert={ca}"), 0, ""),
        ("127.0.0.1", format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={ca}"), 0, ""),
        ("127.0.0.1", "sslmode=require".to_owned(), 0, ""),
        ("127.0.0.1", "sslmode=prefer".to_owned(), 0, ""),
        ("127.0.0.1", String::new(), 0, ""),
    ];
    for (host, parameters, code, expected) in table {
        let url = server.url_for(user, host, &format!("?{parameters}"));
        let output = anchorite(home, &["run", case, "--on", &url]).output().expect("it starts");
        let told = words(&output);
        assert_eq!(output.status.code(), Some(code), "{url}: {told}");
        assert!(told.contains(expected), "{url}: {told}");
    }
}

/// The server's own word for it.
fn is_encrypted(server: &Server, url: &str) {
    let question = if server.is_postgres() {
        "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    } else {
        "SHOW STATUS LIKE 'Ssl_version'"
    };
    let answer = ask(url, question);
    assert!(answer.contains("TLSv1."), "{url}: {answer}");
}

fn run(home: &Path, url: &str) {
    let case = home.join("waits.case");
    std::fs::write(&case, CASE).expect("it can be written");
    let case = case.to_str().expect("a plain path");
    let result =
        document(&mut anchorite(home, &["run", case, "--on", url, "--format", "json"]), &[0]);
    let events = result["results"][0]["events"].as_array().expect("events");
    let is_blocked =
        |event: &Value| event["outcome"] == "blocked" && event["blocked_by"][0] == "t1";
    assert!(events.iter().any(is_blocked), "{url}: {events:?}");
    assert!(events.iter().any(|event| event["outcome"] == "resumed"), "{url}: {events:?}");
}

fn probe(home: &Path, url: &str) {
    let arguments = ["probe", "--on", url, "--level", "ser", "--format", "json"];
    let result = document(&mut anchorite(home, &arguments), &[0]);
    let rows = result["results"].as_array().expect("rows");
    assert!(rows.len() >= 10, "{url}: {rows:?}");
}

/// A campaign that is resumed by what it has written down, parameters of the URL and all.
fn hunt(home: &Path, url: &str) {
    let folder = home.join("findings");
    let folder = folder.to_str().expect("a plain path");
    let common = ["hunt", "--out", folder, "--format", "json", "--jobs", "2"];
    let with = |more: &[&str]| anchorite(home, &[&common[..], more].concat());
    let begun = ["--on", url, "--level", "rc", "--level", "ser", "--seed", "5", "--cases", "300"];
    let first = document(&mut with(&begun), &[0, 1]);
    assert_eq!(first["cases"], 300, "{url}: {first}");
    let second = document(&mut with(&["--resume", "--cases", "400"]), &[0, 1]);
    assert_eq!(second["cases"], 400, "{url}: {second}");
}

/// A running statement is given up over a second encrypted connection.
fn cancel(server: &Server, url: &str) {
    let target = open(url).expect("the server answers");
    let schema = target.create_schema().expect("a schema");
    let options = SessionOptions { name: "slow".into(), level: None, lock_wait: LIMIT };
    let mut session = schema.open(&options).expect("a session").session;
    let (sleep, code) = if server.is_postgres() {
        ("SELECT pg_sleep(600)", "57014")
    } else {
        ("DO sleep(600)", "1317")
    };
    session.submit(sleep);
    session.cancel();
    let mut reply = None;
    wait_until("the statement is given up", || {
        reply = session.poll();
        if reply.is_none() {
            wait_readable(&[session.fd().expect("a descriptor")], LIMIT);
        }
        reply.is_some()
    });
    match reply.expect("an answer") {
        Err(error) => assert_eq!(error.code, code, "{url}"),
        // MariaDB's sleep ends early without an error.
        Ok(_) => assert!(!server.is_postgres(), "{url}"),
    }
}
