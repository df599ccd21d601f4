//! The loop that ties the stages together.
//!
//! * [`trial`]: one case is run once and judged by every oracle that was asked for.

pub mod trial;

pub use trial::{Trial, Tried};
