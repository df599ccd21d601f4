//! Where the sessions write down what happens, and the judge reads it.
//!
//! Idea: begins and ends get their times under one lock, in which they are also put in line, so the order of the line
//! is the order of the times. A begin is written before BEGIN is sent, an end after the last answer has arrived: what
//! lies between is at least as long as the transaction. When the judge is behind by 50,000 events the sessions wait
//! for it, so that the memory of a run is bounded.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::record::Record;

/// Events that may be unread.
const ROOM: usize = 50_000;

/// The judge is woken when this many events are unread; otherwise it looks by itself.
const WAKE_AT: usize = 256;

/// How long the judge waits for events at most before it looks again.
const LOOK: Duration = Duration::from_millis(20);

/// What happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A transaction begins.
    Begin(u64),
    /// It has ended.
    End(Box<Record>),
}

/// The line of events.
#[derive(Default)]
pub struct Log {
    line: Mutex<Line>,
    arrived: Condvar,
    has_room: Condvar,
}

#[derive(Default)]
struct Line {
    /// The time of the last event.
    time: u64,
    /// The number of the last transaction.
    number: u64,
    /// No further transactions.
    is_closed: bool,
    /// Sessions that have not left.
    sessions: usize,
    events: Vec<(u64, Event)>,
}

impl Line {
    fn push(&mut self, event: Event) -> u64 {
        self.time += 1;
        self.events.push((self.time, event));
        self.time
    }
}

impl Log {
    /// A line for so many sessions.
    pub fn new(sessions: usize) -> Self {
        let line = Line { sessions, ..Line::default() };
        Self { line: Mutex::new(line), ..Self::default() }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction begins: its number; `None` if there are to be no more, by number or because the run ends.
    pub fn begin(&self, up_to: u64, is_recorded: bool) -> Option<u64> {
        let mut line = self.line();
        while line.events.len() >= ROOM && !line.is_closed {
            line = self.has_room.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        if line.is_closed || line.number >= up_to {
            return None;
        }
        line.number += 1;
        let number = line.number;
        if is_recorded {
            line.push(Event::Begin(number));
        }
        Some(number)
    }

    /// A transaction has ended.
    pub fn end(&self, record: Box<Record>) {
        let mut line = self.line();
        line.push(Event::End(record));
        if line.events.len() == WAKE_AT {
            self.arrived.notify_one();
        }
    }

    /// A session begins no further transaction.
    pub fn leave(&self) {
        self.line().sessions -= 1;
        self.arrived.notify_one();
    }

    /// No session begins another transaction.
    pub fn close(&self) {
        self.line().is_closed = true;
        self.has_room.notify_all();
    }

    /// Whether all sessions have left.
    pub fn is_empty(&self) -> bool {
        self.line().sessions == 0
    }

    /// How many events the judge has not read.
    pub fn unread(&self) -> usize {
        self.line().events.len()
    }

    /// What has happened since the last call; `None` when there will be no more.
    pub fn take(&self) -> Option<Vec<(u64, Event)>> {
        let mut line = self.line();
        while line.events.len() < WAKE_AT && line.sessions > 0 {
            let waited = self.arrived.wait_timeout(line, LOOK);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            line = woken;
            if timeout.timed_out() && !line.events.is_empty() {
                break;
            }
        }
        let events = std::mem::take(&mut line.events);
        self.has_room.notify_all();
        (!events.is_empty() || line.sessions > 0).then_some(events)
    }

    /// The number and the times of a transaction after all others.
    pub fn last(&self) -> (u64, u64, u64) {
        let mut line = self.line();
        line.number += 1;
        line.time += 2;
        (line.number, line.time - 1, line.time)
    }
}
