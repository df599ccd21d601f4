//! The one place where SQL is understood: syntax trees of every dialect, and what they say.
//!
//! * [`ParsedStatement`]: a statement with its tree, where the tree can be trusted.
//! * [`followed`]: statements whose effect on rows can be computed, with their conditions as a [`formula`].
//! * [`schema`]: the tables that a set-up creates, with their keys.
//! * [`syntax`]: small questions to trees, and small changes of them.
//! * [`walk`]: every expression and every table of a tree.
//!
//! The trees are those of `sqlparser`, and no other crate depends on it. They are large types: whatever walks, copies,
//! compares or drops them is compiled again wherever it is generic or inlined. So this crate offers plain functions,
//! which are compiled once; the other crates stay small.

pub mod followed;
pub mod formula;
pub mod parse;
mod parsed_statement;
pub mod schema;
pub mod syntax;
pub mod walk;

pub use parse::parse;
pub use parsed_statement::{ParsedStatement, bare};
pub use sqlparser::ast;
