//! `anchorite run`: runs cases and specs, shows what happened, judges it, and compares it with what the cases say.
//!
//! A single file is shown in full. A folder of cases is a regression run: one line per run, then in full those that
//! need attention, a table, and a summary.

mod history;
mod specs;
mod task;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anchorite_model::{Ending, Verdict};
use anchorite_report::{RunResult, Runs};
use anchorite_stage::{Asking, RunOptions};
use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::files::{collect, read};
use crate::interrupt::Interrupt;
use crate::levels::LevelChoice;
use crate::login::LoginArgs;
use crate::oracles::{self, OracleChoice};
use crate::output::{self, complain};
use crate::second::{Second, SecondArgs};
use crate::targets;
pub use task::judged;
use task::{Done, RunTask};

/// With more cases than this, runs that need no attention get a single line.
const SHOWN_IN_FULL_MAX: usize = 5;

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1 means a violation that the case does not announce, or a result that differs from what the case says (its
expect, manifests, absent and seen lines) on a release that was measured.

Examples:
  anchorite run cases/probe/P4.case
  anchorite run cases/waits cases/honest --jobs 4
  anchorite run cases/bugs/MDEV-26642.case --on mariadb@10.11 --level all
  anchorite run cases/bugs/MDEV-27992.case --on mariadb@10.11 --oracle final-state
  anchorite run cases/probe/P4.case cases/probe/G2.case --same-tables
  anchorite run cases/probe/G2.case --on postgres@15 --level rr --history G2.jsonl
  anchorite run deadlock-hard.spec --on postgres@15 --format isolationtester")]
pub struct RunArgs {
    /// .case files, PostgreSQL isolation .spec files, or folders with such files at any depth
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL; repeatable
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable; default: that of the case
    #[arg(long = "level", value_name = "LEVEL")]
    level: Vec<LevelChoice>,
    #[arg(long = "oracle", value_name = "ORACLE", help = oracles::help("Which oracles judge"),
          long_help = oracles::long_help("Which oracles judge"))]
    oracle: Vec<OracleChoice>,
    /// Count documented exceptions as violations
    #[arg(long)]
    strict: bool,
    /// Run everything this many times
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Run this many cases at once, each in its own schema
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// Run the cases in the given order on one set of tables and sessions, which are kept from case to case as in a
    /// hunt: repeats a finding that needs used tables
    #[arg(long, conflicts_with = "jobs")]
    same_tables: bool,
    /// Show every run in full, even with many cases
    #[arg(long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Do not ask the server who waits: no answer for this many milliseconds counts as blocked
    #[arg(long, value_name = "MS")]
    silence: Option<u64>,
    /// Also run the case on tables that tell who wrote each row, and write what happened for `anchorite check`: one
    /// case on one target at one level; compressed if the name ends in .gz
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    #[command(flatten)]
    second: SecondArgs,
    #[command(flatten)]
    login: LoginArgs,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: one column per session
    Text,
    /// One JSON document
    Json,
    /// Markdown for an issue tracker
    Md,
    /// JUnit XML for CI
    Junit,
    /// What PostgreSQL's isolationtester prints (.spec files on postgres)
    Isolationtester,
}

/// Runs the files on every target, at every level, as many times as requested.
pub fn run(arguments: &RunArgs) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let is_wanted = |ending: &str| ending == "spec" || arguments.format != Format::Isolationtester;
    let files = collect(&arguments.files, &is_wanted)?;
    let scripts = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let interrupt = Interrupt::listen()?;
    let asking =
        arguments.silence.map_or(Asking::Server, |ms| Asking::Silence(Duration::from_millis(ms)));
    let flag = Arc::clone(&interrupt.flag);
    let options = RunOptions { asking, interrupt: flag, ..RunOptions::default() };
    let login = arguments.login.read(&interrupt)?;
    let second = Second::open(arguments.second.against.as_deref(), &login)?;
    let oracles = oracles::chosen(&arguments.oracle, second.is_some());
    let scripts = &scripts;
    let task = RunTask { arguments, scripts, oracles, options, login, second, interrupt };
    if arguments.format == Format::Isolationtester {
        return task.run_specs();
    }
    let mut done = Done::default();
    let outcome = task.run_cases(&mut done);
    let Done { results, failures } = done;
    let brief = files.len() > SHOWN_IN_FULL_MAX && !arguments.verbose;
    let elapsed = (results.len() > 1).then(|| started.elapsed());
    let runs = Runs { results: &results, failures: &failures, elapsed, brief };
    let is_empty = results.is_empty() && failures.is_empty();
    // What ran before a failure is still shown.
    if !is_empty || arguments.format == Format::Json {
        show(arguments.format, runs);
    }
    outcome?;
    for failure in &failures {
        let (case, target) = (&failure.case, &failure.target);
        complain(&format!("{case} could not be run on {target}: {}", failure.message));
    }
    if is_empty {
        complain("nothing ran: no case is written for these targets");
        return Ok(Exit::NothingJudged.into());
    }
    let exit = if failures.is_empty() { exit_for(&results) } else { Exit::Target };
    Ok(exit.into())
}

