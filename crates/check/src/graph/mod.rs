//! Graphs over transactions, in flat arrays.
//!
//! Idea: edges are collected as plain pairs with a kind and then laid out by source (compressed
//! rows); components are found without recursion. Source: Tarjan 1972.

mod csr;
pub mod cycles;
mod scc;

pub use csr::{Csr, EdgeList};
pub use scc::{components, is_acyclic, topological_order};

/// What kind of dependency an edge is; one bit each, so that sets of kinds are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Installs the next version of the same item.
    Ww = 1,
    /// Reads the item version that the other wrote.
    Wr = 2,
    /// The other overwrote the item version that was read.
    Rw = 4,
    /// Predicate variant of ww.
    WwPredicate = 8,
    /// Predicate variant of wr.
    WrPredicate = 16,
    /// Predicate variant of rw.
    RwPredicate = 32,
    /// Earlier in the same session.
    Session = 64,
    /// Answered before the other was invoked.
    RealTime = 128,
}

/// All ww kinds.
pub const WW: u8 = Kind::Ww as u8 | Kind::WwPredicate as u8;
/// All wr kinds.
pub const WR: u8 = Kind::Wr as u8 | Kind::WrPredicate as u8;
/// All rw kinds.
pub const RW: u8 = Kind::Rw as u8 | Kind::RwPredicate as u8;
/// Session order.
pub const SESSION: u8 = Kind::Session as u8;
/// Real time.
pub const REAL_TIME: u8 = Kind::RealTime as u8;
