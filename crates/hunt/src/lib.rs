//! The loop that ties the stages together.
//!
//! * [`finding`]: a suspicion is confirmed, reduced, contrasted and named.
//! * [`learn`]: what a target rejects, so that the generator leaves it out.
//! * [`trial`]: one case is run once and judged by every oracle that was asked for.

pub mod finding;
pub mod learn;
pub mod trial;

pub use finding::{Effort, Investigation, Suspect, investigate};
pub use learn::learn;
pub use trial::{Trial, Tried};
