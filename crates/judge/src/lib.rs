//! Whether a run is what was promised, and what it shows.
//!
//! Everything here is pure: a case, a run and the vendor's claims go in, an opinion comes out. What has to be tried on
//! a database is asked of the [`laboratory`].
//!
//! * [`oracles`]: ways to tell right from wrong, one folder or file each, registered by one line each.
//! * [`evidence`]: what several oracles need to know of one run, found out once: its transactions, the serial orders
//!   that explain it, the versions of its rows, what a statement does to given rows, how two runs differ.
//! * [`cause`]: what went wrong in a run that is a violation, as data.
//! * [`laboratory`]: the further runs that an oracle can ask for.
//! * [`traced`]: which version of which row each statement saw, told by the rows of an instrumented run.
//! * [`coverage`]: what a verdict is about.
//! * [`header`]: the header language of hand-written cases: when a case shows what it is about, where that was
//!   measured, and which verdicts are expected.
//! * [`classic`]: the classic anomalies that the rows of any run prove; [`probe`]: whether a case of the anomaly probe
//!   showed its anomaly, or what prevented it.

pub mod cause;
pub mod classic;
pub mod coverage;
pub mod evidence;
pub mod header;
pub mod laboratory;
pub mod oracles;
pub mod probe;
mod probe_cases;
pub mod traced;

pub use cause::causes;
pub use classic::{Observed, observed};
pub use coverage::covers;
pub use evidence::{Evidence, level_of};
pub use header::{
    Agreement, BugKind, BugLines, Comparison, Condition, ConditionError, Fact, HeaderError,
    Measurements, Missing, Part, ProductLevels, Rediscovered, Remark, Seen, StepFact, UnknownKind,
    Versions, compare, expect, is_measured_on, readable, remarks, shows,
};
pub use laboratory::Laboratory;
pub use oracles::{Oracle, UnknownOracle};
pub use probe::{How, Observation, ObserveError, observe};
pub use probe_cases::cases as probe_cases;
