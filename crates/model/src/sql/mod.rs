//! The SQL that the text forms need: where tokens and statements end, and what kind a statement is.
//!
//! Idea: nothing here understands expressions or tables. [`scan`] cuts a text into tokens (so that a `;` in a string, a
//! comment or a dollar quote does not count), [`split`] finds the `;` that ends a statement (so that a stored routine
//! needs no `DELIMITER`), [`kind`] names a statement by its first words, [`two_phase`] the transactions that outlive
//! their sessions, [`mod@literal`] writes a value.
//!
//! Assumption: the products fall into three families of lexical rules, [`Dialect`]. A text that is written for
//! several families is read in each of them, and its reader decides which reading makes sense.

pub mod dialect;
pub mod kind;
pub mod literal;
pub mod scan;
pub mod split;
pub mod two_phase;

pub use dialect::Dialect;
pub use kind::StatementKind;
pub use literal::literal;
pub use scan::{ScanError, Token, TokenKind, Tokens};
pub use split::statement_end;
pub use two_phase::TwoPhase;
