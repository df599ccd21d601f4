//! Progress reports of long downloads and builds.

/// Receives what is going on. The crate itself prints nothing.
pub trait Progress: Sync {
    /// A new step has begun, for instance `downloading mysql-server-core from sid`.
    fn step(&self, text: &str);

    /// A line of output of the program that does the current step.
    fn detail(&self, text: &str);
}

/// Discards all reports.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _text: &str) {}
    fn detail(&self, _text: &str) {}
}
