//! The arguments of `hunt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::levels::LevelChoice;
use crate::login::LoginArgs;
use crate::oracles::{self, OracleChoice};
use crate::second::SecondArgs;

/// The budget when none is given.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// Arguments of `hunt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Findings are confirmed on fresh tables, reduced, and written to --out DIR, or by default to anchorite-findings/seed-N.
Without --out, a hunt that finds nothing leaves no folder behind; with --out, it can be resumed at any time.
Exit code 1 means that something new was found; 4, that nothing could be judged or no two sessions ever conflicted.

Examples:
  anchorite hunt
  anchorite hunt --on mariadb@10.11 --level rc --time 10m --out findings
  anchorite hunt --out findings --resume
  anchorite hunt --seed 7 --case 12
  anchorite hunt --on mariadb@10.11 --against mariadb@11.8
  anchorite hunt --on sqlite --on sqlite:wal --seed 7 --cases 2000 --format json")]
pub struct HuntArgs {
    /// Where to hunt: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL;
    /// repeatable; default: sqlite
    #[arg(long = "on", value_name = "TARGET")]
    pub on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable; default: all that the target has
    #[arg(long = "level", value_name = "LEVEL")]
    pub level: Vec<LevelChoice>,
    #[arg(long = "oracle", value_name = "ORACLE", help = oracles::help("Which oracles judge, besides crash"),
          long_help = oracles::long_help("Which oracles judge, besides crash (always on)"))]
    pub oracle: Vec<OracleChoice>,
    /// The seed for all cases; default: a random one
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run only the case with this number, and show it in full, like `run`
    #[arg(long, value_name = "N", requires = "seed",
          conflicts_with_all = ["cases", "time", "jobs", "out", "resume", "known"])]
    pub case: Option<u64>,
    /// Stop after this many cases, distributed evenly over all targets and levels
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: Option<u64>,
    /// Stop after this time (90s, 10m, 1h); default: 60s, unless --cases is given now or was given when the campaign
    /// began. Examining suspects may take another minute or more
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Number of workers; default: three per processor, because a worker mostly waits for its server
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// The folder for findings and progress
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the campaign in --out DIR
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Count documented exceptions as violations
    #[arg(long)]
    pub strict: bool,
    /// A file that changes how often the generator chooses each option (see crates/generate/weights.toml)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub weights: Option<PathBuf>,
    /// Known issues, which are counted and not shown: a folder of entries like those in known/, or none; default: the
    /// built-in ones
    #[arg(long, value_name = "DIR|none")]
    pub known: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Do not ask the server who waits: no answer for this many milliseconds counts as blocked
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub silence: Option<Duration>,
    /// Continue after a crash of an engine in this process; the command starts itself with it
    #[arg(long, value_name = "DIR", hide = true)]
    pub after_crash: Option<PathBuf>,
    /// The second target
    #[command(flatten)]
    pub second: SecondArgs,
    /// Passwords
    #[command(flatten)]
    pub login: LoginArgs,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// JUnit XML for CI
    Junit,
}

impl HuntArgs {
    /// The time budget: a minute, unless the command line or the resumed campaign sets another limit.
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
