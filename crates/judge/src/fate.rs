//! Whether a session's transactions really committed.
//!
//! Idea: a `COMMIT` that was answered is no proof. InnoDB answers OK to the COMMIT of a deadlock's victim,
//! PostgreSQL answers `ROLLBACK` to the COMMIT of a failed transaction. So each session's statements are
//! followed from BEGIN on, with the errors that took the transaction away.
//! Assumption: transactions begin and end by statements of their own. Blind spot: statements that commit
//! implicitly (DDL on MySQL), and procedures that commit inside.

use anchorite_model::sql::StatementKind;
use anchorite_model::{Event, Outcome, Run, SessionIndex};

/// How one transaction of a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It committed.
    Committed,
    /// It was rolled back: on demand, by the server, or because it was still open at the end.
    RolledBack,
}

/// How the transactions of a session ended, in order; a statement outside BEGIN is one of its own.
pub fn ends(run: &Run, session: SessionIndex) -> Vec<End> {
    let mut ends = Vec::new();
    let mut current = Transaction::None;
    for (n, step) in (1..).zip(&run.case.steps).filter(|(_, step)| step.session == session) {
        if let Some(event) = last_event(run, n) {
            current =
                current.after(&StatementKind::of(&step.statement.sql), &event.outcome, &mut ends);
        }
    }
    if current != Transaction::None {
        ends.push(End::RolledBack);
    }
    ends
}

/// What finally became of a statement.
pub fn last_event(run: &Run, n: usize) -> Option<&Event> {
    run.events.iter().rev().find(|event| event.n == n)
}

/// Where a session stands between two of its statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    /// Lost by an error, but not yet ended by the session.
    Gone,
}

impl Transaction {
    fn after(self, kind: &StatementKind, outcome: &Outcome, ends: &mut Vec<End>) -> Self {
        let (answer, gone) = match outcome {
            Outcome::Ok(answer) | Outcome::Resumed(answer) => (Some(answer), false),
            Outcome::Error(error) => (None, error.transaction_gone),
            Outcome::Blocked { .. } | Outcome::Skipped { .. } => return self,
        };
        let next = |chain: bool| if chain { Self::Open } else { Self::None };
        match (kind, self, answer) {
            (StatementKind::Begin, _, Some(_)) => Self::Open,
            (StatementKind::Commit { chain }, Self::Open, Some(answer)) => {
                let tag = answer.tag.as_deref().unwrap_or_default();
                let refused = tag.eq_ignore_ascii_case("ROLLBACK");
                ends.push(if refused { End::RolledBack } else { End::Committed });
                next(*chain)
            }
            (StatementKind::Commit { chain }, Self::Gone, Some(_))
            | (StatementKind::Rollback { chain }, Self::Open | Self::Gone, Some(_)) => {
                ends.push(End::RolledBack);
                next(*chain)
            }
            (StatementKind::Commit { .. }, Self::Open, None) if gone => {
                ends.push(End::RolledBack);
                Self::None
            }
            (StatementKind::RollbackTo(_), Self::Gone, Some(_)) => Self::Open,
            (kind, Self::None, answer) if !kind.ends_transaction() => {
                ends.push(if answer.is_some() { End::Committed } else { End::RolledBack });
                Self::None
            }
            (_, Self::Open, None) if gone => Self::Gone,
            _ => self,
        }
    }
}
