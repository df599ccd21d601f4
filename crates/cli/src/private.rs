//! What every command that starts a private server needs: when it is ready, what a signal does, and a sign of life.
//!
//! Blind spot: a server that greets and then refuses logins is waited for up to the limit.

use std::sync::OnceLock;
use std::time::Duration;

use anchorite_drivers::cockroach::hurry_waiters;
use anchorite_drivers::endpoint::Endpoint as Address;
use anchorite_drivers::open;
use anchorite_servers::{Endpoint, Progress, handshake, stop_all};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::output::{is_coloured, progress_target, tell};

/// From now on SIGINT, SIGTERM and SIGHUP end every throw-away server and discard everything half-made, so that a
/// pending download or start gets [`anchorite_servers::Error::Interrupted`]. Further calls have no effect.
pub fn stop_servers_on_signals() -> anyhow::Result<()> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    if INSTALLED.set(()).is_err() {
        return Ok(());
    }
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .context("cannot listen for signals")?;
    std::thread::spawn(move || signals.forever().for_each(|_| stop_all()));
    Ok(())
}

/// A server is ready when it accepts a login. Looking at its greeting first is cheap and fails fast.
pub fn ready(endpoint: &Endpoint) -> Result<String, String> {
    handshake::greets(endpoint)?;
    let url = endpoint.url();
    let target = open(&url).map_err(|error| error.to_string())?;
    if endpoint.product.descriptor().driver == "cockroach" {
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        hurry_waiters(&address).map_err(|error| error.to_string())?;
    }
    Ok(target.info().version.clone())
}

/// Progress on standard error: a spinner on a terminal, plain lines elsewhere.
pub struct Spinner {
    bar: ProgressBar,
}

impl Spinner {
    /// Starts the spinner.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(progress_target());
        let template = match is_coloured(&std::io::stderr()) {
            true => "{spinner} {prefix} {wide_msg:.dim}",
            false => "{spinner} {prefix} {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }

    /// Removes the spinner.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Progress for Spinner {
    fn step(&self, text: &str) {
        if self.bar.is_hidden() {
            tell(text);
        }
        self.bar.set_prefix(text.to_owned());
        self.bar.set_message("");
    }

    fn detail(&self, text: &str) {
        self.bar.set_message(text.to_owned());
    }
}
