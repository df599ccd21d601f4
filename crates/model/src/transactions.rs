//! Which transaction a statement belongs to, and how it ended.
//!
//! Idea: an answered COMMIT does not prove that anything was committed. InnoDB answers OK to the COMMIT of a deadlock
//! victim, PostgreSQL answers `ROLLBACK` to that of a failed transaction, an error may end the transaction, and on
//! MySQL and its relatives DDL commits what came before. So the statements of a session are followed one by one, each
//! with its answer. All who need to know use this: the stage for what it may still send, the judge for what was
//! committed, the reducer for what belongs together.
//!
//! Assumption: transactions begin and end with explicit statements, by DDL, or, after `SET autocommit = 0`, begin with
//! the first statement that reads or writes. Blind spot: XA, and procedures that commit inside; callers have to handle
//! those.

use crate::{Answer, DbError, StatementKind};

/// The state of a session between two of its statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SessionState {
    /// Outside any transaction that it has begun.
    #[default]
    Outside,
    /// In a transaction.
    Open,
    /// In one that has failed: the server refuses everything until its end.
    Failed,
    /// In one that an error has ended, and that the session has not ended itself yet.
    Gone,
}

/// What a statement meant for the transactions of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It began a transaction.
    Begins {
        /// Another one was open.
        inside: bool,
    },
    /// It began a transaction without a BEGIN, and is part of it.
    Opens,
    /// It is part of the open transaction.
    Inside {
        /// It was refused only because an error had already ended the transaction.
        ignored: bool,
    },
    /// It ended the open transaction.
    Ends {
        /// What was done in it stays.
        committed: bool,
    },
    /// It is outside any transaction: a separate transaction.
    Alone {
        /// It succeeded.
        committed: bool,
        /// It first ended the transaction that it was in: whether what was done there stays.
        ended: Option<bool>,
    },
    /// Nothing: a COMMIT outside any transaction, a BEGIN that failed, a savepoint without a transaction.
    Nothing,
}

/// Follows the transactions of one session.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    ddl_commits: bool,
    /// `SET autocommit = 0`
    is_autocommit_off: bool,
    state: SessionState,
    /// How many transactions there were; the last one may still be open.
    begun: usize,
    /// The number of the one that the last statement belonged to.
    last: usize,
}

impl Follower {
    /// A session that has not done anything yet. `ddl_commits`: DDL first commits the transaction that it is in.
    pub fn new(ddl_commits: bool) -> Self {
        Self { ddl_commits, ..Self::default() }
    }

    /// Takes the next statement and the server's answer.
    pub fn take(&mut self, kind: &StatementKind, reply: Result<&Answer, &DbError>) -> Role {
        let open = self.is_begun().then(|| self.begun - 1);
        let role = self.role(kind, reply);
        if role == Role::Nothing && open.is_none() {
            self.begun += 1;
        }
        self.last = match (role, open) {
            (Role::Inside { .. } | Role::Ends { .. } | Role::Nothing, Some(open)) => open,
            _ => self.begun - 1,
        };
        role
    }

    /// The number of the transaction that the last statement belonged to, from 0 on.
    pub const fn number(&self) -> usize {
        self.last
    }

    fn role(&mut self, kind: &StatementKind, reply: Result<&Answer, &DbError>) -> Role {
        match kind {
            StatementKind::Begin => self.begin(reply.is_ok()),
            StatementKind::Commit { chain } => {
                let is_refused = |answer: &Answer| {
                    answer.tag.as_deref().is_some_and(|tag| tag.eq_ignore_ascii_case("ROLLBACK"))
                };
                let lasts = reply.is_ok_and(|answer| !is_refused(answer));
                self.end(lasts && self.state == SessionState::Open, *chain, reply)
            }
            StatementKind::Rollback { chain } => self.end(false, *chain, reply),
            StatementKind::Autocommit(on) => self.set_autocommit(*on, reply.is_ok()),
            _ if self.state == SessionState::Outside => self.outside(kind, reply),
            StatementKind::Ddl if self.ddl_commits => {
                let ended = Some(self.state == SessionState::Open);
                self.state = SessionState::Outside;
                self.begun += 1;
                Role::Alone { committed: reply.is_ok(), ended }
            }
            _ => self.inside(kind, reply),
        }
    }

    /// Whether a transaction was begun and not ended, going by the statements: it may already be lost.
    pub fn is_begun(&self) -> bool {
        self.state != SessionState::Outside
    }

