//! Plume and PolySI text: `r(key,value,session,txn)` and `w(key,value,session,txn)`, one per line.
//!
//! Conventions: value 0 is the initial value; transaction −1 marks the write of an aborted
//! transaction. Sessions run their transactions in the order in which they appear.
//! With a second thread, lines become numbers there, block by block, while the history is built here.

use super::digits;
use super::source::{InputError, Source};
use crate::model::{Atom, BuildError, HistoryBuilder, KeyId, NO_TIME, OpKind, Outcome};
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const SHAPE: &str = "r(key,value,session,txn) or w(key,value,session,txn) with integers";
/// Lines that are parsed before the first of them is added.
const FEW: usize = 256;
/// Lines that travel from thread to thread together.
const MANY: usize = 1 << 14;
/// Blocks that may wait: bounds the memory.
const WAITING: usize = 8;
/// No line of small numbers is longer.
const LONGEST_PLAIN: usize = 96;

/// Reads the text into the builder.
pub fn read<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut build = Build::new(builder);
    let mut block = Vec::with_capacity(FEW);
    loop {
        let first = source.line();
        block.clear();
        let parsed = parse_block(source, &mut block, FEW);
        build.add_block(&block, first)?;
        if !parsed? {
            return Ok(());
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
        let parser = scope.spawn(move || send_blocks(source, &sender));
        let built = build_blocks(&receiver, builder);
        drop(receiver);
        let parsed = parser.join().unwrap_or_else(|_| {
            Err(InputError::Limit { line: 0, limit: "the parser was lost".to_owned() })
        });
        built.and(parsed)
    })
}

fn send_blocks<R: Read>(
    source: &mut Source<R>,
    sender: &SyncSender<(u64, Vec<Line>)>,
) -> Result<(), InputError> {
    loop {
        let first = source.line();
        let mut block = Vec::with_capacity(MANY);
        let parsed = parse_block(source, &mut block, MANY);
        // A builder that gave up has its own error to tell.
        if sender.send((first, block)).is_err() || !parsed? {
            return Ok(());
        }
    }
}

/// Parses up to so many lines; whether there may be more.
fn parse_block<R: Read>(
    source: &mut Source<R>,
    block: &mut Vec<Line>,
    most: usize,
) -> Result<bool, InputError> {
    while block.len() < most {
        let buffered = source.buffered();
        if buffered.len() >= LONGEST_PLAIN
            && let Some((line, length)) = plain(buffered)
            && buffered[length] == b'\n'
        {
            block.push(line);
            source.skip_line(length + 1);
            continue;
        }
        let number = source.line();
        let Some(line) = source.next_line()? else { return Ok(false) };
        if !line.is_empty() {
            block.push(parsed(line, number)?);
        }
    }
    Ok(true)
}

fn build_blocks(
    receiver: &Receiver<(u64, Vec<Line>)>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut build = Build::new(builder);
    while let Ok((first, block)) = receiver.recv() {
        build.add_block(&block, first)?;
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
    keys: Vec<KeyId>,
}

impl<'b> Build<'b> {
    fn new(builder: &'b mut HistoryBuilder) -> Build<'b> {
        builder.set_initial(Atom::int(0).unwrap_or(Atom::NIL));
        Build { builder, last_session: None, keys: Vec::new() }
    }

    #[inline]
    fn atom(&mut self, line: &Line, field: usize) -> Atom {
        match (&line.wide, Atom::int(line.fields[field])) {
            (None, Some(atom)) => atom,
            (None, None) => self.builder.symbols().integer(i128::from(line.fields[field])),
            (Some(wide), _) => self.builder.symbols().integer(wide[field]),
        }
    }

    /// Adds lines that follow one another; `first` is the number of the first.
    fn add_block(&mut self, lines: &[Line], first: u64) -> Result<(), InputError> {
        // Looked up by themselves, so that the processor fetches several of them at a time.
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        for line in lines {
            let name = self.atom(line, KEY);
            keys.push(self.builder.key(name));
        }
        let added = lines.iter().zip(&keys).try_for_each(|(line, key)| self.add(line, *key));
        self.keys = keys;
        added.map_err(|limit| InputError::Limit { line: first, limit: limit.to_string() })
    }

    #[inline]
    fn add(&mut self, line: &Line, key: KeyId) -> Result<(), BuildError> {
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
        let value = self.atom(line, VALUE);
        let kind = if line.write { OpKind::Write } else { OpKind::Read };
        self.builder.push(kind, key, value)
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

fn parse(line: &[u8]) -> Option<Line> {
    if let Some((parsed, length)) = plain(line)
        && length == line.len()
    {
        return Some(parsed);
    }
    match line {
        [b'r', b'(', rest @ ..] => parse_wide(rest, false),
        [b'w', b'(', rest @ ..] => parse_wide(rest, true),
        _ => None,
    }
}

/// A line of small numbers without spaces at the beginning of the bytes, and its length.
#[inline]
fn plain(bytes: &[u8]) -> Option<(Line, usize)> {
    let write = match bytes {
        [b'r', b'(', ..] => false,
        [b'w', b'(', ..] => true,
        _ => return None,
    };
    let mut at = 2;
    let mut number = |end: u8| {
        let (value, count) = digits::leading(&bytes[at..]);
        at += count + 1;
        ((1..=digits::MOST).contains(&count) && bytes.get(at - 1) == Some(&end))
            .then_some(value as i64)
    };
    let fields = [number(b',')?, number(b',')?, number(b',')?];
    let txn = number(b')')?;
    Some((Line { fields, wide: None, txn, write }, at))
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
