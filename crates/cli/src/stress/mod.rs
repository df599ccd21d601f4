//! `anchorite stress`: real concurrency, judged while it runs.
//!
//! The library does the work; this file handles the arguments, the target, the file of the history and the output.

mod output;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anchorite_model::nearest::did_you_mean;
use anchorite_stress::{Options, Standing, StressError, Workload};
use anyhow::Context;
use clap::{Args, ValueEnum};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::exit::{BadInput, Exit};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::LoginArgs;
use crate::targets::{self, OpenTarget};

/// Transactions without `--txns`.
const UNLIMITED: u64 = u64::MAX;

/// Arguments of `stress`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1 means that an anomaly was seen that the level forbids. Without --workload all of them are mixed.
Workloads: register, list-append, bank, long-fork, write-skew, predicate, sets, counters, generated.

Examples:
  anchorite stress --time 2s
  anchorite stress --on sqlite:wal --workload bank --txns 500 --history bank.jsonl.gz
  anchorite stress --on postgres@15 --level rc --workload register --sessions 8 --time 30s
  anchorite stress --on mariadb@10.11 --level ser --format json")]
pub struct StressArgs {
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: String,
    /// ru, rc, rr, si, ser or default
    #[arg(long, value_name = "LEVEL", default_value = "default")]
    level: LevelChoice,
    /// Sessions that run at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    sessions: u16,
    /// What the transactions do; repeatable; default: all workloads, mixed
    #[arg(long = "workload", value_name = "NAME")]
    workloads: Vec<String>,
    /// How long, such as 30s or 10m; default 10s without --txns
    #[arg(long, value_name = "TIME", value_parser = crate::hunt::duration)]
    time: Option<Duration>,
    /// How many transactions at most
    #[arg(long, value_name = "N")]
    txns: Option<u64>,
    /// Seed of the transactions; the same seed makes the same ones, but not the same interleaving
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the history to this file, for anchorite check; compressed if its name ends in .gz
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Only make the load: nothing is recorded or judged, to measure what that costs
    #[arg(long, conflicts_with = "history")]
    unjudged: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    login: LoginArgs,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Runs and shows it.
pub fn run(arguments: &StressArgs) -> anyhow::Result<ExitCode> {
    let workloads = workloads(&arguments.workloads)?;
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    let seed = arguments.seed.map_or_else(crate::hunt::random_seed, Ok)?;
    let mut history = arguments.history.as_deref().map(HistoryFile::create).transpose()?;
    let open = OpenTarget::open(&arguments.on, &login)?;
    let levels = chosen(&[arguments.level], open.target.as_ref())?;
    let [level] = levels[..] else {
        return Err(BadInput("--level all is not possible here: name one level".to_owned()).into());
    };
    let time = arguments.time.or(arguments.txns.is_none().then(|| Duration::from_secs(10)));
    let options = Options {
        level,
        sessions: arguments.sessions.into(),
        workloads: workloads.clone(),
        seed,
        time: time.unwrap_or(Duration::MAX),
        transactions: arguments.txns.unwrap_or(UNLIMITED),
        at_once: true,
        is_judged: !arguments.unjudged,
        interrupt: Arc::clone(&interrupt.flag),
    };
    let mut line = output::Live::new();
    let ran = interrupt.attend(|| {
        let out = history.as_mut().map(|file| &mut file.out as &mut (dyn Write + Send));
        anchorite_stress::run(open.target.as_ref(), &options, out, &mut |status| line.show(status))
    });
    line.clear();
    if let Some(history) = history {
        history.finish()?;
    }
    let was_interrupted = interrupt.flag.load(Ordering::Relaxed);
    let ran = match ran {
        Ok(ran) => ran,
        Err(_) if was_interrupted => return Ok(Exit::Interrupted.into()),
        Err(error) => return Err(told(error)),
    };
    let info = open.target.info();
    let about = output::About { info, seed, workloads: &workloads, sessions: options.sessions };
    match arguments.format {
        Format::Text => crate::output::print(&output::text(&about, &ran)),
        Format::Json => crate::output::print(&output::json(&about, &ran)),
    }
    Ok(exit_of(&ran, was_interrupted, options.is_judged).into())
}

fn exit_of(ran: &anchorite_stress::Ran, was_interrupted: bool, is_judged: bool) -> Exit {
    let has = |standing: Standing| ran.counts.anomalies.keys().any(|kind| kind.0 == standing);
    let undecided = ran.counts.by_standing.get(&Standing::Undecided).copied().unwrap_or(0);
    if was_interrupted {
        Exit::Interrupted
    } else if has(Standing::Violation) {
        Exit::Violation
    } else if ran.lost.is_some() {
        Exit::Target
    } else if is_judged && undecided == ran.counts.committed {
        Exit::NothingJudged
    } else {
        Exit::Fine
    }
}

fn told(error: StressError) -> anyhow::Error {
    match error {
        StressError::Target(error) => error.into(),
        StressError::Statement { .. } => {
            let reason = error.to_string();
            let target = "the target".to_owned();
            anchorite_drivers::TargetError::Prepare { target, reason }.into()
        }
        StressError::History(error) => {
            anyhow::Error::from(error).context("cannot write the history")
        }
    }
}

fn workloads(names: &[String]) -> anyhow::Result<Vec<Workload>> {
    if names.is_empty() {
        return Ok(Workload::ALL.to_vec());
    }
    let read = |name: &String| {
        name.parse::<Workload>().map_err(|error| {
            let hint = did_you_mean(name, Workload::ALL.iter().map(|one| one.name()));
            BadInput(format!("{error}{hint}")).into()
        })
    };
    names.iter().map(read).collect()
}

/// The file of a history.
struct HistoryFile {
    path: PathBuf,
    out: HistoryWriter,
}

enum HistoryWriter {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
}

impl HistoryFile {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending == Some("zst") {
            let message = "a history is compressed with gzip: expected a name that ends in .gz";
            return Err(BadInput(message.to_owned()).into());
        }
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let out = BufWriter::new(file);
        let out = match ending {
            Some("gz") => HistoryWriter::Gzip(GzEncoder::new(out, Compression::fast())),
            _ => HistoryWriter::Plain(out),
        };
        Ok(Self { path: path.to_owned(), out })
    }

    fn finish(self) -> anyhow::Result<()> {
        let written = match self.out {
            HistoryWriter::Plain(mut out) => out.flush(),
            HistoryWriter::Gzip(out) => out.finish().and_then(|mut out| out.flush()),
        };
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Write for HistoryWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
        }
    }
}
