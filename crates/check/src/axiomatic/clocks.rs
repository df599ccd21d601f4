//! Vector clocks that are freed when they are no longer needed.
//!
//! Idea: a transaction's clock says how many transactions of each session are in its causal past, itself included. It
//! is needed until the next transaction of its session and all its readers are done; then its row is reused. So memory
//! grows with the number of open versions, not of transactions.

use super::context::Context;
use crate::model::{NONE, TxnId};

/// Rows of clocks with a free list.
pub(crate) struct Clocks {
    width: usize,
    rows: Vec<u32>,
    row_of: Vec<u32>,
    users: Vec<u32>,
    free: Vec<u32>,
}

impl Clocks {
    /// Clocks for all transactions; each is used by its session's next one and by its readers.
    pub(crate) fn new(context: &Context<'_>) -> Clocks {
        let count = context.history.txns.len();
        let mut users = vec![0_u32; count];
        for txn in context.included() {
            let previous = context.sessions.previous[txn as usize];
            let reads = context.reads(txn).map(|read| read.from);
            for from in reads.chain([previous]).filter(|from| *from != NONE) {
                users[from as usize] += 1;
            }
        }
        Clocks {
            width: context.history.sessions.len(),
            rows: Vec::new(),
            row_of: vec![NONE; count],
            users,
            free: Vec::new(),
        }
    }

    /// The clock of a transaction that was entered and is still needed.
    pub(crate) fn of(&self, txn: TxnId) -> &[u32] {
        let row = self.row_of[txn as usize] as usize;
        &self.rows[row * self.width..(row + 1) * self.width]
    }

    /// Computes the clock of a transaction from those before it.
    pub(crate) fn enter(&mut self, context: &Context<'_>, txn: TxnId) {
        let row = self.free.pop().unwrap_or_else(|| {
            self.rows.resize(self.rows.len() + self.width, 0);
            (self.rows.len() / self.width) as u32 - 1
        });
        self.row_of[txn as usize] = row;
        let start = row as usize * self.width;
        self.rows[start..start + self.width].fill(0);
        let previous = context.sessions.previous[txn as usize];
        if previous != NONE {
            self.join(start, previous);
        }
        for read in context.reads(txn) {
            if read.from != NONE {
                self.join(start, read.from);
            }
        }
        let session = context.history.txns[txn as usize].session as usize;
        self.rows[start + session] = context.sessions.index[txn as usize] + 1;
    }

    fn join(&mut self, start: usize, other: TxnId) {
        let from = self.row_of[other as usize] as usize * self.width;
        if from == start {
            return;
        }
        let (low, high) = (start.min(from), start.max(from));
        let (head, tail) = self.rows.split_at_mut(high);
        let (a, b) = (&mut head[low..low + self.width], &mut tail[..self.width]);
        let (mine, theirs) = if start < from { (a, &*b) } else { (b, &*a) };
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Releases the clocks that a transaction needed.
    pub(crate) fn leave(&mut self, context: &Context<'_>, txn: TxnId) {
        let previous = context.sessions.previous[txn as usize];
        if previous != NONE {
            self.release(previous);
        }
        for read in context.reads(txn) {
            if read.from != NONE {
                self.release(read.from);
            }
        }
        if self.users[txn as usize] == 0 {
            self.free.push(self.row_of[txn as usize]);
        }
    }

    fn release(&mut self, txn: TxnId) {
        let users = &mut self.users[txn as usize];
        *users -= 1;
        if *users == 0 {
            self.free.push(self.row_of[txn as usize]);
        }
    }
}
