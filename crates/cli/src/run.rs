//! `anchorite run`: runs cases and specs and shows what happened.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anchorite_model::{Case, Ending};
use anchorite_report::RunResult;
use anchorite_stage::isolation::run_spec;
use anchorite_stage::{Asking, RunOptions, run_case};
use anchorite_target::pg_isolation::IsolationDatabase;
use clap::{Args, ValueEnum};

use crate::exit::{BadInput, Exit};
use crate::files::{Script, read};
use crate::levels::{LevelChoice, chosen};
use crate::output::{self, tell};
use crate::targets::{self, OpenTarget};

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anchorite run cases/probe/P4.case
  anchorite run cases/bugs/MDEV-26642.case --on mariadb@10.11 --level all
  anchorite run deadlock-hard.spec --on postgres@15 --format isolationtester")]
pub struct RunArgs {
    /// .case files, or PostgreSQL isolation .spec files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT[@VERSION] for a private server, or a URL; repeatable
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable; default: what the case says
    #[arg(long = "level", value_name = "LEVEL")]
    level: Vec<LevelChoice>,
    /// Run everything this many times
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Do not ask the server who waits: silence of this many milliseconds counts as blocked
    #[arg(long, value_name = "MS")]
    silence: Option<u64>,
}

/// What the results are shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: one column per session
    Text,
    /// One JSON document
    Json,
    /// Markdown for an issue tracker
    Md,
    /// JUnit XML for a CI
    Junit,
    /// What PostgreSQL's isolationtester prints (.spec files on postgres)
    Isolationtester,
}

/// Runs the files on every target, at every level, as often as asked.
pub fn run(arguments: &RunArgs, interrupt: &Arc<AtomicBool>) -> anyhow::Result<ExitCode> {
    let scripts = arguments.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let asking =
        arguments.silence.map_or(Asking::Server, |ms| Asking::Silence(Duration::from_millis(ms)));
    let options = RunOptions { asking, interrupt: Arc::clone(interrupt), ..RunOptions::default() };
    if arguments.format == Format::Isolationtester {
        return run_specs(arguments, &scripts, &options);
    }
    let mut results = Vec::new();
    let outcome = run_cases(arguments, &scripts, &options, &mut results);
    // What ran before a failure is shown all the same.
    if !results.is_empty() || outcome.is_ok() {
        show(arguments.format, &results);
    }
    outcome?;
    let lost = results.iter().any(|result| matches!(result.run.ending, Ending::TargetLost(_)));
    Ok(if lost { Exit::Target } else { Exit::Fine }.into())
}

fn run_cases(
    arguments: &RunArgs,
    scripts: &[Script],
    options: &RunOptions,
    results: &mut Vec<RunResult>,
) -> anyhow::Result<()> {
    for on in &arguments.on {
        let open = OpenTarget::open(on)?;
        let target = open.target.as_ref();
        for case in scripts.iter().flat_map(Script::cases) {
            if !written_for(&case, target.info().product) {
                let targets: Vec<&str> = case.header.targets.iter().map(|p| p.name()).collect();
                tell(&format!("skipped on {on}: {} is for {}", case.name, targets.join(", ")));
                continue;
            }
            for level in chosen(&arguments.level, target) {
                let options = RunOptions { level, ..options.clone() };
                for _ in 0..arguments.repeat {
                    results.push(RunResult::from(run_case(target, &case, &options)?));
                }
            }
        }
    }
    Ok(())
}

fn written_for(case: &Case, product: anchorite_model::Product) -> bool {
    case.header.targets.is_empty() || case.header.targets.contains(&product)
}

fn show(format: Format, results: &[RunResult]) {
    let text = match format {
        Format::Json => anchorite_report::json(results, env!("CARGO_PKG_VERSION")),
        Format::Md => anchorite_report::markdown(results, &ToString::to_string),
        Format::Junit => anchorite_report::junit(results),
        Format::Text | Format::Isolationtester => {
            anchorite_report::text(results, &output::text_options())
        }
    };
    output::print(&text);
}

/// Specs by isolationtester's own rules, printed as they finish.
fn run_specs(
    arguments: &RunArgs,
    scripts: &[Script],
    options: &RunOptions,
) -> anyhow::Result<ExitCode> {
    let mut exit = Exit::Fine;
    for on in &arguments.on {
        let server = OpenTarget::open(on)?;
        let database = IsolationDatabase::create(&server.postgres()?)?;
        if let Some(remark) = &database.remark {
            tell(remark);
        }
        for script in scripts {
            let Script::Spec(spec) = script else {
                let message = "--format isolationtester is for .spec files".to_owned();
                return Err(BadInput(message).into());
            };
            for _ in 0..arguments.repeat {
                let transcript = run_spec(&database, spec, options)?;
                output::print(&transcript.text);
                if transcript.failure.is_some() {
                    exit = Exit::Target;
                }
            }
        }
    }
    Ok(exit.into())
}
