//! The arena: thousands of cases per minute on reused tables, sessions and connections.
//!
//! Idea: creating a schema, tables and connections costs ten to a hundred times as much as the statements of a case. So
//! they are kept, and tables are refilled by DELETE and INSERT, rotating over several sets because InnoDB's deleted
//! rows take locks for some milliseconds. The run is the same as on fresh tables ([`crate::FreshTables`]); what could
//! make it differ (DDL in a case, SET, locks of a session) is not run here but in a separate schema (`preparation`).
//! Source: measured reset methods, DESIGN §4.
//!
//! * `preparation`: what the text of a case allows; pure. `set`: one set of tables. `purge`: when a set may be used
//!   again. `serial`: rehearsals without concurrency, in one round trip. `kept`: all that is kept.
//!
//! A case that is judged always runs in sessions of its own, of which the kept ones are a supply; a rehearsal never
//! does ([`crate::one_session`]).
//!
//! Assumption: one arena per thread; the server is not restarted with other settings in between. After anything
//! unexpected (a lost connection, a statement that would not end, an interruption) everything is dropped and opened
//! anew for the next case.
//!
//! Blind spot: statistics. Refilled tables may have different index statistics from new ones, so the optimizer may
//! choose another plan, which then takes other locks.

mod kept;
mod preparation;
mod purge;
mod serial;
mod set;

use anchorite_drivers::Target;
use anchorite_model::{Case, Ending, Level, Run, RunError, Runner};

use self::kept::{Kept, Purpose, arrive};
use self::preparation::{Preparation, Reader};
use self::serial::Schedule;
use crate::case_session::CaseSession;
use crate::ending::{Remains, read_final_state};
use crate::one_session::{in_one_session, is_serial, told_as};
use crate::open_sessions::Stage;
use crate::{RunOptions, StageError, await_turn, heeding, run_in_turn};

/// So many serial schedules are sent in one round trip.
const TOGETHER_MAX: usize = 16;

/// How a case is run step by step.
#[derive(Debug, Clone, Copy)]
struct Manner {
    /// Whether the server's deadlock timers are not waited for.
    hurries: bool,
    purpose: Purpose,
}

/// Runs cases on kept tables and sessions.
pub struct Arena<'t> {
    target: &'t dyn Target,
    options: RunOptions,
    reader: Reader,
    kept: Option<Kept>,
}

impl<'t> Arena<'t> {
    /// Opens the first table set; `options.level` is the caller's of [`Runner::run`].
    pub fn new(target: &'t dyn Target, options: RunOptions) -> Result<Self, StageError> {
        let kept = heeding(&options, || {
            let _turn = await_turn(target, &options)?;
            Ok(Kept::open(target, &options)?)
        })?;
        let reader = Reader::new(target.info().product.dialect());
        Ok(Self { target, options, reader, kept: Some(kept) })
    }

    /// What is kept, opened anew if it is gone or cannot take the preparation's tables.
    fn kept_for(&mut self, preparation: &Preparation<'_>) -> Result<Kept, StageError> {
        match self.kept.take() {
            Some(kept) if kept.fits(preparation) => Ok(kept),
            _ => Ok(Kept::open(self.target, &self.options)?),
        }
    }

