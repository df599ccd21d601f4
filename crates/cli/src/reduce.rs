//! `anchorite reduce`: the smallest case that still shows the same finding.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_drivers::endpoint::without_password;
use anchorite_hunt::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};
use anchorite_model::{Case, Finding, Level, Origin, Pair, Signature};
use anchorite_report::hunt_summary::many;
use anchorite_stage::{Arena, FreshTables, Limits, RunOptions};
use anyhow::Context;
use clap::{Args, Parser};

use crate::exit::{BadInput, Exit};
use crate::files::{Script, finding_at, read};
use crate::hunt::{duration, known_issues};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::LoginArgs;
use crate::oracles::{self, OracleChoice};
use crate::output::{complain, print, tell};
use crate::second::{Second, SecondArgs};
use crate::targets::{self, OpenTarget};

/// Arguments of `reduce`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anchorite reduce cases/bugs/MDEV-27992.case --on mariadb@10.11
  anchorite reduce cases/bugs/MDEV-26643.case --on mariadb@10.11 --strict --out smaller.case")]
pub struct ReduceArgs {
    /// A .case file, a finding.json, or the folder of a finding
    file: PathBuf,
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: String,
    /// ru, rc, rr, si, ser or default; default: that of the case or the finding
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelChoice>,
    #[arg(long = "oracle", value_name = "ORACLE", help = oracles::help("Which oracles judge"),
          long_help = oracles::long_help("Which oracles judge"))]
    oracle: Vec<OracleChoice>,
    /// Count documented exceptions as violations
    #[arg(long)]
    strict: bool,
    /// Run the case this many times before and after the reduction
    #[arg(long, value_name = "K", default_value_t = Effort::default().confirmations,
          value_parser = clap::value_parser!(u32).range(1..))]
    confirm: u32,
    /// Stop after this time (90s, 10m; a bare number is seconds) and keep the smallest case so far
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    time: Duration,
    /// Known issues to compare with: a folder of entries like those in known/, or none;
    /// default: the built-in ones
    #[arg(long, value_name = "DIR")]
    known: Option<PathBuf>,
    /// Write the reduced case to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    second: SecondArgs,
    #[command(flatten)]
    login: LoginArgs,
}

/// What to reduce.
struct Subject {
    case: Case,
    level: Option<Level>,
    signature: Option<Signature>,
    origin: Origin,
}

/// Reduces a case or a finding.
pub fn run(arguments: &ReduceArgs) -> anyhow::Result<ExitCode> {
    let subject = read_subject(&arguments.file)?;
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    let open = OpenTarget::open(&arguments.on, &login)?;
    let second = Second::open(arguments.second.against.as_deref(), &login)?;
    second.as_ref().map(|second| second.must_be_like(open.target.as_ref())).transpose()?;
    let options = RunOptions {
        interrupt: Arc::clone(&interrupt.flag),
        limits: Limits::hurried(),
        ..RunOptions::default()
    };
    let targets = (open.target.as_ref(), second.as_ref());
    let exit = interrupt.attend(|| reduce(arguments, &subject, targets, &options))?;
    Ok(exit.into())
}

/// Reduces a case that is in no file, with the defaults of the command, and prints what is left.
pub fn reduce_case(
    case: &Case,
    (on, target): (&str, &dyn Target),
    oracle: &[OracleChoice],
    strict: bool,
    options: &RunOptions,
) -> anyhow::Result<Exit> {
    let Reduction { reduce: mut arguments } =
        Reduction::parse_from(["reduce", "typed", "--on", on]);
    arguments.oracle = oracle.to_vec();
    arguments.strict = strict;
    let origin = Origin::File(case.name.clone());
    let subject = Subject { case: case.clone(), level: None, signature: None, origin };
    reduce(&arguments, &subject, (target, None), options)
}

/// The command by itself, for its defaults.
#[derive(Parser)]
struct Reduction {
    #[command(flatten)]
    reduce: ReduceArgs,
}

fn read_subject(path: &Path) -> anyhow::Result<Subject> {
    if let Some(finding) = finding_at(path)? {
        if !finding.before.is_empty() {
            return Err(BadInput(format!(
                "{}: this finding is a sequence of {} cases, which the hunt has already reduced; a single case is \
                 reduced on fresh tables, where it does not show (docs/hunt.md tells how to repeat it)",
                path.display(),
                finding.before.len() + 1
            ))
            .into());
        }
        return Ok(Subject {
            level: finding.run.level,
            case: finding.run.case,
            signature: Some(finding.signature),
            origin: finding.origin,
        });
    }
    let name = path.display().to_string();
    match read(path)? {
        Script::Case(case) => {
            Ok(Subject { case: *case, level: None, signature: None, origin: Origin::File(name) })
        }
        Script::Spec(_) => Err(BadInput(format!("{name}: expected a .case file")).into()),
    }
}

