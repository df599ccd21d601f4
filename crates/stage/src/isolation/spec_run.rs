//! Running one spec: launching steps, finding them blocked or done, reporting them.
//!
//! The rules are isolationtester's; where a rule looks odd, an expected output depends on it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anchorite_drivers::pg_wire::PgItem;
use anchorite_drivers::postgres::PgWatcher;
use anchorite_drivers::{ConnectionId, Watcher, wait_readable};
use anchorite_model::spec::{Marker, PermutationStep, Spec};

use super::spec_session::{self, SpecSession, Told};
use super::{Stop, print};
use crate::decide::{Look, judge};
use crate::{RunOptions, StageError};

/// Bounds of the pause before the server is asked. It follows the server's pace: few steps that are not blocked should
/// take longer, because a needless question takes time from the step.
const PAUSE_MIN: Duration = Duration::from_micros(300);
const PAUSE_MAX: Duration = Duration::from_millis(5);
/// The pause as a multiple of the usual time of a step.
const PAUSE_STEPS: u32 = 4;
/// How slowly the usual time adapts to the last one.
const PACE_INERTIA: u32 = 8;
/// isolationtester's own pace: what is waiting after this long is waiting, stable or not.
const PATIENCE: Duration = Duration::from_millis(10);
/// A step is cancelled after this long, and given up after twice as long.
const STEP_LIMIT: Duration = Duration::from_secs(300);

/// libpq's words for a connection that ended while an answer was due.
const SERVER_CLOSED: &str = "server closed the connection unexpectedly\n\
    \tThis probably means the server terminated abnormally\n\
    \tbefore or while processing the request.\n\n";

/// A launched step: its position in the permutation and the notices its markers wait for.
struct Launched {
    place: usize,
    notice_targets: Vec<(usize, usize)>,
}

/// A spec with its sessions and what it has printed so far.
pub struct SpecRun<'a> {
    spec: &'a Spec,
    control: PgWatcher,
    spec_sessions: Vec<SpecSession>,
    options: &'a RunOptions,
    waiting: Vec<Launched>,
    new_notice: bool,
    /// The usual time of a step that is not blocked.
    pace: Duration,
    /// What isolationtester would have printed.
    pub out: String,
}

/// How a step is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Trying {
    /// Finding it blocked is an acceptable outcome.
    may_block: bool,
    /// It was already reported as waiting.
    again: bool,
}

impl<'a> SpecRun<'a> {
    /// The sessions are open; `out` begins with this text.
    pub fn new(
        spec: &'a Spec,
        control: PgWatcher,
        spec_sessions: Vec<SpecSession>,
        options: &'a RunOptions,
        out: String,
    ) -> Self {
        let (waiting, new_notice) = (Vec::new(), false);
        Self { spec, control, spec_sessions, options, waiting, new_notice, pace: PAUSE_MIN, out }
    }

    /// Runs one permutation from its set-up to its teardown.
    pub fn permutation(&mut self, steps: &[PermutationStep]) -> Result<(), Stop> {
        let names = steps.iter().map(|step| self.spec.step(step.step).name.as_str());
        let names: Vec<&str> = names.collect();
        self.out += &format!("\nstarting permutation: {}\n", names.join(" "));
        for setup in &self.spec.setups {
            self.housekeep(None, setup, "setup failed: ", true)?;
        }
        for (session, description) in self.spec.sessions.iter().enumerate() {
            if let Some(setup) = &description.setup {
                let words = format!("setup of session {} failed: ", description.name);
                self.housekeep(Some(session), setup, &words, true)?;
            }
        }
        for place in 0..steps.len() {
            self.launch(steps, place)?;
        }
        self.try_waiting(steps, Trying { may_block: false, again: true })?;
        if !self.waiting.is_empty() {
            let words = "failed to complete permutation due to mutually-blocking steps";
            return Err(Stop::Failed(words.to_owned()));
        }
        for (session, description) in self.spec.sessions.iter().enumerate() {
            if let Some(teardown) = &description.teardown {
                let words = format!("teardown of session {} failed: ", description.name);
                self.housekeep(Some(session), teardown, &words, false)?;
            }
        }
        if let Some(teardown) = &self.spec.teardown {
            self.housekeep(None, teardown, "teardown failed: ", false)?;
        }
        Ok(())
    }

