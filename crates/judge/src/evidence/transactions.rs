//! The transactions of a run: which statements belong to which, and how they ended.
//!
//! Idea: each session's events are followed from statement to statement ([`anchorite_model::transactions`]). Here they
//! get their moments, and what a ROLLBACK TO took back is marked.
//!
//! Assumption: transactions are begun and ended by explicit statements or by DDL, or begin by themselves after
//! `SET autocommit = 0`; those are repeated with a BEGIN. Where a session does something else (any other `SET`, XA, a
//! BEGIN inside a transaction) the run is not judged, and the reason is a fixed sentence, which a hunt
//! can count.

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::transactions::{Follower, Role};
use anchorite_model::{Answer, DbError, ErrorClass, Outcome, Run, SessionIndex};
use anchorite_sql::tokens::significant;

use super::savepoints::Savepoints;

/// A statement as it was executed.
#[derive(Debug, Clone)]
pub struct Performed<'r> {
    /// Its number in the schedule, 1-based.
    pub n: usize,
    /// Its text.
    pub sql: &'r str,
    /// Its kind.
    pub kind: StatementKind,
    /// What the server said.
    pub reply: Result<&'r Answer, &'r DbError>,
    /// The moment at which it was sent.
    pub start: usize,
    /// The moment at which it was answered.
    pub end: usize,
    /// Whether it waited in between.
    pub waited: bool,
    /// Undone by a ROLLBACK TO.
    pub undone: bool,
    /// Sent when an error had already ended its transaction, and so ignored; or a write that a read-only transaction
    /// refused, which it would not be outside of it.
    pub ignored: bool,
    /// Whether the stage has cancelled it, because the server did not end a deadlock in time.
    pub cancelled: bool,
}

impl Performed<'_> {
    /// Whether it failed for a reason that depends on the schedule, and so left no trace.
    pub fn was_refused(&self) -> bool {
        self.ignored
            || self.cancelled
            || matches!(self.reply, Err(error) if error.class.is_of_others())
    }

    /// Whether it changes rows or tables.
    pub fn is_write(&self) -> bool {
        self.kind.writes() || self.kind == StatementKind::Ddl
    }
}

/// One transaction: BEGIN to its end, or a single statement outside one.
#[derive(Debug, Clone)]
pub struct Transaction<'r> {
    /// Whose it is.
    pub session: SessionIndex,
    /// Its name in sentences: the session's, with a number if it has several.
    pub name: String,
    /// The text of its BEGIN, or one that means the same; `None` for a single statement.
    pub begin: Option<&'r str>,
    /// Its statements, without BEGIN and the end.
    pub statements: Vec<Performed<'r>>,
    /// Whether it committed.
    pub committed: bool,
    /// The moment at which its first statement was sent.
    pub began: usize,
    /// The moment at which its end was answered, or at which an error took back all of it.
    pub ended: usize,
}

impl<'r> Transaction<'r> {
    /// Its first statement that looks at rows: a snapshot is taken there.
    pub fn first_look(&self) -> Option<&Performed<'r>> {
        let looks =
            |kind: &StatementKind| kind.writes() || matches!(kind, StatementKind::Select { .. });
        self.statements.iter().find(|statement| looks(&statement.kind))
    }

    /// Whether it tried to write anything.
    pub fn is_writer(&self) -> bool {
        self.statements.iter().any(|statement| statement.is_write() && !statement.was_refused())
    }

    /// Whether it has queries of its own.
    pub fn is_reader(&self) -> bool {
        let reads = |kind: &StatementKind| matches!(kind, StatementKind::Select { .. });
        self.statements.iter().any(|statement| reads(&statement.kind) && statement.reply.is_ok())
    }
}

/// Whether a BEGIN leaves all conflicts to the COMMIT.
pub fn is_optimistic(begin: &str) -> bool {
    StatementKind::of(begin) == StatementKind::Begin
        && significant(begin, Dialect::Mysql).iter().any(|token| token.is_word("OPTIMISTIC"))
}

/// Whether a BEGIN takes locks by itself (SQLite's `BEGIN IMMEDIATE`).
pub fn locks_at_once(begin: &str, dialect: Dialect) -> bool {
    let words = significant(begin, dialect);
    words.iter().any(|token| token.is_word("IMMEDIATE") || token.is_word("EXCLUSIVE"))
}

/// The transactions of a run in the order of their ends, or why they cannot be determined.
pub fn transactions(run: &Run) -> Result<Vec<Transaction<'_>>, String> {
    let mut all = Vec::new();
    for session in 0..run.sessions.len() {
        let mut of_session = Session::new(run, session).follow()?;
        let name = &run.sessions[session].name;
        let several = of_session.len() > 1;
        for (number, transaction) in (1..).zip(&mut of_session) {
            transaction.name = if several { format!("{name}#{number}") } else { name.clone() };
        }
        all.extend(of_session);
    }
    all.sort_by_key(|transaction| transaction.ended);
    Ok(all)
}

struct Session<'r> {
    run: &'r Run,
    session: SessionIndex,
    follower: Follower,
    done: Vec<Transaction<'r>>,
    open: Option<Open<'r>>,
}

/// Whether a BEGIN asks for a transaction that must not write.
fn says_read_only(begin: &str, dialect: Dialect) -> bool {
    let words = significant(begin, dialect);
    words.windows(2).any(|pair| pair[0].is_word("READ") && pair[1].is_word("ONLY"))
}

