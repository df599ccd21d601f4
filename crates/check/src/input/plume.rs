//! Plume and PolySI text: `r(key,value,session,txn)` and `w(key,value,session,txn)`, one per line.
//!
//! Conventions: value 0 is the initial value; transaction −1 marks the write of an aborted transaction. Sessions run
//! their transactions in the order in which they appear. Idea: the lines of one transaction are mostly adjacent and end
//! in the same bytes, which need not be parsed again. Lines are parsed into numbers block by block, on a second thread
//! if there is one, while the history is built.

use super::digits;
use super::source::{InputError, Source};
use crate::model::{Atom, BuildError, HistoryBuilder, KeyId, NO_TIME, OpKind, Outcome};
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const SHAPE: &str = "r(key,value,session,txn) or w(key,value,session,txn) with integers";
/// Number of lines that are parsed before the first of them is added.
const FEW: usize = 256;
/// Number of lines that are passed from thread to thread together.
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
    let mut block = Block::default();
    loop {
        let parsed = block.parse(source, FEW);
        build.add_block(&block)?;
        if !parsed? {
            return Ok(());
        }
    }
}

/// The same, with the lines parsed on a separate thread.
pub fn read_on_two_threads<R: Read + Send>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let (sender, receiver) = sync_channel::<Block>(WAITING);
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
    sender: &SyncSender<Block>,
) -> Result<(), InputError> {
    loop {
        let mut block = Block::default();
        let parsed = block.parse(source, MANY);
        // If the builder gave up, its own error is reported.
        if sender.send(block).is_err() || !parsed? {
            return Ok(());
        }
    }
}

fn build_blocks(
    receiver: &Receiver<Block>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut build = Build::new(builder);
    while let Ok(block) = receiver.recv() {
        build.add_block(&block)?;
    }
    Ok(())
}

/// A read or write of small numbers.
struct Step {
    key: i64,
    value: i64,
    write: bool,
}

/// Lines that follow one another.
enum Run {
    /// Steps of one transaction, up to this one.
    Steps { session: i64, txn: i64, end: usize },
    /// A line of any numbers: key, value, session, transaction.
    Odd { write: bool, numbers: Box<[i128; 4]> },
}

/// Lines, parsed.
#[derive(Default)]
struct Block {
    first_line: u64,
    steps: Vec<Step>,
    runs: Vec<Run>,
    /// The end of the last line, from its session on, if it had the common form.
    ending: Vec<u8>,
}

impl Block {
    /// Parses up to this many lines; returns whether there may be more.
    fn parse<R: Read>(&mut self, source: &mut Source<R>, most: usize) -> Result<bool, InputError> {
        self.first_line = source.line();
        self.steps.clear();
        self.runs.clear();
        self.ending.clear();
        while self.steps.len() + self.runs.len() < most {
            if source.buffered().len() >= LONGEST_PLAIN
                && let Some(length) = self.plain(source.buffered())
            {
                source.skip_line(length);
                continue;
            }
            let number = source.line();
            let Some(line) = source.next_line()? else { return Ok(false) };
            if !line.is_empty() {
                let odd = odd(line).ok_or_else(|| InputError::Syntax {
                    line: number,
                    expected: SHAPE.to_owned(),
                })?;
                self.runs.push(odd);
                self.ending.clear();
            }
        }
        Ok(true)
    }

    /// Parses a line of small numbers without spaces at the beginning of the bytes; returns its length.
    #[inline]
    fn plain(&mut self, bytes: &[u8]) -> Option<usize> {
        let write = match bytes {
            [b'r', b'(', ..] => false,
            [b'w', b'(', ..] => true,
            _ => return None,
        };
        let mut at = 2;
        let key = number(bytes, &mut at, b',')?;
        let value = number(bytes, &mut at, b',')?;
        let step = Step { key, value, write };
        if let Some(Run::Steps { end, .. }) = self.runs.last_mut()
            && bytes[at..].starts_with(&self.ending)
            && !self.ending.is_empty()
        {
            self.steps.push(step);
            *end = self.steps.len();
            return Some(at + self.ending.len());
        }
        let rest = at;
        let session = number(bytes, &mut at, b',')?;
        let txn = number(bytes, &mut at, b')')?;
        at += usize::from(bytes.get(at) == Some(&b'\r'));
        (bytes.get(at) == Some(&b'\n')).then_some(())?;
        self.ending.clear();
        self.ending.extend_from_slice(&bytes[rest..=at]);
        self.steps.push(step);
        self.runs.push(Run::Steps { session, txn, end: self.steps.len() });
        Some(at + 1)
    }
}

