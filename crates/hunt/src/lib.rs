//! The loop that ties the stages together.
//!
//! * [`finding`]: a suspicion is confirmed, reduced, contrasted and named.
//! * [`trial`]: one case is run once and judged by every oracle that was asked for.

pub mod finding;
pub mod trial;

pub use finding::{Effort, Investigation, Suspect, investigate};
pub use trial::{Trial, Tried};
