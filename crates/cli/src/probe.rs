//! `anchorite probe`: the classic anomaly table, claimed against observed.
//!
//! Idea and source: Martin Kleppmann's Hermitage, executed automatically. The cases are built into the command, so it
//! needs no files. They run one after the other, each in its own schema, at every requested level. Blind spot: one run
//! per case and level. The stage makes runs repeatable, so a second run would give the same result.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anchorite_claims::{Claims, Documented, Promise};
use anchorite_drivers::{SessionOptions, Target, TargetError};
use anchorite_judge::traced::{cycles::Sighting, named::named};
use anchorite_judge::{ObserveError, observe, probe::anomaly, probe_cases};
use anchorite_model::{Case, Level, Run, TargetInfo};
use anchorite_report::probe::{self, CaseProbe, LevelProbe, Probe};
use anchorite_stage::{FreshTables, Limits, RunOptions, StageError, run_case};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::LoginArgs;
use crate::output;
use crate::targets::{self, OpenTarget};

/// Arguments of `probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1 means that something claimed as prevented was observed.

Examples:
  anchorite probe
  anchorite probe --on sqlite:wal --on sqlite:shared-cache --format md
  anchorite probe --on mariadb@10.11 --level rr --level ser
  anchorite probe --on postgres@15 --format html > anomalies.html")]
pub struct ProbeArgs {
    /// Where to run: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL; repeatable
    #[arg(long = "on", value_name = "TARGET", default_value = targets::DEFAULT)]
    on: Vec<String>,
    /// ru, rc, rr, si, ser, default or all; repeatable; default: all that the target has
    #[arg(long = "level", value_name = "LEVEL")]
    level: Vec<LevelChoice>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    login: LoginArgs,
}

/// Output formats of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// Markdown for pasting
    Md,
    /// One HTML page that needs no other file
    Html,
}

/// Probes every target and shows the table.
pub fn run(arguments: &ProbeArgs) -> anyhow::Result<ExitCode> {
    let cases = probe_cases();
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    let mut probes = Vec::new();
    let outcome = arguments.on.iter().try_for_each(|on| {
        let open = OpenTarget::open(on, &login)?;
        let flag = &interrupt.flag;
        let prober = Prober { target: open.target.as_ref(), cases: &cases, interrupt: flag };
        interrupt.attend(|| prober.probe(&arguments.level, &mut probes))
    });
    // What was probed before a failure is still shown.
    if !probes.is_empty() || arguments.format == Format::Json {
        show(arguments.format, &probes);
    }
    outcome?;
    Ok(exit_of(&probes).into())
}

fn exit_of(probes: &[Probe]) -> Exit {
    let mut judged = probes.iter().flat_map(Probe::cases).map(|(_, case)| case.outcome.is_ok());
    if probes.iter().any(|probe| probe.contradictions().next().is_some()) {
        Exit::Violation
    } else if judged.any(|judged| judged) {
        Exit::Fine
    } else {
        Exit::NothingJudged
    }
}

fn show(format: Format, probes: &[Probe]) {
    let version = env!("CARGO_PKG_VERSION");
    output::print(&match format {
        Format::Text => probe::text(probes, &output::text_options()),
        Format::Json => probe::json(probes, version),
        Format::Md => probe::markdown(probes),
        Format::Html => probe::html(probes, version),
    });
}

/// Probes one target.
struct Prober<'a> {
    target: &'a dyn Target,
    cases: &'a [Case],
    interrupt: &'a Arc<AtomicBool>,
}

