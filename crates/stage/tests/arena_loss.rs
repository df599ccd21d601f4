//! An arena whose connections are cut, and whose server is killed: the run or an error says so, and the same
//! arena goes on as soon as the server answers.
//!
//! Runs with the private servers that `ANCHORITE_TEST_SERVERS` names (`mariadb@10.11 postgres@15`).

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::time::Duration;

use anchorite_drivers::{Target, execute, open};
use anchorite_model::{Case, Ending, Product, Run};
use anchorite_servers::{Options, Request, RunningServer, Silent, handshake, start};
use anchorite_stage::{Arena, RunOptions, Runner, StageError};
use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(60);

fn servers() -> Vec<RunningServer> {
    let named = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    let known = |name: &&str| ["mariadb", "mysql", "postgres"].iter().any(|p| name.starts_with(p));
    let servers: Vec<RunningServer> = named
        .split_whitespace()
        .filter(known)
        .map(|name| {
            let request: Request = name.parse().expect("product@version");
            let ready = |endpoint: &_| handshake::greets(endpoint);
            let options = Options { extra_args: Vec::new(), ready: &ready, progress: &Silent };
            start(&request, &options).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    if servers.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server");
    }
    servers
}

fn case() -> Case {
    let text = "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                /* setup */ INSERT INTO t VALUES (1, 0);\n\
                /* t1 */ BEGIN; /* t2 */ BEGIN;\n\
                /* t1 */ UPDATE t SET v = 1; /* t2 */ UPDATE t SET v = v + 1;\n\
                /* t1 */ COMMIT; /* t2 */ COMMIT;\n";
    Case::parse("loss", text).expect("a case")
}

/// Ends every connection but its own.
fn cut_connections(target: &dyn Target) {
    let schema = target.create_schema().expect("a schema");
    let mut session = schema.own_session(LIMIT).expect("a session");
    let mut ask = |sql: &str| execute(session.as_mut(), sql, LIMIT);
    if target.info().product == Product::named("postgres") {
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                      WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
        ask(others).expect("a superuser may");
        return;
    }
    let others = "SELECT ID FROM information_schema.PROCESSLIST \
                  WHERE ID <> CONNECTION_ID() AND USER = 'root'";
    for row in &ask(others).expect("root may").results[0].rows {
        // It may have ended meanwhile.
        let _ = ask(&format!("KILL {}", row[0]));
    }
}

fn is_lost(result: &Result<Run, StageError>) -> bool {
    match result {
        Ok(run) => matches!(run.ending, Ending::TargetLost(_)),
        Err(error) => matches!(error, StageError::Target(_)),
    }
}

#[test]
fn an_arena_survives_cut_connections_and_tells_of_a_killed_server() {
    for server in servers() {
        let target = open(&server.url()).expect("the server answers");
        let target = target.as_ref();
        let mut arena = Arena::new(target, RunOptions::default()).expect("an arena");
        let first = arena.run(&case(), None).expect("it runs");
        for _ in 0..3 {
            cut_connections(target);
            let cut = arena.run(&case(), None).map_err(StageError::from);
            assert!(is_lost(&cut), "{}: {cut:?}", target.info());
            let next = arena.run(&case(), None).expect("it runs again");
            assert_eq!(next.final_state, first.final_state);
            assert_eq!(next.events.len(), first.events.len());
        }
        let pid = server.pid.and_then(|pid| Pid::from_raw(pid.cast_signed())).expect("a process");
        kill_process(pid, Signal::KILL).expect("it is ours");
        assert!(server.ended_within(LIMIT));
        for _ in 0..2 {
            let lost = arena.run(&case(), None).map_err(StageError::from);
            assert!(is_lost(&lost), "{}: {lost:?}", target.info());
        }
        println!("{}: lost and noticed", target.info());
    }
}
