//! Cobra logs: one binary file per session.
//!
//! Records, big endian, eight bytes per field: `S txn`, `W write key value-hash`,
//! `R previous-txn write key value-hash`, `C txn`. The write id identifies a version; 0xdeadbeef and
//! 0xbebeebee stand for the initial state. A transaction without `C` has an unknown outcome.
//! Errors give the byte offset instead of a line.

use super::source::{InputError, Source};
use crate::model::{Atom, HistoryBuilder, NO_TIME, OpKind, Outcome};
use std::io::Read;

/// Write ids of the initial state.
pub const INITIAL_IDS: [u64; 2] = [0xdead_beef, 0xbebe_ebee];

/// A read or write: what, write id, key.
type Record = (OpKind, u64, u64);

struct Log<'s, R> {
    source: &'s mut Source<R>,
    offset: u64,
}

impl<R: Read> Log<'_, R> {
    fn fail<T>(&self, expected: &str) -> Result<T, InputError> {
        Err(InputError::Syntax {
            line: self.offset,
            expected: format!("{expected} (Cobra log, counted in bytes)"),
        })
    }

    fn byte(&mut self) -> Result<Option<u8>, InputError> {
        let byte = self.source.next_byte()?;
        self.offset += u64::from(byte.is_some());
        Ok(byte)
    }

    fn word(&mut self) -> Result<u64, InputError> {
        let mut word = 0;
        for _ in 0..8 {
            let Some(byte) = self.byte()? else { return self.fail("eight more bytes") };
            word = word << 8 | u64::from(byte);
        }
        Ok(word)
    }
}

/// Reads one log as one session.
pub fn read<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
    session: Atom,
) -> Result<(), InputError> {
    let session = builder.session(session);
    let mut log = Log { source, offset: 0 };
    let mut open: Option<(u64, Vec<Record>)> = None;
    loop {
        match (log.byte()?, &mut open) {
            (None, None) => return Ok(()),
            (None, Some((txn, steps))) => {
                return store(&log, builder, session, *txn, steps, Outcome::Unknown);
            }
            (Some(b'S'), None) => open = Some((log.word()?, Vec::new())),
            (Some(b'S'), Some((txn, steps))) => {
                store(&log, builder, session, *txn, steps, Outcome::Unknown)?;
                open = Some((log.word()?, Vec::new()));
            }
            (Some(b'C'), Some((txn, steps))) => {
                if log.word()? != *txn {
                    return log.fail("the number of the open transaction after C");
                }
                store(&log, builder, session, *txn, steps, Outcome::Committed)?;
                open = None;
            }
            (Some(b'W'), Some((_, steps))) => {
                let (write, key, _) = (log.word()?, log.word()?, log.word()?);
                steps.push((OpKind::Write, write, key));
            }
            (Some(b'R'), Some((_, steps))) => {
                let (_, write, key, _) = (log.word()?, log.word()?, log.word()?, log.word()?);
                steps.push((OpKind::Read, write, key));
            }
            (Some(_), None) => return log.fail("a record S"),
            (Some(_), Some(_)) => return log.fail("a record S, W, R or C"),
        }
        if open.as_ref().is_some_and(|(_, steps)| steps.len() > super::reader::MAX_NODES) {
            return log.fail("transactions of at most 16777216 operations");
        }
    }
}

fn store<R: Read>(
    log: &Log<'_, R>,
    builder: &mut HistoryBuilder,
    session: u32,
    txn: u64,
    steps: &[Record],
    outcome: Outcome,
) -> Result<(), InputError> {
    builder.begin(session, txn as i64, outcome, (NO_TIME, NO_TIME));
    for &(kind, write, key) in steps {
        let initial = kind == OpKind::Read && INITIAL_IDS.contains(&write);
        let value = if initial { Atom::NIL } else { builder.symbols().integer(i128::from(write)) };
        let name = builder.symbols().integer(i128::from(key));
        let key = builder.key(name);
        builder
            .push(kind, key, value)
            .map_err(|limit| InputError::Limit { line: log.offset, limit: limit.to_string() })?;
    }
    Ok(())
}
