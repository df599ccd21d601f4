//! Runs as text.
//!
//! Idea: every form is a pure function from [`RunResult`]s to a `String`; the command line alone
//! prints.
//!
//! Assumption: the run is complete in itself; nothing is asked of a server, a clock or a file.

mod columns;
mod escape;
mod fold;
mod result;
mod story;
mod style;
mod summary;
mod table;
mod text;
mod wrap;

pub use result::RunResult;
pub use style::{Glyphs, Style};
pub use text::{TextOptions, text};
