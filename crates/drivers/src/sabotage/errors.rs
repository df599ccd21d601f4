//! Sabotage of errors: failures that nobody has caused, and errors that say something else than what went wrong.

use anchorite_model::{DbError, ErrorClass};

use super::session::{Act, SabotagedSession};
use super::shared_schema::lock;
use crate::Reply;

/// The code of an error that no server sends.
const MADE_UP: &str = "made-up";

impl SabotagedSession {
    /// A write fails like the victim of a deadlock, and its transaction with it, although all others who have a
    /// transaction open have only begun it.
    pub(super) fn invent_failure(&self) -> Option<Act> {
        let is_idle = {
            let records = lock(&self.shared.records);
            let mut others = records.others(self.key);
            let idle = others.all(|other| !other.busy && !other.transaction.touched);
            idle && records.committed.is_empty()
        };
        if !is_idle {
            return None;
        }
        let (open, aborts) = (self.transaction().open, self.shared.errors_abort());
        match (open, aborts) {
            (false, _) => {}
            // The transaction is left as unusable as errors leave it here: this statement fails.
            (true, true) => drop(self.execute("ROLLBACK TO SAVEPOINT anchorite_nowhere")),
            (true, false) => drop(self.execute("ROLLBACK").ok()?),
        }
        self.acted();
        Some(Act::Answer(Err(DbError {
            class: ErrorClass::Deadlock,
            code: MADE_UP.to_owned(),
            message: "deadlock found".to_owned(),
            transaction_gone: open,
            in_transaction: Some(open && aborts),
            ..DbError::default()
        })))
    }

    /// A broken constraint is told as an error of another class.
    pub(super) fn exchange_error(&self, reply: Reply) -> Reply {
        match reply {
            Err(error) if error.class == ErrorClass::Constraint => {
                self.acted();
                let (class, code) = (ErrorClass::Other, MADE_UP.to_owned());
                Err(DbError { class, code, message: "something is wrong".to_owned(), ..error })
            }
            reply => reply,
        }
    }
}
