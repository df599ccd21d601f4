//! The only crate that opens connections: drivers, error classes and lock probes, one file per DBMS.
//!
//! The stage needs only a few things from a DBMS; these traits are all of them:
//!
//! * [`Target`]: one endpoint. It knows its version and its levels and makes a [`Schema`].
//! * [`Schema`]: the run's own schema on that endpoint. It opens sessions, lists its tables, and is dropped at the end.
//!   Nothing outside it is touched.
//! * [`Session`]: one connection. A statement is *submitted* without waiting and later *polled*: the
//!   stage keeps several sessions going at once from a single thread.
//! * [`Watcher`]: asks the server who waits for whom, right now.
//!
//! A database error is data ([`Reply::Err`]); a [`TargetError`] means that the endpoint could not be
//! used at all.

mod away;
pub mod cockroach;
mod encryption_choice;
pub mod endpoint;
mod innodb;
pub mod login;
mod mark;
mod mysql;
mod mysql_control;
pub mod mysql_family;
mod mysql_wire;
mod open;
mod pg_common;
pub mod pg_isolation;
mod pg_marked;
pub mod pg_session;
pub mod pg_wire;
pub mod postgres;
pub mod sabotage;
mod settings;
mod socket;
pub mod sqlite;
mod strike;
mod tidb;
pub mod tls;
mod trace;
mod upkeep;
mod wait;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use anchorite_model::{Answer, DbError, Level, Rows, TargetInfo};

pub use mark::{Kind, Marked, Owner};
pub use open::{Address, OpenError, open};
pub use strike::{Blow, Striker, has_blows};
pub use trace::Trace;
pub use upkeep::{PurgeProgress, PurgeQuestion, Upkeep};
pub use wait::{
    Heeding, await_answer, execute, execute_all, heed, wait_for_interrupt, wait_readable,
};

/// The answer to a statement.
pub type Reply = Result<Answer, DbError>;

/// A server's id of a connection: backend pid, thread id, session number.
pub type ConnectionId = u64;

/// The id of a prepared transaction among [`Wait::blockers`]: it has no connection. PostgreSQL's own convention.
pub const PREPARED: ConnectionId = 0;

/// Why an endpoint could not be used. Never contains a password.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No connection, wrong password, protocol error while connecting.
    #[error("cannot connect to {endpoint}: {reason}")]
    Connect {
        /// Where to, without password.
        endpoint: String,
        /// The server's or the system's words.
        reason: String,
    },
    /// It asks for a password, and none was given.
    #[error("cannot connect to {endpoint}: {reason}")]
    PasswordWanted {
        /// Where to.
        endpoint: String,
        /// The server's words.
        reason: String,
    },
    /// The target has no such level.
    #[error("{target} has no isolation level '{level}'; it has: {available}")]
    UnsupportedLevel {
        /// The target.
        target: String,
        /// The level that was asked for.
        level: Level,
        /// The levels that it has.
        available: String,
    },
    /// The target accepted a level and runs another one.
    #[error("{target} was asked for {asked} and runs {read_back}")]
    LevelMismatch {
        /// The target.
        target: String,
        /// The level that was asked for.
        asked: Level,
        /// What the session said afterwards.
        read_back: String,
    },
    /// Preparing the endpoint failed: schema, settings, reading tables.
    #[error("cannot prepare {target}: {reason}")]
    Prepare {
        /// The target.
        target: String,
        /// What failed.
        reason: String,
    },
}

impl TargetError {
    /// The error for a level that a target does not have.
    pub fn unsupported(info: &TargetInfo, level: Level, available: &[Level]) -> Self {
        let names: Vec<&str> = available.iter().map(|level| level.name()).collect();
        Self::UnsupportedLevel { target: info.to_string(), level, available: names.join(", ") }
    }
}

impl TargetError {
    /// Our own schema could not be created. If that is for lack of privileges, as the server's message shows, the page
    /// with the required privileges is named.
    pub(crate) fn cannot_create(
        info: &TargetInfo,
        what: &str,
        reason: impl std::fmt::Display,
    ) -> Self {
        let mut reason = format!("{what}: {reason}");
        if ["denied", "permission", "privilege"].iter().any(|word| reason.contains(word)) {
            reason += "; which privileges are needed is listed in docs/connections.md";
        }
        Self::Prepare { target: info.to_string(), reason }
    }
}

/// One endpoint: product, version, how to connect.
pub trait Target: Send + Sync {
    /// Product and version, as the server says.
    fn info(&self) -> &TargetInfo;

    /// The levels that it really has, weakest first.
    fn levels(&self) -> &[Level];

    /// Requests a turn for a case, which ends when the box is dropped; `None` if cases need not take turns. For servers
    /// that can only report the total number of waiters.
    fn turn(&self) -> Option<Box<dyn Turn>> {
        None
    }

    /// Creates the run's own schema. Dropping the box drops the schema.
    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError>;

    /// Everything on the endpoint that carries our mark: made by this process, by others, or left by those that ended
    /// without dropping it.
    fn marked(&self) -> Result<Vec<Marked>, TargetError> {
        Ok(Vec::new())
    }

    /// Drops something that carries our mark. The caller has made sure that it is no longer in use.
    fn remove_marked(&self, marked: &Marked) -> Result<(), TargetError> {
        let _ = marked;
        Ok(())
    }

    /// How long the server has been running, queried now; `None` if it cannot be asked or does not say.
    fn uptime(&self) -> Option<Duration> {
        None
    }

