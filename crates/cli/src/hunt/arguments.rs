//! What `hunt` can be told.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::levels::LevelChoice;
use crate::login::LoginArgs;
use crate::oracles::{self, OracleChoice};

/// The budget when none is given.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// Arguments of `hunt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Findings are confirmed on fresh tables, reduced, and written to --out DIR, or else to anchorite-findings/seed-N.
Without --out, a hunt that finds nothing leaves no folder behind; with it, it can be resumed at any time.
Exit code 1 means: something new was found. 4: nothing could be judged, or no two sessions ever met.

Examples:
  anchorite hunt
  anchorite hunt --on mariadb@10.11 --level rc --time 10m --out findings
  anchorite hunt --out findings --resume
  anchorite hunt --seed 7 --case 12
  anchorite hunt --on sqlite --on sqlite:wal --seed 7 --cases 2000 --format json")]
pub struct HuntArgs {
    /// Where to hunt: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL;
    /// repeatable; default: sqlite
    #[arg(long = "on", value_name = "TARGET")]
    pub on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable; default: all that the target has, in turns
    #[arg(long = "level", value_name = "LEVEL")]
    pub level: Vec<LevelChoice>,
    #[arg(long = "oracle", value_name = "ORACLE", help = oracles::help("Who judges, beside crash, which is always on"),
          long_help = oracles::long_help("Who judges, beside crash, which is always on"))]
    pub oracle: Vec<OracleChoice>,
    /// The seed of all cases; default: a random one
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run only the case of this number, and show it in full, like `run`
    #[arg(long, value_name = "N", requires = "seed",
          conflicts_with_all = ["cases", "time", "jobs", "out", "resume", "known"])]
    pub case: Option<u64>,
    /// Stop after this many cases, shared out evenly to all targets and levels
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: Option<u64>,
    /// Stop after this time (90s, 10m, 1h); default: 60s, unless --cases is given, now or when the campaign began.
    /// Suspects get at least a minute more
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// How many workers; default: three per processor, because a worker waits for its server most of the time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// The folder for findings and progress
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with the campaign in --out DIR
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Count documented exceptions as violations
    #[arg(long)]
    pub strict: bool,
    /// A file that changes how often the generator chooses what (see crates/generate/weights.toml)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub weights: Option<PathBuf>,
    /// Issues that are counted and not shown: a folder of entries like those in known/, or none;
    /// default: the ones that are built in
    #[arg(long, value_name = "DIR|none")]
    pub known: Option<PathBuf>,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Do not ask the server who waits: silence of this many milliseconds counts as blocked
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub silence: Option<Duration>,
    /// Passwords
    #[command(flatten)]
    pub login: LoginArgs,
}

/// What the result is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// JUnit XML for a CI
    Junit,
}

impl HuntArgs {
    /// The time budget: a minute, if neither the command line nor the campaign that goes on has another end.
    pub fn time(&self, cases: Option<u64>) -> Option<Duration> {
        self.time.or_else(|| cases.is_none().then_some(DEFAULT_TIME))
    }

    /// The number of workers.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(anchorite_hunt::usual_workers, usize::from)
    }
}

/// `90s`, `10m`, `1h`, `500ms`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a time like 90s, 10m or 1h, found '{text}'");
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(expected()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| expected())
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let expected = |_| format!("expected a number of milliseconds, found '{text}'");
    text.parse().map(Duration::from_millis).map_err(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit() {
        for (text, seconds) in
            [("90s", 90.0), ("10m", 600.0), ("1h", 3600.0), ("1.5", 1.5), ("250ms", 0.25)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "soon", "10 minutes", "-3s", "1e400h", "3d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
