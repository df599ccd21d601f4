//! `anchorite stress`: real concurrency, judged while it runs.
//!
//! The library does the work; this file handles the arguments, the target, the file of the history and the output.

mod faults;
mod live;
mod output;
mod page;
mod repeat;
mod sqlite;

pub use sqlite::serve_sqlite;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anchorite_drivers::sabotage::{Sabotage, sabotaged_at_full_speed};
use anchorite_drivers::sqlite::SqliteApart;
use anchorite_model::Level;
use anchorite_model::nearest::did_you_mean;
use anchorite_servers::SmallDisk;
use anchorite_stress::{
    Embedded, Fault, Options, PrivateServer, Processes, Ran, Standing, Status, StressError,
    Workload, run_on,
};
use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::exit::{BadInput, Exit};
use crate::history_file::HistoryFile;
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
Workloads: register, list-append, bank, long-fork, write-skew, predicate, sets, counters, hot,
generated.
After each fault everything that was committed must be there, and nothing half of a transaction. kill-server, pause,
fill-disk and lose-power need a private server; one that is killed or runs out of disk gets the settings with which its
vendor promises that no commit is lost. On sqlite:wal kill-server kills all sessions, which are processes of their own,
with synchronous = FULL. fill-disk mounts a small disk for the data, if the system permits it; also for sqlite.
lose-power takes back what no disk was told to keep: it needs a server with fsync = off.

Examples:
  anchorite stress --time 2s
  anchorite stress --on sqlite:wal --workload bank --txns 500 --history bank.jsonl.gz
  anchorite stress --on postgres@15 --level rc --workload register --sessions 8 --time 30s
  anchorite stress --on mariadb@10.11 --level ser --format json
  anchorite stress --time 5s --html stress.html
  anchorite stress --faults cut --fault-every 100 --txns 500
  anchorite stress --on sqlite:wal --faults kill-server --fault-every 100 --txns 500
  anchorite stress --on postgres@15 --faults kill-server --faults cut --txns 3000
  anchorite stress --on postgres@15 --faults kill-server --set synchronous_commit=off --txns 3000
  anchorite stress --on sqlite:wal --faults fill-disk --txns 1000
  anchorite stress --on sqlite:wal --sabotage commit-lost --txns 500
  anchorite stress --on postgres@15 --faults lose-power --set fsync=off --txns 3000")]
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
    /// What is done to sessions and the server meanwhile; repeatable: kill-session, cancel, cut, kill-server, pause,
    /// fill-disk, lose-power
    #[arg(
        long = "faults",
        visible_alias = "fault",
        value_name = "NAME",
        conflicts_with = "unjudged"
    )]
    faults: Vec<String>,
    /// Transactions from one fault to the next, on average
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(2..))]
    fault_every: u64,
    /// Plant a fault between the sessions and the target, to see it found; names as in selftest
    #[arg(long, value_name = "NAME", conflicts_with_all = ["unjudged", "faults"], value_parser = sabotage)]
    sabotage: Option<Sabotage>,
    /// A setting of the private server; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = crate::server_start::setting)]
    settings: Vec<crate::server_start::Setting>,
    /// Only make the load: nothing is recorded or judged, to measure what that costs
    #[arg(long, conflicts_with = "history")]
    unjudged: bool,
    /// Write a page with the run over time and every anomaly to this file
    #[arg(long, value_name = "FILE", conflicts_with = "unjudged")]
    html: Option<PathBuf>,
    /// Write the page, and for every finding a case that shows it, to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "unjudged")]
    out: Option<PathBuf>,
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

impl StressArgs {
    fn make_folder(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.out else { return Ok(()) };
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("cannot create {}", folder.display()))
    }

    fn options(
        &self,
        level: Option<Level>,
        workloads: &[Workload],
        faults: Vec<Fault>,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Options {
        let time = self.time.or(self.txns.is_none().then(|| Duration::from_secs(10)));
        Options {
            level,
            sessions: self.sessions.into(),
            workloads: workloads.to_vec(),
            seed,
            time: time.unwrap_or(Duration::MAX),
            transactions: self.txns.unwrap_or(UNLIMITED),
            at_once: true,
            is_judged: !self.unjudged,
            faults,
            fault_every: self.fault_every,
            interrupt: Arc::clone(&interrupt.flag),
        }
    }
}

/// Where a run takes place.
struct Place<'o> {
    open: &'o mut OpenTarget,
    apart: Option<&'o SqliteApart>,
    disk: Option<SmallDisk>,
    /// Further arguments of its server.
    extra: Vec<String>,
}

/// How a run went, and how often what was planted has acted.
type Went = (Result<Ran, StressError>, Option<u64>);

