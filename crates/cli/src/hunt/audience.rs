//! What is shown while a hunt runs: a live line on a terminal, elsewhere a plain line now and then.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anchorite_hunt::Audience;
use anchorite_model::{FindingLine, HuntSummary};
use indicatif::{ProgressBar, ProgressStyle};

use super::words;
use crate::output::{live_width, progress_target, tell};

/// The interval between plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// The columns in front of the live line.
const SPINNER: usize = 2;

/// The live line.
pub struct Live {
    bar: ProgressBar,
    time: Option<Duration>,
    last_plain: Mutex<Instant>,
}

impl Live {
    /// Starts the display.
    pub fn new(time: Option<Duration>) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(progress_target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar, time, last_plain: Mutex::new(Instant::now()) }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Audience for Live {
    fn live(&self, so_far: &HuntSummary) {
        if !self.bar.is_hidden() {
            let width = live_width().saturating_sub(SPINNER);
            self.bar.set_message(words::live(so_far, self.time, Some(width)));
            self.bar.tick();
            return;
        }
        let mut last = self.last_plain.lock().unwrap_or_else(|poison| poison.into_inner());
        if last.elapsed() >= PLAIN_EVERY {
            *last = Instant::now();
            tell(&words::live(so_far, self.time, None));
        }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| tell(text));
    }

    fn found(&self, finding: &FindingLine) {
        self.say(&words::found(finding));
    }
}
