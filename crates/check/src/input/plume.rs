//! Plume and PolySI text: `r(key,value,session,txn)` and `w(key,value,session,txn)`, one per line.
//!
//! Conventions: value 0 is the initial value; transaction −1 marks the write of an aborted
//! transaction. Sessions run their transactions in the order in which they appear.

use super::source::{InputError, Source};
use crate::model::{Atom, HistoryBuilder, NO_TIME, OpKind, Outcome, Symbols};
use std::io::Read;

const SHAPE: &str = "r(key,value,session,txn) or w(key,value,session,txn) with integers";

/// Reads the text into the builder.
pub fn read<R: Read>(source: &mut Source<R>, builder: &mut HistoryBuilder) -> Result<(), InputError> {
    builder.set_initial(Atom::int(0).unwrap_or(Atom::NIL));
    let mut last_session = None;
    loop {
        let line_number = source.line();
        let Some(line) = source.next_line()? else { return Ok(()) };
        if line.is_empty() {
            continue;
        }
        let Some(op) = parse(line, builder.symbols()) else {
            return Err(InputError::Syntax { line: line_number, expected: SHAPE.to_owned() });
        };
        let session = match last_session {
            Some((name, id)) if name == op.session => id,
            _ => {
                let id = builder.session(op.session);
                last_session = Some((op.session, id));
                id
            }
        };
        if op.txn == -1 {
            builder.begin(session, -1, Outcome::Aborted, (NO_TIME, NO_TIME));
        } else {
            builder.resume(session, op.txn, Outcome::Committed);
        }
        let key = builder.key(op.key);
        builder.push(op.kind, key, op.value).map_err(|limit| InputError::Limit {
            line: line_number,
            limit: limit.to_string(),
        })?;
    }
}

struct Line {
    kind: OpKind,
    key: Atom,
    value: Atom,
    session: Atom,
    txn: i64,
}

#[inline]
fn parse(line: &[u8], symbols: &mut Symbols) -> Option<Line> {
    let (kind, rest) = match line {
        [b'r', b'(', rest @ ..] => (OpKind::Read, rest),
        [b'w', b'(', rest @ ..] => (OpKind::Write, rest),
        _ => return None,
    };
    let mut rest = rest;
    let key = number(&mut rest, b',', symbols)?;
    let value = number(&mut rest, b',', symbols)?;
    let session = number(&mut rest, b',', symbols)?;
    let txn = number(&mut rest, b')', symbols)?.as_int()?;
    rest.iter().all(u8::is_ascii_whitespace).then_some(Line { kind, key, value, session, txn })
}

#[inline]
fn number(rest: &mut &[u8], end: u8, symbols: &mut Symbols) -> Option<Atom> {
    let mut value = 0_i64;
    let mut at = 0;
    let bytes = *rest;
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
        return Atom::int(value);
    }
    slow_number(rest, end, symbols)
}

#[cold]
fn slow_number(rest: &mut &[u8], end: u8, symbols: &mut Symbols) -> Option<Atom> {
    let stop = rest.iter().position(|byte| *byte == end)?;
    let text = std::str::from_utf8(&rest[..stop]).ok()?.trim();
    let value = text.parse::<i128>().ok()?;
    *rest = &rest[stop + 1..];
    Some(symbols.integer(value))
}
