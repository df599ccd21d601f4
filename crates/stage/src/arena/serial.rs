//! Serial schedules, in one round trip.
//!
//! Idea: where transactions follow one another nothing waits, and the answer to a statement does not change what is
//! sent next. So rows, statements, the queries for the final state and the deletes are sent one after another over one
//! connection, and the answers read afterwards. In a hunt two runs in three are of this kind: the oracles' rehearsals.
//! No other session could be affected by traces of deleted rows, so one set of tables is enough.
//!
//! The session has run nothing but serial schedules, in tables that no case uses and nobody else writes to while it
//! lives. So it cannot have missed what others commit, and no wait, deadlock or conflict ever happened to it. A new
//! connection for each schedule would cost more than the schedule; it is replaced after [`SESSION_USES_MAX`] round
//! trips.
//!
//! Assumption: what a session did one transaction after another, alone, does not change what it does next
//! ([`crate::one_session`]). If something unforeseen happens (one of our own statements fails, an error ends a
//! transaction, silence), there is no run, and the case is run step by step, in a session of its own.

use std::collections::BTreeMap;
use std::time::Instant;

use anchorite_drivers::{OpenedSession, Reply, Session, Target, TargetError, await_answer};
use anchorite_model::sql::StatementKind;
use anchorite_model::{
    BlockingKnowledge, Case, ErrorClass, Event, Level, Outcome, Rows, Run, TargetInfo,
};

use super::preparation::Preparation;
use super::set::{Set, bytes_of_rows, bytes_written, refilling};
use crate::one_session::{self, common_level};
use crate::open_sessions::{blank_record, session_options};
use crate::{RunOptions, StageError};

/// Longer schedules are not sent at once: both sides must be able to write without the other reading.
const BYTES_MAX: usize = 32 * 1024;
/// Tables are truncated after this many times the wear that is allowed where rows are locked.
const WEAR_FACTOR: usize = 16;

/// A session is replaced by a new one after this many round trips.
const SESSION_USES_MAX: u32 = 64;

/// A session that runs only serial schedules.
struct SerialSession {
    opened: OpenedSession,
    uses: u32,
}

/// A set of tables and, per level, a session with exclusive use of it. Sessions are dropped first.
pub(super) struct Room {
    kept_sessions: BTreeMap<Option<Level>, SerialSession>,
    /// Creates the tables where a session cannot switch schemas, and so must be opened here.
    own_session: Option<Box<dyn Session>>,
    set: Set,
}

/// What a room needs from outside.
pub(super) struct Means<'a> {
    pub own_session: &'a mut (dyn Session + 'static),
    pub knowledge: BlockingKnowledge,
    pub target: &'a TargetInfo,
    pub options: &'a RunOptions,
}

impl Room {
    pub(super) fn open(target: &dyn Target, options: &RunOptions) -> Result<Self, TargetError> {
        let set = Set::new(target.create_schema()?);
        let own_session = match set.upkeep.enter {
            Some(_) => None,
            None => Some(set.schema.own_session(options.limits.lock_wait)?),
        };
        Ok(Self { kept_sessions: BTreeMap::new(), own_session, set })
    }

    /// Whether it has the tables of this preparation.
    pub(super) fn can_refill(&self, preparation: &Preparation<'_>) -> bool {
        self.set.can_refill(preparation)
    }

    /// The runs of serial schedules with the same tables; `None` if they have to be run step by step.
    pub(super) fn perform(
        &mut self,
        schedules: &[Schedule<'_>],
        means: Means<'_>,
    ) -> Result<Option<Vec<Run>>, StageError> {
        let Means { own_session, knowledge, target, options } = means;
        let cases = schedules.iter().map(|schedule| schedule.case);
        let Some(level) = common_level(cases, options) else { return Ok(None) };
        let is_long = schedules.iter().map(Schedule::bytes).sum::<usize>() > BYTES_MAX / 2;
        if schedules.len() > 1 && is_long {
            return Ok(None);
        }
        let Some(Schedule { case, preparation }) = schedules.first() else { return Ok(None) };
        let is_filled = !self.set.can_refill(preparation);
        if is_filled {
            if !self.set.can_be_made() {
                return Ok(None);
            }
            let own_session = self.own_session.as_deref_mut().unwrap_or(own_session);
            self.set.make(case, preparation, own_session, target, options)?;
        }
        if schedules[1..].iter().any(|next| !self.set.can_refill(&next.preparation)) {
            // What `make` has filled in belongs to the first one alone.
            self.set.distrust();
            return Ok(None);
        }
        let mut kept_session = self.take_session(level, options)?;
        let truncates = self.set.is_worn(WEAR_FACTOR);
        let scripts = scripts(schedules, &self.set, is_filled, truncates);
        let statements: Vec<&str> =
            scripts.iter().flat_map(|script| script.statements.iter().copied()).collect();
        let started = Instant::now();
        let replies = converse(kept_session.opened.session.as_mut(), &statements, options);
        let replies = replies.and_then(|replies| answers(&scripts, replies));
        let Some(replies) = replies else {
            self.set.distrust();
            return Ok(None);
        };
        let at_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut runs = Vec::new();
        for (Schedule { case, preparation }, Answers { steps, contents }) in
            schedules.iter().zip(replies)
        {
            let levels_read_back =
                vec![kept_session.opened.level_read_back.clone(); case.sessions.len()];
            let mut run = blank_record(target, case, options, levels_read_back, knowledge.clone());
            note_steps(&mut run, case, steps, at_us);
            self.set.wear(bytes_of_rows(preparation) + bytes_written(&run));
            let truncated = truncates && runs.len() + 1 == schedules.len();
            self.set.note(&mut run, contents, truncated);
            runs.push(run);
        }
        self.kept_sessions.insert(level, kept_session);
        Ok(Some(runs))
    }

    /// The session of this level, or a new one if it has been used often.
    fn take_session(
        &mut self,
        level: Option<Level>,
        options: &RunOptions,
    ) -> Result<SerialSession, TargetError> {
        let kept = self.kept_sessions.remove(&level);
        let mut session = match kept.filter(|kept| kept.uses < SESSION_USES_MAX) {
            Some(kept) => kept,
            None => {
                let options = session_options(one_session::NAME, level, options);
                SerialSession { opened: self.set.schema.open(&options)?, uses: 0 }
            }
        };
        session.uses += 1;
        Ok(session)
    }
}

/// A serial schedule, and how it is set up.
pub(super) struct Schedule<'c> {
    pub case: &'c Case,
    pub preparation: Preparation<'c>,
}

