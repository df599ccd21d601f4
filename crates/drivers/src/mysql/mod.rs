//! Asking MySQL 8 and later who waits for a row or table lock: the performance schema.

mod data_locks;
mod watcher;

pub(crate) use watcher::DataLockWatcher;
