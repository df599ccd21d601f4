//! The loop that ties the stages together.
//!
//! * [`alert`]: a run that lost a connection is no answer.
//! * [`finding`]: a suspicion is confirmed, reduced, contrasted and named; `naming`: by which names.
//! * [`mod@learn`]: what a target rejects, so that the generator leaves it out.
//! * [`selftest`]: faults are planted, and the oracles have to find them.
//! * [`examiner`]: one case is run once and judged by every oracle that was asked for.
//! * [`campaign`]: many cases on many workers, until a budget is used up.
//! * [`plan`]: which cases run where, in which order; [`tally`]: what is counted.
//! * [`supervisor`]: targets that go away and come back; [`ending`]: why they did; [`retrial`]: which case it was;
//!   [`crash`]: what that is as a finding.

pub mod alert;
pub mod campaign;
pub mod crash;
pub mod ending;
pub mod examiner;
pub mod finding;
pub mod hash;
pub mod learn;
mod naming;
pub mod plan;
pub mod retrial;
pub mod selftest;
mod server_control;
pub mod supervisor;
pub mod tally;

pub use campaign::{Audience, Ended, HuntOptions, HuntTarget, SecondTarget, Stop, hunt};
pub use examiner::{Examined, Examiner};
pub use finding::{Effort, Investigation, Suspicion, investigate};
pub use learn::{Learnt, learn};
pub use selftest::SelfTest;
pub use supervisor::{ServerControl, Supervisor};
pub use tally::Tally;

/// Most of a worker's time is waiting: for locks that are being asked about, and for answers.
const WORKERS_PER_PROCESSOR: usize = 3;

/// As many workers as a hunt has if nobody says anything.
pub fn usual_workers() -> usize {
    WORKERS_PER_PROCESSOR * processors()
}

/// The processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
