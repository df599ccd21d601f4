//! Everything that happened when a case ran, in the order in which it happened.
//!
//! When a statement was sent and when it was answered are two separate facts: a statement that closes a deadlock is
//! sent before the victim gets its error, and may be answered long after others that it released.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Case, ErrorClass, Level, SessionIndex, TargetInfo, Value};

/// A table of typed rows: one result set, or the contents of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Column names as the server gave them.
    pub columns: Vec<String>,
    /// The rows in the order of arrival.
    pub rows: Vec<Vec<Value>>,
}

/// A message that a server sends in addition to its answer (PostgreSQL NOTICE, WARNING, ...).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// `NOTICE`, `WARNING`, ...; `NOTIFY` for an asynchronous notification.
    pub severity: String,
    /// The text.
    pub message: String,
}

/// A statement's successful answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The result sets, in order; a statement may have several (`CALL`) or none.
    pub results: Vec<Rows>,
    /// Affected rows as the server counts them; `None` where it gave no count.
    pub affected: Option<u64>,
    /// PostgreSQL's command tag (`COMMIT`, `ROLLBACK`, `UPDATE 3`); `None` elsewhere.
    pub tag: Option<String>,
    /// NOTICEs that arrived with it.
    pub notices: Vec<Notice>,
    /// Whether the session is inside a transaction afterwards, if the server says so.
    pub in_transaction: Option<bool>,
}

/// An error that the server answered. It is data, not a failure of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DbError {
    /// Its class.
    pub class: ErrorClass,
    /// The product's own code (`1213`, `40P01`, `517`).
    pub code: String,
    /// The server's message.
    pub message: String,
    /// PostgreSQL's severity (`ERROR`, `FATAL`); empty elsewhere.
    pub severity: String,
    /// Whether the whole transaction is gone, not only the statement.
    pub transaction_gone: bool,
    /// Whether the session is inside a transaction afterwards (PostgreSQL: also a failed one), if known.
    pub in_transaction: Option<bool>,
    /// NOTICEs that arrived before the error.
    pub notices: Vec<Notice>,
    /// Result sets that arrived before the error (a text of several statements, a procedure).
    pub results: Vec<Rows>,
}

impl DbError {
    /// The connection is gone, and with it the transaction.
    pub fn connection_lost(why: impl Into<String>) -> Self {
        Self {
            class: ErrorClass::ConnectionLost,
            code: ErrorClass::ConnectionLost.name().to_owned(),
            message: why.into(),
            transaction_gone: true,
            in_transaction: Some(false),
            ..Self::default()
        }
    }
}

/// What a statement waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blocker {
    /// Another session of the case.
    Session(SessionIndex),
    /// A connection that is not ours, by the server's name for it.
    Outside(String),
    /// A prepared transaction, which has no connection: its id as written in the case; empty if it is not of the case.
    Prepared(String),
}

/// What became of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Answered without having been blocked.
    Ok(Answer),
    /// Waiting for a lock, as the server says. Another event with the same number follows.
    Blocked {
        /// By whom; empty where the server does not say.
        by: Vec<Blocker>,
        /// What it waits for, in the server's words; empty where it does not say.
        wait: String,
    },
    /// Answered after having been blocked.
    Resumed(Answer),
    /// Failed, at once or after having been blocked.
    Error(DbError),
    /// Never sent.
    Skipped {
        /// Why, in a sentence.
        reason: String,
    },
}

/// One thing that happened to one statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The statement's number in the schedule, 1-based.
    pub n: usize,
    /// The session that sent it.
    pub session: SessionIndex,
    /// The statement.
    pub sql: String,
    /// What happened.
    pub outcome: Outcome,
    /// Microseconds since the first statement was submitted.
    pub at_us: u64,
    /// The moment at which the statement was sent, `None` if it never was. Moments are positions, from 1, in one
    /// sequence of everything sent and answered in a run.
    #[serde(default)]
    pub sent: Option<usize>,
    /// The moment of the answer; `None` if this event is not an answer.
    #[serde(default)]
    pub answered: Option<usize>,
}

impl Event {
    /// Whether the statement was answered by this event, with success or an error.
    pub fn is_answer(&self) -> bool {
        matches!(self.outcome, Outcome::Ok(_) | Outcome::Resumed(_) | Outcome::Error(_))
    }

    /// Sets the moments of a run's events, as if each statement was sent at its first event.
    pub fn number(events: &mut [Self]) {
        let mut moment = 0;
        let mut next = || {
            moment += 1;
            moment
        };
        let mut sent = BTreeMap::new();
        for event in events.iter_mut() {
            if matches!(event.outcome, Outcome::Skipped { .. }) {
                continue;
            }
            event.sent = Some(*sent.entry(event.n).or_insert_with(&mut next));
            event.answered = event.is_answer().then(&mut next);
        }
    }
}

/// A session as it really ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its name in the case.
    pub name: String,
    /// The level that was asked for; `None` = the target's default.
    pub level: Option<Level>,
    /// The level in the server's words, read back before the first statement.
    pub level_read_back: String,
}

impl SessionInfo {
    /// The level that the session really ran at, if the server's words name one. What follows in
    /// parentheses (`REPEATABLE-READ (pessimistic)`) is detail.
    pub fn effective_level(&self) -> Option<Level> {
        let words = self.level_read_back.split('(').next().unwrap_or_default();
        words.parse().ok()
    }
}

/// How blocked statements were detected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockingKnowledge {
    /// The server was asked; how, in a few words (`pg_blocking_pids`).
    Asked(String),
    /// The server could not be asked, so silence of this many milliseconds counted as blocked.
    Timeout {
        /// Milliseconds of silence.
        silence_ms: u64,
        /// Why it could not be asked.
        reason: String,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Every statement got its event and the final state was read.
    Complete,
    /// The server went away; the sentence says when.
    TargetLost(String),
}

/// Everything that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The case that ran.
    pub case: Case,
    /// Where.
    pub target: TargetInfo,
    /// The level asked for in all sessions, if one was.
    pub level: Option<Level>,
    /// The sessions, indexed like [`Case::sessions`].
    pub sessions: Vec<SessionInfo>,
    /// The server's settings that concern isolation, as a session of the case reads them.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// How blocking was known.
    pub blocking: BlockingKnowledge,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Tables and their rows after everything open was rolled back, read by a fresh session.
    pub final_state: Vec<(String, Rows)>,
    /// Answers of the case's `check` statements.
    pub checks: Vec<(String, Result<Answer, DbError>)>,
    /// Things worth knowing that are not events: sessions rolled back at the end, limits reached.
    pub notes: Vec<String>,
    /// How it ended.
    pub ending: Ending,
}
