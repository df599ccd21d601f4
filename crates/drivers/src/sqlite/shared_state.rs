//! Which sessions run, wait and hold locks: the state that the sessions of one schema share.
//!
//! Idea: a session is a thread that runs one statement at a time. The caller gives it a statement and waits until it is
//! answered or waits for a lock. After every answer the waiters are told to try again, one after the other, longest
//! waiter first, so they find whatever the answer released. So the order in which sessions move is a function of the
//! statements alone.
//!
//! Assumption: a statement that runs for long is not waited for: after [`PATIENCE`] it continues alongside the caller,
//! which is notified by an eventfd of the session.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Variant;
use super::error::connection_lost;
use super::holding::{Holding, Need, View, blockers, describe, would_deadlock};
use crate::{ConnectionId, Reply, Wait};

/// How long a caller waits for a statement before it leaves it running. Long, because a run is repeatable only as long
/// as one session runs at a time; short enough for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(250);

/// What a waiting session is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Something may have been released.
    TryAgain,
    /// The wait has taken too long, or is not wanted any more.
    GiveUp,
    /// Waiting would never end.
    Deadlock,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Submitted(String),
    Running,
    Waiting { need: Need, order: Option<Order> },
    Answered(Reply),
}

/// One session.
#[derive(Debug)]
struct SharedSession {
    id: ConnectionId,
    phase: Phase,
    holding: Holding,
    /// Since when the statement has been waiting, and its place among the waiters: kept while it tries again.
    waiting_since: Option<(u64, Instant)>,
    lock_wait: Duration,
    /// Wakes the session's thread.
    turn: Arc<Condvar>,
    /// An eventfd that wakes a caller who has left the statement running.
    wake_up: Arc<OwnedFd>,
    /// The caller has left the statement running.
    left_alone: bool,
    /// The session's thread ends, or has ended.
    closing: bool,
}

impl SharedSession {
    /// Whether the session's thread has something to do.
    fn is_moving(&self) -> bool {
        match &self.phase {
            Phase::Submitted(_) | Phase::Running => true,
            Phase::Waiting { order, .. } => order.is_some(),
            Phase::Idle | Phase::Answered(_) => false,
        }
    }

    fn view(&self) -> View<'_> {
        let waits_for = match &self.phase {
            Phase::Waiting { need, .. } => Some(need),
            _ => None,
        };
        View { id: self.id, holding: &self.holding, waits_for }
    }

    /// Tells a waiter what to do; `false` if it does not wait.
    fn tell(&mut self, new_order: Order) -> bool {
        match &mut self.phase {
            Phase::Waiting { order: order @ None, .. } => {
                *order = Some(new_order);
                self.turn.notify_one();
                true
            }
            _ => false,
        }
    }

    fn ring(&self) {
        if self.left_alone {
            // A full counter rings as loud as any other.
            let _ = rustix::io::write(&*self.wake_up, &1_u64.to_ne_bytes());
        }
    }

    fn silence(&mut self) {
        if std::mem::take(&mut self.left_alone) {
            let _ = rustix::io::read(&*self.wake_up, &mut [0_u8; 8]);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    sessions: Vec<SharedSession>,
    last_id: ConnectionId,
    last_ticket: u64,
    /// Something may have been released since the waiters last tried.
    released: bool,
}

impl State {
    fn present(&mut self, id: ConnectionId) -> Option<&mut SharedSession> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    fn session(&mut self, id: ConnectionId) -> &mut SharedSession {
        self.present(id).expect("a session stays in the list until its thread has ended")
    }

    fn views(&self) -> Vec<View<'_>> {
        self.sessions.iter().map(SharedSession::view).collect()
    }
}

/// The sessions of one schema.
#[derive(Debug)]
pub(super) struct SharedState {
    variant: Variant,
    state: Mutex<State>,
    /// Wakes callers: some session has stopped moving.
    stopped: Condvar,
}

/// What both sides use.
impl SharedState {
    pub(super) fn new(variant: Variant) -> Self {
        Self { variant, state: Mutex::default(), stopped: Condvar::new() }
    }

    /// A new session's number.
    pub(super) fn join(&self, lock_wait: Duration, wake_up: Arc<OwnedFd>) -> ConnectionId {
        let mut state = self.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.sessions.push(SharedSession {
            id,
            phase: Phase::Idle,
            holding: Holding::default(),
            waiting_since: None,
            lock_wait,
            turn: Arc::default(),
            wake_up,
            left_alone: false,
            closing: false,
        });
        id
    }

