//! The transaction list of `SHOW ENGINE INNODB STATUS`, taken apart.
//!
//! Each transaction is printed as a header (`---TRANSACTION id, state`, lines with its counts, the connection's
//! `thread id`), the statement it runs, the lock it waits for, and, with `innodb_status_output_locks=ON`, the locks it
//! has. The text is the same from MySQL 5.6 to MariaDB 11.8 except for the unit of the waiting time.
//!
//! Assumption: no statement contains a line that starts like one of InnoDB's own (`---TRANSACTION `,
//! `TABLE LOCK table `, `RECORD LOCKS space id `). Blind spots: the server prints at most ten locks of a
//! transaction, so a holder of more may stay unknown, and cuts the list to fit 1 MB
//! ([`Status::truncated`]).

use super::lock::{Lock, RecordLock, TableLock, number_at_start};
use crate::PurgeProgress;

const LIST_START: &str = "LIST OF TRANSACTIONS FOR EACH SESSION:";
const TRANSACTION: &str = "---TRANSACTION ";
const LIST_END: &str = "FILE I/O";
const TRUNCATED: &str = "... truncated...";
const WAITING: &str = "------- TRX HAS BEEN WAITING ";
const WAITING_END: &str = "------------------";
const HEAP_NUMBER: &str = "Record lock, heap no ";

/// The transactions that the server listed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub transactions: Vec<Transaction>,
    /// The list did not fit into the server's limit and lacks transactions.
    pub truncated: bool,
}

/// One transaction.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Transaction {
    /// The connection it belongs to; none for prepared or recovered transactions and for DDL's own.
    pub connection: Option<u64>,
    /// Grows with every statement that the server starts.
    pub query: Option<u64>,
    pub is_waiting: bool,
    /// The lock it waits for.
    pub awaited: Option<Lock>,
    /// How long it has been waiting, where the server counts microseconds.
    pub waited_us: Option<u64>,
    /// The locks that it holds or waits for, as far as printed.
    pub locks: Vec<Lock>,
}

impl Status {
    /// Whether the connection may have a transaction that the server left out.
    pub(crate) fn may_omit(&self, connection: u64) -> bool {
        self.truncated && self.transactions.iter().all(|t| t.connection != Some(connection))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut status = Self::default();
        // When the list is truncated, its heading and its first transactions are replaced by the remark.
        let is_before = |line: &&str| *line != LIST_START && !line.starts_with(TRUNCATED);
        let mut reader = Reader::default();
        for line in text.lines().skip_while(is_before).take_while(|line| *line != LIST_END) {
            if line.starts_with(TRANSACTION) {
                status.transactions.extend(reader.finish());
                reader.part = Part::Header;
            } else if line.starts_with(TRUNCATED) {
                status.truncated = true;
            } else {
                reader.line(line);
            }
        }
        status.transactions.extend(reader.finish());
        status
    }
}

/// Where in a transaction's text the reader is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Before the first transaction, or after its end.
    #[default]
    Outside,
    /// The header, up to the line with the thread id.
    Header,
    /// The statement, the awaited lock and the locks.
    Body,
    /// The awaited lock, which is printed once more among the locks.
    Awaited,
}

#[derive(Default)]
struct Reader {
    part: Part,
    transaction: Transaction,
}

impl Reader {
    fn finish(&mut self) -> Option<Transaction> {
        let transaction = std::mem::take(&mut self.transaction);
        (std::mem::take(&mut self.part) != Part::Outside).then_some(transaction)
    }

    fn line(&mut self, line: &str) {
        match self.part {
            Part::Outside => {}
            Part::Header => self.header_line(line),
            Part::Body | Part::Awaited => self.body_line(line),
        }
    }

    fn header_line(&mut self, line: &str) {
        if line.contains(" lock struct(s), heap size ") {
            self.transaction.is_waiting = line.starts_with("LOCK WAIT ");
        } else if let Some((_, after)) = line.split_once(" thread id ") {
            self.transaction.connection = number_at_start(after);
            let query = after.split_once(", query id ").map(|(_, query)| query);
            self.transaction.query = query.and_then(number_at_start);
            self.part = Part::Body;
        } else {
            // A transaction without a connection has no statement either.
            self.body_line(line);
        }
    }

    fn body_line(&mut self, line: &str) {
        if let Some(waiting) = line.strip_prefix(WAITING) {
            self.part = Part::Awaited;
            let (time, unit) = waiting.split_once(' ').unwrap_or((waiting, ""));
            if unit.starts_with("us ") {
                self.transaction.waited_us = time.parse().ok();
            }
        } else if line == WAITING_END {
            self.part = Part::Body;
        } else if let Some(heap) = line.strip_prefix(HEAP_NUMBER) {
            if let (Some(heap), Some(Lock::Record(lock))) =
                (number_at_start(heap), self.current_lock())
            {
                lock.heaps.push(heap);
            }
        } else if let Some(lock) = TableLock::parse(line).map(Lock::Table) {
            self.add(lock);
        } else if let Some(lock) = RecordLock::parse(line).map(Lock::Record) {
            self.add(lock);
        }
    }

    fn add(&mut self, lock: Lock) {
        if self.part == Part::Awaited {
            self.transaction.awaited = Some(lock);
        } else {
            self.transaction.locks.push(lock);
        }
    }

    fn current_lock(&mut self) -> Option<&mut Lock> {
        if self.part == Part::Awaited {
            self.transaction.awaited.as_mut()
        } else {
            self.transaction.locks.last_mut()
        }
    }
}

/// How far purge has got, from the lines above the list of transactions.
pub(crate) fn purge_progress(text: &str) -> Option<PurgeProgress> {
    let behind = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    let purge = behind("Purge done for trx's n:o < ")?;
    Some(PurgeProgress {
        next: number_at_start(behind("Trx id counter ")?)?,
        purged: number_at_start(purge)?,
        is_idle: purge.contains("state: running but idle"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_of_purge_is_read() {
        let text = "------------\nTRANSACTIONS\n------------\nTrx id counter 36989\n\
                    Purge done for trx's n:o < 36982 undo n:o < 0 state: running\n";
        let busy = PurgeProgress { next: 36989, purged: 36982, is_idle: false };
        assert_eq!(purge_progress(text), Some(busy));
        let idle = text.replace("running", "running but idle");
        assert_eq!(purge_progress(&idle), Some(PurgeProgress { is_idle: true, ..busy }));
        assert_eq!(purge_progress("Trx id counter 1"), None);
    }
}
