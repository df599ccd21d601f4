//! Judges recorded histories of transactions: which isolation levels do they satisfy, which
//! anomalies are in them, and why.
pub mod analysis;
pub mod axiomatic;
pub mod dsg;
pub mod elle;
pub mod graph;
mod hash;
pub mod input;
pub mod lattice;
pub mod levels;
pub mod model;
pub mod names;
pub mod orders;
pub mod output;
pub mod polygraph;
pub mod predicates;
pub mod report;
pub mod resolve;
pub mod scans;
pub mod sessions;
mod singles;
pub mod witness;
