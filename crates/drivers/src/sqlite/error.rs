//! What kind of failure an SQLite result code is, and what it leaves of the transaction.
//!
//! Source: <https://www.sqlite.org/rescode.html>. An error that ends the whole transaction (a full disk, `ON
//! CONFLICT ROLLBACK`, ...) shows in the connection: it is back in autocommit mode.

use std::sync::LazyLock;

use anchorite_model::product::{ErrorClasses, ErrorSigns};
use anchorite_model::{DbError, ErrorClass, Product};
use rusqlite::ffi;

/// A failed call: SQLite's extended result code and message.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) code: i32,
    pub(super) message: String,
}

impl Failure {
    /// Whether a table lock of the shared cache was refused.
    pub(super) const fn is_table_lock(&self) -> bool {
        self.code == ffi::SQLITE_LOCKED_SHAREDCACHE
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, message) => Self {
                code: failure.extended_code,
                message: message.unwrap_or_else(|| failure.to_string()),
            },
            rusqlite::Error::SqlInputError { error, msg, .. } => {
                Self { code: error.extended_code, message: msg }
            }
            other => Self { code: ffi::SQLITE_MISUSE, message: other.to_string() },
        }
    }
}

/// Why a wait ended without the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// We ended the wait.
    GaveUp,
    /// Waiting would never end: SQLite did not call the busy handler, or the waits form a circle.
    Deadlock,
}

/// The error as the run records it.
pub(super) fn db_error(
    failure: Failure,
    refusal: Refusal,
    was_in_transaction: bool,
    is_in_transaction: bool,
) -> DbError {
    DbError {
        class: classify(failure.code, &failure.message, refusal),
        code: failure.code.to_string(),
        message: failure.message,
        severity: String::new(),
        transaction_gone: was_in_transaction && !is_in_transaction,
        in_transaction: Some(is_in_transaction),
        notices: Vec::new(),
        results: Vec::new(),
    }
}

/// By the rules of the descriptor, where the reason of a refusal has the place of an SQLSTATE.
fn classify(code: i32, message: &str, refusal: Refusal) -> ErrorClass {
    static ERRORS: LazyLock<&ErrorClasses> =
        LazyLock::new(|| Product::named("sqlite").descriptor().errors());
    let state = match refusal {
        Refusal::GaveUp => "gave-up",
        Refusal::Deadlock => "deadlock",
    };
    let signs = ErrorSigns { code: &code.to_string(), state, message, sql: "" };
    ERRORS.meaning(&signs, |_| false).class
}

/// The answer of a session whose thread has ended.
pub(super) fn connection_lost() -> DbError {
    DbError {
        class: ErrorClass::ConnectionLost,
        code: String::new(),
        message: "the session has ended".to_owned(),
        severity: String::new(),
        transaction_gone: true,
        in_transaction: Some(false),
        notices: Vec::new(),
        results: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_codes_have_classes() {
        use Refusal::{Deadlock, GaveUp};
        let table = [
            (ffi::SQLITE_BUSY, Deadlock, ErrorClass::Deadlock),
            (ffi::SQLITE_BUSY, GaveUp, ErrorClass::LockTimeout),
            (ffi::SQLITE_BUSY_SNAPSHOT, Deadlock, ErrorClass::Conflict),
            (ffi::SQLITE_BUSY_RECOVERY, Deadlock, ErrorClass::LockTimeout),
            (ffi::SQLITE_LOCKED, Deadlock, ErrorClass::LockTimeout),
            (ffi::SQLITE_LOCKED_SHAREDCACHE, Deadlock, ErrorClass::Deadlock),
            (ffi::SQLITE_LOCKED_SHAREDCACHE, GaveUp, ErrorClass::LockTimeout),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, Deadlock, ErrorClass::Constraint),
            (ffi::SQLITE_ERROR, Deadlock, ErrorClass::Other),
            (ffi::SQLITE_FULL, Deadlock, ErrorClass::Other),
        ];
        for (code, refusal, class) in table {
            assert_eq!(classify(code, "", refusal), class, "{code} {refusal:?}");
        }
    }
}
