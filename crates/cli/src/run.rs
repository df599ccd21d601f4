//! `anchorite run`: runs cases and specs and shows what happened.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anchorite_claims::Claims;
use anchorite_hunt::Trial;
use anchorite_judge::Oracle;
use anchorite_model::spec::Spec;
use anchorite_model::{Case, Ending, Product, Verdict};
use anchorite_report::RunResult;
use anchorite_stage::isolation::run_spec;
use anchorite_stage::{Asking, FreshTables, RunOptions};
use anchorite_target::Target;
use anchorite_target::pg_isolation::IsolationDatabase;
use clap::{Args, ValueEnum};

use crate::exit::{BadInput, Exit};
use crate::files::{Script, read};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::{Login, LoginArgs};
use crate::oracles::{self, OracleChoice};
use crate::output::{self, complain, tell};
use crate::targets::{self, OpenTarget};

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anchorite run cases/probe/P4.case
  anchorite run cases/bugs/MDEV-26642.case --on mariadb@10.11 --level all
  anchorite run cases/bugs/MDEV-27992.case --on mariadb@10.11 --oracle final-state
  anchorite run deadlock-hard.spec --on postgres@15 --format isolationtester")]
pub struct RunArgs {
    /// .case files, or PostgreSQL isolation .spec files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL; repeatable
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable; default: what the case says
    #[arg(long = "level", value_name = "LEVEL")]
    level: Vec<LevelChoice>,
    /// Who judges the runs: final-state, all or none; repeatable; default: all that apply
    #[arg(long = "oracle", value_name = "ORACLE")]
    oracle: Vec<OracleChoice>,
    /// Count documented exceptions as violations
    #[arg(long)]
    strict: bool,
    /// Run everything this many times
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Do not ask the server who waits: silence of this many milliseconds counts as blocked
    #[arg(long, value_name = "MS")]
    silence: Option<u64>,
    #[command(flatten)]
    login: LoginArgs,
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
pub fn run(arguments: &RunArgs) -> anyhow::Result<ExitCode> {
    let scripts = arguments.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let interrupt = Interrupt::listen()?;
    let asking =
        arguments.silence.map_or(Asking::Server, |ms| Asking::Silence(Duration::from_millis(ms)));
    let flag = Arc::clone(&interrupt.flag);
    let options = RunOptions { asking, interrupt: flag, ..RunOptions::default() };
    let oracles = oracles::chosen(&arguments.oracle);
    let login = arguments.login.read(&interrupt)?;
    let errand = Errand { arguments, scripts: &scripts, oracles, options, login, interrupt };
    if arguments.format == Format::Isolationtester {
        return errand.run_specs();
    }
    let mut results = Vec::new();
    let outcome = errand.run_cases(&mut results);
    // What ran before a failure is shown all the same.
    if !results.is_empty() || arguments.format == Format::Json {
        show(arguments.format, &results);
    }
    outcome?;
    if results.is_empty() {
        complain("nothing ran: no case is written for these targets");
        return Ok(Exit::NothingJudged.into());
    }
    Ok(exit_for(&results).into())
}

/// What the results come to as a whole.
pub fn exit_for(results: &[RunResult]) -> Exit {
    let verdicts = || results.iter().flat_map(|result| result.verdicts.iter().map(|(_, v)| v));
    if verdicts().any(|verdict| matches!(verdict, Verdict::Violation { .. })) {
        Exit::Violation
    } else if results.iter().any(|result| matches!(result.run.ending, Ending::TargetLost(_))) {
        Exit::Target
    } else if verdicts().count() > 0
        && verdicts().all(|verdict| matches!(verdict, Verdict::Undecided { .. }))
    {
        Exit::NothingJudged
    } else {
        Exit::Fine
    }
}

/// What one call of the command has to do.
struct Errand<'a> {
    arguments: &'a RunArgs,
    scripts: &'a [Script],
    oracles: Vec<Oracle>,
    options: RunOptions,
    login: Login,
    interrupt: Interrupt,
}

impl Errand<'_> {
    fn run_cases(&self, results: &mut Vec<RunResult>) -> anyhow::Result<()> {
        for on in &self.arguments.on {
            let open = OpenTarget::open(on, &self.login)?;
            self.interrupt.attend(|| self.run_on(on, open.target.as_ref(), results))?;
        }
        Ok(())
    }

    fn run_on(
        &self,
        on: &str,
        target: &dyn Target,
        results: &mut Vec<RunResult>,
    ) -> anyhow::Result<()> {
        for case in self.scripts.iter().flat_map(Script::cases) {
            if !written_for(&case, target.info().product) {
                let targets: Vec<&str> = case.header.targets.iter().map(|p| p.name()).collect();
                tell(&format!("skipped on {on}: {} is for {}", case.name, targets.join(", ")));
                continue;
            }
            for level in chosen(&self.arguments.level, target)? {
                let options = RunOptions { level, ..self.options.clone() };
                for _ in 0..self.arguments.repeat {
                    results.push(self.try_case(target, &case, &options)?);
                }
            }
        }
        Ok(())
    }

    fn try_case(
        &self,
        target: &dyn Target,
        case: &Case,
        options: &RunOptions,
    ) -> anyhow::Result<RunResult> {
        let claims = Claims::for_target(target.info());
        let strict = self.arguments.strict;
        let trial = Trial { claims, oracles: &self.oracles, strict };
        let mut fresh = FreshTables { target, options: options.clone() };
        let tried = trial.hold(&mut fresh, case, options.level)?;
        let verdicts = tried.judgements.into_iter().map(|judgement| {
            let verdict = if strict { judgement.verdict.strictly() } else { judgement.verdict };
            (judgement.oracle, verdict)
        });
        Ok(RunResult { verdicts: verdicts.collect(), run: tried.run })
    }

    /// Specs by isolationtester's own rules, printed as they finish.
    fn run_specs(&self) -> anyhow::Result<ExitCode> {
        let mut specs = Vec::new();
        for script in self.scripts {
            let Script::Spec(spec) = script else {
                let message = "--format isolationtester is for .spec files".to_owned();
                return Err(BadInput(message).into());
            };
            specs.push(spec);
        }
        let mut exit = Exit::Fine;
        for on in &self.arguments.on {
            let server = OpenTarget::open(on, &self.login)?;
            let complete = self.interrupt.attend(|| self.run_specs_on(&server, &specs))?;
            if !complete {
                exit = Exit::Target;
            }
        }
        Ok(exit.into())
    }

    fn run_specs_on(&self, server: &OpenTarget, specs: &[&Spec]) -> anyhow::Result<bool> {
        let database = IsolationDatabase::create(&server.postgres()?)?;
        if let Some(remark) = &database.remark {
            tell(remark);
        }
        let mut complete = true;
        for spec in specs {
            for _ in 0..self.arguments.repeat {
                let transcript = run_spec(&database, spec, &self.options)?;
                output::print(&transcript.text);
                complete &= transcript.failure.is_none();
            }
        }
        Ok(complete)
    }
}

fn written_for(case: &Case, product: Product) -> bool {
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
