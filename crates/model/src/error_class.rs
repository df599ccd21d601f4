//! What kind of failure a server's error is, whatever the product calls it.

use serde::{Deserialize, Serialize};

/// What kind of failure an error is, whatever the product's code for it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum ErrorClass {
    /// The server chose this transaction as a deadlock's victim.
    Deadlock,
    /// The server could not serialize the transaction (SQLSTATE 40001 and the like).
    Serialization,
    /// A wait for a lock took longer than allowed, or waiting was not allowed (`NOWAIT`).
    LockTimeout,
    /// A constraint was violated.
    Constraint,
    /// The row was changed after the transaction's snapshot (first updater or committer wins).
    Conflict,
    /// The connection is gone.
    ConnectionLost,
    /// Anything else.
    #[default]
    Other,
}

impl ErrorClass {
    /// Whether a statement fails so because of other transactions: alone it would not.
    pub const fn is_of_others(self) -> bool {
        matches!(self, Self::Deadlock | Self::Serialization | Self::LockTimeout | Self::Conflict)
    }

    /// Every class.
    pub const ALL: [Self; 7] = [
        Self::Deadlock,
        Self::Serialization,
        Self::LockTimeout,
        Self::Constraint,
        Self::Conflict,
        Self::ConnectionLost,
        Self::Other,
    ];

    /// The word of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Serialization => "serialization",
            Self::LockTimeout => "lock-timeout",
            Self::Constraint => "constraint",
            Self::Conflict => "conflict",
            Self::ConnectionLost => "connection-lost",
            Self::Other => "other",
        }
    }
}
