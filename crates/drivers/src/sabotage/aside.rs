//! The sabotage's own connections: one that reads, and one that keeps a snapshot.

use crate::Session;

/// One of the sabotage's own connections.
pub(super) struct Aside {
    pub session: Box<dyn Session>,
    /// The schema that it was opened through, and ends with.
    pub home: String,
    /// The schema that it is in.
    pub whereabouts: String,
}

/// A connection that keeps a snapshot of the beginning of the overlap.
#[derive(Default)]
pub(super) struct Past {
    pub aside: Option<Aside>,
    pub open: bool,
}

impl Past {
    /// Ends the connection, if it is one of those.
    pub(super) fn end_if(&mut self, is_one: impl FnOnce(&mut Aside) -> bool) {
        if self.aside.take_if(is_one).is_some() {
            self.open = false;
        }
    }
}