fn reduce(
    arguments: &ReduceArgs,
    subject: &Subject,
    (target, second): (&dyn Target, Option<&Second>),
    options: &RunOptions,
) -> anyhow::Result<Exit> {
    let level = match arguments.level {
        Some(LevelChoice::All) => {
            return Err(BadInput("--level all: expected one level".to_owned()).into());
        }
        Some(choice) => chosen(&[choice], target)?[0],
        None => subject.level,
    };
    let oracles = oracles::chosen(&arguments.oracle, second.is_some());
    let claims = Claims::for_target(target.info());
    // A finding that is a documented exception was found with `--strict`, so it is searched for in the same way.
    let excepted = subject.signature.as_ref().is_some_and(|found| found.exception.is_some());
    let examiner = Examiner { claims, oracles: &oracles, strict: arguments.strict || excepted };
    let mut fast = Arena::new(target, options.clone())?;
    let mut fresh = FreshTables { target, options: options.clone() };
    let fast_there = second.map(|second| Arena::new(second.target.as_ref(), options.clone()));
    let mut fast_there = fast_there.transpose()?;
    let mut fresh_there = second.map(|second| second.fresh(options.clone()));
    let mut fast = Pair::new(&mut fast, fast_there.as_mut());
    let mut fresh = Pair::new(&mut fresh, fresh_there.as_mut());
    let suspect = Suspicion {
        case: &subject.case,
        level,
        signature: subject.signature.clone(),
        origin: subject.origin.clone(),
        on: &without_password(&arguments.on),
        against: second.map(|second| second.on.as_str()),
    };
    let effort =
        Effort { confirmations: arguments.confirm, time: arguments.time, ..Effort::default() };
    let start = Instant::now();
    let known = known_issues(arguments.known.as_deref())?;
    let recorded = Recorded { known: &known, found: &[] };
    let outcome = investigate(&examiner, &mut fast, &mut fresh, &suspect, &effort, recorded)?;
    conclude(outcome, start.elapsed().as_secs_f64(), arguments.out.as_deref())
}

/// Says what came of it, and writes it where it is wanted.
fn conclude(outcome: Investigation, seconds: f64, out: Option<&Path>) -> anyhow::Result<Exit> {
    match outcome {
        Investigation::Confirmed { finding, questions, complete } => {
            let rest = if complete { "" } else { ", stopped before the end" };
            let questions = many(questions as u64, "question", "questions");
            tell(&format!("{questions}, {seconds:.1} s{rest}"));
            let text = described(&finding);
            match out {
                None => print(&text),
                Some(file) => std::fs::write(file, text)
                    .with_context(|| format!("cannot write {}", file.display()))?,
            }
            let is_known = finding.known.is_some() && !finding.unreported;
            Ok(if is_known { Exit::Fine } else { Exit::Violation })
        }
        // Only a campaign has earlier findings.
        Investigation::Again(_) => Ok(Exit::Violation),
        Investigation::Flaky(confirmed) => {
            let (shown, runs) = (confirmed.shown, confirmed.runs);
            complain(&format!(
                "flaky: it occurred in {shown} of {runs} runs, so it cannot be reduced"
            ));
            Ok(Exit::NothingJudged)
        }
        Investigation::NotShownAgain { runs } => {
            complain(&format!(
                "nothing to reduce: no violation in {}",
                many(runs.into(), "run", "runs")
            ));
            Ok(Exit::Fine)
        }
    }
}

/// The reduced case as the text of a `.case` file that says in its header what it is.
fn described(finding: &Finding) -> String {
    let mut case = finding.reduced_case();
    let mut say = |key: &str, value: String| case.header.other.push((key.to_owned(), value));
    let found = &finding.signature;
    say("found", format!("{}: {}", found.oracle, found.anomaly));
    say("fingerprint", finding.fingerprint.clone());
    finding.cause.iter().for_each(|cause| say("cause", cause.to_string()));
    finding.known.iter().for_each(|name| say("known", name.clone()));
    say("confirmed", format!("{} of {} runs", finding.confirmed.shown, finding.confirmed.runs));
    for contrast in &finding.contrast {
        say("contrast", format!("{}: {}", contrast.change, contrast.outcome));
    }
    case.to_text()
}
