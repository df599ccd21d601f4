//! Runs a case on a target deterministically.
//!
//! The statements of several sessions are submitted in schedule order from one thread. After each submission the stage
//! *settles*: every outstanding statement has either been answered or waits for a lock, according to the server itself
//! ([`decide`]). Statements of a blocked session queue up; when it resumes, its queued statements follow before the
//! schedule continues. Everything that happened is in the [`Run`], in order. A statement is sent exactly once, whatever
//! happens to it.
//!
//! Source: the settle rule is DESIGN's; the published tools use timers of 0.1 to 2 seconds instead.
//! Blind spot: where the server cannot be asked, silence counts as blocked, and the run says so.

mod arena;
mod branches;
mod case_session;
pub mod decide;
mod ending;
pub mod isolation;
pub mod limits;
mod looking;
mod one_by_one;
mod one_session;
mod open_sessions;
mod runner;
mod settle;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anchorite_drivers::{Target, TargetError, Turn, heed};
use anchorite_model::{Case, DbError, Ending, ErrorClass, Level, Run, RunError};

pub use anchorite_model::Runner;

use ending::{Remains, read_final_state};
use open_sessions::{OpenSessions, Stage};

pub use arena::Arena;
pub use limits::Limits;
pub use one_by_one::{OneByOne, SessionState, Waiting};
pub use runner::FreshTables;

/// How the stage learns that a statement is blocked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asking {
    /// Ask the server; fall back to silence where it cannot be asked.
    #[default]
    Server,
    /// Never ask: silence of this length counts as blocked. For comparison, and for unknown products.
    Silence(Duration),
}

/// How to run a case.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The level of all sessions; `None` = what the case says, else the target's default.
    pub level: Option<Level>,
    /// How blocking is learnt.
    pub asking: Asking,
    /// How long things may take.
    pub limits: Limits,
    /// Leave out what is expensive to ask and only people need: the kind of a wait, where that takes another query.
    pub terse: bool,
    /// Let several rehearsals share a session that runs nothing else, where opening one takes long.
    pub shares_rehearsal_sessions: bool,
    /// Set from outside (Ctrl-C) to stop at the next opportunity.
    pub interrupt: Arc<AtomicBool>,
}

impl RunOptions {
    /// Whether we have been asked to stop.
    fn check_interrupt(&self) -> Result<(), StageError> {
        if self.interrupt.load(Ordering::Relaxed) { Err(StageError::Interrupted) } else { Ok(()) }
    }
}

/// Why a case could not be run.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The target could not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A setup statement failed.
    #[error("{case}:{line}: setup failed on {target}: {} ({}): {sql}", .error.message, .error.code)]
    Setup {
        /// The case.
        case: String,
        /// Line of the statement in its file.
        line: usize,
        /// The target.
        target: String,
        /// The statement.
        sql: String,
        /// What the server said.
        error: Box<DbError>,
    },
    /// Stopped from outside.
    #[error("interrupted")]
    Interrupted,
    /// An error of a runner that is not the stage's.
    #[error(transparent)]
    Elsewhere(RunError),
}

impl From<StageError> for RunError {
    fn from(error: StageError) -> Self {
        let is_lost = |error: &DbError| error.class == ErrorClass::ConnectionLost;
        match error {
            StageError::Elsewhere(error) => error,
            StageError::Setup { error: ref said, .. } if !is_lost(said) => Self::refusal(error),
            error => Self::new(error),
        }
    }
}

impl From<RunError> for StageError {
    fn from(error: RunError) -> Self {
        error.downcast().unwrap_or_else(Self::Elsewhere)
    }
}

/// While a case waits for its turn, the interrupt is checked this often.
const TURN_SLICE: Duration = Duration::from_millis(50);

/// Waits until it is this case's turn, on targets where cases take turns, or until an interrupt: the case whose turn it
/// is ends within limits.
fn await_turn(
    target: &dyn Target,
    options: &RunOptions,
) -> Result<Option<Box<dyn Turn>>, StageError> {
    let turn = target.turn();
    while turn.as_ref().is_some_and(|turn| !turn.has_come_within(TURN_SLICE)) {
        options.check_interrupt()?;
    }
    Ok(turn)
}

/// Runs one case in its own schema.
pub fn run_case(target: &dyn Target, case: &Case, options: &RunOptions) -> Result<Run, StageError> {
    heeding(options, || {
        let _turn = await_turn(target, options)?;
        run_in_turn(target, case, options)
    })
}

/// Does something that an interrupt ends early. Its result is then unreliable: our own statements, such as those that
/// read the final state, may have failed because of it.
fn heeding<T>(
    options: &RunOptions,
    work: impl FnOnce() -> Result<T, StageError>,
) -> Result<T, StageError> {
    options.check_interrupt()?;
    let _heeding = heed(Some(&options.interrupt));
    let result = work();
    options.check_interrupt()?;
    result
}

/// The same for a case whose turn it is already.
fn run_in_turn(target: &dyn Target, case: &Case, options: &RunOptions) -> Result<Run, StageError> {
    let schema = target.create_schema()?;
    let schema = schema.as_ref();
    open_sessions::prepare(target, schema, case, options)?;
    let _still = schema.hold_still()?;
    let mut open_sessions = OpenSessions::open(schema, case, options)?;
    let settings = open_sessions.settings(schema, options);
    let mut stage = Stage::new(target.info(), schema, case, options, open_sessions);
    stage.run.settings = settings;
    let Remains { mut run, case_sessions, watcher, .. } = stage.perform_all()?;
    // Session-wide locks must not block the reader.
    drop((case_sessions, watcher));
    if run.ending == Ending::Complete {
        read_final_state(&mut run, schema, &options.limits);
    }
    Ok(run)
}
