//! Real concurrency: many sessions at full speed, judged while they run.
//!
//! Idea: rows carry the version that they are, and the one before ([`token`]), so every answer says what a transaction
//! read and replaced ([`record`]). The judge of running histories ([`anchorite_check::live`]) finds the anomalies
//! while the run goes on, in bounded memory, and the claims say what each is worth ([`promise`]).
//!
//! Faults ([`faults`]) hit sessions and the server meanwhile; after each of them all rows are read, and what was
//! committed must be there ([`ledger`]).
//!
//! What was found is narrowed to its transactions, as cases that can be run statement by statement ([`mod@slice`]).
//!
//! Pure: [`workload`] (seed to plan), [`shape`] (seed to table), [`text`] (plan to SQL), [`record`] (answers to
//! versions), [`promise`],
//! [`ledger`] and [`judge`], [`history`]. At the rim: [`log`] (between threads), [`session`], [`trouble`],
//! [`run`](mod@run).
//!
//! Source: IsoRel (ISSTA 2025) for versions inside of rows; Jepsen and Elle for the workloads. Assumption: three more
//! columns per table change no promise of the level. Blind spot: conditions on more than a group; what a row looked
//! like in versions that nobody read and that were not replaced.

mod crew;
mod durability;
pub mod faults;
pub mod history;
pub mod judge;
pub mod ledger;
pub mod log;
pub mod options;
pub mod plan;
pub mod private;
pub mod promise;
mod random;
pub mod record;
pub mod run;
pub mod series;
pub mod session;
pub mod shape;
pub mod slice;
pub mod status;
pub mod text;
pub mod token;
pub mod trouble;
pub mod workload;

pub use faults::{Fault, UnknownFault};
pub use judge::{Counts, Finding, Recipe, Tally};
pub use options::{Options, Ran, StressError};
pub use private::{Embedded, PrivateServer, Processes};
pub use promise::{Standing, Weighed};
pub use run::{run, run_on};
pub use series::{Interval, Latencies, Series};
pub use slice::Slice;
pub use status::Status;
pub use trouble::OwnServer;
pub use workload::{UnknownWorkload, Workload};