    /// Forgets a session whose thread has ended; its locks are gone.
    pub(super) fn leave(&self, id: ConnectionId) {
        let mut state = self.lock();
        state.sessions.retain(|session| session.id != id);
        state.released = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a session's thread does.
impl SharedState {
    /// The next statement to run; `None` when the session is to end.
    pub(super) fn next_statement(&self, id: ConnectionId) -> Option<String> {
        let mut state = self.lock();
        loop {
            let session = state.session(id);
            if session.closing {
                return None;
            }
            if matches!(session.phase, Phase::Submitted(_))
                && let Phase::Submitted(sql) = std::mem::replace(&mut session.phase, Phase::Running)
            {
                return Some(sql);
            }
            let turn = Arc::clone(&session.turn);
            state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until told what to do.
    pub(super) fn wait(&self, id: ConnectionId, holding: Holding, need: Need) -> Order {
        let mut state = self.lock();
        let ticket = state.last_ticket + 1;
        state.last_ticket = ticket;
        let session = state.session(id);
        session.waiting_since.get_or_insert_with(|| (ticket, Instant::now()));
        session.holding = holding;
        session.phase = Phase::Waiting { need, order: session.closing.then_some(Order::GiveUp) };
        if self.variant == Variant::SharedCache && would_deadlock(id, &state.views()) {
            state.session(id).phase = Phase::Running;
            return Order::Deadlock;
        }
        state.session(id).ring();
        self.stopped.notify_all();
        loop {
            let session = state.session(id);
            if let Phase::Waiting { order: Some(order), .. } = session.phase {
                session.phase = Phase::Running;
                return order;
            }
            let turn = Arc::clone(&session.turn);
            state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Delivers the answer of the statement.
    pub(super) fn answer(&self, id: ConnectionId, holding: Holding, reply: Reply) {
        let mut state = self.lock();
        state.released = true;
        let session = state.session(id);
        session.holding = holding;
        session.phase = Phase::Answered(reply);
        session.waiting_since = None;
        session.ring();
        self.stopped.notify_all();
    }

    /// The thread ends; a statement that it leaves behind has lost its connection.
    pub(super) fn end(&self, id: ConnectionId) {
        let mut state = self.lock();
        let session = state.session(id);
        session.closing = true;
        if session.is_moving() {
            drop(state);
            self.answer(id, Holding::default(), Err(connection_lost()));
        }
    }
}

/// What a caller does.
impl SharedState {
    /// Gives a statement to the session and waits until it is answered or waits for a lock.
    pub(super) fn submit(&self, id: ConnectionId, sql: &str) {
        let mut state = self.lock();
        let session = state.session(id);
        if session.closing {
            session.phase = Phase::Answered(Err(connection_lost()));
            return;
        }
        session.phase = Phase::Submitted(sql.to_owned());
        session.turn.notify_one();
        let state = self.until_stopped(state, id);
        drop(self.settle(state));
    }

    /// The statement's answer, if there is one. A wait that has lasted too long ends here.
    pub(super) fn poll(&self, id: ConnectionId) -> Option<Reply> {
        let mut state = self.settle(self.lock());
        let session = state.session(id);
        let is_overdue =
            session.waiting_since.is_some_and(|(_, since)| since.elapsed() > session.lock_wait);
        if is_overdue && session.tell(Order::GiveUp) {
            state = self.until_stopped(state, id);
            state = self.settle(state);
        }
        let session = state.session(id);
        if !matches!(session.phase, Phase::Answered(_)) {
            return None;
        }
        session.silence();
        match std::mem::replace(&mut session.phase, Phase::Idle) {
            Phase::Answered(reply) => Some(reply),
            _ => None,
        }
    }

    /// Whether the session's statement runs alongside the caller.
    pub(super) fn is_moving(&self, id: ConnectionId) -> bool {
        self.lock().session(id).is_moving()
    }

    /// Ends a wait with an error; `false` if the session does not wait.
    pub(super) fn give_up(&self, id: ConnectionId) -> bool {
        let mut state = self.lock();
        let told = state.session(id).tell(Order::GiveUp);
        if told {
            let state = self.until_stopped(state, id);
            drop(self.settle(state));
        }
        told
    }

    /// Tells the session's thread to end as soon as it can.
    pub(super) fn close(&self, id: ConnectionId) {
        let mut state = self.lock();
        let session = state.session(id);
        session.closing = true;
        session.tell(Order::GiveUp);
        session.turn.notify_one();
    }

    /// Which of these sessions wait, and for whom.
    pub(super) fn waits(&self, outstanding: &[ConnectionId]) -> Vec<Wait> {
        let state = self.settle(self.lock());
        let views = state.views();
        let waiting = state.sessions.iter().filter(|session| {
            outstanding.contains(&session.id)
                && matches!(session.phase, Phase::Waiting { order: None, .. })
        });
        waiting
            .map(|session| Wait {
                waiter: session.id,
                blockers: Some(blockers(self.variant, session.id, &views)),
                kind: describe(self.variant, session.id, &views),
            })
            .collect()
    }

    /// Lets the waiters try again for as long as something has been released.
    fn settle<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while std::mem::take(&mut state.released) {
            let mut waiters: Vec<(u64, ConnectionId)> = state
                .sessions
                .iter()
                .filter_map(|session| Some((session.waiting_since?.0, session.id)))
                .collect();
            waiters.sort_unstable();
            for (_, id) in waiters {
                // Where several threads drive sessions, one may have left meanwhile.
                if state.present(id).is_some_and(|session| session.tell(Order::TryAgain)) {
                    state = self.until_stopped(state, id);
                }
            }
        }
        state
    }

    fn until_stopped<'a>(
        &self,
        state: MutexGuard<'a, State>,
        id: ConnectionId,
    ) -> MutexGuard<'a, State> {
        let is_moving =
            |state: &mut State| state.present(id).is_some_and(|session| session.is_moving());
        let (mut state, waited) = self
            .stopped
            .wait_timeout_while(state, PATIENCE, is_moving)
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = state.present(id) {
            session.left_alone |= waited.timed_out();
        }
        state
    }
}
