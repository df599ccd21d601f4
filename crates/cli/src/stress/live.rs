//! The line on standard error while a run goes on.

use std::time::Duration;

use anchorite_stress::{Standing, Status};
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::output::progress_target;

/// How often rates are computed anew.
const EVERY: Duration = Duration::from_millis(900);

/// The line.
pub struct Live {
    bar: ProgressBar,
    last: (Duration, u64, u64),
    rates: [f64; 2],
}

impl Live {
    /// A line that shows nothing yet.
    pub fn new() -> Self {
        let target: ProgressDrawTarget = progress_target();
        let bar = ProgressBar::with_draw_target(None, target);
        let style = indicatif::ProgressStyle::with_template("{msg}");
        let bar = style.map_or(bar.clone(), |style| bar.with_style(style));
        Self { bar, last: Default::default(), rates: [0.0; 2] }
    }

    /// Shows what has been counted.
    pub fn show(&mut self, status: &Status) {
        let since = status.elapsed.saturating_sub(self.last.0);
        if since >= EVERY {
            let counts = [status.committed - self.last.1, status.statements - self.last.2];
            self.rates = counts.map(|count| count as f64 / since.as_secs_f64());
            self.last = (status.elapsed, status.committed, status.statements);
        }
        self.bar.set_message(line(status, self.rates));
    }

    /// Removes it.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(status: &Status, [transactions, statements]: [f64; 2]) -> String {
    let aborts: Vec<String> =
        status.aborts.iter().map(|(class, count)| format!("{count} {}", class.name())).collect();
    let worst_first = status.names.iter().rev();
    let names: Vec<String> = worst_first
        .map(|((standing, name), count)| match standing {
            Standing::Violation => format!("{count} {name} FORBIDDEN"),
            _ => format!("{count} {name} {}", standing.name()),
        })
        .collect();
    let or_none = |words: Vec<String>| match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    };
    format!(
        "{} s, {} transactions, {transactions:.0} per second, {statements:.0} statements per second; aborts: {}; \
         anomalies: {}; judge: {} events behind, {} transactions kept; {} MB",
        status.elapsed.as_secs(),
        status.committed,
        or_none(aborts),
        or_none(names),
        status.lag,
        status.kept,
        memory_mb().map_or("?".to_owned(), |size| size.to_string()),
    )
}

/// The memory of this process that is in use.
fn memory_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::ErrorClass;

    #[test]
    fn the_line_has_rates_aborts_by_class_and_anomalies_by_name() {
        let mut status = Status { committed: 12, kept: 5, lag: 3, ..Status::default() };
        let quiet = line(&status, [4.0, 9.0]);
        assert!(quiet.contains("aborts: none; anomalies: none; judge: 3 events behind"), "{quiet}");
        status.aborts.insert(ErrorClass::Deadlock, 7);
        status.names = vec![((Standing::Allowed, "P4"), 2), ((Standing::Violation, "G1a"), 1)];
        let busy = line(&status, [4.0, 9.0]);
        assert!(
            busy.contains("4 per second, 9 statements per second; aborts: 7 deadlock"),
            "{busy}"
        );
        assert!(busy.contains("anomalies: 1 G1a FORBIDDEN, 2 P4 allowed"), "{busy}");
    }
}
