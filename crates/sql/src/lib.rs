//! The one place where SQL is understood: syntax trees of every dialect, and what they say.
//!
//! Two depths: tokens for what is asked of every statement of every case, trees for what is asked once in a while.
//!
//! * [`tokens`], and by them [`WriteShape`], [`RowStatement`], [`Definition`], [`created`], [`locking`] and
//!   [`side_effects`].
//! * [`ParsedStatement`]: a statement with its tree, where the tree can be trusted.
//! * [`chained`]: statements that keep a record in each row of who wrote it.
//! * [`access_path`]: by which index a statement finds its rows.
//! * [`followed`]: statements whose effect on rows can be computed, with their conditions as a [`formula`].
//! * [`schema`]: the tables that a set-up creates, with their keys.
//! * [`syntax`]: small questions to trees, and small changes of them.
//! * [`walk`]: every expression and every table of a tree.
//!
//! The trees are those of `sqlparser`, and no other crate depends on it. They are large types: whatever walks, copies,
//! compares or drops them is compiled again wherever it is generic or inlined. So this crate offers plain functions,
//! which are compiled once; the other crates stay small.

mod access;
pub mod chained;
mod choice;
pub mod created;
mod definition;
pub mod followed;
pub mod formula;
pub mod locking;
pub mod parse;
mod parsed_statement;
pub mod point;
mod row_statement;
pub mod rows_by_key;
pub mod schema;
pub mod search;
pub mod side_effects;
pub mod syntax;
pub mod tokens;
pub mod walk;
mod write_shape;

pub use access::access_path;
pub use choice::may_choose;
pub use definition::Definition;
pub use locking::{locked_table, skips_locked, without_locking_clause};
pub use parse::parse;
pub use parsed_statement::{ParsedStatement, bare};
pub use row_statement::RowStatement;
pub use sqlparser::ast;
pub use write_shape::{WriteShape, joined_shape, write_shape};
