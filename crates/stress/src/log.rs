//! Where the sessions write down what happens, and the judge reads it.
//!
//! Idea: begins and ends get their times under one lock, in which they are also put in line, so the order of the line
//! is the order of the times. A begin is written before BEGIN is sent, an end after the last answer has arrived: what
//! lies between is at least as long as the transaction. When the judge is behind by 50,000 events the sessions wait
//! for it, so that the memory of a run is bounded.
//!
//! After a fault the line is shut for a moment: no transaction begins, and when none is open all rows are read.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anchorite_check::model::Outcome;

use crate::faults::Fault;
use crate::record::{Blunder, Record};

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
    /// All rows were read when nothing was open; when the reading had begun.
    Look(u64, Box<Look>),
}

/// All rows, at a moment when no transaction was open.
#[derive(Debug, Clone)]
pub struct Look {
    /// The rows, as a transaction that read them.
    pub record: Record,
    /// What they prove by themselves.
    pub blunders: Vec<Blunder>,
    /// What had been done before; `None` at the end of a run.
    pub after: Option<Fault>,
}

/// The line of events.
#[derive(Default)]
pub struct Log {
    line: Mutex<Line>,
    arrived: Condvar,
    has_room: Condvar,
    /// A transaction began or ended, or a session left.
    moved: Condvar,
}

#[derive(Default)]
struct Line {
    /// The time of the last event.
    time: u64,
    /// The number of the last transaction.
    number: u64,
    /// No further transactions.
    is_closed: bool,
    /// No transaction begins for now.
    is_shut: bool,
    /// When so many have begun, the next one waits until that has been noticed.
    hold_at: Option<u64>,
    /// Transactions that have begun and not ended.
    open: usize,
    /// Transactions that failed for another reason than other transactions, or whose end is not known.
    troubled: u64,
    /// Somebody waits until this many transactions have begun, or until none is open.
    awaited: Option<u64>,
    /// All rows may be read again.
    has_looks: bool,
    /// Sessions that have not left.
    sessions: usize,
    events: Vec<(u64, Event)>,
}

impl Line {
    /// Whether the next transaction has to wait.
    fn is_held(&self) -> bool {
        let is_reached = self.hold_at.is_some_and(|at| self.number >= at);
        (self.events.len() >= ROOM || self.is_shut || is_reached) && !self.is_closed
    }

    fn has_more(&self) -> bool {
        self.sessions > 0 || self.has_looks
    }

    fn push(&mut self, event: Event) -> u64 {
        self.time += 1;
        self.events.push((self.time, event));
        self.time
    }
}