    /// Sends the next step, after its session has finished the one before, and reports what happens.
    fn launch(&mut self, steps: &[PermutationStep], place: usize) -> Result<(), Stop> {
        let PermutationStep { step, markers } = &steps[place];
        let again = Trying { may_block: true, again: true };
        let begun = Instant::now();
        while let Some(before) = self.spec_sessions[step.session].active {
            let at = self.waiting.iter().position(|launched| launched.place == before);
            let at = at.expect("an active step is a waiting one");
            let launched = self.waiting.remove(at);
            if self.still_waits(steps, &launched, Trying { may_block: false, again: true })? {
                self.waiting.insert(at, launched);
            }
            self.try_waiting(steps, again)?;
            if begun.elapsed() > 2 * STEP_LIMIT {
                let name = &self.spec.step(steps[before].step).name;
                return Err(Stop::Failed(format!("step {name} timed out")));
            }
        }
        let sql = &self.spec.step(*step).sql;
        self.spec_sessions[step.session].launch(place, sql);
        let notice_targets = markers
            .iter()
            .filter_map(|marker| match marker {
                Marker::AfterNotices(other, count) => {
                    Some((other.session, self.spec_sessions[other.session].notices + count))
                }
                _ => None,
            })
            .collect();
        let launched = Launched { place, notice_targets };
        let blocked =
            self.still_waits(steps, &launched, Trying { may_block: true, again: false })?;
        self.try_waiting(steps, again)?;
        if blocked {
            self.waiting.push(launched);
        }
        Ok(())
    }

    /// Tries every waiting step; repeats while markers might have been released by what happened.
    fn try_waiting(&mut self, steps: &[PermutationStep], how: Trying) -> Result<(), Stop> {
        loop {
            self.new_notice = false;
            let before = self.waiting.len();
            let mut marked = false;
            for launched in std::mem::take(&mut self.waiting) {
                if self.still_waits(steps, &launched, how)? {
                    marked |= !steps[launched.place].markers.is_empty();
                    self.waiting.push(launched);
                }
            }
            if !(marked && (self.waiting.len() < before || self.new_notice)) {
                return Ok(());
            }
        }
    }

    /// Tries to complete a step; true if it still waits.
    fn still_waits(
        &mut self,
        steps: &[PermutationStep],
        launched: &Launched,
        how: Trying,
    ) -> Result<bool, Stop> {
        let PermutationStep { step, markers } = &steps[launched.place];
        let (name, sql) = (&self.spec.step(*step).name, &self.spec.step(*step).sql);
        let waits_line = format!("step {name}: {sql} <waiting ...>\n");
        if !how.again && markers.contains(&Marker::Waits) {
            self.out += &waits_line;
            return Ok(true);
        }
        let blocked = self.busy_until_blocked(step.session, name, how)?;
        if blocked || self.held_back(steps, launched) {
            if !how.again {
                self.out += &waits_line;
            }
            return Ok(true);
        }
        if how.again {
            self.out += &format!("step {name}: <... completed>\n");
        } else {
            self.out += &format!("step {name}: {sql}\n");
        }
        self.complete(step.session)?;
        Ok(false)
    }

    /// Whether a marker forbids reporting the completion yet.
    fn held_back(&self, steps: &[PermutationStep], launched: &Launched) -> bool {
        let unfinished = |marker: &Marker| match marker {
            Marker::After(other) => self.spec_sessions[other.session]
                .active
                .is_some_and(|place| steps[place].step == *other),
            Marker::Waits | Marker::AfterNotices(..) => false,
        };
        let too_quiet =
            |(session, target): &(usize, usize)| self.spec_sessions[*session].notices < *target;
        steps[launched.place].markers.iter().any(unfinished)
            || launched.notice_targets.iter().any(too_quiet)
    }

    /// Waits until the session has a first result (false) or is blocked and may be (true).
    fn busy_until_blocked(
        &mut self,
        session: usize,
        name: &str,
        how: Trying,
    ) -> Result<bool, Stop> {
        let begun = Instant::now();
        let mut cancelled = false;
        let usual = (self.pace * PAUSE_STEPS).clamp(PAUSE_MIN, PAUSE_MAX);
        // A step that was blocked a moment ago is asked about at once.
        let mut pause = if how.again { Duration::ZERO } else { usual };
        loop {
            self.options.check_interrupt()?;
            if !self.spec_sessions[session].has_result() {
                wait_readable(&[self.spec_sessions[session].connection.fd()], pause);
            }
            pause = usual;
            if self.hear(session) {
                if !how.again {
                    self.pace = (self.pace * (PACE_INERTIA - 1) + begun.elapsed()) / PACE_INERTIA;
                }
                return Ok(false);
            }
            if how.may_block && self.blocked(session, begun)? && !self.hear(session) {
                return Ok(true);
            }
            if !how.may_block {
                pause = PATIENCE;
            }
            if begun.elapsed() > STEP_LIMIT && !cancelled {
                cancelled = true;
                let seconds = STEP_LIMIT.as_secs();
                self.out +=
                    &format!("isolationtester: canceling step {name} after {seconds} seconds\n");
                self.spec_sessions[session].connection.cancel();
            }
            if begun.elapsed() > 2 * STEP_LIMIT {
                let seconds = 2 * STEP_LIMIT.as_secs();
                return Err(Stop::Failed(format!("step {name} timed out after {seconds} seconds")));
            }
        }
    }

    /// Reads what has arrived up to the first result; true if there is one.
    fn hear(&mut self, session: usize) -> bool {
        let spec_session = &mut self.spec_sessions[session];
        let before = spec_session.notices;
        let done = spec_session.hear(&mut self.out);
        self.new_notice |= spec_session.notices > before;
        done
    }

