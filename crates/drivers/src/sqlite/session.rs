//! The caller's end of a session: it passes statements to the session's thread and takes the answers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::InterruptHandle;

use super::folder::Folder;
use super::shared_state::SharedState;
use crate::{ConnectionId, Reply, Session};

/// One connection with the thread that runs its statements.
pub(super) struct SqliteSession {
    pub(super) shared_state: Arc<SharedState>,
    pub(super) id: ConnectionId,
    pub(super) interrupt: InterruptHandle,
    pub(super) wake_up: Arc<OwnedFd>,
    pub(super) thread: Option<JoinHandle<()>>,
    /// The database file stays as long as it is open somewhere.
    pub(super) _folder: Arc<Folder>,
}

impl Session for SqliteSession {
    fn id(&self) -> ConnectionId {
        self.id
    }

    fn submit(&mut self, sql: &str) {
        self.shared_state.submit(self.id, sql);
    }

    fn poll(&mut self) -> Option<Reply> {
        self.shared_state.poll(self.id)
    }

    /// Only a statement that runs for long is worth waiting for; a blocked one moves when others do.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.shared_state.is_moving(self.id).then(|| self.wake_up.as_fd())
    }

    fn cancel(&mut self) {
        if !self.shared_state.give_up(self.id) {
            self.interrupt.interrupt();
        }
    }
}

impl Drop for SqliteSession {
    fn drop(&mut self) {
        self.shared_state.close(self.id);
        self.interrupt.interrupt();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed its connection too.
            let _ = thread.join();
        }
        self.shared_state.leave(self.id);
    }
}