/// A transaction that is being followed.
struct Open<'r> {
    begin: &'r str,
    began: usize,
    statements: Vec<Performed<'r>>,
    /// Savepoints with the number of statements before them.
    savepoints: Savepoints,
    /// The moment at which an error took back all of it, and let go of its locks.
    lost: Option<usize>,
}

impl<'r> Session<'r> {
    fn new(run: &'r Run, session: SessionIndex) -> Self {
        let follower = Follower::new(run.target.product.descriptor().transactions.ddl_commits);
        Self { run, session, follower, done: Vec::new(), open: None }
    }

    fn follow(mut self) -> Result<Vec<Transaction<'r>>, String> {
        let mut waiting = None;
        let (run, session) = (self.run, self.session);
        let cancelled = &run.target.product.descriptor().cancelled;
        for event in run.events.iter().filter(|event| event.session == session) {
            if matches!(event.outcome, Outcome::Blocked { .. }) {
                waiting = Some(event.n);
            }
            let reply = match &event.outcome {
                Outcome::Blocked { .. } | Outcome::Skipped { .. } => continue,
                Outcome::Ok(answer) | Outcome::Resumed(answer) => Ok(answer),
                Outcome::Error(error) => Err(error),
            };
            if matches!(reply, Err(error) if error.class == ErrorClass::ConnectionLost) {
                return Err("the connection of a session was lost".to_owned());
            }
            let (Some(start), Some(end)) = (event.sent, event.answered) else {
                return Err("the run does not say when its statements were sent".to_owned());
            };
            let kind = StatementKind::of(&event.sql);
            self.take(Performed {
                n: event.n,
                sql: &event.sql,
                kind,
                reply,
                start,
                end,
                waited: waiting == Some(event.n),
                undone: false,
                ignored: false,
                cancelled: matches!(reply, Err(error) if cancelled.contains(&error.code)),
            })?;
        }
        self.close(false, usize::MAX);
        Ok(self.done)
    }

    fn take(&mut self, statement: Performed<'r>) -> Result<(), String> {
        match statement.kind {
            StatementKind::Commit { chain: true } | StatementKind::Rollback { chain: true } => {
                return Err("a session chains transactions".to_owned());
            }
            StatementKind::SetCommand => {
                return Err("a session changes its settings during the schedule".to_owned());
            }
            StatementKind::Other => {
                return Err("a session runs a kind of statement that is not followed".to_owned());
            }
            _ => {}
        }
        match self.follower.take(&statement.kind, statement.reply) {
            Role::Begins { inside: true } => {
                return Err("a session begins a transaction inside another one".to_owned());
            }
            Role::Begins { inside: false } => {
                self.open(statement.sql, statement.start);
            }
            Role::Opens => {
                self.open("BEGIN", statement.start);
                self.take_inside(statement);
            }
            Role::Inside { ignored } => self.take_inside(Performed { ignored, ..statement }),
            Role::Ends { committed } => self.close(committed, statement.end),
            Role::Alone { ended, .. } => {
                if let Some(committed) = ended {
                    self.close(committed, statement.start);
                }
                self.single(statement);
            }
            Role::Nothing if self.begins_by_savepoint(&statement) => {
                return Err("a session begins a transaction by a SAVEPOINT".to_owned());
            }
            Role::Nothing => {}
        }
        Ok(())
    }

    fn open(&mut self, begin: &'r str, began: usize) {
        let (statements, savepoints) = (Vec::new(), Savepoints::default());
        self.open = Some(Open { begin, began, statements, savepoints, lost: None });
    }

    fn begins_by_savepoint(&self, statement: &Performed<'_>) -> bool {
        matches!(statement.kind, StatementKind::Savepoint(_))
            && statement.reply.is_ok()
            && self.run.target.product.descriptor().transactions.savepoint_begins
    }

    fn take_inside(&mut self, statement: Performed<'r>) {
        let dialect = self.run.target.product.dialect();
        let Some(open) = self.open.as_mut() else { return };
        // What was done before a savepoint stays when a later statement fails.
        let is_whole = open.savepoints.is_empty() || self.follower.is_orphaned();
        let is_lost = self.follower.is_lost() && is_whole;
        let is_read_only = says_read_only(open.begin, dialect) && statement.is_write();
        let ignored = statement.ignored || (is_read_only && statement.reply.is_err());
        open.lost = is_lost.then_some(open.lost.unwrap_or(statement.end));
        match (&statement.kind, statement.reply) {
            (StatementKind::Savepoint(name), Ok(_)) => {
                open.savepoints.set(name, open.statements.len());
            }
            (StatementKind::RollbackTo(name), Ok(_)) => {
                if let Some(kept) = open.savepoints.back_to(name) {
                    open.statements[kept..].iter_mut().for_each(|taken| taken.undone = true);
                }
            }
            (StatementKind::Release(name), Ok(_)) => open.savepoints.release(name),
            _ => {}
        }
        open.statements.push(Performed { ignored, ..statement });
    }

    fn single(&mut self, statement: Performed<'r>) {
        self.done.push(Transaction {
            session: self.session,
            name: String::new(),
            begin: None,
            committed: statement.reply.is_ok(),
            began: statement.start,
            ended: statement.end,
            statements: vec![statement],
        });
    }

    fn close(&mut self, committed: bool, ended: usize) {
        let Some(open) = self.open.take() else { return };
        self.done.push(Transaction {
            session: self.session,
            name: String::new(),
            begin: Some(open.begin),
            statements: open.statements,
            committed,
            began: open.began,
            ended: open.lost.map_or(ended, |lost| lost.min(ended)),
        });
    }
}
