//! Judges recorded histories of transactions: which isolation levels do they satisfy, which
//! anomalies are in them, and why.
mod hash;
pub mod input;
pub mod model;
pub mod resolve;
pub mod axiomatic;
pub mod graph;
pub mod sessions;
pub mod dsg;
pub mod orders;
pub mod polygraph;
pub mod predicates;
pub mod lattice;
pub mod scans;
pub mod analysis;
pub mod levels;
mod singles;
pub mod elle;
pub mod names;
pub mod report;
pub mod witness;
pub mod output;
