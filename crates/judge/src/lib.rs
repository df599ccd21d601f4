//! What a run shows.
//!
//! A hand-written case says in its header when its phenomenon has happened (`-- shows:`), and where that
//! was measured (`-- manifests:`, `-- absent:`, `-- seen:`). This crate reads those lines and holds them
//! against a [`Run`](anchorite_model::Run). Everything here is pure: a case and a run go in, an opinion
//! comes out.
//!
//! * [`condition`]: the little language, as values; [`parse`] makes them from text, [`header`] finds them.
//! * [`holds`]: whether a condition is true of a run.
//! * [`measured`]: at which products, versions and levels a case is known to show its phenomenon; [`expect`]: which
//!   verdicts it gets there; [`mod@compare`]: a run held against both.
//! * [`classic`]: the classic anomalies that the rows of any run prove.
//! * [`probe`]: the classic anomalies: possible, or prevented, and how.

pub mod classic;
pub mod compare;
pub mod condition;
pub mod coverage;
pub mod evidence;
pub mod expect;
pub mod header;
pub mod holds;
pub mod laboratory;
pub mod measured;
pub mod oracles;
pub mod parse;
pub mod probe;
mod probe_cases;
mod token;

pub use classic::{Observed, observed};
pub use compare::{Comparison, HeaderError, compare, is_measured_on, readable};
pub use condition::{Condition, Fact, StepFact};
pub use coverage::covers;
pub use evidence::{Evidence, level_of};
pub use header::{ConditionError, shows};
pub use laboratory::Laboratory;
pub use measured::{Agreement, Measured, Place, Remark, Seen, Versions, remarks};
pub use oracles::{Oracle, UnknownOracle, final_state};
pub use probe::{How, Observation, ObserveError, observe};
pub use probe_cases::cases as probe_cases;
