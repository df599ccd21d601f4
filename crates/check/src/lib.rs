//! Judges recorded histories of transactions: which isolation levels do they satisfy, which anomalies are in
//! them, and why.
//!
//! How a history is processed: [`input`] reads it into the [`model`]; [`resolve`] finds the writer of every read;
//! [`orders`] says what is known about the order of writes; [`dsg`] and [`predicates`] turn that into dependencies,
//! [`graph`] finds cycles among them. [`levels`] decides Adya's levels and, with [`axiomatic`], those of Biswas and
//! Enea; the [`polygraph`] decides the strong ones where version orders are open. [`scans`] and [`lattice`] define the
//! anomalies and what they rule out, [`witness`] explains them, [`report`] combines everything. [`output`] writes
//! histories in other formats. [`live`] judges a history while it is being made.
//!
//! Everything is pure: readers and writers are passed in, nothing reads a clock, and the result does not depend on the
//! number of threads.
//!
//! ```
//! use anchorite_check::{input, levels::LevelVerdict, report};
//!
//! let text = "[x:=1 y:=1]\n---\n[x==1 y==?]\n";
//! let (_, history) = input::read(text.as_bytes(), None).expect("a dbcop history");
//! let report = report::judge(&history, &report::Options::default());
//! assert_eq!(report.valid, LevelVerdict::Fails);
//! assert_eq!(report.anomalies[0].name, "G-single-item");
//! ```

pub mod analysis;
pub mod axiomatic;
mod consistent_view;
pub mod dsg;
pub mod elle;
pub mod graph;
mod groups;
mod hash;
pub mod input;
pub mod lattice;
mod level_verdict;
pub mod levels;
pub mod live;
pub mod model;
pub mod names;
pub mod orders;
pub mod output;
pub mod polygraph;
mod portions;
pub mod predicates;
mod replay;
pub mod report;
pub mod resolve;
pub mod scans;
pub mod sessions;
pub mod witness;
pub mod write_table;
