//! How a row names its version: a number for the transaction that wrote it, and which of its statements.
//!
//! Idea: every row has three columns besides its data: `w`, the token of its version, `p`, the token of the version
//! that was replaced, and `n`, how many writes the row has had. Every write sets all three in the same statement that
//! changes the data (`SET p = w, w = …, n = n + 1`), so no lock is taken and no row is looked at that would not have
//! been anyway. A row does not grow with its history.
//!
//! Source: IsoRel (ISSTA 2025) keeps the whole list of writers in the row; the last two are enough, because every
//! writer tells what it replaced.

use anchorite_check::live::Version;

/// Statements of one transaction that can be told apart.
pub(crate) const STATEMENTS_MAX: u64 = 64;

/// The token of a write.
pub fn token(txn: u64, statement: usize) -> u64 {
    txn * STATEMENTS_MAX + statement as u64 % STATEMENTS_MAX
}

/// The version that a token names; 0 is what was there before all transactions.
pub fn version(token: u64) -> Version {
    Version { txn: token / STATEMENTS_MAX, write: (token % STATEMENTS_MAX) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_version() {
        assert_eq!(version(0), Version::INITIAL);
        assert_eq!(version(token(7, 3)), Version { txn: 7, write: 3 });
    }
}
