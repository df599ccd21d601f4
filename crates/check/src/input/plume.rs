//! Plume and PolySI text: `r(key,value,session,txn)` and `w(key,value,session,txn)`, one per line.
//!
//! Conventions: value 0 is the initial value; transaction −1 marks the write of an aborted
//! transaction. Sessions run their transactions in the order in which they appear.
//! With a second thread, lines become numbers there, block by block, while the history is built here.

use super::source::{InputError, Source};
use crate::model::{Atom, HistoryBuilder, NO_TIME, OpKind, Outcome};
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const SHAPE: &str = "r(key,value,session,txn) or w(key,value,session,txn) with integers";
/// Lines that travel from thread to thread together.
const BLOCK: usize = 1 << 14;
/// Blocks that may wait: bounds the memory.
const WAITING: usize = 8;

/// Reads the text into the builder.
pub fn read<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut build = Build::new(builder);
    loop {
        let number = source.line();
        let Some(line) = source.next_line()? else { return Ok(()) };
        if !line.is_empty() {
            build.add(&parsed(line, number)?, number)?;
        }
    }
}

/// The same, with the lines parsed on a thread of their own.
pub fn read_on_two_threads<R: Read + Send>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let (sender, receiver) = sync_channel::<(u64, Vec<Line>)>(WAITING);
    std::thread::scope(|scope| {
        let parser = scope.spawn(move || parse_blocks(source, &sender));
        let built = build_blocks(&receiver, builder);
        drop(receiver);
        let parsed = parser.join().unwrap_or_else(|_| {
            Err(InputError::Limit { line: 0, limit: "the parser was lost".to_owned() })
        });
        built.and(parsed)
    })
}

fn parse_blocks<R: Read>(
    source: &mut Source<R>,
    sender: &SyncSender<(u64, Vec<Line>)>,
) -> Result<(), InputError> {
    loop {
        let first = source.line();
        let mut block = Vec::with_capacity(BLOCK);
        let mut bad = None;
        let mut end = false;
        while block.len() < BLOCK {
            let number = source.line();
            let Some(line) = source.next_line()? else {
                end = true;
                break;
            };
            if line.is_empty() {
                continue;
            }
            match parsed(line, number) {
                Ok(line) => block.push(line),
                Err(error) => {
                    bad = Some(error);
                    break;
                }
            }
        }
        // A builder that gave up has its own error to tell.
        if sender.send((first, block)).is_err() || end {
            return Ok(());
        }
        if let Some(error) = bad {
            return Err(error);
        }
    }
}

fn build_blocks(
    receiver: &Receiver<(u64, Vec<Line>)>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut build = Build::new(builder);
    while let Ok((first, block)) = receiver.recv() {
        for line in &block {
            build.add(line, first)?;
        }
    }
    Ok(())
}

fn parsed(line: &[u8], number: u64) -> Result<Line, InputError> {
    parse(line).ok_or_else(|| InputError::Syntax { line: number, expected: SHAPE.to_owned() })
}

/// Hands lines to the builder, remembering the last session.
struct Build<'b> {
    builder: &'b mut HistoryBuilder,
    last_session: Option<(i64, u32)>,
}

impl<'b> Build<'b> {
    fn new(builder: &'b mut HistoryBuilder) -> Build<'b> {
        builder.set_initial(Atom::int(0).unwrap_or(Atom::NIL));
        Build { builder, last_session: None }
    }

    #[inline]
    fn atom(&mut self, line: &Line, field: usize) -> Atom {
        match (&line.wide, Atom::int(line.fields[field])) {
            (None, Some(atom)) => atom,
            (None, None) => self.builder.symbols().integer(i128::from(line.fields[field])),
            (Some(wide), _) => self.builder.symbols().integer(wide[field]),
        }
    }

    #[inline]
    fn add(&mut self, line: &Line, number: u64) -> Result<(), InputError> {
        let session = match self.last_session {
            Some((name, id)) if name == line.fields[SESSION] && line.wide.is_none() => id,
            _ => {
                let name = self.atom(line, SESSION);
                let id = self.builder.session(name);
                self.last_session = line.wide.is_none().then_some((line.fields[SESSION], id));
                id
            }
        };
        if line.txn == -1 {
            self.builder.begin(session, -1, Outcome::Aborted, (NO_TIME, NO_TIME));
        } else {
            self.builder.resume(session, line.txn, Outcome::Committed);
        }
        let name = self.atom(line, KEY);
        let key = self.builder.key(name);
        let value = self.atom(line, VALUE);
        let kind = if line.write { OpKind::Write } else { OpKind::Read };
        self.builder
            .push(kind, key, value)
            .map_err(|limit| InputError::Limit { line: number, limit: limit.to_string() })
    }
}

const KEY: usize = 0;
const VALUE: usize = 1;
const SESSION: usize = 2;

/// One operation: key, value and session as small numbers, or wide if one of them is not small.
struct Line {
    fields: [i64; 3],
    wide: Option<Box<[i128; 3]>>,
    txn: i64,
    write: bool,
}

#[inline]
fn parse(line: &[u8]) -> Option<Line> {
    let (write, rest) = match line {
        [b'r', b'(', rest @ ..] => (false, rest),
        [b'w', b'(', rest @ ..] => (true, rest),
        _ => return None,
    };
    let mut at = rest;
    let fields = [number(&mut at, b','), number(&mut at, b','), number(&mut at, b',')];
    if let ([Some(key), Some(value), Some(session)], Some(txn)) = (fields, number(&mut at, b')'))
        && at.is_empty()
    {
        return Some(Line { fields: [key, value, session], wide: None, txn, write });
    }
    parse_wide(rest, write)
}

/// A small number and the byte after it.
#[inline]
fn number(rest: &mut &[u8], end: u8) -> Option<i64> {
    let bytes = *rest;
    let mut value = 0_i64;
    let mut at = 0;
    while at < bytes.len() {
        let digit = bytes[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        at += 1;
    }
    if (1..=18).contains(&at) && bytes.get(at) == Some(&end) {
        *rest = &bytes[at + 1..];
        return Some(value);
    }
    None
}

/// Signs, spaces and numbers of more than 18 digits.
#[cold]
fn parse_wide(rest: &[u8], write: bool) -> Option<Line> {
    let text = std::str::from_utf8(rest).ok()?;
    let (inner, after) = text.split_once(')')?;
    let numbers: Vec<i128> =
        inner.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let [key, value, session, txn] = numbers.as_slice() else { return None };
    let txn = i64::try_from(*txn).ok()?;
    let wide = Some(Box::new([*key, *value, *session]));
    after.trim().is_empty().then_some(Line { fields: [0; 3], wide, txn, write })
}