impl Log {
    /// A line for so many sessions.
    pub fn new(sessions: usize) -> Self {
        let line = Line { sessions, has_looks: true, ..Line::default() };
        Self { line: Mutex::new(line), ..Self::default() }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction begins: its number; `None` if there are to be no more, by number or because the run ends.
    pub fn begin(&self, up_to: u64, is_recorded: bool) -> Option<u64> {
        let mut line = self.line();
        while line.is_held() {
            line = self.has_room.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        if line.is_closed || line.number >= up_to {
            return None;
        }
        line.number += 1;
        let number = line.number;
        if is_recorded {
            line.push(Event::Begin(number));
            line.open += 1;
        }
        if line.awaited.is_some_and(|awaited| awaited <= number) {
            self.moved.notify_all();
        }
        Some(number)
    }

    /// A transaction has ended.
    pub fn end(&self, record: Box<Record>) {
        let mut line = self.line();
        let is_other = record.error.is_some_and(|class| !class.is_of_others());
        let is_troubled = is_other || record.outcome == Outcome::Unknown;
        line.push(Event::End(record));
        line.open -= 1;
        if is_troubled {
            line.troubled += 1;
            self.moved.notify_all();
        }
        if line.is_shut {
            self.moved.notify_all();
        }
        if line.events.len() == WAKE_AT {
            self.arrived.notify_one();
        }
    }

    /// A session begins no further transaction.
    pub fn leave(&self) {
        self.line().sessions -= 1;
        self.arrived.notify_one();
        self.moved.notify_all();
    }

    /// No session begins another transaction.
    pub fn close(&self) {
        self.line().is_closed = true;
        self.has_room.notify_all();
    }

    /// Waits until this many transactions have begun: true; false if all sessions have left or the limit came first.
    pub fn reaches(&self, number: u64, limit: Duration) -> bool {
        let mut line = self.line();
        line.awaited = Some(number);
        let is_not_yet = |line: &mut Line| line.number < number && line.sessions > 0;
        let waited = self.moved.wait_timeout_while(line, limit, is_not_yet);
        line = waited.unwrap_or_else(PoisonError::into_inner).0;
        line.awaited = None;
        line.number >= number
    }

    /// Waits until something goes wrong that other transactions have not brought about, until this many transactions
    /// have begun, or until the limit.
    pub fn meets_trouble(&self, number: u64, limit: Duration) {
        let mut line = self.line();
        line.awaited = Some(number);
        let before = line.troubled;
        let is_calm =
            |line: &mut Line| line.troubled == before && line.number < number && line.sessions > 0;
        let waited = self.moved.wait_timeout_while(line, limit, is_calm);
        line = waited.unwrap_or_else(PoisonError::into_inner).0;
        line.awaited = None;
    }

    /// When so many transactions have begun, no further one begins until [`Log::release`]: so a busy machine cannot end
    /// a run before whoever waits for that number has woken up.
    pub fn hold_at(&self, number: u64) {
        self.line().hold_at = Some(number);
    }

    /// Transactions begin again.
    pub fn release(&self) {
        self.line().hold_at = None;
        self.has_room.notify_all();
    }

    /// How many transactions have begun.
    pub fn begun(&self) -> u64 {
        self.line().number
    }

    /// No transaction begins until [`Log::unshut`].
    pub fn shut(&self) {
        self.line().is_shut = true;
    }

    /// Transactions begin again.
    pub fn unshut(&self) {
        self.line().is_shut = false;
        self.has_room.notify_all();
    }

    /// Waits while no transaction may begin.
    pub fn wait_while_shut(&self) {
        let line = self.line();
        let is_shut = |line: &mut Line| line.is_shut && !line.is_closed;
        drop(self.has_room.wait_while(line, is_shut));
    }

    /// Waits until no transaction is open: true; false if the limit came first.
    pub fn is_quiet_within(&self, limit: Duration) -> bool {
        let line = self.line();
        let waited = self.moved.wait_timeout_while(line, limit, |line| line.open > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.open == 0
    }

    /// The number of a transaction that reads everything; its begin is when it is asked for.
    pub fn begin_look(&self) -> (u64, u64) {
        let mut line = self.line();
        line.number += 1;
        line.time += 1;
        (line.number, line.time)
    }

    /// All rows were read.
    pub fn look(&self, began: u64, look: Box<Look>) {
        let mut line = self.line();
        line.push(Event::Look(began, look));
        self.arrived.notify_one();
    }

    /// Nobody calls [`Log::look`] any more.
    pub fn end_looks(&self) {
        self.line().has_looks = false;
        self.arrived.notify_one();
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
        while line.events.len() < WAKE_AT && line.has_more() {
            let waited = self.arrived.wait_timeout(line, LOOK);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            line = woken;
            if timeout.timed_out() && !line.events.is_empty() {
                break;
            }
        }
        let events = std::mem::take(&mut line.events);
        self.has_room.notify_all();
        (!events.is_empty() || line.has_more()).then_some(events)
    }

    /// The number and the times of a transaction after all others.
    pub fn last(&self) -> (u64, u64, u64) {
        let mut line = self.line();
        line.number += 1;
        line.time += 2;
        (line.number, line.time - 1, line.time)
    }
}
