//! The header language of hand-written cases.
//!
//! A case says in its header when its phenomenon has happened (`-- shows:`), where that was measured (`-- manifests:`,
//! `-- absent:`, `-- seen:`), and which verdicts it gets there (`-- expect:`). These lines are read here and held
//! against a [`Run`](anchorite_model::Run). The form is described in `docs/case-format.md`.
//!
//! * [`lines`]: finds them, and says what is wrong with one.
//! * [`condition`]: the little language of conditions, as values; [`parse`] makes them from text, by `token`s;
//!   [`truth`]: whether a condition is true of a run.
//! * [`measurements`]: at which products, versions and levels a case is known to show its phenomenon; [`expect`]: which
//!   verdicts it gets there; [`mod@compare`]: a judged run held against both.
//! * [`bug`]: what sort of bug a case is about, and where the vendor documents it.
//! * [`rediscovery`]: whether random cases find it.

pub mod bug;
pub mod compare;
pub mod condition;
pub mod expect;
pub mod lines;
pub mod measurements;
pub mod parse;
pub mod rediscovery;
mod token;
pub mod truth;

pub use bug::{BugKind, BugLines, UnknownKind};
pub use compare::{Comparison, HeaderError, compare, is_measured_on, readable};
pub use condition::{Condition, Fact, StepFact};
pub use lines::{ConditionError, shows};
pub use measurements::{Agreement, Measurements, ProductLevels, Remark, Seen, Versions, remarks};
pub use rediscovery::{Missing, Part, Rediscovered};
