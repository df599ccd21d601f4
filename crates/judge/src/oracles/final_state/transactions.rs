//! The transactions of a run: which statements belong to which, and what became of them.
//!
//! Idea: a COMMIT that was answered is no proof that anything was committed (a deadlock's victim, a failed
//! transaction on PostgreSQL), a DDL statement may commit what went before (MySQL and its kin), a ROLLBACK
//! TO takes statements back. So each session's events are followed from statement to statement.
//!
//! Assumption: transactions are begun and ended by statements of their own or by DDL. Where a session does
//! something else (`SET`, XA, a BEGIN inside a transaction) the run is not judged, and the reason is said.

use anchorite_claims::WriteView;
use anchorite_model::product::Transactions;
use anchorite_model::sql::{Dialect, StatementKind, Tokens};
use anchorite_model::{Answer, DbError, ErrorClass, Outcome, Product, Run, SessionIndex};

/// A statement as it was performed.
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
    /// It was seen waiting in between.
    pub waited: bool,
    /// Taken back by a ROLLBACK TO.
    pub undone: bool,
    /// Sent when an error had already taken its transaction away, and so ignored.
    pub ignored: bool,
    /// Whether the stage has cancelled it, because the server did not end a deadlock in time.
    pub cancelled: bool,
}

impl Performed<'_> {
    /// Whether it failed for a reason that another schedule would not give it, and so left no trace.
    pub fn was_refused(&self) -> bool {
        let concurrency = [
            ErrorClass::Deadlock,
            ErrorClass::Serialization,
            ErrorClass::LockTimeout,
            ErrorClass::Conflict,
        ];
        self.ignored
            || self.cancelled
            || matches!(self.reply, Err(error) if concurrency.contains(&error.class))
    }

    /// Whether it changes rows or tables.
    pub fn is_write(&self) -> bool {
        self.kind.writes() || self.kind == StatementKind::Ddl
    }
}

/// One transaction: BEGIN to its end, or a single statement outside of one.
#[derive(Debug, Clone)]
pub struct Transaction<'r> {
    /// Whose it is.
    pub session: SessionIndex,
    /// Its name in sentences: the session's, with a number where it has several.
    pub name: String,
    /// The text of its BEGIN; `None` for a single statement.
    pub begin: Option<&'r str>,
    /// Its statements, without BEGIN and the end.
    pub statements: Vec<Performed<'r>>,
    /// Whether it committed.
    pub committed: bool,
    /// The moment at which its first statement was sent.
    pub began: usize,
    /// The moment at which its end was answered.
    pub ended: usize,
}

impl Transaction<'_> {
    /// Whether it tried to write anything.
    pub fn is_writer(&self) -> bool {
        self.statements.iter().any(|statement| statement.is_write() && !statement.was_refused())
    }

    /// Whether it read anything on its own account.
    pub fn is_reader(&self) -> bool {
        let reads = |kind: &StatementKind| matches!(kind, StatementKind::Select { .. });
        self.statements.iter().any(|statement| reads(&statement.kind) && statement.reply.is_ok())
    }

    /// Whether an INSERT of it may find one key taken after it found another one free.
    pub fn has_upsert(&self, dialect: Dialect) -> bool {
        self.statements.iter().any(|statement| {
            let tokens = Tokens::new(statement.sql, 0, dialect).filter_map(Result::ok);
            let mut words = tokens.filter(|token| token.is_significant());
            statement.kind == StatementKind::Replace
                || (statement.kind == StatementKind::Insert
                    && words.any(|token| token.is_word("DUPLICATE") || token.is_word("IGNORE")))
        })
    }

    /// Whether it is a single locking query with another query inside.
    pub fn is_nested_query(&self, dialect: Dialect) -> bool {
        let is_locking = |statement: &Performed<'_>| {
            let tokens = Tokens::new(statement.sql, 0, dialect).filter_map(Result::ok);
            statement.kind == StatementKind::Select { locking: true }
                && tokens.filter(|token| token.is_word("SELECT")).count() > 1
        };
        self.begin.is_none() && self.statements.iter().all(is_locking)
    }
}

/// INSERTs of constants that were refused because a key was taken, in transactions that left no trace and had written
/// nothing before; each as if it had stood alone. Where a transaction has one snapshot, the key may have been taken
/// there: then it counts from its beginning.
pub fn refused_inserts<'r>(
    transactions: &[Transaction<'r>],
    product: Product,
    sees: WriteView,
) -> Vec<Transaction<'r>> {
    let mut found = Vec::new();
    for transaction in transactions.iter().filter(|transaction| !transaction.committed) {
        let first = transaction.statements.iter().find(|statement| statement.is_write());
        let Some(insert) = first.filter(|statement| is_refused_insert(statement, product)) else {
            continue;
        };
        if transaction.begin.is_some_and(is_optimistic) {
            continue;
        }
        found.push(Transaction {
            begin: None,
            statements: vec![insert.clone()],
            committed: true,
            began: match sees {
                WriteView::TransactionSnapshot => transaction.began,
                WriteView::Latest | WriteView::StatementSnapshot => insert.start,
            },
            ended: insert.end,
            ..transaction.clone()
        });
    }
    found
}

