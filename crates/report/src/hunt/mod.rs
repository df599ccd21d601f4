//! What a hunt did and found: for people ([`text`]), for scripts ([`json`]) and for CI ([`junit`]).
//!
//! Idea: every form is a pure function of a [`anchorite_model::HuntSummary`]. A reader of "nothing was found" must be
//! able to see whether anything could have been found: how much ran, how much of it conflicted, and the counts of all
//! four verdicts. The sentences are those of [`crate::hunt_summary`].

mod json;
mod junit;
mod overview;
mod text;

pub use json::json;
pub use junit::junit;
pub use overview::overview;
pub use text::text;
