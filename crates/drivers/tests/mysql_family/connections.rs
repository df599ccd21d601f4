//! Connecting, losing a connection, cancelling, tidying up.

use anchorite_drivers::mysql_family::connect;
use anchorite_model::{ErrorClass, Value};

use crate::bed::{
    LIMIT, answer_of, endpoint, fail, on_each_server, on_each_server_that_can_be_asked,
    open_target, run, run_all, server_urls, wait_of,
};

#[test]
fn a_killed_connection_is_lost_and_stays_so() {
    on_each_server(|bed| {
        let (mut victim, mut killer) = (bed.session(), bed.session());
        run_all(&mut *victim, &["CREATE TABLE t (a INT)", "BEGIN", "INSERT INTO t VALUES (1)"]);
        run(&mut *killer, &kill(bed, victim.id()));
        for _ in 0..2 {
            let error = fail(&mut *victim, "SELECT 1");
            assert_eq!(error.class, ErrorClass::ConnectionLost, "{error:?}");
            assert!(error.transaction_gone);
        }
    });
}

#[test]
fn a_connection_killed_while_it_waits_is_lost() {
    on_each_server_that_can_be_asked(|bed| {
        let (mut holder, mut victim) = (bed.session(), bed.session());
        run_all(
            &mut *holder,
            &[
                "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
                "INSERT INTO t VALUES (1,1)",
                "BEGIN",
                "UPDATE t SET b = 2",
            ],
        );
        victim.submit("UPDATE t SET b = 3");
        wait_of(&mut *bed.watcher(), &mut *victim, &[holder.id()]);
        run(&mut *holder, &kill(bed, victim.id()));
        let error = answer_of(&mut *victim).expect_err("killed");
        // Some servers answer that the statement was interrupted and close the connection then.
        if error.class != ErrorClass::ConnectionLost {
            assert_eq!(error.code, "1317", "{error:?}");
            assert_eq!(fail(&mut *victim, "SELECT 1").class, ErrorClass::ConnectionLost);
        }
    });
}

#[test]
fn cancelling_gives_up_the_statement_only() {
    on_each_server_that_can_be_asked(|bed| {
        let (mut holder, mut waiter) = (bed.session(), bed.session());
        run_all(
            &mut *holder,
            &[
                "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
                "INSERT INTO t VALUES (1,1), (2,2)",
                "BEGIN",
                "UPDATE t SET b = 9 WHERE a = 1",
            ],
        );
        run_all(&mut *waiter, &["BEGIN", "UPDATE t SET b = 8 WHERE a = 2"]);
        waiter.cancel(); // nothing to cancel: no effect
        waiter.submit("UPDATE t SET b = 8 WHERE a = 1");
        wait_of(&mut *bed.watcher(), &mut *waiter, &[holder.id()]);
        waiter.cancel();
        let error = answer_of(&mut *waiter).expect_err("cancelled");
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Other, "1317"));
        assert!(!error.transaction_gone);
        run(&mut *waiter, "COMMIT");
        let rows = run(&mut *waiter, "SELECT b FROM t WHERE a = 2");
        assert_eq!(rows.results[0].rows, [vec![Value::Int(8)]]);
    });
}

#[test]
fn a_schema_is_dropped_even_if_a_session_still_waits() {
    on_each_server_that_can_be_asked(|bed| {
        let schema = bed.target.create_schema().expect("a second schema");
        let open = |lock_wait| {
            let name = "t".to_owned();
            let options = anchorite_drivers::SessionOptions { name, level: None, lock_wait };
            schema.open(&options).expect("opens").session
        };
        let (mut holder, mut waiter) = (open(LIMIT * 10), open(LIMIT * 10));
        run_all(
            &mut *holder,
            &[
                "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
                "INSERT INTO t VALUES (1,1)",
                "BEGIN",
                "UPDATE t SET b = 2",
            ],
        );
        waiter.submit("UPDATE t SET b = 3");
        wait_of(&mut *bed.watcher(), &mut *waiter, &[holder.id()]);
        drop(waiter);
        let name = schema.name().to_owned();
        let dropping = std::time::Instant::now();
        drop(schema); // the holder is still open: it is ended, too
        assert!(dropping.elapsed() < LIMIT, "dropping took {:?}", dropping.elapsed());
        let mut other = bed.session();
        let left = run(&mut *other, &format!("SHOW DATABASES LIKE '{name}'"));
        assert!(left.results[0].rows.is_empty(), "{name} is still there");
    });
}

#[test]
fn an_account_with_a_password_gets_in_and_a_wrong_password_is_never_shown() {
    for url in server_urls() {
        let target = open_target(&url);
        let schema = target.create_schema().expect("a schema");
        let name = "t".to_owned();
        let options = anchorite_drivers::SessionOptions { name, level: None, lock_wait: LIMIT };
        let mut admin = schema.open(&options).expect("opens").session;
        let user = format!("u_{}", std::process::id());
        for host in ["%", "localhost"] {
            let account = format!("'{user}'@'{host}'");
            let sql = format!("CREATE USER {account} IDENTIFIED BY 'p@ss/wört'");
            if anchorite_drivers::execute(&mut *admin, &sql, LIMIT).is_err() {
                return; // runs without accounts
            }
        }
        let place = url.rsplit('@').next().expect("a host");
        let right = format!("mysql://{user}:p%40ss%2Fw%C3%B6rt@{place}");
        // Twice: the second time the server may have cached the password.
        for _ in 0..2 {
            let same = connect(&endpoint(&right)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(same.info().product, target.info().product);
        }
        let wrong = connect(&endpoint(&format!("mysql://{user}:topsecret@{place}")));
        let message = wrong.err().expect("refused").to_string();
        assert!(message.contains("1045") && !message.contains("topsecret"), "{message}");
        let unprivileged = connect(&endpoint(&right)).expect("connects").create_schema();
        assert!(unprivileged.is_err(), "an account without rights made a schema");
        for host in ["%", "localhost"] {
            run(&mut *admin, &format!("DROP USER '{user}'@'{host}'"));
        }
    }
}

#[test]
fn nobody_listening_is_said_clearly() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let error = connect(&endpoint(&format!("mysql://u:topsecret@127.0.0.1:{port}")))
        .err()
        .expect("refused");
    let message = error.to_string();
    assert!(message.contains(&format!("mysql://u@127.0.0.1:{port}")), "{message}");
    assert!(!message.contains("topsecret"), "{message}");
}

fn kill(bed: &crate::bed::Bed, id: u64) -> String {
    let tidb = if bed.is(anchorite_model::Product::named("tidb")) { "TIDB " } else { "" };
    format!("KILL {tidb}{id}")
}