impl Place<'_> {
    fn run(
        self,
        options: &Options,
        sabotage: Option<Sabotage>,
        out: Option<&mut (dyn Write + Send)>,
        watch: &mut dyn FnMut(&Status),
    ) -> Went {
        let Self { open, apart, disk, extra } = self;
        let target = open.target.as_ref();
        if let Some(sabotage) = sabotage {
            let planted = sabotaged_at_full_speed(target, sabotage);
            let ran = anchorite_stress::run(&planted, options, out, watch);
            return (ran, Some(planted.acts()));
        }
        if let Some(apart) = apart {
            let mut own = Processes(apart, disk);
            return (run_on(apart, options, Some(&mut own), out, watch), None);
        }
        let ran = match (&mut open.server, disk) {
            (Some(server), disk) => {
                let mut own = PrivateServer::new(server, extra).with_disk(disk);
                run_on(target, options, Some(&mut own), out, watch)
            }
            (None, Some(disk)) => run_on(target, options, Some(&mut Embedded(disk)), out, watch),
            (None, None) => run_on(target, options, None, out, watch),
        };
        (ran, None)
    }
}

/// Runs and shows it.
pub fn run(arguments: &StressArgs) -> anyhow::Result<ExitCode> {
    let workloads = workloads(&arguments.workloads)?;
    let faults = faults::chosen(&arguments.faults)?;
    let disk = faults::disk(&arguments.on, &faults)?;
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    arguments.make_folder()?;
    let seed = arguments.seed.map_or_else(crate::hunt::random_seed, Ok)?;
    let mut history = arguments.history.as_deref().map(HistoryFile::create).transpose()?;
    let extra = faults::arguments(&arguments.on, &faults, &arguments.settings)?;
    let mut open = OpenTarget::open_with(&arguments.on, &login, extra.clone())?;
    let apart = sqlite::apart(&arguments.on, &faults)?;
    faults::check(&open, apart.is_some(), disk.is_some(), &faults)?;
    let levels = chosen(&[arguments.level], open.target.as_ref())?;
    let [level] = levels[..] else {
        return Err(BadInput("--level all is not possible here: name one level".to_owned()).into());
    };
    let options = arguments.options(level, &workloads, faults, seed, &interrupt);
    let mut line = live::Live::new();
    let at = Place { open: &mut open, apart: apart.as_ref(), disk, extra };
    let (ran, acts) = interrupt.attend(|| {
        let out = history.as_mut().map(|file| &mut file.out as &mut (dyn Write + Send));
        at.run(&options, arguments.sabotage, out, &mut |status| line.show(status))
    });
    let planted = arguments.sabotage.zip(acts);
    line.clear();
    if let Some(history) = history {
        history.finish()?;
    }
    let was_interrupted = interrupt.flag.load(Ordering::Relaxed);
    let mut ran = match ran {
        Ok(ran) => ran,
        Err(_) if was_interrupted => return Ok(Exit::Interrupted.into()),
        Err(error) => return Err(told(error)),
    };
    if !was_interrupted && ran.lost.is_none() {
        let repeat = repeat::Repeat {
            target: open.target.as_ref(),
            on: &anchorite_drivers::endpoint::without_password(&arguments.on),
            options: repeat::options(&ran, &interrupt.flag),
            out: arguments.out.as_deref(),
        };
        interrupt.attend(|| repeat.all(&mut ran))?;
    }
    let info = open.target.info();
    let about =
        output::About { info, seed, workloads: &workloads, sessions: options.sessions, planted };
    let in_folder = arguments.out.as_ref().map(|folder| folder.join("stress.html"));
    for path in arguments.html.iter().chain(&in_folder) {
        page::write(path, &about, &ran)?;
    }
    match arguments.format {
        Format::Text => crate::output::print(&output::text(&about, &ran)),
        Format::Json => crate::output::print(&output::json(&about, &ran)),
    }
    Ok(exit_of(&ran, was_interrupted, options.is_judged).into())
}

fn exit_of(ran: &Ran, was_interrupted: bool, is_judged: bool) -> Exit {
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
        StressError::Fault(reason) => BadInput(reason).into(),
        StressError::Gone { .. } => {
            let (endpoint, reason) = ("the target".to_owned(), error.to_string());
            anchorite_drivers::TargetError::Connect { endpoint, reason }.into()
        }
        StressError::History(error) => {
            anyhow::Error::from(error).context("cannot write the history")
        }
    }
}

fn sabotage(text: &str) -> Result<Sabotage, String> {
    text.parse().map_err(|error: anchorite_drivers::sabotage::UnknownSabotage| {
        let names: Vec<&str> = Sabotage::ALL.iter().map(|one| one.name()).collect();
        format!("{error}{}", did_you_mean(text, names.iter().copied()))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: StressArgs,
    }

    #[test]
    fn faults_are_named_in_the_plural_and_the_singular() {
        let line = ["stress", "--faults", "cut", "--fault", "pause"];
        let line = Line::try_parse_from(line).expect("a command line");
        assert_eq!(line.arguments.faults, ["cut", "pause"]);
    }
}
