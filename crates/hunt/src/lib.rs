//! The loop that connects generating, running, judging and reporting.
//!
//! * [`alert`]: a run that lost a connection is an error.
//! * [`finding`]: a suspicion is confirmed, reduced, contrasted and named; `question`: whether it is still the same,
//!   `naming`: by which names, `recognize`: whether it is a known issue.
//! * [`sequence`]: a violation that shows only on used tables, with the cases before it.
//! * [`mod@learn`]: what a target rejects, so that the generator leaves it out.
//! * [`selftest`]: faults are planted, and the oracles have to find them.
//! * [`examiner`]: one case is run once and judged by every requested oracle.
//! * [`campaign`]: many cases on many workers, until a budget is used up.
//! * [`plan`]: which cases run where, in which order; [`tally`]: what is counted.
//! * [`supervisor`]: targets that go away and come back; [`ending`]: why they did; [`retrial`]: which case it was;
//!   [`crash`]: what that is as a finding; [`survivor`]: the same for an engine that lives in our own process.

pub mod alert;
pub mod campaign;
pub mod crash;
pub mod ending;
pub mod examiner;
pub mod finding;
pub mod hash;
pub mod learn;
mod log_alarm;
mod naming;
pub mod plan;
mod question;
mod recognize;
pub mod retrial;
pub mod selftest;
pub mod sequence;
mod server_control;
pub mod supervisor;
pub mod survivor;
pub mod tally;

pub use campaign::{Audience, Ended, HuntOptions, HuntTarget, SecondTarget, Stop, hunt};
pub use examiner::{Examined, Examiner};
pub use finding::{Investigation, Recorded, Suspicion, investigate};
pub use learn::{Learnt, learn};
pub use question::Effort;
pub use selftest::SelfTest;
pub use supervisor::{ServerControl, Supervisor};
pub use tally::Tally;

/// A worker spends most of its time waiting: for answers to statements and to questions about locks.
const WORKERS_PER_PROCESSOR: usize = 3;

/// The default number of workers of a hunt.
pub fn usual_workers() -> usize {
    WORKERS_PER_PROCESSOR * processors()
}

/// The processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
