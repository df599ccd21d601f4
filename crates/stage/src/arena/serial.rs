//! Serial schedules, in one round trip.
//!
//! Idea: where transactions follow one another nothing waits, and the answer to a statement does not change what is
//! sent next. So rows, statements, the queries for the final state and the deletes are sent one after another over one
//! connection, and the answers read afterwards. In a hunt two runs in three are of this kind: the oracles' rehearsals.
//! No other session could be affected by traces of deleted rows, so one set of tables is enough.
//!
//! Assumption: it does not matter which connection runs a transaction when no other one is open. If something
//! unforeseen happens (one of our own statements fails, an error ends a transaction, silence), there is no run, and the
//! case is run step by step.

use std::collections::BTreeMap;
use std::time::Instant;

use anchorite_drivers::{OpenedSession, Reply, Session, Target, TargetError, await_answer};
use anchorite_model::sql::StatementKind;
use anchorite_model::{
    BlockingKnowledge, Case, ErrorClass, Event, Level, Outcome, Run, SessionIndex, TargetInfo,
};

use super::preparation::Preparation;
use super::set::{Set, bytes_of_rows, bytes_written, refilling};
use crate::open_sessions::{blank_record, level_of, session_options};
use crate::{RunOptions, StageError};

/// Longer schedules are not sent at once: both sides must be able to write without the other reading.
const BYTES_MAX: usize = 32 * 1024;
/// Tables are truncated after this many times the wear that is allowed where rows are locked.
const WEAR_FACTOR: usize = 16;

/// Whether each transaction ends before another session sends anything.
pub(super) fn is_serial(case: &Case) -> bool {
    let mut open: Option<SessionIndex> = None;
    for step in &case.steps {
        if open.is_some_and(|session| session != step.session) {
            return false;
        }
        match StatementKind::of(&step.statement.sql) {
            StatementKind::Begin => open = Some(step.session),
            StatementKind::Commit { chain: true } | StatementKind::Rollback { chain: true } => {
                return false;
            }
            kind if kind.ends_transaction() => open = None,
            _ => {}
        }
    }
    open.is_none()
}

/// A set of tables and, per level, a session with exclusive use of it. Sessions are dropped first.
pub(super) struct Room {
    kept_sessions: BTreeMap<Option<Level>, OpenedSession>,
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

    /// The run of a serial schedule; `None` if it has to be run step by step.
    pub(super) fn perform(
        &mut self,
        case: &Case,
        preparation: &Preparation<'_>,
        means: Means<'_>,
    ) -> Result<Option<Run>, StageError> {
        let Means { own_session, knowledge, target, options } = means;
        let mut levels = (0..case.sessions.len()).map(|index| level_of(case, index, options));
        let level = levels.next().flatten();
        if levels.any(|other| other != level) {
            return Ok(None);
        }
        let is_filled = !self.set.can_refill(preparation);
        if is_filled {
            if !self.set.can_be_made() {
                return Ok(None);
            }
            let own_session = self.own_session.as_deref_mut().unwrap_or(own_session);
            self.set.make(case, preparation, own_session, target, options)?;
        }
        let mut kept_session = match self.kept_sessions.remove(&level) {
            Some(kept_session) => kept_session,
            None => self.set.schema.open(&session_options("serial", level, options))?,
        };
        let levels_read_back = vec![kept_session.level_read_back.clone(); case.sessions.len()];
        let mut run = blank_record(target, case, options, levels_read_back, knowledge);
        let truncates = self.set.is_worn(WEAR_FACTOR);
        let filling: Vec<&str> = refilling(preparation).filter(|_| !is_filled).collect();
        let steps = case.steps.iter().map(|step| step.statement.sql.as_str());
        let reading: Vec<&str> = self.set.reading().collect();
        let clearing = self.set.clearing(truncates);
        let mut statements = filling.clone();
        statements.extend(steps.chain(reading.iter().copied()).chain(clearing));
        let started = Instant::now();
        let replies = converse(kept_session.session.as_mut(), &statements, options);
        let replies = replies.and_then(|replies| {
            let (own, rest) = replies.split_at(filling.len());
            let (steps, end) = rest.split_at(case.steps.len());
            let is_clean = own.iter().chain(end).all(Result::is_ok) && is_foreseen(case, steps);
            is_clean.then(|| (steps.to_vec(), end[..reading.len()].to_vec()))
        });
        let Some((steps, contents)) = replies else {
            self.set.distrust();
            return Ok(None);
        };
        self.kept_sessions.insert(level, kept_session);
        let at_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        for (n, (step, reply)) in case.steps.iter().zip(steps).enumerate() {
            let outcome = reply.map_or_else(Outcome::Error, Outcome::Ok);
            let (session, sql) = (step.session, step.statement.sql.clone());
            let (sent, answered) = (None, None);
            run.events.push(Event { n: n + 1, session, sql, outcome, at_us, sent, answered });
        }
        Event::number(&mut run.events);
        let contents = contents.into_iter().flatten().flat_map(|answer| answer.results);
        let contents = contents.collect();
        self.set.wear(bytes_of_rows(preparation) + bytes_written(&run));
        self.set.note(&mut run, contents, truncates);
        Ok(Some(run))
    }
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
