//! `anchorite selftest`: would the oracles notice a fault? Runs with planted faults, and honest runs.

use std::process::ExitCode;
use std::sync::Arc;

use anchorite_generate::{Recipe, case};
use anchorite_hunt::SelfTest;
use anchorite_hunt::selftest::Findings;
use anchorite_judge::Oracle;
use anchorite_model::Case;
use anchorite_stage::{Limits, RunOptions};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::{BadInput, Exit};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::LoginArgs;
use crate::oracles::{self, OracleChoice};
use crate::output;
use crate::selftest_text;
use crate::targets::{self, OpenTarget};

/// Arguments of `selftest`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1 means that an oracle raised a false alarm, or never found a fault that it should see.

Examples:
  anchorite selftest
  anchorite selftest --cases 200 --on sqlite --on sqlite:wal
  anchorite selftest --on mariadb@10.11 --level rc --level ser --format json")]
pub struct SelfTestArgs {
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL; repeatable
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable
    #[arg(long = "level", value_name = "LEVEL")]
    level: Vec<LevelChoice>,
    #[arg(long = "oracle", value_name = "ORACLE", help = oracles::help("Which oracles to test"),
          long_help = oracles::long_help("Which oracles to test"))]
    oracle: Vec<OracleChoice>,
    /// Generated cases for the honest runs, and for each sabotage
    #[arg(long, value_name = "N", default_value_t = 1000)]
    cases: u64,
    /// Plant each fault at most this many times
    #[arg(long, value_name = "N", default_value_t = 40)]
    plants: u64,
    /// The generator's seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Faults to plant at the same time; default: two per processor
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    login: LoginArgs,
}

/// Output formats of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Tests every target and level, and shows the matrix.
pub fn run(arguments: &SelfTestArgs) -> anyhow::Result<ExitCode> {
    let oracles = oracles::chosen(&arguments.oracle, false);
    if oracles.is_empty() {
        return Err(BadInput("selftest needs an oracle to test".to_owned()).into());
    }
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    let mut findings = Vec::new();
    let outcome = arguments.on.iter().try_for_each(|on| {
        let open = OpenTarget::open(on, &login)?;
        interrupt.attend(|| test(arguments, &oracles, &open, &interrupt, &mut findings))
    });
    // What was tested before a failure is still shown.
    if arguments.format == Format::Json {
        output::print(&selftest_text::json(&findings, arguments.seed));
    } else if !findings.is_empty() {
        output::print(&selftest_text::text(&findings, arguments.seed));
    }
    outcome?;
    Ok(exit_of(&findings).into())
}

fn test(
    arguments: &SelfTestArgs,
    oracles: &[&'static dyn Oracle],
    open: &OpenTarget,
    interrupt: &Interrupt,
    findings: &mut Vec<Findings>,
) -> anyhow::Result<()> {
    let target = open.target.as_ref();
    let recipe = Recipe::new(target.info().product);
    let cases: Vec<Case> =
        (0..arguments.cases).map(|number| case(&recipe, arguments.seed, number)).collect();
    let jobs = arguments.jobs.unwrap_or_else(|| 2 * anchorite_hunt::processors());
    for level in chosen(&arguments.level, target)? {
        let bar = progress(&target.info().to_string());
        let test = SelfTest {
            target,
            level,
            oracles,
            cases: &cases,
            plants: arguments.plants,
            jobs,
            options: RunOptions {
                interrupt: Arc::clone(&interrupt.flag),
                limits: Limits::hurried(),
                ..RunOptions::default()
            },
            progress: &|runs| bar.inc(runs),
        };
        bar.set_length(test.runs());
        bar.set_message(level.map_or("default level", anchorite_model::Level::name));
        let found = test.perform();
        bar.finish_and_clear();
        findings.push(found?);
    }
    Ok(())
}

fn exit_of(findings: &[Findings]) -> Exit {
    let judged =
        |found: &Findings| found.honest.iter().any(|honest| honest.cases > honest.undecided);
    match () {
        () if findings.iter().any(Findings::failed) => Exit::Violation,
        () if findings.iter().any(judged) => Exit::Fine,
        () => Exit::NothingJudged,
    }
}

/// A bar on standard error; none if that is not a terminal.
fn progress(target: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} runs, {msg}");
    let bar = ProgressBar::with_draw_target(Some(0), output::progress_target());
    let bar = bar.with_prefix(target.to_owned());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
