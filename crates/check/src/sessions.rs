//! Session order as arrays.
//!
//! Only transactions that count (see [`crate::resolve`]) are in a session's order; the others are skipped, which leaves
//! their neighbours adjacent.

use crate::model::{History, NONE, TxnId};
use crate::resolve::Resolved;

/// The order of the transactions within their sessions.
#[derive(Debug)]
pub struct Sessions {
    /// The previous transaction of the same session, or [`NONE`].
    pub previous: Vec<TxnId>,
    /// Position in the session, counted from zero.
    pub index: Vec<u32>,
    /// All included transactions, session by session, each in order.
    pub order: Vec<TxnId>,
}

impl Sessions {
    /// Derives the order of the included transactions.
    pub fn new(history: &History, resolved: &Resolved) -> Sessions {
        let count = history.txns.len();
        let mut last = vec![(NONE, 0_u32); history.sessions.len()];
        let mut previous = vec![NONE; count];
        let mut index = vec![0; count];
        for (txn, what) in history.txns.iter().enumerate() {
            if !resolved.included[txn] {
                continue;
            }
            let (before, length) = &mut last[what.session as usize];
            previous[txn] = *before;
            index[txn] = *length;
            *before = txn as TxnId;
            *length += 1;
        }
        let mut starts = vec![0_u32; last.len()];
        let mut total = 0;
        for (start, (_, length)) in starts.iter_mut().zip(&last) {
            *start = total;
            total += length;
        }
        let mut order = vec![0; total as usize];
        for (txn, what) in history.txns.iter().enumerate() {
            if resolved.included[txn] {
                order[(starts[what.session as usize] + index[txn]) as usize] = txn as TxnId;
            }
        }
        Sessions { previous, index, order }
    }
}