    /// What is left of the server's Unix socket; `None` if it has none on this machine, or has created another one.
    fn trace(&self) -> Option<Trace> {
        None
    }
}

/// A case's place in the queue for a target.
pub trait Turn: Send {
    /// Waits until it is first; false if the limit came first.
    fn has_come_within(&self, limit: Duration) -> bool;
}

/// A schema (database, file) that this run created and nothing else uses.
pub trait Schema: Send {
    /// Its name on the server.
    fn name(&self) -> &str;

    /// Opens a session inside the schema, at this level (`None` = the target's default), and reads the
    /// level back. The session's lock waits are limited by `lock_wait`.
    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError>;

    /// A connection to ask who waits for whom. An error means that the server cannot be asked, for instance for lack of
    /// privileges; the stage then falls back to a timeout and says so.
    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError>;

    /// Stops background work of the server that could end a wait that no session of the case ended (InnoDB's purge),
    /// until the guard is dropped. To be called after the set-up.
    fn hold_still(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }

    /// How its tables are reset between two cases.
    fn upkeep(&self) -> Upkeep;

    /// Opens a session, at the default level, for many of our own statements: if the protocol allows, it accepts
    /// several in one round trip ([`execute_all`]).
    fn own_session(&self, lock_wait: Duration) -> Result<Box<dyn Session>, TargetError> {
        let options = SessionOptions { name: "own_session".to_owned(), level: None, lock_wait };
        self.open(&options).map(|opened| opened.session)
    }

    /// The base tables of the schema in name order.
    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError>;

    /// The server's settings that concern isolation, as this session has them; empty if there are none.
    fn settings(&self, session: &mut dyn Session, limit: Duration) -> Vec<(String, String)> {
        let _ = (session, limit);
        Vec::new()
    }

    /// `name` quoted for use in a statement.
    fn quote(&self, name: &str) -> String;
}

/// How to open a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The session's name in the case.
    pub name: String,
    /// The level to set and read back; `None` = leave the default and read it back.
    pub level: Option<Level>,
    /// The server-side limit on a wait for a lock.
    pub lock_wait: Duration,
}

/// A session with the level that it really runs at.
pub struct OpenedSession {
    /// The session.
    pub session: Box<dyn Session>,
    /// The level in the server's words.
    pub level_read_back: String,
}

/// One connection with at most one outstanding statement.
pub trait Session: Send {
    /// The server's id of this connection.
    fn id(&self) -> ConnectionId;

    /// Sends a statement without waiting for the answer. It is sent exactly once; a connection that
    /// breaks meanwhile shows up as a connection-lost error from [`Session::poll`].
    fn submit(&mut self, sql: &str);

    /// The answer of the outstanding statement, if it has arrived. Never waits.
    fn poll(&mut self) -> Option<Reply>;

    /// What to wait on for the next answer; `None` for engines in this process, which answer in `poll`.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// Asks the server to cancel the outstanding statement; its error arrives through `poll`.
    fn cancel(&mut self);

    /// Sends statements one after another without waiting for the answers in between; [`Session::poll`] returns these
    /// in order. Only for schedules whose later statements are sent whatever the earlier answers. False if the driver
    /// cannot: then nothing was sent. An empty list only checks that.
    fn submit_several(&mut self, statements: &[&str]) -> bool {
        let _ = statements;
        false
    }

    /// Whether a submitted text may contain several statements, separated by `;`.
    fn takes_several(&self) -> bool {
        false
    }
}

/// Why one connection waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The waiting connection.
    pub waiter: ConnectionId,
    /// Who it waits for; `None` if the server does not say.
    pub blockers: Option<Vec<ConnectionId>>,
    /// What it waits for, in a few words (`row lock`, `metadata lock`).
    pub kind: String,
}

/// Asks the server who waits for whom.
pub trait Watcher: Send {
    /// How it asks, in a few words, for the run's record.
    fn method(&self) -> String;

    /// Which of the `outstanding` connections wait for a lock at this moment. `all` are the connections
    /// of the case. An error means that the server could not be asked (it may be gone).
    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError>;

    /// What a waiting connection waits for, in a few words; asked once per wait, and only if [`Wait::kind`] is empty
    /// because it is too expensive to determine each time.
    fn describe(&mut self, waiter: ConnectionId) -> String {
        let _ = waiter;
        String::new()
    }

    /// How long after a transaction's end a connection that it released may still be shown as waiting.
    fn grant_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// How long after a wait began the server checks once whether it is part of a deadlock, if it does so by a timer.
    /// The stage lets that moment pass before it sends a statement that could close a cycle, so that the victim is
    /// always the session that closed it.
    fn deadlock_check(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether a wait that was shown lasts until some transaction ends, is partly rolled back, or fails.
    fn waits_last(&self) -> bool {
        false
    }

    /// Whether the last look may have shown a false wait, so that the stage has to look twice.
    fn look_twice(&self) -> bool {
        false
    }

    /// Whether a statement may wait without being shown. Then the stage assumes after a while that one that is neither
    /// answered nor shown is blocked, and the run says that this was a guess.
    fn misses_waits(&self) -> bool {
        false
    }
}

/// Reads all rows of a table, for the final state.
pub fn read_table(
    session: &mut dyn Session,
    quoted_name: &str,
    limit: Duration,
) -> Result<Rows, DbError> {
    let answer = execute(session, &format!("SELECT * FROM {quoted_name}"), limit)?;
    Ok(answer.results.into_iter().next().unwrap_or_default())
}
