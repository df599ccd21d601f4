//! The arena: thousands of cases per minute on tables, sessions and connections that are kept.
//!
//! Idea: creating a schema, tables and connections costs ten to a hundred times as much as the statements of a
//! case. So they are kept, and tables are refilled by DELETE and INSERT, rotating over several sets because
//! InnoDB's deleted rows take locks for some milliseconds. The run is the same as on fresh tables
//! ([`crate::FreshTables`]); what could make it differ (DDL in a case, SET, locks of a session) is not
//! run here but on a schema of its own (`plan`). Source: measured reset methods, DESIGN §4.
//!
//! * `plan`: what the text of a case allows; pure. `set`: one set of tables. `purge`: when a set may be used
//!   again. `serial`: schedules without concurrency, in one round trip. `quarters`: all that is kept.
//!
//! Assumption: one arena per thread; the server is not restarted with other settings in between.
//! After anything unexpected (a lost connection, a statement that would not end, an interruption) all is
//! dropped and opened anew for the next case.
//!
//! Blind spot: statistics. Tables that were refilled may have other index statistics than new ones, so
//! that the optimizer may choose another plan, which then takes other locks.

mod plan;
mod purge;
mod quarters;
mod serial;
mod set;

use anchorite_model::sql::Dialect;
use anchorite_model::{Case, Ending, Level, Run};
use anchorite_target::Target;

use self::plan::{Plan, Reader};
use self::quarters::{Quarters, arrive};
use crate::cast::Stage;
use crate::ending::{Remains, read_final_state};
use crate::player::Player;
use crate::{RunOptions, Runner, StageError, await_turn, heeding, run_in_turn};

/// Runs cases on kept tables and sessions.
pub struct Arena<'t> {
    target: &'t dyn Target,
    options: RunOptions,
    reader: Reader,
    quarters: Option<Quarters>,
}

impl<'t> Arena<'t> {
    /// Opens the first table set; `options.level` is the caller's of [`Runner::run`].
    pub fn new(target: &'t dyn Target, options: RunOptions) -> Result<Self, StageError> {
        let quarters = heeding(&options, || {
            let _turn = await_turn(target, &options)?;
            Ok(Quarters::open(target, &options)?)
        })?;
        let reader = Reader::new(Dialect::of(target.info().product));
        Ok(Self { target, options, reader, quarters: Some(quarters) })
    }

    /// The kept things, opened anew where they are gone or cannot take the plan's tables.
    fn quarters_for(&mut self, plan: &Plan<'_>) -> Result<Quarters, StageError> {
        match self.quarters.take() {
            Some(quarters) if quarters.can_house(plan) => Ok(quarters),
            _ => Ok(Quarters::open(self.target, &self.options)?),
        }
    }

    /// The run of a serial schedule; `None` if it has to be played step by step.
    fn perform_serial(&mut self, case: &Case, plan: &Plan<'_>) -> Result<Option<Run>, StageError> {
        if !serial::is_serial(case) {
            return Ok(None);
        }
        let mut quarters = self.quarters_for(plan)?;
        let run = quarters.perform_serial(self.target, case, plan, &self.options);
        if matches!(run, Ok(_) | Err(StageError::Setup { .. })) {
            self.quarters = Some(quarters);
        }
        run
    }

    /// In a hurry first. Few cases have a deadlock whose victim depends on a server's timers; those are
    /// run once more, with the patience that makes it certain.
    fn run_tame(&mut self, case: &Case, plan: &Plan<'_>) -> Result<Run, StageError> {
        match self.run_once(case, plan, true)? {
            (_, true) => Ok(self.run_once(case, plan, false)?.0),
            (run, false) => Ok(run),
        }
    }

    /// The run, and whether a deadlock's victim was left to chance. The kept things are put back only after
    /// a case that left nothing behind.
    fn run_once(
        &mut self,
        case: &Case,
        plan: &Plan<'_>,
        hurries: bool,
    ) -> Result<(Run, bool), StageError> {
        let mut quarters = self.quarters_for(plan)?;
        let (target, options) = (self.target, &self.options);
        let mut set = quarters.take_set(target, plan, options)?;
        let (mut cast, moving) = quarters.take_cast(case, &set, options)?;
        let caretaker = quarters.caretaker.as_mut();
        // Meanwhile the sessions move.
        let is_ready = set.can_refill(plan) && set.refill(plan, caretaker, options).is_ok();
        arrive(&mut cast, &moving, &set, options)?;
        if !is_ready && !set.can_be_made() {
            return Ok((run_in_turn(target, case, options)?, false));
        }
        if !is_ready {
            if let Err(error) = set.make(case, plan, caretaker, target.info(), options) {
                if matches!(error, StageError::Setup { .. }) {
                    quarters.return_set(set);
                    self.quarters = Some(quarters);
                }
                return Err(error);
            }
            set.hold_still(caretaker, options)?;
        }
        let was_asked = cast.watching.watcher.is_some();
        let mut stage = Stage::new(target.info(), set.schema.as_ref(), case, options, cast);
        (stage.is_tame, stage.hurries) = (true, hurries);
        let Remains { mut run, players, watcher, is_by_chance } = stage.perform_all()?;
        if run.ending != Ending::Complete {
            return Ok((run, false));
        }
        if set.leave(&mut run, quarters.caretaker.as_mut(), options).is_err() {
            drop((players, watcher));
            read_final_state(&mut run, set.schema.as_ref(), &options.limits);
            return Ok((run, is_by_chance));
        }
        let is_over = |player: &Player| player.idle() && !player.maybe_in_transaction();
        if players.iter().all(is_over) && watcher.is_some() == was_asked {
            quarters.return_cast(&run, players, watcher, set.schema.name());
            quarters.return_set(set);
            self.quarters = Some(quarters);
        }
        Ok((run, is_by_chance))
    }
}

impl Runner for Arena<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, StageError> {
        self.options.level = level;
        let options = self.options.clone();
        let ended = heeding(&options, || {
            let _turn = await_turn(self.target, &options)?;
            match self.reader.plan(case) {
                Some(plan) => match self.perform_serial(case, &plan)? {
                    Some(run) => Ok(run),
                    None => self.run_tame(case, &plan),
                },
                None => run_in_turn(self.target, case, &options),
            }
        });
        if matches!(ended, Err(StageError::Interrupted)) {
            // What was kept may be in any state.
            self.quarters = None;
        }
        ended
    }
}
