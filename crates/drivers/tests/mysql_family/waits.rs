//! Every kind of wait is seen, with the right blocker, and nothing else is taken for one.

use anchorite_drivers::Session;
use anchorite_model::{Level, Product};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bed::{Bed, answer_of, on_each_server_that_can_be_asked, run, run_all, wait_of};

/// One session does something, another one has to wait for it.
struct Scenario {
    name: &'static str,
    level: Option<Level>,
    /// Who has such a wait.
    applies: fn(&Bed) -> bool,
    setup: &'static [&'static str],
    holder: &'static [&'static str],
    /// What the waiter does first; only its last statement waits.
    waiter: &'static [&'static str],
    release: &'static str,
    /// What the watcher calls it, one of these.
    kinds: &'static [&'static str],
}

fn everywhere(_: &Bed) -> bool {
    true
}

fn has_innodb(bed: &Bed) -> bool {
    !bed.is(Product::named("tidb"))
}

fn has_innodb_or_new_tidb(bed: &Bed) -> bool {
    has_innodb(bed) || bed.major() >= 8
}

fn has_user_locks(bed: &Bed) -> bool {
    has_innodb(bed) || (bed.major() >= 8 && bed.has_tidb_log())
}

const TABLE: &[&str] =
    &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,1), (5,5), (10,10)"];
const FAMILY: &[&str] = &[
    "CREATE TABLE p (a INT PRIMARY KEY)",
    "CREATE TABLE c (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES p (a))",
    "INSERT INTO p VALUES (1)",
];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "row",
        level: None,
        applies: everywhere,
        setup: TABLE,
        holder: &["BEGIN", "UPDATE t SET b = 2 WHERE a = 1"],
        waiter: &["BEGIN", "UPDATE t SET b = 3 WHERE a = 1"],
        release: "COMMIT",
        kinds: &["row lock"],
    },
    Scenario {
        name: "gap",
        level: Some(Level::RepeatableRead),
        applies: has_innodb,
        setup: TABLE,
        holder: &["BEGIN", "SELECT * FROM t WHERE a BETWEEN 6 AND 9 FOR UPDATE"],
        waiter: &["BEGIN", "INSERT INTO t VALUES (7,7)"],
        release: "COMMIT",
        kinds: &["gap lock"],
    },
    Scenario {
        name: "behind the last row",
        level: Some(Level::RepeatableRead),
        applies: has_innodb,
        setup: TABLE,
        holder: &["BEGIN", "SELECT * FROM t WHERE a > 10 FOR UPDATE"],
        waiter: &["BEGIN", "INSERT INTO t VALUES (11,7)"],
        release: "COMMIT",
        kinds: &["gap lock"],
    },
    Scenario {
        name: "unique key",
        level: None,
        applies: everywhere,
        setup: TABLE,
        holder: &["BEGIN", "INSERT INTO t VALUES (7,7)"],
        waiter: &["BEGIN", "INSERT INTO t VALUES (7,8)"],
        release: "ROLLBACK",
        kinds: &["row lock"],
    },
    Scenario {
        name: "foreign key",
        level: None,
        applies: has_innodb_or_new_tidb,
        setup: FAMILY,
        holder: &["BEGIN", "DELETE FROM p WHERE a = 1"],
        waiter: &["BEGIN", "INSERT INTO c VALUES (1)"],
        release: "ROLLBACK",
        kinds: &["row lock"],
    },
    Scenario {
        name: "serializable read",
        level: Some(Level::Serializable),
        applies: has_innodb,
        setup: TABLE,
        holder: &["BEGIN", "UPDATE t SET b = 2 WHERE a = 1"],
        waiter: &["BEGIN", "SELECT * FROM t WHERE a = 1"],
        release: "ROLLBACK",
        kinds: &["row lock"],
    },
    Scenario {
        name: "DDL against an open transaction",
        level: None,
        applies: has_innodb_or_new_tidb,
        setup: TABLE,
        holder: &["BEGIN", "SELECT * FROM t"],
        waiter: &["ALTER TABLE t ADD COLUMN c INT"],
        release: "COMMIT",
        kinds: &["table metadata lock"],
    },
    Scenario {
        name: "LOCK TABLES WRITE",
        level: None,
        applies: has_innodb,
        setup: TABLE,
        holder: &["LOCK TABLES t WRITE"],
        waiter: &["SELECT * FROM t"],
        release: "UNLOCK TABLES",
        kinds: &["table metadata lock"],
    },
    Scenario {
        name: "LOCK TABLES READ",
        level: None,
        applies: has_innodb,
        setup: TABLE,
        holder: &["LOCK TABLES t READ"],
        waiter: &["UPDATE t SET b = 3"],
        release: "UNLOCK TABLES",
        kinds: &["table metadata lock", "table level lock"],
    },
    Scenario {
        name: "GET_LOCK",
        level: None,
        applies: has_user_locks,
        setup: &[],
        holder: &["SELECT GET_LOCK('anchorite', 50)"],
        waiter: &["SELECT GET_LOCK('anchorite', 50)"],
        release: "SELECT RELEASE_LOCK('anchorite')",
        kinds: &["user lock"],
    },
    Scenario {
        name: "global read lock against a write",
        level: None,
        applies: has_innodb,
        setup: TABLE,
        holder: &["FLUSH TABLES WITH READ LOCK"],
        waiter: &["UPDATE t SET b = 3"],
        release: "UNLOCK TABLES",
        kinds: &["backup lock", "global read lock"],
    },
];

