//! `anchorite export`: a case, a spec or a finding as a script for another tool.
//!
//! Idea: a finding contains its run, so its script knows what blocked. A `.case` or `.spec` file does not; with `--on`
//! it is first run once, and the script follows what happened. Otherwise the script says that it has not been run, and
//! its mtr form lets every statement run on its own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_judge::traced::Untold;
use anchorite_judge::traced::named::named;
use anchorite_model::{Case, Finding, Level, Run};
use anchorite_report::cycle::dot;
use anchorite_report::export::{Form, Script as Export, export};
use anchorite_report::finding;
use anchorite_stage::{FreshTables, RunOptions, run_case};
use clap::Args;

use crate::exit::{BadInput, Exit};
use crate::files::{finding_at, read};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::LoginArgs;
use crate::output;
use crate::targets::OpenTarget;

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Forms:
  sql       SQL with a comment above each statement: which terminal, and where it waits
  mtr       a test for MariaDB's and MySQL's mtr and mysqltest
  spec      a spec for PostgreSQL's isolationtester
  comments  a .case file (`/* t1 */ …`) with remarks about what blocked
  svg       a picture of what happened, with a lane per session; for a .case or .spec file it needs --on
  dot       the cycle of dependencies in which an anomaly shows, for Graphviz; for a .case or .spec file it needs --on

A finding knows what blocked. A .case or .spec file is first run on the target of --on; without --on the script is
written in submission order, and mtr sends every statement without waiting for its answer.

Examples:
  anchorite export cases/bugs/MDEV-27992.case --to sql
  anchorite export cases/bugs/MDEV-27992.case --to mtr --on mariadb@10.11 > mdev_27992.test
  anchorite export hunt-out/findings/delete-update-63125a5c --to spec > bug.spec")]
pub struct ExportArgs {
    /// A .case file, a PostgreSQL isolation .spec file, a finding.json, or the folder of a finding
    file: PathBuf,
    /// The form: sql, mtr, spec, comments, svg or dot
    #[arg(long = "to", value_name = "FORM")]
    to: Form,
    /// Run it on this target first, so that the script follows what really blocks
    #[arg(long = "on", value_name = "TARGET")]
    on: Option<String>,
    /// The level to run at with --on: ru, rc, rr, si or ser; default: that of the file
    #[arg(long = "level", value_name = "LEVEL", requires = "on")]
    level: Option<LevelChoice>,
    /// Which permutation of a .spec file, counted from 1
    #[arg(long, value_name = "N")]
    permutation: Option<usize>,
    #[command(flatten)]
    login: LoginArgs,
}

/// Prints the script.
pub fn run(arguments: &ExportArgs) -> anyhow::Result<ExitCode> {
    let subject = subject(arguments)?;
    if let (Form::Dot, Some(on)) = (arguments.to, &arguments.on) {
        output::print(&cycle_on(on, arguments, &subject)?);
        return Ok(Exit::Fine.into());
    }
    let run = match &arguments.on {
        Some(on) => Some(observe(on, arguments, &subject)?),
        None => None,
    };
    let script = match (&subject, &run) {
        (Subject::Finding(finding), None) => finding::script(finding, arguments.to),
        (_, Some(run)) => export(arguments.to, &Export::of_run(run)),
        (Subject::Case(case), None) => export(arguments.to, &Export::of_case(case)),
    };
    let file = arguments.file.display();
    let script = script.map_err(|error| BadInput(format!("{file}: {error}")))?;
    output::print(&script);
    Ok(Exit::Fine.into())
}

/// The level to run at.
fn level_on(
    target: &dyn Target,
    arguments: &ExportArgs,
    subject: &Subject,
) -> anyhow::Result<Option<Level>> {
    let level = arguments.level.or_else(|| subject.level().map(LevelChoice::One));
    let choices: Vec<LevelChoice> = level.into_iter().collect();
    let levels = chosen(&choices, target)?;
    let [level] = levels[..] else {
        return Err(BadInput("--level: expected one level for a script".to_owned()).into());
    };
    Ok(level)
}

/// The first cycle of dependencies in a run on instrumented tables.
fn cycle_on(on: &str, arguments: &ExportArgs, subject: &Subject) -> anyhow::Result<String> {
    let interrupt = Interrupt::listen()?;
    let server = OpenTarget::open(on, &arguments.login.read(&interrupt)?)?;
    let target = server.target.as_ref();
    let level = level_on(target, arguments, subject)?;
    let flag = Arc::clone(&interrupt.flag);
    let options = RunOptions { level, interrupt: flag, ..RunOptions::default() };
    let mut runner = FreshTables { target, options };
    let (case, claims) = (subject.case(), Claims::for_target(target.info()));
    let product = target.info().product;
    let found = interrupt.attend(|| match named(case, product, claims, &mut runner, level) {
        Ok(found) => Ok(found),
        Err(Untold::Failed(error)) => Err(anyhow::Error::from(error)),
        Err(untold) => Err(BadInput(format!("{}: {untold}", case.name)).into()),
    })?;
    let cycle = found.sightings.iter().find(|seen| !seen.cycle.is_empty());
    let cycle = cycle.ok_or_else(|| BadInput(format!("{}: there is no cycle", case.name)))?;
    Ok(dot(&cycle.cycle, case))
}

/// The contents of the file.
enum Subject {
    Case(Box<Case>),
    Finding(Box<Finding>),
}

impl Subject {
    fn case(&self) -> &Case {
        match self {
            Self::Case(case) => case,
            Self::Finding(finding) => &finding.run.case,
        }
    }

    /// The level at which a finding showed; a case states its own.
    fn level(&self) -> Option<Level> {
        match self {
            Self::Case(_) => None,
            Self::Finding(finding) => finding.run.level,
        }
    }
}

fn subject(arguments: &ExportArgs) -> Result<Subject, BadInput> {
    let path = &arguments.file;
    if let Some(finding) = finding_at(path)? {
        return Ok(Subject::Finding(Box::new(finding)));
    }
    let case = one_of(path, read(path)?.cases(), arguments.permutation)?;
    Ok(Subject::Case(Box::new(case)))
}

/// The requested case among those in the file.
fn one_of(path: &Path, mut cases: Vec<Case>, asked: Option<usize>) -> Result<Case, BadInput> {
    let (name, count) = (path.display(), cases.len());
    match asked {
        Some(number) if (1..=count).contains(&number) => Ok(cases.swap_remove(number - 1)),
        Some(number) => Err(BadInput(format!(
            "{name}: expected --permutation between 1 and {count}, found {number}"
        ))),
        None if count == 1 => Ok(cases.swap_remove(0)),
        None => Err(BadInput(format!(
            "{name}: has {count} permutations; choose one with --permutation N"
        ))),
    }
}

fn observe(on: &str, arguments: &ExportArgs, subject: &Subject) -> anyhow::Result<Run> {
    let interrupt = Interrupt::listen()?;
    let open = OpenTarget::open(on, &arguments.login.read(&interrupt)?)?;
    let level = level_on(open.target.as_ref(), arguments, subject)?;
    let flag = Arc::clone(&interrupt.flag);
    let options = RunOptions { level, interrupt: flag, ..RunOptions::default() };
    let run =
        || run_case(open.target.as_ref(), subject.case(), &options).map_err(anyhow::Error::from);
    interrupt.attend(run)
}
