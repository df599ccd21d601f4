//! What is kept between cases: table sets, sessions by level, the watcher, and the arena's own session.
//!
//! The arena's own session is one connection that resets tables, holds the guard that stops background work of the
//! server during a case, and reads the final state: two round trips per case. Sessions are opened once per level, with
//! the level read back, and move from set to set.
//!
//! Table sets rotate: of those that have the tables of a case, the least recently used is taken, unless deleted rows
//! may still have an effect there (`purge`); then another set is created. So there are as many sets as the speed of the
//! cases requires.

use std::collections::{BTreeMap, VecDeque};

use anchorite_drivers::{OpenedSession, Session, Target, TargetError, Watcher, await_answer};
use anchorite_model::{BlockingKnowledge, Case, Level, Run, SessionIndex};

use super::preparation::Preparation;
use super::purge::Purge;
use super::serial::{Means, Room, Schedule};
use super::set::Set;
use crate::case_session::CaseSession;
use crate::open_sessions::{OpenSessions, Watching, level_of, session_options};
use crate::{RunOptions, StageError};

/// Up to this many sets of the same tables are created without asking whether the oldest one is clean.
const SETS_MIN: usize = 4;
/// The most table sets; beyond this the tables of the oldest are created anew.
const SETS_MAX: usize = 64;

/// So many kinds of tables are kept side by side: those of the cases, those that an oracle has made from them, and the
/// same of the cases before.
const KINDS_MAX: usize = 4;

/// Where rehearsals share sessions, these are replaced by new ones after this many, so every eighth runs in one without
/// any past. A new one each time would take a quarter of the time of a case on an embedded engine.
const REHEARSALS_MAX: u32 = 8;

/// What a session is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    /// Cases that are judged.
    Runs,
    /// Rehearsals, and nothing else.
    Rehearsals,
}

/// A kept session, and the schema that it is in.
struct KeptSession {
    opened: OpenedSession,
    place: String,
}

/// Everything that outlives a case. Fields are dropped in order: sessions first.
pub(super) struct Kept {
    kept_sessions: BTreeMap<(Purpose, Option<Level>), Vec<KeptSession>>,
    /// How many rehearsals have used the sessions that are kept for them.
    rehearsals: u32,
    pub own_session: Box<dyn Session>,
    watching: Option<Watching>,
    purge: Purge,
    /// Where serial schedules run, each for tables of one kind; the least recently used first.
    rooms: VecDeque<Room>,
    /// Least recently used first.
    sets: VecDeque<Set>,
}

impl Kept {
    /// Opens a first set and the arena's own session.
    pub(super) fn open(target: &dyn Target, options: &RunOptions) -> Result<Self, TargetError> {
        let set = Set::new(target.create_schema()?);
        let own_session = set.schema.own_session(options.limits.lock_wait)?;
        let watching = Some(Watching::begin(set.schema.as_ref(), options));
        let purge = Purge::new(set.upkeep.purge);
        let sets = VecDeque::from([set]);
        let (kept_sessions, rehearsals, rooms) = (BTreeMap::new(), 0, VecDeque::new());
        Ok(Self { kept_sessions, rehearsals, own_session, watching, purge, rooms, sets })
    }