    /// The runs of serial schedules with the same tables; `None` if they have to be run step by step.
    fn perform_serial(
        &mut self,
        schedules: &[Schedule<'_>],
    ) -> Result<Option<Vec<Run>>, StageError> {
        let Some(first) = schedules.first() else { return Ok(None) };
        let has_same_tables = |next: &Schedule<'_>| next.preparation.ddl == first.preparation.ddl;
        let is_fit = |next| has_same_tables(next) && is_serial(next.case);
        if !schedules.iter().all(is_fit) {
            return Ok(None);
        }
        let mut kept = self.kept_for(&first.preparation)?;
        let runs = kept.perform_serial(self.target, schedules, &self.options);
        if matches!(runs, Ok(_) | Err(StageError::Setup { .. })) {
            self.kept = Some(kept);
        }
        runs
    }

    /// The runs of several serial schedules in one round trip; `None` if that is not possible.
    fn run_together(&mut self, cases: &[Case]) -> Result<Option<Vec<Run>>, StageError> {
        let _turn = await_turn(self.target, &self.options)?;
        let schedules = cases.iter().map(|case| {
            let preparation = self.reader.preparation(case)?;
            Some(Schedule { case, preparation })
        });
        match schedules.collect::<Option<Vec<_>>>() {
            Some(schedules) => self.perform_serial(&schedules),
            None => Ok(None),
        }
    }

    /// Does something with what is kept. What was kept may be in any state after an interruption.
    fn keeping<T>(
        &mut self,
        level: Option<Level>,
        work: impl FnOnce(&mut Self) -> Result<T, StageError>,
    ) -> Result<T, StageError> {
        self.options.level = level;
        let options = self.options.clone();
        let ended = heeding(&options, || work(self));
        if matches!(ended, Err(StageError::Interrupted)) {
            self.kept = None;
        }
        ended
    }

    /// Runs the case with short waits first. A few cases have a deadlock whose victim depends on the server's timers;
    /// those are run once more, with waits long enough to make it certain.
    fn run_step_by_step(
        &mut self,
        case: &Case,
        preparation: &Preparation<'_>,
        purpose: Purpose,
    ) -> Result<Run, StageError> {
        let manner = Manner { hurries: true, purpose };
        match self.run_once(case, preparation, manner)? {
            (_, true) => {
                Ok(self.run_once(case, preparation, Manner { hurries: false, ..manner })?.0)
            }
            (run, false) => Ok(run),
        }
    }

    /// A rehearsal in sessions that run nothing else, and in a single one if it is a serial order.
    fn rehearse_step_by_step(&mut self, schedule: &Schedule<'_>) -> Result<Run, StageError> {
        let Schedule { case, preparation } = schedule;
        let dialect = self.target.info().product.dialect();
        match in_one_session(case, dialect, &self.options) {
            Some(merged) => {
                let run = self.run_step_by_step(&merged, preparation, Purpose::Rehearsals)?;
                Ok(told_as(case, &self.options, run))
            }
            None => self.run_step_by_step(case, preparation, Purpose::Rehearsals),
        }
    }

    /// The run, and whether a deadlock's victim was left to chance. Tables and sessions are put back only after a case
    /// that left nothing behind.
    fn run_once(
        &mut self,
        case: &Case,
        preparation: &Preparation<'_>,
        manner: Manner,
    ) -> Result<(Run, bool), StageError> {
        let mut kept = self.kept_for(preparation)?;
        let (target, options) = (self.target, &self.options);
        let mut set = kept.take_set(target, preparation, options)?;
        let Manner { hurries, purpose } = manner;
        let (mut open_sessions, moving) = kept.take_sessions(purpose, case, &set, options)?;
        let own_session = kept.own_session.as_mut();
        // Meanwhile the sessions switch schemas.
        let is_ready =
            set.can_refill(preparation) && set.refill(preparation, own_session, options).is_ok();
        arrive(&mut open_sessions, &moving, &set, options)?;
        if !is_ready && !set.can_be_made() {
            return Ok((run_in_turn(target, case, options)?, false));
        }
        if !is_ready {
            if let Err(error) = set.make(case, preparation, own_session, target.info(), options) {
                if matches!(error, StageError::Setup { .. }) {
                    kept.return_set(set);
                    self.kept = Some(kept);
                }
                return Err(error);
            }
            set.hold_still(own_session, options)?;
        }
        let was_asked = open_sessions.watching.watcher.is_some();
        let mut stage =
            Stage::new(target.info(), set.schema.as_ref(), case, options, open_sessions);
        (stage.leaves_only_rows, stage.hurries) = (true, hurries);
        let Remains { mut run, case_sessions, watcher, is_by_chance } = stage.perform_all()?;
        if run.ending != Ending::Complete {
            return Ok((run, false));
        }
        if set.leave(&mut run, kept.own_session.as_mut(), options).is_err() {
            drop((case_sessions, watcher));
            read_final_state(&mut run, set.schema.as_ref(), &options.limits);
            return Ok((run, is_by_chance));
        }
        let is_over = |case_session: &CaseSession| {
            case_session.idle() && !case_session.maybe_in_transaction()
        };
        if case_sessions.iter().all(is_over) && watcher.is_some() == was_asked {
            let place = set.schema.name();
            kept.return_sessions(purpose, &run, case_sessions, watcher, place, options);
            kept.return_set(set);
            self.kept = Some(kept);
        }
        Ok((run, is_by_chance))
    }
}

impl Runner for Arena<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let run = self.keeping(level, |arena| {
            let _turn = await_turn(arena.target, &arena.options)?;
            let Some(preparation) = arena.reader.preparation(case) else {
                return run_in_turn(arena.target, case, &arena.options);
            };
            arena.run_step_by_step(case, &preparation, Purpose::Runs)
        });
        Ok(run?)
    }

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let run = self.keeping(level, |arena| {
            let _turn = await_turn(arena.target, &arena.options)?;
            let Some(preparation) = arena.reader.preparation(case) else {
                return run_in_turn(arena.target, case, &arena.options);
            };
            let schedule = Schedule { case, preparation };
            let runs = arena.perform_serial(std::slice::from_ref(&schedule))?;
            match runs.and_then(|mut runs| runs.pop()) {
                Some(run) => Ok(run),
                None => arena.rehearse_step_by_step(&schedule),
            }
        });
        Ok(run?)
    }

    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        let mut runs = Vec::new();
        for some in cases.chunks(TOGETHER_MAX) {
            let together = match some {
                [_] => None,
                _ => self.keeping(level, |arena| arena.run_together(some))?,
            };
            match together {
                Some(together) => runs.extend(together),
                None => {
                    for case in some {
                        runs.push(self.rehearse(case, level)?);
                    }
                }
            }
        }
        Ok(runs)
    }
}
