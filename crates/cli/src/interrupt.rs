//! Ctrl-C, SIGTERM and SIGHUP in commands that run cases.
//!
//! While a case runs, the first signal only sets a flag: the stage sees it, and sessions are closed, our schemas
//! dropped and private servers stopped as in a normal exit. At any other time (while a server is being fetched or
//! started), and at a second signal, everything is stopped and removed at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Tells running cases to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    /// Set by the first signal; the stage checks it.
    pub flag: Arc<AtomicBool>,
    /// The signal that came last; 0 if none has.
    pub signal: Arc<AtomicI32>,
    attended: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen.
    pub fn listen() -> anyhow::Result<Self> {
        let interrupt = Self::default();
        let listener = interrupt.clone();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                listener.signal.store(signal, Ordering::SeqCst);
                let first = !listener.flag.swap(true, Ordering::SeqCst);
                if !(first && listener.attended.load(Ordering::SeqCst)) {
                    anchorite_servers::stop_all();
                    std::process::exit(128 + signal);
                }
            }
        });
        Ok(interrupt)
    }

    /// Runs something that checks the flag itself.
    pub fn attend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.attended.store(true, Ordering::SeqCst);
        let result = work();
        self.attended.store(false, Ordering::SeqCst);
        result
    }
}
