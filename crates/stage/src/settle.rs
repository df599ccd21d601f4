//! Settling: wait until every outstanding statement is answered or blocked for good.
//!
//! The loop looks for answers, pauses for a moment, and asks the server who waits. A negative look means
//! "look again", never "finished": only an answer means finished. A positive look counts when it is
//! stable (`crate::looking`) and no answer has arrived meanwhile.
//!
//! Order of events: if the submitted statement waits, that comes first, because it was sent before anything else
//! happened: it may have closed the cycle of a deadlock. Of the answers that follow one submission, the errors of
//! deadlock victims come first (they released locks), then the submitted statement's own, then those of sessions that
//! it released, in the order of arrival. So a COMMIT's answer always comes before what it released, although both may
//! be ready in the same microsecond.

use std::time::{Duration, Instant};

use anchorite_drivers::{ConnectionId, PREPARED, Reply, Wait, wait_readable};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Blocker, ErrorClass, Level, Outcome, SessionIndex};

use crate::StageError;
use crate::case_session::{CaseSession, Pending};
use crate::open_sessions::Stage;

/// Pause before the server is asked if no other session of the case is inside a transaction, so that there is nothing
/// to wait for.
const LONELY_PAUSE: Duration = Duration::from_millis(5);
/// The longest interval between looks at a statement that runs for long.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// The pause grows by a quarter with each look once this many have shown nothing.
const PATIENT_LOOKS: u32 = 16;

/// An answer that arrived while settling.
struct Arrival {
    session: SessionIndex,
    step: Option<usize>,
    was_blocked: bool,
    /// It cannot have ended the wait of another session.
    leaves_waits: bool,
    reply: Reply,
}

