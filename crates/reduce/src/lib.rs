//! From a case that shows something to the smallest one that still does, and what that case is called.
//!
//! Nothing here runs anything: the reducer *asks* ("does this case still show the same finding?") and
//! whoever calls it answers by running. So it works for every oracle, and it can be tested without a server.
//!
//! * [`reduce`]: hierarchical delta debugging over sessions, statements, schema, rows, clauses, expressions,
//!   literals, schedule and names.
//! * [`confirm`]: how often something must come out again.
//! * [`contrasts`]: the nearest variants, of which those are told that do not show it.
//! * [`Shape`]: what the reduced case looks like once everything accidental is taken out; its hash is
//!   the fingerprint.
//! * [`known`]: issues that have a name already.

pub mod confirm;
pub mod contrast;
mod draft;
mod fingerprint;
pub mod known;
mod passes;
mod search;

pub use confirm::{Confirmation, Repetitions};
pub use contrast::{Variant, contrasts};
pub use fingerprint::{Shape, cause, fingerprint};
pub use passes::reduce;
pub use search::{Budget, Reduced};