/// A small number from here on and the byte after it.
#[inline]
fn number(bytes: &[u8], at: &mut usize, end: u8) -> Option<i64> {
    let (value, count) = digits::leading(&bytes[*at..]);
    *at += count + 1;
    let is_small = (1..=digits::MOST).contains(&count) && bytes.get(*at - 1) == Some(&end);
    is_small.then_some(value as i64)
}

/// A line with signs, spaces or numbers of any size.
fn odd(line: &[u8]) -> Option<Run> {
    let text = std::str::from_utf8(line).ok()?;
    let (write, rest) = match text.split_at_checked(2)? {
        ("r(", rest) => (false, rest),
        ("w(", rest) => (true, rest),
        _ => return None,
    };
    let (inner, after) = rest.split_once(')')?;
    let numbers: Vec<i128> =
        inner.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let numbers: Box<[i128; 4]> = Box::new(numbers.try_into().ok()?);
    i64::try_from(numbers[3]).ok()?;
    after.trim().is_empty().then_some(Run::Odd { write, numbers })
}

/// Passes blocks to the builder, remembering the last session.
struct Build<'b> {
    builder: &'b mut HistoryBuilder,
    last_session: Option<(i64, u32)>,
    /// Keys of all lines of the block.
    keys: Vec<KeyId>,
    /// Values and sessions of its other lines.
    odd: Vec<(Atom, Atom)>,
}

impl<'b> Build<'b> {
    fn new(builder: &'b mut HistoryBuilder) -> Build<'b> {
        builder.set_initial(small(0));
        Build { builder, last_session: None, keys: Vec::new(), odd: Vec::new() }
    }

    fn add_block(&mut self, block: &Block) -> Result<(), InputError> {
        self.look_up_names(block);
        let line = block.first_line;
        self.add_runs(block).map_err(|limit| InputError::Limit { line, limit: limit.to_string() })
    }

    /// Looks up all keys before anything else, so that the processor can fetch several at a time.
    fn look_up_names(&mut self, block: &Block) {
        self.keys.clear();
        self.odd.clear();
        let mut start = 0;
        for run in &block.runs {
            match run {
                Run::Steps { end, .. } => {
                    let steps = &block.steps[start..*end];
                    self.keys.extend(steps.iter().map(|step| self.builder.key(small(step.key))));
                    start = *end;
                }
                Run::Odd { numbers, .. } => {
                    let names = [numbers[0], numbers[1], numbers[2]];
                    let [key, value, session] =
                        names.map(|number| self.builder.symbols().integer(number));
                    self.keys.push(self.builder.key(key));
                    self.odd.push((value, session));
                }
            }
        }
    }

    fn add_runs(&mut self, block: &Block) -> Result<(), BuildError> {
        let mut steps = block.steps.iter();
        let mut keys = self.keys.iter();
        let mut odd = self.odd.iter();
        let mut start = 0;
        for run in &block.runs {
            match run {
                Run::Steps { session, txn, end } => {
                    let id = match self.last_session {
                        Some((name, id)) if name == *session => id,
                        _ => self.builder.session(small(*session)),
                    };
                    self.last_session = Some((*session, id));
                    self.builder.resume(id, *txn, Outcome::Committed);
                    for (step, key) in steps.by_ref().zip(keys.by_ref()).take(end - start) {
                        self.builder.push(kind(step.write), *key, small(step.value))?;
                    }
                    start = *end;
                }
                Run::Odd { write, numbers } => {
                    let (Some((value, session)), Some(key)) = (odd.next(), keys.next()) else {
                        continue;
                    };
                    let session = self.builder.session(*session);
                    match numbers[3] as i64 {
                        -1 => {
                            self.builder.begin(session, -1, Outcome::Aborted, (NO_TIME, NO_TIME));
                        }
                        txn => self.builder.resume(session, txn, Outcome::Committed),
                    }
                    self.builder.push(kind(*write), *key, *value)?;
                }
            }
        }
        Ok(())
    }
}

fn kind(write: bool) -> OpKind {
    if write { OpKind::Write } else { OpKind::Read }
}

/// A number of at most [`digits::MOST`] digits.
#[inline]
fn small(number: i64) -> Atom {
    Atom::int(number).unwrap_or(Atom::NIL)
}