#[test]
fn every_kind_of_wait_is_seen_with_its_blocker() {
    on_each_server_that_can_be_asked(|bed| {
        let mut watcher = bed.watcher();
        let mut setup = bed.session();
        for scenario in SCENARIOS.iter().filter(|scenario| (scenario.applies)(bed)) {
            run_all(&mut *setup, scenario.setup);
            let (mut holder, mut waiter) =
                (bed.session_at(scenario.level), bed.session_at(scenario.level));
            run_all(&mut *holder, scenario.holder);
            let (last, before) = scenario.waiter.split_last().expect("a waiting statement");
            run_all(&mut *waiter, before);
            waiter.submit(last);
            let wait = wait_of(&mut *watcher, &mut *waiter, &[holder.id()]);
            let place = format!("{} on {}", scenario.name, bed.target.info());
            assert!(scenario.kinds.contains(&wait.kind.as_str()), "{place}: {wait:?}");
            if bed.names_blockers(scenario.name) {
                assert_eq!(wait.blockers, Some(vec![holder.id()]), "{place}: {wait:?}");
            }
            run(&mut *holder, scenario.release);
            answer_of(&mut *waiter).unwrap_or_else(|error| panic!("{place}: {error:?}"));
            let waits = watcher.waits(&[waiter.id()], &[]).expect("asked");
            assert!(waits.is_empty(), "{place}: still waiting when answered");
            drop((holder, waiter));
            run_all(&mut *setup, &["DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS c, p"]);
        }
    });
}

impl Bed {
    /// Whether this server can say who is waited for.
    fn names_blockers(&self, scenario: &str) -> bool {
        let is_metadata = ["DDL", "LOCK TABLES", "GET_LOCK", "global read lock"]
            .iter()
            .any(|name| scenario.starts_with(name));
        match self.product().name() {
            "tidb" if is_metadata => scenario != "GET_LOCK",
            "tidb" => self.has_tidb_log(),
            "mysql" if self.major() >= 8 => true,
            // 5.6 has no table of these locks.
            "mysql" if is_metadata => false,
            _ if is_metadata => self.variable("performance_schema") == "1",
            _ => self.variable("innodb_status_output_locks") == "1",
        }
    }

    fn has_tidb_log(&self) -> bool {
        self.watcher().method().contains("log")
    }

    fn variable(&self, name: &str) -> String {
        let answer = run(&mut *self.session(), &format!("SELECT @@{name}"));
        answer.results[0].rows[0][0].to_string()
    }
}

#[test]
fn a_commit_waits_for_the_global_read_lock() {
    on_each_server_that_can_be_asked(|bed| {
        if bed.is(Product::named("tidb")) {
            return;
        }
        let (mut holder, mut waiter) = (bed.session(), bed.session());
        run_all(&mut *waiter, TABLE);
        run_all(&mut *waiter, &["BEGIN", "UPDATE t SET b = 2"]);
        run(&mut *holder, "FLUSH TABLES WITH READ LOCK");
        waiter.submit("COMMIT");
        let wait = wait_of(&mut *bed.watcher(), &mut *waiter, &[holder.id()]);
        assert!(["backup lock", "commit lock"].contains(&wait.kind.as_str()), "{wait:?}");
        run(&mut *holder, "UNLOCK TABLES");
        answer_of(&mut *waiter).expect("commits");
    });
}

#[test]
fn a_queue_of_waiters_names_everyone_before() {
    on_each_server_that_can_be_asked(|bed| {
        let mut sessions: Vec<_> = (0..3).map(|_| bed.session()).collect();
        let ids: Vec<_> = sessions.iter().map(|session| session.id()).collect();
        let mut watcher = bed.watcher();
        run_all(&mut *sessions[0], TABLE);
        for session in &mut sessions {
            run(&mut **session, "BEGIN");
        }
        run(&mut *sessions[0], "UPDATE t SET b = 2 WHERE a = 1");
        for n in 1..3 {
            sessions[n].submit("UPDATE t SET b = 3 WHERE a = 1");
            let wait = wait_of(&mut *watcher, &mut *sessions[n], &ids);
            if bed.names_blockers("row") && !bed.is(Product::named("tidb")) {
                assert_eq!(wait.blockers.as_deref(), Some(&ids[..n]), "{:?}", bed.target.info());
            }
        }
        let both = watcher.waits(&ids[1..], &ids).expect("asked");
        assert_eq!(both.len(), 2, "{both:?}");
        for n in 0..3 {
            run(&mut *sessions[n], "COMMIT");
            if let Some(next) = sessions.get_mut(n + 1) {
                answer_of(&mut **next).expect("resumed");
            }
        }
    });
}

