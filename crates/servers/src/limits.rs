//! The limits of every wait in this crate.

use std::time::Duration;

/// From the start of the server process to its first answer. TiDB on a busy machine is the slowest.
pub(crate) const READY: Duration = Duration::from_secs(120);

/// Between two looks at a starting server; the wait ends at once when the process ends.
pub(crate) const READY_SLICE: Duration = Duration::from_millis(10);

/// For the polite signal of a server that has one, before SIGKILL.
pub(crate) const POLITE_STOP: Duration = Duration::from_secs(3);

/// From SIGKILL until the kernel has taken the process away.
pub(crate) const KILL: Duration = Duration::from_secs(10);

/// One attempt of a handshake: connecting and each read.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(2);

/// Creating an empty data folder.
pub(crate) const INITIALISE: Duration = Duration::from_secs(300);

/// A program that only says its version, or whether its daemon answers.
pub(crate) const ASK: Duration = Duration::from_secs(20);

/// One download.
pub(crate) const DOWNLOAD: Duration = Duration::from_secs(30 * 60);

/// One build from source.
pub(crate) const BUILD: Duration = Duration::from_secs(2 * 60 * 60);

/// Another process that is fetching the same server.
pub(crate) const CACHE_LOCK: Duration = Duration::from_secs(3 * 60 * 60);

/// Number of ports to try if another process takes the chosen one before the server does.
pub(crate) const PORT_TRIES: usize = 5;

/// Removing a folder in which a dying process may still create files.
pub(crate) const REMOVE_TRIES: usize = 20;
