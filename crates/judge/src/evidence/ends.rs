//! How a session's transactions ended, for callers that need nothing else.
//!
//! Assumption and blind spots: those of [`anchorite_model::transactions`].

use anchorite_model::sql::StatementKind;
use anchorite_model::transactions::{Follower, Role};
use anchorite_model::{Event, Outcome, Run, SessionIndex};

/// How one transaction of a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It committed.
    Committed,
    /// It was rolled back: by a statement, by the server, or because it was still open at the end.
    RolledBack,
}

impl End {
    const fn of(committed: bool) -> Self {
        if committed { Self::Committed } else { Self::RolledBack }
    }
}

/// How the transactions of a session ended, in order; a statement outside BEGIN is a separate one.
pub fn ends(run: &Run, session: SessionIndex) -> Vec<End> {
    let mut ends = Vec::new();
    let mut follower = Follower::new(run.target.product.descriptor().transactions.ddl_commits);
    for (n, step) in (1..).zip(&run.case.steps).filter(|(_, step)| step.session == session) {
        let reply = match last_event(run, n).map(|event| &event.outcome) {
            Some(Outcome::Ok(answer) | Outcome::Resumed(answer)) => Ok(answer),
            Some(Outcome::Error(error)) => Err(error),
            Some(Outcome::Blocked { .. } | Outcome::Skipped { .. }) | None => continue,
        };
        match follower.take(&StatementKind::of(&step.statement.sql), reply) {
            Role::Ends { committed } => ends.push(End::of(committed)),
            Role::Alone { committed, ended } => {
                ends.extend(ended.map(End::of));
                ends.push(End::of(committed));
            }
            Role::Begins { .. } | Role::Opens | Role::Inside { .. } | Role::Nothing => {}
        }
    }
    if follower.is_begun() {
        ends.push(End::RolledBack);
    }
    ends
}

/// The final outcome of a statement.
pub fn last_event(run: &Run, n: usize) -> Option<&Event> {
    run.events.iter().rev().find(|event| event.n == n)
}