    /// The runs of serial schedules with the same tables; `None` if they have to be run step by step.
    pub(super) fn perform_serial(
        &mut self,
        target: &dyn Target,
        schedules: &[Schedule<'_>],
        options: &RunOptions,
    ) -> Result<Option<Vec<Run>>, StageError> {
        let own_session = self.own_session.as_mut();
        let Some(watching) = &self.watching else { return Ok(None) };
        if !own_session.submit_several(&[]) {
            return Ok(None);
        }
        let Some(first) = schedules.first() else { return Ok(None) };
        let fitting = self.rooms.iter().position(|room| room.can_refill(&first.preparation));
        let is_full = self.rooms.len() >= KINDS_MAX;
        let mut room = match self.rooms.remove(fitting.unwrap_or(0)) {
            Some(room) if fitting.is_some() || is_full => room,
            other => {
                self.rooms.extend(other);
                Room::open(target, options)?
            }
        };
        let knowledge = watching.knowledge.clone();
        let means = Means { own_session, knowledge, target: target.info(), options };
        let runs = room.perform(schedules, means);
        self.rooms.push_back(room);
        runs
    }

    /// Whether some set can be made ready for the preparation.
    pub(super) fn fits(&self, preparation: &Preparation<'_>) -> bool {
        self.sets.iter().any(|set| set.can_refill(preparation) || set.can_be_made())
    }

    /// Takes the set for the next case: one that has its tables and is clean; else one with other tables, if there are
    /// many kinds of these; else a new one.
    pub(super) fn take_set(
        &mut self,
        target: &dyn Target,
        preparation: &Preparation<'_>,
        options: &RunOptions,
    ) -> Result<Set, TargetError> {
        let is_clean =
            |set: &Set, purge: &Purge| set.can_refill(preparation) && purge.has_passed(set);
        let find_clean = |kept: &Self| kept.sets.iter().position(|set| is_clean(set, &kept.purge));
        let mut found = find_clean(self);
        let waiting = self.sets.iter().filter(|set| set.can_refill(preparation)).count();
        if found.is_none() && waiting >= SETS_MIN {
            self.purge.ask(self.own_session.as_mut(), &mut self.sets, options)?;
            found = find_clean(self);
        }
        found = found.or_else(|| self.sets.iter().position(Set::is_blank));
        if found.is_none() && self.kinds_of_tables() >= KINDS_MAX {
            found = self.sets.iter().position(|set| !set.can_refill(preparation));
        }
        if let Some(set) = found.and_then(|at| self.sets.remove(at)) {
            return Ok(set);
        }
        let is_full = self.sets.len() >= SETS_MAX;
        match self.sets.pop_front_if(|_| is_full) {
            Some(mut oldest) => {
                // Something keeps the server from purging.
                oldest.distrust();
                Ok(oldest)
            }
            None => Ok(Set::new(target.create_schema()?)),
        }
    }

    /// How many kinds of tables there are among the sets.
    fn kinds_of_tables(&self) -> usize {
        let is_first = |(at, set): &(usize, &Set)| {
            !set.is_blank() && !self.sets.iter().take(*at).any(|other| other.has_same_tables(set))
        };
        self.sets.iter().enumerate().filter(is_first).count()
    }

    /// Gives a set back after its case.
    pub(super) fn return_set(&mut self, set: Set) {
        self.sets.push_back(set);
    }

    /// Sessions for the case. Those in other schemas are still switching to this set until [`arrive`].
    pub(super) fn take_sessions(
        &mut self,
        purpose: Purpose,
        case: &Case,
        set: &Set,
        options: &RunOptions,
    ) -> Result<(OpenSessions, Vec<SessionIndex>), TargetError> {
        let mut sessions = Vec::new();
        let mut moving = Vec::new();
        for (index, name) in case.sessions.iter().enumerate() {
            let level = level_of(case, index, options);
            let supply = self.kept_sessions.get_mut(&(purpose, level));
            let mut kept_session = match supply.and_then(Vec::pop) {
                Some(kept_session) => kept_session,
                None => KeptSession {
                    opened: set.schema.open(&session_options(name, level, options))?,
                    place: set.schema.name().to_owned(),
                },
            };
            if let Some(sql) = &set.upkeep.enter
                && kept_session.place != set.schema.name()
            {
                kept_session.opened.session.submit(sql);
                moving.push(index);
            }
            sessions.push(kept_session.opened);
        }
        let watching = self.take_watching(set, options);
        Ok((OpenSessions { sessions, watching }, moving))
    }

    fn take_watching(&mut self, set: &Set, options: &RunOptions) -> Watching {
        match self.watching.take() {
            Some(watching) => watching,
            None => Watching::begin(set.schema.as_ref(), options),
        }
    }

    /// Takes the sessions and the watcher back after a case.
    pub(super) fn return_sessions(
        &mut self,
        purpose: Purpose,
        run: &Run,
        case_sessions: Vec<CaseSession>,
        watcher: Option<Box<dyn Watcher>>,
        place: &str,
        options: &RunOptions,
    ) {
        // What had to be guessed in one case may not have to be in the next.
        let knowledge = match &watcher {
            Some(watcher) => BlockingKnowledge::Asked(watcher.method()),
            None => run.blocking.clone(),
        };
        self.watching = Some(Watching { watcher, knowledge });
        if purpose == Purpose::Rehearsals {
            self.rehearsals += 1;
            if !options.shares_rehearsal_sessions || self.rehearsals == REHEARSALS_MAX {
                self.rehearsals = 0;
                self.kept_sessions.retain(|(purpose, _), _| *purpose == Purpose::Runs);
                return;
            }
        }
        // The last one returned is taken first, so the next case gets the same order.
        for (case_session, info) in case_sessions.into_iter().zip(&run.sessions).rev() {
            let level_read_back = info.level_read_back.clone();
            let opened = OpenedSession { session: case_session.session, level_read_back };
            let kept_session = KeptSession { opened, place: place.to_owned() };
            self.kept_sessions.entry((purpose, info.level)).or_default().push(kept_session);
        }
    }
}

/// Waits until all sessions have switched to the set.
pub(super) fn arrive(
    open_sessions: &mut OpenSessions,
    moving: &[SessionIndex],
    set: &Set,
    options: &RunOptions,
) -> Result<(), TargetError> {
    let Some(sql) = &set.upkeep.enter else { return Ok(()) };
    for index in moving {
        let session = open_sessions.sessions[*index].session.as_mut();
        await_answer(session, sql, options.limits.housekeeping).map_err(|error| {
            TargetError::Prepare { target: set.schema.name().to_owned(), reason: error.message }
        })?;
    }
    Ok(())
}