#[test]
fn statements_behind_a_waiting_ddl_wait_for_it() {
    on_each_server_that_can_be_asked(|bed| {
        if bed.is(Product::named("tidb")) {
            return; // its DDL makes nobody wait
        }
        let (mut holder, mut ddl, mut reader) = (bed.session(), bed.session(), bed.session());
        let ids = [holder.id(), ddl.id(), reader.id()];
        let mut watcher = bed.watcher();
        run_all(&mut *holder, TABLE);
        run_all(&mut *holder, &["BEGIN", "SELECT * FROM t"]);
        ddl.submit("DROP TABLE t");
        let first = wait_of(&mut *watcher, &mut *ddl, &ids);
        reader.submit("SELECT * FROM t");
        let second = wait_of(&mut *watcher, &mut *reader, &ids);
        if bed.names_blockers("DDL") {
            assert_eq!(first.blockers, Some(vec![ids[0]]));
            assert_eq!(second.blockers, Some(vec![ids[1]]));
        }
        run(&mut *holder, "COMMIT");
        answer_of(&mut *ddl).expect("dropped");
        assert_eq!(answer_of(&mut *reader).expect_err("no table").code, "1146");
    });
}

#[test]
fn a_metadata_lock_that_was_granted_is_no_wait_any_more() {
    const ROUNDS: usize = 100;
    on_each_server_that_can_be_asked(|bed| {
        let mut watcher = bed.watcher();
        if !watcher.method().contains("metadata_locks") {
            return; // does not record them, so that the answer depends on how busy the machine is
        }
        let (mut holder, mut one, mut two) = (bed.session(), bed.session(), bed.session());
        let ids = [holder.id(), one.id(), two.id()];
        run_all(&mut *holder, TABLE);
        for _ in 0..ROUNDS {
            run(&mut *holder, "LOCK TABLES t WRITE");
            one.submit("UPDATE t SET b = b + 1 WHERE a = 1");
            wait_of(&mut *watcher, &mut *one, &ids);
            two.submit("UPDATE t SET b = b + 1 WHERE a = 5");
            wait_of(&mut *watcher, &mut *two, &ids);
            run(&mut *holder, "UNLOCK TABLES");
            let waits = watcher.waits(&ids[1..], &ids).expect("asked");
            assert!(waits.is_empty(), "{} with {}: {waits:?}", bed.target.info(), watcher.method());
            answer_of(&mut *one).expect("resumed");
            answer_of(&mut *two).expect("resumed");
        }
    });
}

#[test]
fn slow_statements_are_not_waits() {
    /// How often a statement is looked at while it works.
    const LOOKS: usize = 300;
    on_each_server_that_can_be_asked(|bed| {
        let mut watcher = bed.watcher();
        let (mut holder, mut blocked, mut slow) = (bed.session(), bed.session(), bed.session());
        let ids = [holder.id(), blocked.id(), slow.id()];
        run_all(&mut *holder, TABLE);
        run_all(&mut *holder, &["BEGIN", "UPDATE t SET b = 2 WHERE a = 1"]);
        blocked.submit("UPDATE t SET b = 3 WHERE a = 1");
        wait_of(&mut *watcher, &mut *blocked, &ids);
        let busy = "SELECT BENCHMARK(5000000, SQRT(RAND()))";
        for sql in ["SELECT SLEEP(0.5)", busy, "SELECT b FROM t WHERE a = 5 AND SLEEP(0.5) = 0"] {
            slow.submit(sql);
            let looks = (0..LOOKS).take_while(|_| {
                let waits = watcher.waits(&[ids[1], ids[2]], &ids).expect("asked");
                let waiters: Vec<_> = waits.iter().map(|wait| wait.waiter).collect();
                assert_eq!(waiters, [ids[1]], "{sql} on {}", bed.target.info());
                is_unanswered(&*slow)
            });
            assert!(looks.count() > 0, "{sql} was too fast to look at");
            answer_of(&mut *slow).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
        run(&mut *holder, "COMMIT");
        answer_of(&mut *blocked).expect("resumed");
    });
}

/// Whether nothing has arrived for the session.
fn is_unanswered(session: &dyn Session) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(session.fd().expect("a socket"), PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())) == Ok(0)
}

#[test]
fn a_watcher_says_how_it_asks() {
    on_each_server_that_can_be_asked(|bed| {
        let method = bed.watcher().method();
        assert!(!method.is_empty() && method.len() < 100, "{method}");
        let other: Box<dyn Session> = bed.session();
        assert!(bed.watcher().waits(&[other.id()], &[other.id()]).expect("asked").is_empty());
    });
}