    /// Whether the session is blocked for good, or has been for longer than isolationtester's pace.
    fn blocked(&mut self, session: usize, begun: Instant) -> Result<bool, Stop> {
        let busy = |spec_session: &SpecSession| {
            spec_session.active.is_some() && !spec_session.has_result()
        };
        let ids = |wanted: &dyn Fn(&SpecSession) -> bool| -> Vec<ConnectionId> {
            self.spec_sessions.iter().filter(|a| wanted(a)).map(|a| a.connection.pid).collect()
        };
        let (outstanding, all) = (ids(&busy), ids(&|_| true));
        let idle: HashSet<ConnectionId> =
            ids(&|spec_session| !busy(spec_session)).into_iter().collect();
        let asked = self.control.waits(&outstanding, &all);
        let mut waits = asked.map_err(StageError::from)?;
        // isolationtester looks only at waits for sessions of the test.
        waits.retain(|wait| {
            let blockers = wait.blockers.as_deref().unwrap_or(&[]);
            blockers.is_empty() || blockers.iter().any(|blocker| all.contains(blocker))
        });
        let id = self.spec_sessions[session].connection.pid;
        let waiting = waits.iter().any(|wait| wait.waiter == id);
        let stable = matches!(judge(&outstanding, &idle, &waits), Look::Stable);
        Ok(waiting && (stable || begun.elapsed() > PATIENCE))
    }

    /// Prints the results of a finished step and what it notified.
    fn complete(&mut self, session: usize) -> Result<(), Stop> {
        let begun = Instant::now();
        loop {
            go_on(self.options, begun, "the rest of a step")?;
            match self.spec_sessions[session].next_told(&mut self.out) {
                Some(Told::Result(PgItem::Rows(rows))) => self.out += &print::result_set(&rows),
                Some(Told::Result(PgItem::Error(error))) => {
                    self.out += &format!("{}:  {}\n", error.severity, error.message);
                }
                Some(Told::Result(_)) => {}
                Some(Told::Lost) => {
                    self.out += SERVER_CLOSED;
                    break;
                }
                Some(Told::Ready) => break,
                None => wait_readable(&[self.spec_sessions[session].connection.fd()], PATIENCE),
            }
        }
        let pids: Vec<ConnectionId> = self.spec_sessions.iter().map(|a| a.connection.pid).collect();
        let name = self.spec_sessions[session].name.clone();
        for (pid, channel, payload) in self.spec_sessions[session].finish() {
            let sender = pids.iter().position(|own| *own == pid);
            let sender = sender.map_or_else(
                || format!("PID {pid}"),
                |sender| self.spec_sessions[sender].name.clone(),
            );
            self.out +=
                &format!("{name}: NOTIFY \"{channel}\" with payload \"{payload}\" from {sender}\n");
        }
        Ok(())
    }

    /// Runs a setup or teardown block; prints the last result set. The control session's notices are
    /// not shown.
    fn housekeep(
        &mut self,
        session: Option<usize>,
        sql: &str,
        words: &str,
        must_succeed: bool,
    ) -> Result<(), Stop> {
        let (connection, mut notices) = match session {
            Some(session) => {
                let spec_session = &mut self.spec_sessions[session];
                (
                    &mut spec_session.connection,
                    Some((spec_session.name.as_str(), &mut spec_session.notices)),
                )
            }
            None => (self.control.connection(), None),
        };
        connection.send(sql);
        wait_readable(&[connection.fd()], PATIENCE);
        let mut last = None;
        let begun = Instant::now();
        loop {
            go_on(self.options, begun, words.trim_end_matches([':', ' ']))?;
            match connection.next_item() {
                Some(PgItem::Ready(_)) => break,
                Some(PgItem::Lost(why)) => return Err(Stop::Failed(format!("{words}{why}"))),
                Some(PgItem::Notice(notice)) => {
                    if let Some((name, count)) = &mut notices {
                        self.out += &spec_session::notice_text(name, &notice);
                        **count += 1;
                    }
                }
                Some(PgItem::Notification { .. }) => {}
                Some(item) if !matches!(last, Some(PgItem::Error(_))) => last = Some(item),
                Some(_) => {}
                None => wait_readable(&[connection.fd()], PATIENCE),
            }
        }
        match last {
            Some(PgItem::Rows(rows)) => self.out += &print::result_set(&rows),
            Some(PgItem::Error(error)) => {
                let message = format!("{words}{}:  {}", error.severity, error.message);
                if must_succeed {
                    return Err(Stop::Failed(message));
                }
                self.out += &format!("{message}\n");
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether to keep waiting: not after an interrupt, nor for ever.
fn go_on(options: &RunOptions, begun: Instant, what: &str) -> Result<(), Stop> {
    options.check_interrupt()?;
    if begun.elapsed() > 2 * STEP_LIMIT {
        let seconds = 2 * STEP_LIMIT.as_secs();
        return Err(Stop::Failed(format!("{what} timed out after {seconds} seconds")));
    }
    Ok(())
}