impl Stage<'_> {
    /// Waits until nothing can change by itself, then records what happened. `submitter` is the session
    /// whose statement was just sent.
    pub(crate) fn settle(&mut self, submitter: Option<SessionIndex>) -> Result<(), StageError> {
        let mut arrivals = Vec::new();
        let outcome = self.settle_into(&mut arrivals);
        if let Ok(Some(blocked)) = &outcome {
            self.record_blocked(blocked);
            self.waited_for =
                blocked.iter().flat_map(|wait| wait.blockers.iter().flatten()).copied().collect();
        }
        // What arrived before an interruption is also part of the record.
        self.record_arrivals(arrivals, submitter);
        outcome.map(drop)
    }

    /// Waits until the server's deadlock timers have examined every present wait, so that the next statement, if it
    /// closes a cycle, is the one that finds it.
    pub(crate) fn let_deadlock_checks_pass(&self) {
        let Some(watcher) = &self.watcher else { return };
        let check = watcher.deadlock_check();
        if check.is_zero() {
            return;
        }
        let youngest = self.pending().map(|pending| pending.since.elapsed()).min();
        let latest = check + self.options.limits.late_timer;
        let remaining = latest.saturating_sub(youngest.unwrap_or(Duration::MAX));
        if !remaining.is_zero() {
            self.pause(remaining);
        }
    }

    /// The waits; `None` if they have not changed.
    fn settle_into(
        &mut self,
        arrivals: &mut Vec<Arrival>,
    ) -> Result<Option<Vec<Wait>>, StageError> {
        let begun = self.unsettled_since.take().unwrap_or_else(Instant::now);
        let slice = Instant::now();
        let mut last_change = begun;
        let mut confirmed: Option<Vec<Wait>> = None;
        let mut looks = 0;
        // Asking also takes the server's time: with short limits no more of it than is left for the statements.
        let asking = if self.hurries { self.look_took.min(LONGEST_PAUSE) } else { Duration::ZERO };
        let usual = self.options.limits.pause.max(asking);
        let mut pause = if self.somebody_may_wait() { usual } else { LONELY_PAUSE };
        loop {
            if self.collect(arrivals) > 0 {
                last_change = Instant::now();
                (looks, pause, confirmed) = (0, usual, None);
            }
            if self.case_sessions.iter().all(|case_session| case_session.pending.is_none()) {
                return Ok(Some(Vec::new()));
            }
            self.options.check_interrupt()?;
            if self.patience.is_some_and(|patience| slice.elapsed() >= patience) {
                self.unsettled_since = Some(begun);
                return Ok(None);
            }
            let only_waiters = self.pending().all(|pending| pending.blocked.is_some());
            if only_waiters && self.waits_last(arrivals) {
                return Ok(None);
            }
            // Right after an answer that released nobody, the server is asked at once if only known waiters are left.
            let may_be_free = self.last_end.is_some_and(|end| end >= begun);
            if !(only_waiters && looks == 0 && !may_be_free) {
                self.pause(pause);
                if self.collect(arrivals) > 0 {
                    last_change = Instant::now();
                    (looks, pause, confirmed) = (0, usual, None);
                    continue;
                }
            }
            looks += 1;
            if looks > PATIENT_LOOKS {
                pause = (pause * 5 / 4).min(LONGEST_PAUSE);
            }
            if let Some(waits) = self.look(last_change, begun)
                && self.collect(arrivals) == 0
            {
                let twice = self.watcher.as_ref().is_some_and(|watcher| watcher.look_twice());
                let is_late = begun.elapsed() > self.options.limits.statement;
                if !twice || is_late || confirmed.as_ref() == Some(&waits) {
                    return Ok(Some(waits));
                }
                confirmed = Some(waits);
            }
            self.enforce_limits(begun);
        }
    }

    /// Whether an outstanding statement may have to wait for another session of the case.
    fn somebody_may_wait(&self) -> bool {
        let is_open = |case_session: &&CaseSession| {
            case_session.pending.is_some() || case_session.maybe_in_transaction()
        };
        self.case_sessions.iter().filter(is_open).count() > 1
    }

    /// Whether nothing of what has arrived can have ended a wait that was seen before.
    fn waits_last(&self, arrivals: &[Arrival]) -> bool {
        self.leaves_only_rows
            && !arrivals.is_empty()
            && arrivals.iter().all(|arrival| arrival.leaves_waits)
            && self.watcher.as_ref().is_some_and(|watcher| watcher.waits_last())
    }

    pub(crate) fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.case_sessions.iter().filter_map(|case_session| case_session.pending.as_ref())
    }

    /// Reads every answer that has arrived; sessions that have waited longer are polled first.
    fn collect(&mut self, arrivals: &mut Vec<Arrival>) -> usize {
        let before = arrivals.len();
        let mut order: Vec<SessionIndex> = (0..self.case_sessions.len())
            .filter(|&index| self.case_sessions[index].pending.is_some())
            .collect();
        order.sort_by_key(|&index| {
            self.case_sessions[index].pending.as_ref().and_then(|p| p.blocked).unwrap_or(u64::MAX)
        });
        for session in order {
            let case_session = &mut self.case_sessions[session];
            let Some(reply) = case_session.session.poll() else { continue };
            let pending =
                case_session.pending.take().expect("only sessions with a statement are polled");
            let rollback = StatementKind::Rollback { chain: false };
            let kind = pending.step.map_or(&rollback, |step| &self.kinds[step]);
            let was_in_transaction = case_session.maybe_in_transaction();
            case_session.learn(kind, &reply);
            if case_session.lost {
                self.branches.lose(session);
            }
            match pending.step.map(|step| &self.commands[step]) {
                Some(Some(command)) => self.branches.learn(session, command, &reply),
                Some(None) => {}
                None => self.own_succeeded = Some(reply.is_ok()),
            }
            let level = self.run.sessions[session].effective_level();
            let leaves_waits = reply.is_ok()
                && case_session.maybe_in_transaction()
                && leaves_waits(kind, was_in_transaction, level);
            if kind.ends_transaction() || reply.is_err() || !case_session.maybe_in_transaction() {
                self.last_end = Some(Instant::now());
            }
            let was_blocked = pending.blocked.is_some();
            let step = pending.step;
            arrivals.push(Arrival { session, step, was_blocked, leaves_waits, reply });
        }
        arrivals.len() - before
    }

    fn pause(&self, pause: Duration) {
        let fds: Vec<_> = self
            .case_sessions
            .iter()
            .filter(|case_session| case_session.pending.is_some())
            .filter_map(|case_session| case_session.session.fd())
            .collect();
        // An engine in this process answers when polled: there is nothing to wait for.
        if !fds.is_empty() {
            wait_readable(&fds, pause);
        }
    }

    fn record_arrivals(&mut self, mut arrivals: Vec<Arrival>, submitter: Option<SessionIndex>) {
        // Stable sort: arrival order within each group.
        arrivals.sort_by_key(|arrival| {
            let victim = arrival.was_blocked
                && matches!(&arrival.reply, Err(error) if error.class == ErrorClass::Deadlock);
            match () {
                () if victim => 0,
                () if Some(arrival.session) == submitter => 1,
                () => 2,
            }
        });
        for arrival in arrivals {
            let Some(step) = arrival.step else { continue };
            let outcome = match arrival.reply {
                Err(error) => Outcome::Error(error),
                Ok(answer) if arrival.was_blocked => Outcome::Resumed(answer),
                Ok(answer) => Outcome::Ok(answer),
            };
            self.record(step, outcome);
        }
    }

    /// Records the statements that are newly blocked, with their blockers by name.
    fn record_blocked(&mut self, waits: &[Wait]) {
        let known_at_us = self.now_us();
        for wait in waits {
            let Some(index) =
                self.case_sessions.iter().position(|case_session| case_session.id == wait.waiter)
            else {
                continue;
            };
            let blocked_so_far = &mut self.blocked_so_far;
            let step = match self.case_sessions[index].pending.as_mut() {
                Some(pending) if pending.blocked.is_none() => {
                    *blocked_so_far += 1;
                    pending.blocked = Some(*blocked_so_far);
                    pending.step
                }
                _ => None,
            };
            let Some(step) = step else { continue };
            let by = wait.blockers.iter().flatten().map(|id| self.blocker(*id)).collect();
            let kind = self.kind_of(wait);
            self.record_at(step, Outcome::Blocked { by, wait: kind }, known_at_us);
        }
    }

    /// What is waited for, in a few words; empty where the server does not say.
    pub(crate) fn kind_of(&mut self, wait: &Wait) -> String {
        match self.watcher.as_mut() {
            Some(watcher) if wait.kind.is_empty() && !self.options.terse => {
                watcher.describe(wait.waiter)
            }
            _ => wait.kind.clone(),
        }
    }

    pub(crate) fn blocker(&self, id: ConnectionId) -> Blocker {
        if id == PREPARED {
            return Blocker::Prepared(self.branches.without_connection().join(" or "));
        }
        let ours = self.case_sessions.iter().find(|case_session| case_session.id == id);
        ours.map_or_else(
            || Blocker::Outside(id.to_string()),
            |case_session| Blocker::Session(case_session.index),
        )
    }
}

/// Whether a success leaves the waits of others as they were, if its transaction stays open: it neither released a lock
/// nor waited for one. A statement that had to wait may have made another waiter a deadlock victim, whose error has not
/// arrived yet.
fn leaves_waits(kind: &StatementKind, was_in_transaction: bool, level: Option<Level>) -> bool {
    match kind {
        // At serializable InnoDB's reads take locks.
        StatementKind::Select { locking: false } => {
            was_in_transaction && level.is_some_and(|level| level != Level::Serializable)
        }
        StatementKind::Savepoint(_) => was_in_transaction,
        // MySQL's BEGIN ends the transaction before it.
        StatementKind::Begin => !was_in_transaction,
        _ => false,
    }
}
