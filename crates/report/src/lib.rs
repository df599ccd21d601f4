//! Runs as text and JSON.
//!
//! Idea: every form is a pure function from [`RunResult`]s to a `String`; the command line alone
//! prints.
//!
//! Assumption: the run is complete in itself; nothing is asked of a server, a clock or a file.

mod columns;
mod escape;
mod fold;
mod json;
mod result;
mod story;
mod style;
mod summary;
mod table;
mod text;
mod wrap;

pub use json::json;
pub use result::RunResult;
pub use style::{Glyphs, Style};
pub use text::{TextOptions, text};
