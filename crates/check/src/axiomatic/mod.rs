//! The axiomatic levels of Biswas and Enea (OOPSLA 2019).
//!
//! Here session order is part of the commit order, and the initial state is a transaction before all others. Read
//! committed, read atomic and causal are decided by [`weak`]; prefix, snapshot isolation and serializable by the
//! [`crate::polygraph`].

mod clocks;
mod context;
mod own_reads;
pub mod weak;
mod writers;
mod written_keys;

pub use context::{Context, Read};
