//! Runs as text, JSON, Markdown and JUnit; the anomaly table ([`probe`]); the known-bug
//! collection ([`bugs`]); findings ([`finding`]), hunts
//! ([`hunt`]), and scripts that repeat them ([`export`]).
//!
//! Idea: every form is a pure function from [`RunResult`]s to a `String`; the command line alone prints. The forms for
//! people ([`text`], [`markdown`], and JUnit's `system-out`) share one description of the run (`entries`), so that a
//! blocked statement is described in the same words everywhere. The form for scripts ([`json`]) is a contract: its
//! field names do not change.
//!
//! Assumption: the run is self-contained; no server, clock or file is needed. Blind spot: the forms for people truncate
//! long cells and long results. JSON truncates nothing.

mod blame;
mod brief;
pub mod bugs;
pub mod claims;
mod columns;
pub mod cycle;
mod entries;
mod escape;
pub mod export;
pub mod finding;
mod fold;
pub mod hunt;
pub mod hunt_summary;
mod json;
mod junit;
mod markdown;
mod markup;
mod matrix;
mod opinion;
mod page;
pub mod probe;
mod result;
pub mod stress;
mod style;
mod summary;
mod svg;
mod table;
mod text;
mod timeline;
mod tuples;
mod watch;
mod wrap;

pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use page::TextOptions;
pub use result::{RunFailure, RunResult, Runs};
pub use style::{Glyphs, Style};
pub use text::text;
pub use watch::{blocker_names, event_text, rows_text};
