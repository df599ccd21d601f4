//! The nouns of Anchorite, without any I/O.
//!
//! A [`Case`] is a schema, initial rows, sessions with their statements and the order in which they are
//! submitted. Running a case on a target gives a [`Run`]: everything that happened, in order. A
//! [`Verdict`] is what an oracle says about a run. Everything here is a plain value: no connection, no
//! clock, no file. The text forms (`.case` files and PostgreSQL's isolation `.spec` files) are parsed and
//! printed here too, because a case *is* its text.

pub mod case;
pub mod cause;
pub mod dependency;
pub mod disagreement;
pub mod error_class;
pub mod finding;
pub mod hunt;
pub mod level;
pub mod nearest;
pub mod product;
pub mod run;
pub mod runner;
pub mod spec;
pub mod sql;
pub mod transactions;
pub mod value;
pub mod verdict;
pub mod versions_seen;

pub use case::{Case, CaseError, Header, SessionIndex, Statement, Step};
pub use cause::{Awaited, Cause, Deed, Doer, Meanwhile, Part};
pub use dependency::Dependency;
pub use disagreement::{Covers, Disagreement, Stance, disagreements, worst};
pub use error_class::ErrorClass;
pub use finding::{Confirmed, Contrast, Finding, Origin};
pub use hunt::{
    FRUITLESS_MAX, FindingLine, HuntPlace, HuntSummary, UNEXPLAINED, UNREPEATABLE_MIN,
    UNREPEATABLE_ONE_IN, VerdictCounts,
};
pub use level::Level;
pub use product::{Product, TargetInfo};
pub use run::{
    Answer, Blocker, BlockingKnowledge, DbError, Ending, Event, Notice, Outcome, Rows, Run,
    SessionInfo,
};
pub use runner::{Pair, RunError, Runner};
pub use sql::StatementKind;
pub use value::Value;
pub use verdict::{Expected, Judgement, Rank, Signature, Verdict};
pub use versions_seen::{RowVersions, VersionSeen, VersionsSeen};
