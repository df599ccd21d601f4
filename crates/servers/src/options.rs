//! How a server is to be started.

use crate::{Endpoint, Progress};

/// Asks whether a server is ready: its version, or why not. Called repeatedly until it succeeds, so an attempt should
/// fail early rather than wait long.
pub type Ready<'a> = dyn Fn(&Endpoint) -> Result<String, String> + 'a;

/// How a server is to be started.
pub struct Options<'a> {
    /// Further arguments of the server program, after ours.
    pub extra_args: Vec<String>,
    /// Asks whether it is ready.
    pub ready: &'a Ready<'a>,
    /// Receives progress reports.
    pub progress: &'a dyn Progress,
}