/// The exit code for all results. A violation that its own case announces is known; one that is announced but does not
/// occur on a release where it was measured also counts as new.
pub fn exit_for(results: &[RunResult]) -> Exit {
    let mut judged = results.iter().filter(|result| !result.verdicts.is_empty()).peekable();
    if results.iter().any(|result| result.is_violation() || result.differs()) {
        Exit::Violation
    } else if results.iter().any(|result| matches!(result.run.ending, Ending::TargetLost(_))) {
        Exit::Target
    } else if judged.peek().is_some() && judged.all(is_left_open) {
        Exit::NothingJudged
    } else {
        Exit::Fine
    }
}

/// Whether an oracle abstained, and no other one judged the run as a whole: those that look at one thing only say
/// nothing about the rest.
fn is_left_open(result: &RunResult) -> bool {
    let abstained = |(_, verdict): &(String, Verdict)| matches!(verdict, Verdict::Undecided { .. });
    result.covers.is_empty() && result.verdicts.iter().any(abstained)
}

fn show(format: Format, runs: Runs<'_>) {
    let text = match format {
        Format::Json => anchorite_report::json(runs, env!("CARGO_PKG_VERSION")),
        Format::Md => anchorite_report::markdown(runs, &ToString::to_string),
        Format::Junit => anchorite_report::junit(runs),
        Format::Text | Format::Isolationtester => {
            anchorite_report::text(runs, &output::text_options())
        }
    };
    output::print(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_judge::{Agreement, Comparison, Remark};
    use anchorite_model::Case;
    use anchorite_stage::run_case;

    /// A run with this verdict and what the case says about it.
    fn result(verdict: Verdict, agreement: Option<Agreement>, announced: bool) -> RunResult {
        let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
        let case = Case::parse("x", "/* t1 */ SELECT 1;\n").expect("a valid case");
        let run = run_case(target.as_ref(), &case, &RunOptions::default()).expect("a run");
        let remark = |agreement| Remark { agreement, sentence: "as it is".to_owned() };
        let remarks = agreement.map(remark).into_iter().collect();
        let compared = Comparison { remarks, announced };
        RunResult { verdicts: vec![("final-state".to_owned(), verdict)], compared, ..run.into() }
    }

    #[test]
    fn what_is_announced_is_known_and_what_differs_is_news() {
        use Agreement::{AsExpected, Differs, OtherVersion};
        let violation = || Verdict::broken("G0", Vec::new());
        let undecided = || Verdict::Undecided { reason: "so".to_owned() };
        for (verdict, agreement, announced, exit) in [
            (Verdict::Pass, None, false, Exit::Fine),
            (Verdict::Pass, Some(AsExpected), false, Exit::Fine),
            (Verdict::Pass, Some(OtherVersion), false, Exit::Fine),
            (Verdict::Pass, Some(Differs), false, Exit::Violation),
            (violation(), None, false, Exit::Violation),
            (violation(), Some(AsExpected), true, Exit::Fine),
            (violation(), Some(OtherVersion), true, Exit::Fine),
            (violation(), Some(Differs), true, Exit::Violation),
            (violation(), Some(AsExpected), false, Exit::Violation),
            (undecided(), Some(AsExpected), false, Exit::NothingJudged),
        ] {
            let told = format!("{verdict:?} {agreement:?} {announced}");
            assert_eq!(exit_for(&[result(verdict, agreement, announced)]), exit, "{told}");
        }
    }
}
