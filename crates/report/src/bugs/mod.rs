//! The known-bug collection: which bug shows on which release at which level, as lists, tables and a study.
//!
//! Idea: a bug is a case whose header says what it shows, where that was measured, and where the vendor documents it.
//! A [`Matrix`] is the same question asked of all bugs: either what the headers record ([`Matrix::recorded`]), or what
//! was just run. Every form of it is a pure function to a `String`.
//!
//! Source: the headers of `cases/bugs` and `cases/papers`; [`study`] adds what was published elsewhere. Assumption: two
//! targets with the same product and version numbers behave alike. Blind spot: one run per place.

mod again;
pub mod bisect;
mod bug;
mod html;
mod json;
mod list;
mod markdown;
mod matrix;
mod published;
mod status;
mod study;
mod tested;
mod text;
mod words;

pub use again::{Share, share};
pub use bug::Bug;
pub use html::html;
pub use json::json;
pub use list::{list, list_json, show};
pub use markdown::markdown;
pub use matrix::{Cell, Column, Matrix, Row, Shown};
pub use status::Status;
pub use study::study;
pub use tested::tested;
pub use text::text;