impl Schedule<'_> {
    /// The length of its rows and statements.
    fn bytes(&self) -> usize {
        let steps = self.case.steps.iter().map(|step| step.statement.sql.len());
        steps.sum::<usize>() + self.preparation.rows.iter().map(|row| row.sql.len()).sum::<usize>()
    }
}

/// What is sent for one schedule.
struct Script<'s> {
    case: &'s Case,
    /// Rows, the schedule itself, the reading of the final state and the deletes.
    statements: Vec<&'s str>,
    /// How many of them fill the tables.
    filling: usize,
    /// How many read the final state.
    reading: usize,
}

impl<'s> Script<'s> {
    fn new(schedule: &'s Schedule<'_>, set: &'s Set, is_filled: bool, truncates: bool) -> Self {
        let Schedule { case, preparation } = schedule;
        let mut statements: Vec<&str> = refilling(preparation).filter(|_| !is_filled).collect();
        let filling = statements.len();
        statements.extend(case.steps.iter().map(|step| step.statement.sql.as_str()));
        let reading = set.reading().count();
        statements.extend(set.reading().chain(set.clearing(truncates)));
        Self { case, statements, filling, reading }
    }
}

/// The scripts of schedules that follow one another; the tables may be filled for the first one already.
fn scripts<'s>(
    schedules: &'s [Schedule<'_>],
    set: &'s Set,
    is_filled: bool,
    truncates: bool,
) -> Vec<Script<'s>> {
    let last = schedules.len() - 1;
    let script =
        |(at, schedule)| Script::new(schedule, set, is_filled && at == 0, truncates && at == last);
    schedules.iter().enumerate().map(script).collect()
}

/// What one schedule was answered.
struct Answers {
    steps: Vec<Reply>,
    /// The tables in the end.
    contents: Vec<Rows>,
}

/// The answers of each script; `None` if one of our own statements failed, or an answer would have changed what was
/// sent after it.
fn answers(scripts: &[Script<'_>], mut replies: Vec<Reply>) -> Option<Vec<Answers>> {
    let mut all = Vec::new();
    for script in scripts {
        let rest = replies.split_off(script.statements.len());
        let mut steps = replies.split_off(script.filling);
        let mut end = steps.split_off(script.case.steps.len());
        let is_clean = replies.iter().chain(&end).all(Result::is_ok);
        if !is_clean || !is_foreseen(script.case, &steps) {
            return None;
        }
        end.truncate(script.reading);
        let contents = end.into_iter().flatten().flat_map(|answer| answer.results).collect();
        all.push(Answers { steps, contents });
        replies = rest;
    }
    Some(all)
}

fn note_steps(run: &mut Run, case: &Case, replies: Vec<Reply>, at_us: u64) {
    for (n, (step, reply)) in case.steps.iter().zip(replies).enumerate() {
        let outcome = reply.map_or_else(Outcome::Error, Outcome::Ok);
        let (session, sql) = (step.session, step.statement.sql.clone());
        let (sent, answered) = (None, None);
        run.events.push(Event { n: n + 1, session, sql, outcome, at_us, sent, answered });
    }
    Event::number(&mut run.events);
}

/// Sends everything and waits for all answers; `None` if that fails, and then the session is unusable.
fn converse(
    session: &mut dyn Session,
    statements: &[&str],
    options: &RunOptions,
) -> Option<Vec<Reply>> {
    let bytes: usize = statements.iter().map(|sql| sql.len()).sum();
    if bytes > BYTES_MAX || !session.submit_several(statements) {
        return None;
    }
    let limit = options.limits.statement;
    let replies = statements.iter().map(|sql| {
        let begun = Instant::now();
        let reply = await_answer(session, sql, limit);
        let is_lost = matches!(&reply, Err(error) if error.class == ErrorClass::ConnectionLost);
        // A statement that took this long was cancelled.
        (!is_lost && begun.elapsed() < limit).then_some(reply)
    });
    replies.collect()
}

/// Whether no answer would have changed what was sent after it.
fn is_foreseen(case: &Case, replies: &[Reply]) -> bool {
    let mut is_open = false;
    case.steps.iter().zip(replies).all(|(step, reply)| {
        let kind = StatementKind::of(&step.statement.sql);
        let is_foreseen = match reply {
            Ok(_) => true,
            Err(error) => {
                let ends_early = error.transaction_gone && error.in_transaction != Some(true);
                let is_own = matches!(error.class, ErrorClass::Constraint | ErrorClass::Other);
                is_own && !(ends_early && is_open && !kind.ends_transaction())
            }
        };
        is_open = (is_open || kind == StatementKind::Begin) && !kind.ends_transaction();
        is_foreseen
    })
}