    /// Whether the server has the session's transaction open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, SessionState::Open | SessionState::Failed)
    }

    /// Whether an error has ended the transaction in effect, though the session has not ended it itself.
    pub fn is_lost(&self) -> bool {
        matches!(self.state, SessionState::Failed | SessionState::Gone)
    }

    /// Whether an error has ended the transaction, and what follows would run outside it.
    pub fn is_orphaned(&self) -> bool {
        self.state == SessionState::Gone
    }

    /// Records what the server itself says about whether a transaction is open, which takes precedence.
    pub fn correct(&mut self, is_open: bool) {
        match self.state {
            SessionState::Outside if is_open => {
                self.state = SessionState::Open;
                self.begun += 1;
            }
            SessionState::Open | SessionState::Failed if !is_open => {
                self.state = SessionState::Outside
            }
            _ => {}
        }
    }

    fn begin(&mut self, is_ok: bool) -> Role {
        if !is_ok {
            return Role::Nothing;
        }
        let inside = self.is_begun();
        self.state = SessionState::Open;
        self.begun += 1;
        Role::Begins { inside }
    }

    fn end(&mut self, committed: bool, chain: bool, reply: Result<&Answer, &DbError>) -> Role {
        let ends = match reply {
            Ok(_) => true,
            Err(error) => error.transaction_gone,
        };
        if !self.is_begun() || !ends {
            return Role::Nothing;
        }
        self.state = SessionState::Outside;
        if chain && reply.is_ok() {
            self.state = SessionState::Open;
            self.begun += 1;
        }
        Role::Ends { committed }
    }

    /// Turning it on again commits what is open; MySQL: "Changing the autocommit mode to 1 from 0 causes … a commit".
    fn set_autocommit(&mut self, on: bool, is_ok: bool) -> Role {
        if !is_ok {
            return Role::Nothing;
        }
        let was_off = std::mem::replace(&mut self.is_autocommit_off, !on);
        if !(was_off && on && self.is_begun()) {
            return Role::Nothing;
        }
        let committed = self.state == SessionState::Open;
        self.state = SessionState::Outside;
        Role::Ends { committed }
    }

    fn outside(&mut self, kind: &StatementKind, reply: Result<&Answer, &DbError>) -> Role {
        let is_of_savepoints = matches!(
            kind,
            StatementKind::Savepoint(_) | StatementKind::RollbackTo(_) | StatementKind::Release(_)
        );
        // With autocommit off a savepoint is the first of what it may take back.
        let is_first = self.is_autocommit_off && matches!(kind, StatementKind::Savepoint(_));
        if is_of_savepoints && !is_first {
            return Role::Nothing;
        }
        self.begun += 1;
        if self.is_autocommit_off && *kind != StatementKind::Ddl {
            self.state = SessionState::Open;
            self.inside(kind, reply);
            return Role::Opens;
        }
        Role::Alone { committed: reply.is_ok(), ended: None }
    }

    fn inside(&mut self, kind: &StatementKind, reply: Result<&Answer, &DbError>) -> Role {
        let was_lost = self.state != SessionState::Open;
        match reply {
            Ok(_) if matches!(kind, StatementKind::RollbackTo(_)) => {
                self.state = SessionState::Open
            }
            Err(error) if error.transaction_gone && self.state != SessionState::Gone => {
                let stays = error.in_transaction == Some(true);
                self.state = if stays { SessionState::Failed } else { SessionState::Gone };
            }
            _ => {}
        }
        Role::Inside { ignored: was_lost && reply.is_err() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roles of statements; `!` in front: it fails and takes the transaction away, `?`: it fails and the server keeps
    /// the transaction to refuse everything in it, `-`: it fails alone, `~`: a COMMIT that is answered with ROLLBACK.
    fn roles(ddl_commits: bool, statements: &[&str]) -> (String, Follower) {
        let mut follower = Follower::new(ddl_commits);
        let mut told = Vec::new();
        for text in statements {
            let sql = text.trim_start_matches(['!', '?', '-', '~']);
            let answer = Answer {
                tag: text.starts_with('~').then(|| "ROLLBACK".to_owned()),
                ..Answer::default()
            };
            let error = DbError {
                transaction_gone: !text.starts_with('-'),
                in_transaction: Some(text.starts_with('?')),
                ..DbError::default()
            };
            let fails = text.starts_with(['!', '?', '-']);
            let reply = if fails { Err(&error) } else { Ok(&answer) };
            let role = match follower.take(&StatementKind::of(sql), reply) {
                Role::Begins { inside: false } => "begins",
                Role::Begins { inside: true } => "begins inside",
                Role::Opens => "opens",
                Role::Inside { ignored: false } => "inside",
                Role::Inside { ignored: true } => "ignored",
                Role::Ends { committed: true } => "commits",
                Role::Ends { committed: false } => "rolls back",
                Role::Alone { ended: Some(true), .. } => "commits first",
                Role::Alone { committed: true, .. } => "alone",
                Role::Alone { committed: false, .. } => "fails alone",
                Role::Nothing => "nothing",
            };
            told.push(format!("{role} {}", follower.number()));
        }
        (told.join(", "), follower)
    }

    #[test]
    fn statements_are_followed_from_begin_to_end() {
        for (statements, expected) in [
            (&["BEGIN", "DELETE FROM t", "COMMIT"][..], "begins 0, inside 0, commits 0"),
            (&["BEGIN", "ROLLBACK", "SELECT 1"], "begins 0, rolls back 0, alone 1"),
            (&["-INSERT INTO t", "COMMIT"], "fails alone 0, nothing 1"),
            // The victim of a deadlock is answered as if nothing had happened.
            (&["BEGIN", "!DELETE FROM t", "COMMIT"], "begins 0, inside 0, rolls back 0"),
            (
                &["BEGIN", "?SELECT 1", "-SELECT 2", "~COMMIT"],
                "begins 0, inside 0, ignored 0, rolls back 0",
            ),
            (
                &["BEGIN", "?SELECT 1", "ROLLBACK TO a", "COMMIT"],
                "begins 0, inside 0, inside 0, commits 0",
            ),
            (&["BEGIN", "!COMMIT", "SELECT 1"], "begins 0, rolls back 0, alone 1"),
            (&["BEGIN", "-COMMIT", "COMMIT"], "begins 0, nothing 0, commits 0"),
            (
                &["BEGIN", "COMMIT AND CHAIN", "SELECT 1", "ROLLBACK"],
                "begins 0, commits 0, inside 1, rolls back 1",
            ),
            (&["BEGIN", "BEGIN", "COMMIT"], "begins 0, begins inside 1, commits 1"),
            (&["-BEGIN", "SAVEPOINT a"], "nothing 0, nothing 1"),
        ] {
            assert_eq!(roles(false, statements).0, expected);
        }
    }

    #[test]
    fn without_autocommit_statements_begin_transactions() {
        for (statements, expected) in [
            (
                &["SET autocommit = 0", "SELECT 1", "DELETE FROM t", "COMMIT", "SELECT 2"][..],
                "nothing 0, opens 1, inside 1, commits 1, opens 2",
            ),
            (&["SET autocommit = 0", "-SELECT 1", "ROLLBACK"], "nothing 0, opens 1, rolls back 1"),
            (
                &["SET autocommit = 0", "!SELECT 1", "SELECT 2", "COMMIT"],
                "nothing 0, opens 1, inside 1, rolls back 1",
            ),
            (
                &["SET autocommit = 0", "SELECT 1", "SET autocommit = 1", "SELECT 2"],
                "nothing 0, opens 1, commits 1, alone 2",
            ),
            (
                &["BEGIN", "SET autocommit = 1", "SELECT 2", "COMMIT"],
                "begins 0, nothing 0, inside 0, commits 0",
            ),
            (&["SET autocommit = 0", "CREATE TABLE t (a INT)"], "nothing 0, alone 1"),
            (
                &["SET autocommit = 0", "ROLLBACK TO a", "SAVEPOINT a", "DELETE FROM t", "COMMIT"],
                "nothing 0, nothing 1, opens 2, inside 2, commits 2",
            ),
        ] {
            assert_eq!(roles(true, statements).0, expected);
        }
    }

    #[test]
    fn ddl_commits_where_the_product_says_so() {
        let statements = ["BEGIN", "DELETE FROM t", "CREATE TABLE u (a INT)", "COMMIT"];
        let (told, _) = roles(true, &statements);
        assert_eq!(told, "begins 0, inside 0, commits first 1, nothing 2");
        assert_eq!(roles(false, &statements).0, "begins 0, inside 0, inside 0, commits 0");
        let (told, _) = roles(true, &["BEGIN", "!DELETE FROM t", "CREATE TABLE u (a INT)"]);
        assert_eq!(told, "begins 0, inside 0, alone 1", "what is gone cannot be committed");
    }

    #[test]
    fn what_would_run_outside_of_its_transaction_is_known() {
        let (_, gone) = roles(false, &["BEGIN", "!DELETE FROM t"]);
        assert!(gone.is_orphaned() && gone.is_begun() && !gone.is_open());
        let (_, failed) = roles(false, &["BEGIN", "?DELETE FROM t"]);
        assert!(!failed.is_orphaned() && failed.is_open());
        let (_, alone) = roles(false, &["!DELETE FROM t"]);
        assert!(!alone.is_orphaned() && !alone.is_begun());
        let (_, mut open) = roles(false, &["BEGIN"]);
        open.correct(false);
        assert!(!open.is_begun());
    }
}