impl Prober<'_> {
    /// Adds what was probed, even if an error ends it.
    fn probe(&self, choices: &[LevelChoice], probes: &mut Vec<Probe>) -> anyhow::Result<()> {
        let default = self.default_level()?;
        let mut levels: Vec<Option<Level>> = Vec::new();
        let all = [LevelChoice::All];
        for asked in chosen(if choices.is_empty() { &all } else { choices }, self.target)? {
            // The same level under two names (`--level default --level rr`) is probed once.
            if !levels.iter().any(|level| level.or(default) == asked.or(default)) {
                levels.push(asked);
            }
        }
        let progress = progress(self.target.info(), levels.len() * self.cases.len());
        let mut probe =
            Probe { target: self.target.info().clone(), levels: Vec::new(), incomplete: None };
        let outcome = levels.into_iter().try_for_each(|asked| {
            let level = asked.or(default);
            let mut probed = LevelProbe {
                level,
                is_default: level == default,
                read_back: None,
                blocking: None,
                cases: Vec::new(),
            };
            progress.set_message(probed.name());
            let outcome = self.cases.iter().try_for_each(|case| {
                progress.inc(1);
                self.case(case, asked, &mut probed)
            });
            if !probed.cases.is_empty() {
                probe.levels.push(probed);
            }
            outcome
        });
        progress.finish_and_clear();
        if !probe.levels.is_empty() {
            probe.incomplete = outcome.as_ref().err().map(ToString::to_string);
            probes.push(probe);
        }
        outcome
    }

    /// The level that a session gets when it asks for none, if it is one that the target has.
    fn default_level(&self) -> Result<Option<Level>, TargetError> {
        let schema = self.target.create_schema()?;
        let lock_wait = Limits::default().lock_wait;
        let options = SessionOptions { name: "default".to_owned(), level: None, lock_wait };
        let words = schema.open(&options)?.level_read_back;
        // Some targets add details after the level: `serializable (rollback journal)`.
        let level = words.split(" (").next().unwrap_or_default().parse().ok();
        Ok(level.filter(|level| self.target.levels().contains(level)))
    }

    /// Runs and judges one case. A case that this target cannot run is a result too.
    fn case(
        &self,
        case: &Case,
        asked: Option<Level>,
        probed: &mut LevelProbe,
    ) -> anyhow::Result<()> {
        let interrupt = Arc::clone(self.interrupt);
        let options = RunOptions { level: asked, interrupt, ..RunOptions::default() };
        let graph = self.graph(case, &options);
        let outcome = match run_case(self.target, case, &options) {
            Ok(run) => {
                let outcome = observe(case, &run);
                probed.read_back.get_or_insert(levels_read_back(&run));
                probed.blocking.get_or_insert(run.blocking);
                match outcome {
                    Err(error @ ObserveError::Unrelated { .. }) => Err(error.to_string()),
                    outcome => Ok(outcome?),
                }
            }
            Err(StageError::Setup { sql, error, .. }) => {
                Err(format!("set-up failed: {} ({}): {sql}", error.message, error.code))
            }
            Err(error) => return Err(error.into()),
        };
        let anomaly = anomaly(case)?;
        let info = self.target.info();
        let claims = Claims::for_target(info);
        let documented = match (probed.level, &probed.read_back) {
            (Some(level), Some(words)) => {
                claims.about_session(info, level, words, anomaly, &case.name)
            }
            (Some(level), None) => claims.about(info, level, anomaly, &case.name),
            (None, _) => Documented { promise: Promise::Unspecified, claim: None },
        };
        let title = case.header.title.clone().unwrap_or_default();
        let name = case.name.clone();
        probed.cases.push(CaseProbe { name, title, anomaly, documented, outcome, graph });
        Ok(())
    }

    /// What the dependency graph of the case says.
    fn graph(&self, case: &Case, options: &RunOptions) -> Result<Vec<Sighting>, String> {
        let mut runner = FreshTables { target: self.target, options: options.clone() };
        let (info, level) = (self.target.info(), options.level);
        let claims = Claims::for_target(info);
        let found = named(case, info.product, claims, &mut runner, level);
        found.map(|named| named.sightings).map_err(|untold| untold.to_string())
    }
}

/// The sessions' levels in the server's words: one text, because all asked for the same.
fn levels_read_back(run: &Run) -> String {
    let mut words: Vec<&str> = Vec::new();
    for session in &run.sessions {
        if !words.contains(&session.level_read_back.as_str()) {
            words.push(&session.level_read_back);
        }
    }
    words.join(" / ")
}

/// A bar on standard error; none if that is not a terminal.
pub fn progress(target: &TargetInfo, steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg}");
    let bar = ProgressBar::with_draw_target(Some(steps as u64), output::progress_target());
    let bar = bar.with_prefix(target.to_string());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::Login;

    /// Probes the case on SQLite.
    fn probed(text: &str) -> Vec<Probe> {
        let open = OpenTarget::open("sqlite", &Login::none()).expect("SQLite is built in");
        let cases = [Case::parse("G0", text).expect("a valid case")];
        let interrupt = Arc::default();
        let prober = Prober { target: open.target.as_ref(), cases: &cases, interrupt: &interrupt };
        let mut probes = Vec::new();
        prober.probe(&[], &mut probes).expect("a probe");
        probes
    }

    /// Why the only case could not run.
    fn reason(probes: &[Probe]) -> &str {
        let (_, case) = probes[0].cases().next().expect("one case");
        case.outcome.as_ref().expect_err("it could not run")
    }

    #[test]
    fn what_is_claimed_as_prevented_and_shows_is_a_violation() {
        let probes = probed("-- anomaly: G0\n-- shows: step 1 succeeds\n/* t1 */ SELECT 1;\n");
        assert_eq!(probes[0].contradictions().count(), 1);
        assert_eq!(exit_of(&probes), Exit::Violation);
    }

    #[test]
    fn what_is_prevented_is_fine() {
        let probes = probed("-- anomaly: G0\n-- shows: step 1 fails\n/* t1 */ SELECT 1;\n");
        assert_eq!(exit_of(&probes), Exit::Fine);
    }

    #[test]
    fn a_set_up_that_the_target_refuses_is_told_and_judges_nothing() {
        let probes = probed(
            "-- anomaly: G0\n-- shows: step 1 fails\n/* setup */ CREATE CHAOS;\n/* t1 */ SELECT 1;\n",
        );
        assert!(reason(&probes).starts_with("set-up failed: "), "{}", reason(&probes));
        assert!(reason(&probes).ends_with(": CREATE CHAOS"), "{}", reason(&probes));
        assert_eq!(exit_of(&probes), Exit::NothingJudged);
    }

    #[test]
    fn a_statement_that_fails_for_another_reason_is_told_and_judges_nothing() {
        let probes =
            probed("-- anomaly: G0\n-- shows: step 1 succeeds\n/* t1 */ SELECT * FROM nowhere;\n");
        assert!(reason(&probes).contains("another reason than isolation"), "{}", reason(&probes));
        assert_eq!(exit_of(&probes), Exit::NothingJudged);
    }
}
