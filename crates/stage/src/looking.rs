//! Looking at the server: who waits, what has to be guessed, and when waiting is over.
//!
//! A look that shows every outstanding statement as waiting is judged by [`crate::decide`]. A statement that is neither
//! answered nor shown is usually running, and gets the time that a statement may take. Some servers do not show every
//! wait ([`anchorite_drivers::Watcher::misses_waits`]): there it is assumed to be blocked after a shorter time, and the
//! run says that this was a guess, which makes verdicts that depend on it undecided. The guess stands until a
//! transaction ends, which may have released the statement.
//!
//! However little a server shows, settling ends: each of these waits has a limit ([`crate::Limits`]).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anchorite_drivers::{ConnectionId, PREPARED, Wait};
use anchorite_model::BlockingKnowledge;

use crate::case_session::CaseSession;
use crate::decide::{Look, judge};
use crate::open_sessions::Stage;

impl Stage<'_> {
    /// One look: the waits, if nothing will change by itself.
    pub(crate) fn look(&mut self, last_change: Instant, begun: Instant) -> Option<Vec<Wait>> {
        let outstanding: Vec<ConnectionId> =
            self.ids(|case_session| case_session.pending.is_some());
        self.moving.clone_from(&outstanding);
        let Some(mut waits) = self.ask(&outstanding) else {
            return self.silent_for_long(last_change, &outstanding);
        };
        let (misses, grant_delay) =
            self.watcher.as_ref().map_or_else(Default::default, |watcher| {
                (watcher.misses_waits(), watcher.grant_delay())
            });
        if misses {
            self.add_guessed(&mut waits);
        }
        let mut idle: HashSet<ConnectionId> =
            self.ids(|case_session| case_session.idle()).into_iter().collect();
        // A prepared transaction does nothing until it is ended.
        if !self.branches.without_connection().is_empty() {
            idle.insert(PREPARED);
        }
        self.moving.clear();
        let settled = match judge(&outstanding, &idle, &waits) {
            Look::Moving(moving) => {
                let guesses = misses && last_change.elapsed() >= self.options.limits.unseen;
                if guesses {
                    self.guess(&moving, &mut waits);
                } else {
                    self.moving = moving;
                }
                guesses
            }
            Look::Cycle(members) => {
                self.break_cycle(&members, begun);
                false
            }
            Look::Outsiders(_) => begun.elapsed() >= self.options.limits.outsider,
            // A statement that was sent after the end cannot have been released by it.
            Look::Stable => self.last_end.is_none_or(|end| {
                end.elapsed() >= grant_delay || self.pending().all(|pending| pending.since > end)
            }),
        };
        settled.then_some(waits)
    }

    /// What the server shows; `None` if it cannot be asked.
    pub(crate) fn ask(&mut self, outstanding: &[ConnectionId]) -> Option<Vec<Wait>> {
        let all = self.ids(|_| true);
        let watcher = self.watcher.as_mut()?;
        let asked = Instant::now();
        let waits = watcher.waits(outstanding, &all);
        self.look_took = asked.elapsed();
        match waits {
            Ok(waits) => Some(waits),
            Err(error) => {
                // The sessions will show whether the server is gone; until then silence has to decide.
                let silence_ms = milliseconds(self.options.limits.silence);
                let reason = error.to_string();
                self.run.notes.push(format!("the server could not be asked any more: {reason}"));
                self.run.blocking = BlockingKnowledge::Timeout { silence_ms, reason };
                self.watcher = None;
                None
            }
        }
    }

    pub(crate) fn ids(&self, wanted: impl Fn(&CaseSession) -> bool) -> Vec<ConnectionId> {
        self.case_sessions
            .iter()
            .filter(|case_session| wanted(case_session))
            .map(|case_session| case_session.id)
            .collect()
    }

    fn silent_for_long(&self, since: Instant, outstanding: &[ConnectionId]) -> Option<Vec<Wait>> {
        let BlockingKnowledge::Timeout { silence_ms, .. } = self.run.blocking else { return None };
        let silent = since.elapsed() >= Duration::from_millis(silence_ms);
        silent.then(|| outstanding.iter().map(|id| guessed_wait(*id, silence_ms)).collect())
    }

    /// Adds the statements that were assumed to be blocked before and that nothing can have released since.
    fn add_guessed(&self, waits: &mut Vec<Wait>) {
        let silence_ms = milliseconds(self.options.limits.unseen);
        for case_session in &self.case_sessions {
            let guessed = case_session.pending.as_ref().and_then(|pending| pending.guessed);
            let is_shown = waits.iter().any(|wait| wait.waiter == case_session.id);
            if guessed.is_some_and(|at| self.last_end.is_none_or(|end| end < at)) && !is_shown {
                waits.push(guessed_wait(case_session.id, silence_ms));
            }
        }
    }

    /// Assumes that statements that are neither answered nor shown as waiting are blocked.
    fn guess(&mut self, moving: &[ConnectionId], waits: &mut Vec<Wait>) {
        let silence_ms = milliseconds(self.options.limits.unseen);
        for case_session in
            self.case_sessions.iter_mut().filter(|case_session| moving.contains(&case_session.id))
        {
            let Some(pending) = case_session.pending.as_mut() else { continue };
            if pending.guessed.replace(Instant::now()).is_none() {
                let name = &self.run.sessions[case_session.index].name;
                self.run.notes.push(format!(
                    "a statement of {name} was neither answered nor shown as waiting for {silence_ms} ms: \
                     taken for blocked, which is a guess"
                ));
            }
            waits.push(guessed_wait(case_session.id, silence_ms));
        }
        let reason = "the server does not show every wait".to_owned();
        self.run.blocking = BlockingKnowledge::Timeout { silence_ms, reason };
    }

    /// A server that does not end a deadlock in time gets help: the youngest statement is cancelled.
    fn break_cycle(&mut self, members: &[ConnectionId], begun: Instant) {
        if begun.elapsed() < self.options.limits.deadlock {
            return;
        }
        let youngest = self
            .case_sessions
            .iter_mut()
            .filter(|case_session| members.contains(&case_session.id))
            .filter_map(|case_session| Some((case_session.pending.as_ref()?.since, case_session)))
            .max_by_key(|(since, _)| *since);
        if let Some((_, case_session)) = youngest
            && let Some(pending) = case_session.pending.as_mut()
            && pending.cancelled.is_none()
        {
            pending.cancelled = Some(Instant::now());
            case_session.session.cancel();
            let name = &self.run.sessions[case_session.index].name;
            let limit = self.options.limits.deadlock.as_millis();
            self.run.notes.push(format!(
                "the server did not end a deadlock within {limit} ms; the statement of {name} was cancelled"
            ));
        }
    }

    /// Cancels a statement that has run for too long, and abandons a connection that ignores this. A blocked statement
    /// may wait for as long as it is shown; when it is no longer shown, it is running.
    pub(crate) fn enforce_limits(&mut self, begun: Instant) {
        let limits = &self.options.limits;
        for case_session in &mut self.case_sessions {
            let Some(pending) = case_session.pending.as_mut() else { continue };
            let name = &self.run.sessions[case_session.index].name;
            let running_since = match pending.blocked {
                None => Some(pending.since),
                Some(_) => self.moving.contains(&case_session.id).then_some(begun),
            };
            let is_late = running_since.is_some_and(|since| since.elapsed() > limits.statement);
            match pending.cancelled {
                None if is_late => {
                    pending.cancelled = Some(Instant::now());
                    case_session.session.cancel();
                    let limit = limits.statement.as_millis();
                    self.run.notes.push(format!(
                        "a statement of {name} ran for more than {limit} ms and was cancelled"
                    ));
                }
                Some(at) if !case_session.lost && at.elapsed() > limits.cancel => {
                    give_up(case_session, name, &mut self.run.notes);
                    self.branches.lose(case_session.index);
                }
                _ => {}
            }
        }
    }
}

/// Continues without a connection whose cancelled statement does not end.
pub(crate) fn give_up(case_session: &mut CaseSession, name: &str, notes: &mut Vec<String>) {
    case_session.close();
    notes.push(format!("a cancelled statement of {name} did not end; its connection was given up"));
}

fn guessed_wait(waiter: ConnectionId, silence_ms: u64) -> Wait {
    Wait { waiter, blockers: None, kind: format!("no answer for {silence_ms} ms") }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
