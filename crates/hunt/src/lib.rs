//! The loop that ties the stages together.
//!
//! * [`alert`]: a run that lost a connection is no answer.
//! * [`finding`]: a suspicion is confirmed, reduced, contrasted and named.
//! * [`mod@learn`]: what a target rejects, so that the generator leaves it out.
//! * [`selftest`]: faults are planted, and the oracles have to find them.
//! * [`trial`]: one case is run once and judged by every oracle that was asked for.
//! * [`campaign`]: many cases on many workers, until a budget is used up.
//! * [`plan`]: which cases run where, in which order; [`tally`]: what is counted.
//! * [`post`]: targets that go away and come back; [`ending`]: why they did; [`retrial`]: which case it was;
//!   [`crash`]: what that is as a finding.

pub mod alert;
pub mod campaign;
pub mod crash;
pub mod ending;
pub mod finding;
pub mod hash;
pub mod learn;
pub mod plan;
pub mod post;
pub mod retrial;
pub mod selftest;
pub mod tally;
pub mod trial;

pub use campaign::{Audience, Ended, HuntOptions, Quarry, Stop, hunt};
pub use finding::{Effort, Investigation, Suspect, investigate};
pub use learn::{Learnt, learn};
pub use post::{Keeper, Post};
pub use selftest::SelfTest;
pub use tally::Tally;
pub use trial::{Trial, Tried};

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
