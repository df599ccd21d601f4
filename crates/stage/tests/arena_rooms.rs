//! Sessions that cannot move between schemas: everybody who works on a schema was opened in it.
//!
//! Nothing moves on CockroachDB, and its protocol takes several statements at once, so serial schedules have a
//! schema beside that of the others. Here embedded SQLite pretends to be such a target: a session of one file
//! never gets into another one.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use anchorite_drivers::{
    ConnectionId, OpenedSession, Reply, Schema, Session, SessionOptions, Target, TargetError,
    Upkeep, Watcher, open,
};
use anchorite_model::{Case, DbError, Level, Run, TargetInfo};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner};

/// SQLite whose sessions take several statements at once.
struct Pipelined(Box<dyn Target>);

impl Target for Pipelined {
    fn info(&self) -> &TargetInfo {
        self.0.info()
    }

    fn levels(&self) -> &[Level] {
        self.0.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        Ok(Box::new(PipelinedSchema(self.0.create_schema()?)))
    }
}

struct PipelinedSchema(Box<dyn Schema>);

impl Schema for PipelinedSchema {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let OpenedSession { session, level_read_back } = self.0.open(options)?;
        let session = Box::new(PipelinedSession { session, later: VecDeque::new() });
        Ok(OpenedSession { session, level_read_back })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        self.0.watcher()
    }

    fn upkeep(&self) -> Upkeep {
        let upkeep = self.0.upkeep();
        assert!(upkeep.enter.is_none() && upkeep.clear.is_empty(), "a file cannot be entered");
        upkeep
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        self.0.tables(session, limit)
    }

    fn quote(&self, name: &str) -> String {
        self.0.quote(name)
    }
}

struct PipelinedSession {
    session: Box<dyn Session>,
    later: VecDeque<String>,
}

impl Session for PipelinedSession {
    fn id(&self) -> ConnectionId {
        self.session.id()
    }

    fn submit(&mut self, sql: &str) {
        self.session.submit(sql);
    }

    fn submit_several(&mut self, statements: &[&str]) -> bool {
        self.later = statements.iter().map(|&sql| sql.to_owned()).collect();
        if let Some(first) = self.later.pop_front() {
            self.session.submit(&first);
        }
        true
    }

    fn poll(&mut self) -> Option<Reply> {
        let reply = self.session.poll()?;
        if let Some(next) = self.later.pop_front() {
            self.session.submit(&next);
        }
        Some(reply)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.session.fd()
    }

    fn cancel(&mut self) {
        self.session.cancel();
    }
}

fn case(steps: &str) -> Case {
    let text = format!(
        "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
         /* setup */ INSERT INTO t VALUES (1, 0);\n{steps}"
    );
    Case::parse("rooms", &text).expect("a case")
}

/// Outcomes and the final state, without the clock.
fn essence(run: &Run) -> String {
    let outcomes: Vec<_> = run.events.iter().map(|event| (event.n, &event.outcome)).collect();
    format!("{outcomes:?} {:?}", run.final_state)
}

#[test]
fn serial_and_concurrent_cases_with_the_same_tables_share_an_arena() {
    let target = Pipelined(open("sqlite").expect("SQLite is there"));
    let concurrent = case(
        "/* t1 */ BEGIN; /* t2 */ SELECT v FROM t; /* t1 */ UPDATE t SET v = v + 1;\n\
         /* t1 */ COMMIT; /* t2 */ SELECT v FROM t;",
    );
    let serial = case("/* t1 */ UPDATE t SET v = v + 1; /* t2 */ SELECT v FROM t;");
    for order in [[&concurrent, &serial], [&serial, &concurrent]] {
        let mut arena = Arena::new(&target, RunOptions::default()).expect("an arena");
        let mut fresh = FreshTables { target: &target, options: RunOptions::default() };
        for case in order.into_iter().chain(order) {
            let run = arena.run(case, None).unwrap_or_else(|error| panic!("{error}"));
            let rehearsed = arena.rehearse(case, None).unwrap_or_else(|error| panic!("{error}"));
            let expected = fresh.run(case, None).expect("it runs on fresh tables");
            assert_eq!(essence(&run), essence(&expected));
            assert_eq!(essence(&rehearsed), essence(&expected));
        }
    }
}
