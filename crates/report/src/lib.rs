//! Runs as text, JSON and Markdown.
//!
//! Idea: every form is a pure function from [`RunResult`]s to a `String`; the command line alone
//! prints.
//!
//! Assumption: the run is complete in itself; nothing is asked of a server, a clock or a file.

mod columns;
mod escape;
mod fold;
mod json;
mod markdown;
mod markup;
mod result;
mod story;
mod style;
mod summary;
mod table;
mod text;
mod wrap;

pub use json::json;
pub use markdown::markdown;
pub use result::RunResult;
pub use style::{Glyphs, Style};
pub use text::{TextOptions, text};
