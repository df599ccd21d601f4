//! Real concurrency: many sessions at full speed, judged while they run.
//!
//! Idea: rows carry the version that they are, and the one before ([`token`]), so every answer says what a transaction
//! read and replaced ([`record`]). The judge of running histories ([`anchorite_check::live`]) finds the anomalies
//! while the run goes on, in bounded memory, and the claims say what each is worth ([`promise`]).
//!
//! Pure: [`workload`] (seed to plan), [`text`] (plan to SQL), [`record`] (answers to versions), [`promise`] and
//! [`judge`], [`history`]. At the rim: [`log`] (between threads), [`session`], [`run`](mod@run).
//!
//! Source: IsoRel (ISSTA 2025) for versions inside of rows; Jepsen and Elle for the workloads. Assumption: three more
//! columns per table change no promise of the level. Blind spot: conditions on more than a group; what a row looked
//! like in versions that nobody read and that were not replaced.

pub mod history;
pub mod judge;
pub mod log;
pub mod plan;
pub mod promise;
mod random;
pub mod record;
pub mod run;
pub mod session;
pub mod status;
pub mod text;
pub mod token;
pub mod workload;

pub use judge::{Counts, Finding, Tally};
pub use promise::{Standing, Weighed};
pub use run::{Options, Ran, StressError, run};
pub use status::Status;
pub use workload::{UnknownWorkload, Workload};
