//! The same schedules on plain SQLite connections that really wait.
//!
//! The other side knows nothing of ours: each session is a thread with SQLite's own `busy_timeout`, and silence
//! of [`SILENCE`] counts as blocked. That takes about a second per case, so it runs only when
//! `ANCHORITE_SLOW_CASES` says how many cases. Where two sessions wait at once, plain SQLite leaves to chance
//! who is first; such a case is compared up to that point.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::super::Variant;
use super::decisions::{Actor, Random, TABLES};
use super::{Fixture, options};
use crate::Target;
use crate::sqlite::Sqlite;

/// No answer for this long means blocked; SQLite's own handler sleeps for at most 0.1 s at a time.
const SILENCE: Duration = Duration::from_millis(500);
/// How long one session is listened to before the next.
const SLICE: Duration = Duration::from_millis(5);
/// Longer than any case takes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);
const STEPS_PER_CASE: usize = 14;
/// They mostly wait, so many fit beside each other.
const CASES_AT_ONCE: usize = 16;

/// A session that waits by itself.
struct Plain {
    statements: Sender<String>,
    answers: Receiver<String>,
}

impl Plain {
    fn open(path: &str) -> Self {
        let (statements, submitted) = channel::<String>();
        let (answered, answers) = channel();
        let connection = Connection::open(path).expect("the file can be opened");
        connection.busy_timeout(BUSY_TIMEOUT).expect("the limit can be set");
        thread::spawn(move || {
            for sql in submitted {
                let outcome = match connection.execute_batch(&sql) {
                    Ok(()) => "ok".to_owned(),
                    Err(rusqlite::Error::SqliteFailure(failure, _)) => {
                        failure.extended_code.to_string()
                    }
                    Err(other) => other.to_string(),
                };
                if answered.send(outcome).is_err() {
                    return;
                }
            }
        });
        Self { statements, answers }
    }
}

/// `ok` or the error's code, for each session that answered, the submitter's first.
type Outcome = Vec<(usize, String)>;

fn submit_plain(sessions: &[Plain], waiting: &mut [bool], session: usize, sql: &str) -> Outcome {
    sessions[session].statements.send(sql.to_owned()).expect("the thread lives");
    waiting[session] = true;
    let mut outcome = Outcome::new();
    let mut last_change = Instant::now();
    while last_change.elapsed() < SILENCE && waiting.contains(&true) {
        for id in 0..sessions.len() {
            if waiting[id]
                && let Ok(answer) = sessions[id].answers.recv_timeout(SLICE)
            {
                waiting[id] = false;
                outcome.push((id, answer));
                last_change = Instant::now();
            }
        }
    }
    outcome
}

/// Our own outcome in the same words.
fn submit_ours(fixture: &mut Fixture, session: usize, sql: &str) -> Outcome {
    let word = |line: &str| -> Option<(usize, String)> {
        let (name, rest) = line.split_once(' ')?;
        let id = name.strip_prefix('t')?.parse().ok()?;
        match rest.split(' ').collect::<Vec<_>>()[..] {
            ["waits", ..] => None,
            ["ok", ..] => Some((id, "ok".to_owned())),
            [_, code, ..] => Some((id, code.to_owned())),
            _ => None,
        }
    };
    fixture.submit(session, sql).iter().filter_map(|line| word(line)).collect()
}

/// Runs one random case on both sides; the number of compared decisions, or what differed.
fn compare(variant: Variant, seed: u64) -> Result<usize, String> {
    let mut random = Random(seed);
    let sessions = 2 + random.below(2);
    let mut fixture = Fixture::new(variant, None, sessions);
    let twin = Sqlite::new(variant).create_schema().expect("a folder can be made");
    let mut setter = twin.open(&options(None)).expect("a session opens");
    for table in TABLES {
        let create = format!("CREATE TABLE {table}(x)");
        let insert = format!("INSERT INTO {table} VALUES (0)");
        fixture.run_lines(&format!("t0 {create}\nt0 {insert}"));
        for sql in [create, insert] {
            crate::execute(setter.session.as_mut(), &sql, BUSY_TIMEOUT).expect("set-up is right");
        }
    }
    drop(setter);
    let plain: Vec<Plain> = (0..sessions).map(|_| Plain::open(twin.name())).collect();
    let mut waiting = vec![false; sessions];
    let mut actors = vec![Actor::default(); sessions];
    let mut transcript = String::new();
    let mut decisions = 0;
    while decisions < STEPS_PER_CASE && waiting.iter().filter(|waits| **waits).count() < 2 {
        let free: Vec<usize> = (0..sessions).filter(|id| !waiting[*id]).collect();
        let session = free[random.below(free.len())];
        let op = actors[session].choose(&mut random);
        actors[session].waits = Some(op);
        let mut expected = submit_plain(&plain, &mut waiting, session, &op.sql());
        let mut told = submit_ours(&mut fixture, session, &op.sql());
        expected.sort();
        told.sort();
        transcript.push_str(&format!("t{session} {} => {told:?}\n", op.sql()));
        if told != expected {
            return Err(format!(
                "{variant:?} {seed}: plain SQLite says {expected:?}\n{transcript}"
            ));
        }
        for (id, answer) in told {
            let done = actors[id].waits.take().expect("who answers was asked");
            if answer == "ok" {
                actors[id].succeed(done, &mut [0; 2]);
            }
        }
        decisions += 1;
    }
    Ok(decisions)
}

#[test]
fn plain_connections_that_really_wait_do_the_same() {
    let cases = std::env::var("ANCHORITE_SLOW_CASES").ok().and_then(|text| text.parse().ok());
    let Some(cases) = cases.filter(|cases: &u64| *cases > 0) else {
        println!("skipped: ANCHORITE_SLOW_CASES does not say how many cases");
        return;
    };
    let seeds: Vec<u64> = (1..=cases).collect();
    let batches = seeds.chunks(CASES_AT_ONCE).map(|batch| {
        let play = |seed: &u64| {
            let variant = if seed.is_multiple_of(2) { Variant::Wal } else { Variant::Journal };
            let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            thread::spawn(move || compare(variant, seed))
        };
        let threads: Vec<_> = batch.iter().map(play).collect();
        let results = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        results.collect::<Result<Vec<usize>, String>>().unwrap_or_else(|error| panic!("{error}"))
    });
    let decisions: usize = batches.flatten().sum();
    println!("{cases} cases, {decisions} decisions, none different");
}
