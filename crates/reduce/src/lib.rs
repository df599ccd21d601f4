//! From a case that shows something to the smallest one that still does.
//!
//! Nothing here runs anything: the reducer *asks* ("does this case still show the same finding?") and the caller
//! answers by running the case. So it works for every oracle, and can be tested without a server.
//!
//! * [`reduce`]: hierarchical delta debugging over sessions, statements, schema, rows, clauses, expressions,
//!   literals, schedule and names.
//! * [`confirm`]: how many times something must recur.
//! * [`contrasts`]: the nearest variants, of which those that do not show it are reported.
//! * [`known`]: issues that are already on record; [`Edit`]: what has to be taken away for one of them to vanish.

pub mod confirm;
pub mod contrast;
mod draft;
mod edit;
pub mod known;
mod passes;
mod search;

pub use confirm::{Confirmation, Repetitions};
pub use contrast::{Variant, contrasts};
pub use edit::Edit;
pub use passes::reduce;
pub use search::{Budget, Reduced};
