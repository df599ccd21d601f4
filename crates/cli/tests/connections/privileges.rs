//! What an account may do decides what works: the table in docs/connections.md, tried on real servers.
//!
//! An account begins with the right to log in, and gets one privilege after the other. After each it is looked
//! at what works, and what is said about the rest.

use std::path::Path;

use crate::bed::{Server, anchorite, document, says, servers, words};

const PASSWORD: &str = "worker's";

/// t2 waits for t1.
const CASE: &str = "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                    /* setup */ INSERT INTO t VALUES (1, 10);\n\
                    /* t1 */ BEGIN;\n\
                    /* t1 */ UPDATE t SET v = 11 WHERE id = 1;\n\
                    /* t2 */ UPDATE t SET v = 12 WHERE id = 1;\n\
                    /* t1 */ COMMIT;\n";

const SPEC: &str = "session s1\nstep a { SELECT 1; }\n";

/// One step: what is granted, and what `run` says from then on, with its exit code.
struct Step {
    grant: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
    /// Whether `probe` and `hunt` work, too.
    suffices: bool,
}

const FORBIDDEN: Step = Step {
    grant: &[],
    code: 3,
    says: &["CREATE DATABASE: Access denied", "docs/connections.md"],
    suffices: false,
};

/// What cases do in their own databases.
const OWN_DATABASES: &str = "GRANT CREATE, DROP, ALTER, INDEX, REFERENCES, SELECT, INSERT, UPDATE, DELETE, LOCK TABLES \
                             ON `anchorite\\_%`.* TO worker";

const MARIADB: &[Step] = &[
    FORBIDDEN,
    Step {
        grant: &[OWN_DATABASES],
        code: 4,
        says: &["guessed", "SHOW ENGINE INNODB STATUS", "PROCESS privilege"],
        suffices: false,
    },
    Step {
        grant: &["GRANT PROCESS ON *.* TO worker"],
        code: 0,
        says: &["asked of the server (SHOW ENGINE INNODB STATUS, process list)"],
        suffices: true,
    },
    Step {
        grant: &["GRANT SELECT ON performance_schema.* TO worker"],
        code: 0,
        says: &["asked of the server (SHOW ENGINE INNODB STATUS, process list, metadata_locks)"],
        suffices: true,
    },
];

const MYSQL: &[Step] = &[
    FORBIDDEN,
    Step {
        grant: &[OWN_DATABASES],
        code: 4,
        says: &["guessed", "performance_schema: SELECT command denied"],
        suffices: false,
    },
    Step {
        grant: &["GRANT SELECT ON performance_schema.* TO worker"],
        code: 0,
        says: &[
            "asked of the server (performance_schema.data_lock_waits, process list, metadata_locks)",
        ],
        suffices: true,
    },
    Step {
        grant: &["GRANT PROCESS ON *.* TO worker"],
        code: 0,
        says: &[
            "asked of the server (performance_schema.data_lock_waits, process list, metadata_locks)",
        ],
        suffices: true,
    },
];

const POSTGRES: &[Step] = &[
    Step {
        grant: &[],
        code: 3,
        says: &["CREATE SCHEMA: permission denied for database", "docs/connections.md"],
        suffices: false,
    },
    Step {
        grant: &["GRANT CREATE ON DATABASE postgres TO worker"],
        code: 0,
        says: &["asked of the server (pg_blocking_pids, pg_isolation_test_session_is_blocked)"],
        suffices: true,
    },
];

#[test]
fn each_privilege_gives_what_the_page_says() {
    for name in servers() {
        let server = Server::start(&name, &[]);
        let (create, steps) = match server.product.as_str() {
            "postgres" => ("CREATE ROLE worker LOGIN PASSWORD", POSTGRES),
            "mariadb" => ("CREATE USER worker IDENTIFIED BY", MARIADB),
            _ => ("CREATE USER worker IDENTIFIED BY", MYSQL),
        };
        server.execute(&[&format!("{create} '{}'", PASSWORD.replace('\'', "''"))]);
        let home = tempfile::tempdir().expect("a folder");
        for (number, step) in steps.iter().enumerate() {
            server.execute(step.grant);
            try_step(&server, step, home.path(), &format!("{name}, step {number}"));
        }
        if server.is_postgres() {
            specs_need_a_database(&server, home.path());
        }
    }
}

fn try_step(server: &Server, step: &Step, home: &Path, at: &str) {
    let url = server.url_for("worker", "127.0.0.1", "");
    let case = home.join("waits.case");
    std::fs::write(&case, CASE).expect("it can be written");
    let case = case.to_str().expect("a plain path");
    let with = |arguments: &[&str]| {
        let mut command = anchorite(home, &[arguments, &["--on", &url]].concat());
        command.env("PGPASSWORD", PASSWORD).env("MYSQL_PWD", PASSWORD);
        command
    };
    let output = with(&["run", case]).output().expect("it starts");
    let told = words(&output);
    assert_eq!(output.status.code(), Some(step.code), "{at}: {told}");
    step.says.iter().for_each(|text| assert!(says(&told, text), "{at}: {told}"));
    if step.suffices {
        let probe = document(&mut with(&["probe", "--level", "ser", "--format", "json"]), &[0]);
        assert!(probe["results"].as_array().is_some_and(|rows| rows.len() >= 10), "{at}: {probe}");
        let arguments =
            ["hunt", "--level", "rr", "--cases", "100", "--seed", "3", "--format", "json"];
        let hunt = document(&mut with(&arguments), &[0, 1]);
        assert_eq!(hunt["cases"], 100, "{at}: {hunt}");
        let undecided = hunt["verdicts"]["undecided"].as_u64().expect("a number");
        assert!(undecided < 20, "{at}: {hunt}");
    } else {
        let output = with(&["hunt", "--cases", "1", "--seed", "3"]).output().expect("it starts");
        let told = words(&output);
        assert!(says(&told, "docs/connections.md"), "{at}: {told}");
        assert!(!says(&told, "connection was lost"), "{at}: {told}");
        if step.code == 3 {
            assert_eq!(output.status.code(), Some(3), "{at}: {told}");
            assert!(!told.contains("What was done"), "{at}: {told}");
        }
    }
}

/// PostgreSQL's own specs run in a database of their own.
fn specs_need_a_database(server: &Server, home: &Path) {
    let spec = home.join("x.spec");
    std::fs::write(&spec, SPEC).expect("it can be written");
    let url = server.url_for("worker", "127.0.0.1", "");
    let run = || {
        let file = spec.to_str().expect("a plain path");
        let arguments = ["run", file, "--format", "isolationtester", "--on", &url];
        let output = anchorite(home, &arguments).env("PGPASSWORD", PASSWORD).output();
        let output = output.expect("it starts");
        (output.status.code(), words(&output))
    };
    let (code, told) = run();
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("CREATE DATABASE: permission denied"), "{told}");
    server.execute(&["ALTER ROLE worker CREATEDB"]);
    let (code, told) = run();
    assert_eq!(code, Some(0), "{told}");
}
