//! SQLite's waits and refusals, each as a small script with the transcript that it must give.

mod decisions;
mod real_waits;
mod rules;
mod sessions;
mod waits;

use std::time::Duration;

use anchorite_model::Level;

use super::{Sqlite, Variant};
use crate::{OpenedSession, Reply, Schema, SessionOptions, Target, Watcher};

/// Longer than any test takes: no wait of a test ends by itself.
const LOCK_WAIT: Duration = Duration::from_secs(600);

/// Sessions `t0`, `t1`, ... on a schema of their own.
struct Fixture {
    sessions: Vec<OpenedSession>,
    pending: Vec<bool>,
    watcher: Box<dyn Watcher>,
    schema: Box<dyn Schema>,
}

fn options(level: Option<Level>) -> SessionOptions {
    SessionOptions { name: "t".to_owned(), level, lock_wait: LOCK_WAIT }
}

impl Fixture {
    fn new(variant: Variant, level: Option<Level>, sessions: usize) -> Self {
        let schema = Sqlite::new(variant).create_schema().expect("a folder can be made");
        let open = |_| schema.open(&options(level)).expect("a session opens");
        Self {
            sessions: (0..sessions).map(open).collect(),
            pending: vec![false; sessions],
            watcher: schema.watcher().expect("the shared_state can be asked"),
            schema,
        }
    }

    /// Submits a statement and says what became of it, and of the waiters.
    fn submit(&mut self, session: usize, sql: &str) -> Vec<String> {
        self.start(session, sql);
        let mut lines = Vec::new();
        loop {
            let running = self.sessions.iter().find_map(|opened| opened.session.fd());
            // On a slow machine a statement may be left running: then its eventfd says when to look.
            if let Some(wake_up) = running {
                crate::wait_readable(&[wake_up], LOCK_WAIT);
            }
            let is_over = running.is_none();
            lines.extend(self.answers(Some(session)));
            if is_over {
                break;
            }
        }
        if self.pending[session] {
            lines.push(format!("t{session} {}", self.wait_of(session)));
        }
        lines
    }

    /// Submits a statement.
    fn start(&mut self, session: usize, sql: &str) {
        assert!(!self.pending[session], "t{session} still waits, it cannot do: {sql}");
        self.pending[session] = true;
        self.sessions[session].session.submit(sql);
    }

    /// Answers that have arrived, the submitter's first.
    fn answers(&mut self, submitter: Option<usize>) -> Vec<String> {
        let others = (0..self.sessions.len()).filter(|other| Some(*other) != submitter);
        let mut lines = Vec::new();
        for session in submitter.into_iter().chain(others) {
            if !self.pending[session] {
                continue;
            }
            if let Some(reply) = self.sessions[session].session.poll() {
                self.pending[session] = false;
                lines.push(format!("t{session} {}", told(&reply)));
            }
        }
        lines
    }

    fn wait_of(&mut self, session: usize) -> String {
        let ids: Vec<u64> = self.sessions.iter().map(|opened| opened.session.id()).collect();
        let outstanding = [ids[session]];
        let waits = self.watcher.waits(&outstanding, &ids).expect("the shared_state can be asked");
        let Some(wait) = waits.first() else { return "runs".to_owned() };
        let name =
            |id: &u64| format!("t{}", ids.iter().position(|known| known == id).unwrap_or(99));
        let blockers: Vec<String> = wait.blockers.iter().flatten().map(name).collect();
        format!("waits for {}: {}", blockers.join(" "), wait.kind)
    }

    /// Runs lines like `t0 BEGIN` and gives the transcript.
    fn run_lines(&mut self, script: &str) -> String {
        let mut transcript = String::new();
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (session, sql) = line.split_once(' ').expect("a line is a session and a statement");
            let session: usize =
                session.trim_start_matches('t').parse().expect("sessions are t0, t1, ...");
            let outcome = self.submit(session, sql).join("; ");
            transcript.push_str(&format!("{line} => {outcome}\n"));
        }
        transcript
    }
}

/// A reply in a few words.
fn told(reply: &Reply) -> String {
    match reply {
        Ok(answer) => {
            let mut words = "ok".to_owned();
            if let Some(affected) = answer.affected {
                words.push_str(&format!(" {affected}"));
            }
            for result in &answer.results {
                let rows = result
                    .rows
                    .iter()
                    .map(|row| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
                words.push_str(&format!(" [{}]", rows.collect::<Vec<_>>().join(", ")));
            }
            words
        }
        Err(error) => {
            let gone = if error.transaction_gone { " gone" } else { "" };
            format!("{} {}{gone}", error.class.name(), error.code)
        }
    }
}

/// Runs the left sides of the transcript after a common set-up, and compares.
fn check(variant: Variant, level: Option<Level>, transcript: &str) {
    let mut fixture = Fixture::new(variant, level, 4);
    fixture.run_lines(
        "t0 CREATE TABLE a(x INTEGER)\nt0 INSERT INTO a VALUES (1)\nt0 CREATE TABLE b(y)",
    );
    let lines: Vec<&str> =
        transcript.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let script: Vec<&str> =
        lines.iter().map(|line| line.split_once(" => ").map_or(*line, |(left, _)| left)).collect();
    let played = fixture.run_lines(&script.join("\n"));
    assert_eq!(played, lines.join("\n") + "\n", "{variant:?}");
}