/// Whether a BEGIN leaves all conflicts to the COMMIT.
pub fn is_optimistic(begin: &str) -> bool {
    begin.to_ascii_uppercase().contains("OPTIMISTIC")
}

fn is_refused_insert(statement: &Performed<'_>, product: Product) -> bool {
    let taken = &product.descriptor().duplicate_key;
    let mut tokens = Tokens::new(statement.sql, 0, product.dialect()).filter_map(Result::ok);
    statement.kind == StatementKind::Insert
        && matches!(statement.reply, Err(error) if taken.contains(&error.code))
        && !tokens.any(|token| token.is_word("SELECT"))
}

/// The transactions of a run in the order of their ends, or why it cannot be told.
pub fn transactions(run: &Run) -> Result<Vec<Transaction<'_>>, String> {
    let mut all = Vec::new();
    for session in 0..run.sessions.len() {
        let mut of_session = Follower::new(run, session).follow()?;
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

struct Follower<'r> {
    run: &'r Run,
    session: SessionIndex,
    done: Vec<Transaction<'r>>,
    open: Option<Open<'r>>,
}

/// A transaction on its way.
struct Open<'r> {
    begin: &'r str,
    began: usize,
    statements: Vec<Performed<'r>>,
    /// Savepoints with the number of statements before them.
    savepoints: Vec<(String, usize)>,
    /// An error has taken it away, and the session has not yet ended it.
    lost: bool,
}

impl<'r> Follower<'r> {
    fn new(run: &'r Run, session: SessionIndex) -> Self {
        Self { run, session, done: Vec::new(), open: None }
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
                return Err(format!("the connection of {} was lost", self.name()));
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

    fn name(&self) -> &str {
        &self.run.sessions[self.session].name
    }

    /// What transactions of the product do in their own way.
    fn habits(&self) -> &'static Transactions {
        &self.run.target.product.descriptor().transactions
    }

    fn take(&mut self, statement: Performed<'r>) -> Result<(), String> {
        match (&statement.kind, statement.reply) {
            (StatementKind::Begin, Ok(_)) if self.open.is_some() => {
                Err(format!("{} begins a transaction inside another one", self.name()))
            }
            (StatementKind::Begin, Ok(_)) => {
                let (begin, began) = (statement.sql, statement.start);
                self.open = Some(Open {
                    begin,
                    began,
                    statements: Vec::new(),
                    savepoints: Vec::new(),
                    lost: false,
                });
                Ok(())
            }
            (StatementKind::Begin, Err(_)) => Ok(()),
            (StatementKind::Commit { chain } | StatementKind::Rollback { chain }, _) if *chain => {
                Err(format!("{} chains transactions", self.name()))
            }
            (StatementKind::Commit { .. }, Ok(answer)) => {
                let refused = answer.tag.as_deref().is_some_and(|tag| tag == "ROLLBACK");
                let lost = self.open.as_ref().is_some_and(|open| open.lost);
                self.close(!refused && !lost, statement.end);
                Ok(())
            }
            (StatementKind::Rollback { .. }, Ok(_)) => {
                self.close(false, statement.end);
                Ok(())
            }
            (StatementKind::Commit { .. } | StatementKind::Rollback { .. }, Err(error)) => {
                if error.transaction_gone {
                    self.close(false, statement.end);
                }
                Ok(())
            }
            (StatementKind::SetCommand | StatementKind::Other, _) => {
                let word = statement.sql.split_whitespace().next().unwrap_or_default();
                Err(format!("{} does something that is not followed: {word}", self.name()))
            }
            _ if self.open.is_some() => {
                self.take_inside(statement);
                Ok(())
            }
            (StatementKind::Savepoint(_), Ok(_)) if self.habits().savepoint_begins => {
                Err(format!("{} begins a transaction by a SAVEPOINT", self.name()))
            }
            (
                StatementKind::Savepoint(_)
                | StatementKind::RollbackTo(_)
                | StatementKind::Release(_),
                _,
            ) => Ok(()),
            _ => {
                self.single(statement);
                Ok(())
            }
        }
    }

    fn take_inside(&mut self, mut statement: Performed<'r>) {
        if statement.kind == StatementKind::Ddl && self.habits().ddl_commits {
            self.close(true, statement.start);
            self.single(statement);
            return;
        }
        let Some(open) = self.open.as_mut() else { return };
        statement.ignored = open.lost && statement.reply.is_err();
        match (&statement.kind, statement.reply) {
            (StatementKind::Savepoint(name), Ok(_)) => {
                let count = open.statements.len();
                open.savepoints.push((name.clone(), count));
            }
            (StatementKind::RollbackTo(name), Ok(_)) => {
                let found = open.savepoints.iter().rposition(|(known, _)| known == name);
                if let Some(at) = found {
                    open.savepoints.truncate(at + 1);
                    let kept = open.savepoints[at].1;
                    open.statements[kept..].iter_mut().for_each(|taken| taken.undone = true);
                    open.lost = false;
                }
            }
            (_, Err(error)) => open.lost |= error.transaction_gone,
            _ => {}
        }
        open.statements.push(statement);
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
            committed: committed && !open.lost,
            began: open.began,
            ended,
        });
    }
}
