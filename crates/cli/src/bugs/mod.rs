//! `anchorite bugs list|show|test|matrix`: the known-bug collection.
//!
//! Idea: the collection is part of the program. `list` and `show` need no server, and neither does `matrix` without a
//! target: then it is what the headers of the cases record. `test` runs bugs and holds what they do against that
//! record; with `--bisect` it looks for the releases between which they appeared or went.

mod bisect;
mod collection;
mod places;
mod selection;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anchorite_model::Product;
use anchorite_report::bugs::{self, Bug, Matrix};
use clap::{Args, Subcommand, ValueEnum};

use self::places::{Places, at_places};
use self::selection::Selection;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::levels::LevelChoice;
use crate::login::LoginArgs;
use crate::output;

/// Arguments of `bugs`.
#[derive(Debug, Args)]
#[command(after_help = "Example: anchorite bugs list --product mysql --status live")]
pub struct BugsArgs {
    #[command(subcommand)]
    command: BugsCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum BugsCommand {
    /// List bugs with what became of them
    #[command(after_help = "\
Examples:
  anchorite bugs list
  anchorite bugs list '^MDEV-2[67]' --level rc
  anchorite bugs list --product tidb --kind locking --format json")]
    List(ListArgs),
    /// Show a bug: where it was measured, and its case
    #[command(after_help = "Example: anchorite bugs show MDEV-26642")]
    Show(ShowArgs),
    /// Run bugs on targets, and hold what they do against what was measured
    #[command(after_help = "\
Exit code 1 means that a bug does not do what was measured on this release. On other releases a difference is only told.

Examples:
  anchorite bugs test MDEV-27992 --on mariadb@10.11
  anchorite bugs test --on mariadb@10.11 --on mysql@9.7 --kind isolation
  anchorite bugs test MDEV-26642 --bisect mariadb --level rr")]
    Test(TestArgs),
    /// Bugs by releases by levels: as recorded, or as they do now on targets
    #[command(after_help = "\
Examples:
  anchorite bugs matrix
  anchorite bugs matrix --format html --product mariadb
  anchorite bugs matrix --on mariadb@10.11 --on postgres@15 --format md
  anchorite bugs matrix --format study")]
    Matrix(MatrixArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    selection: Selection,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
}

/// Output formats of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The bug, or a regular expression that its name, another of its names, or its title contains
    pattern: String,
}

#[derive(Debug, Args)]
struct TestArgs {
    #[command(flatten)]
    selection: Selection,
    /// Where to run: PRODUCT or PRODUCT@VERSION (private server), or a URL; repeatable
    #[arg(long = "on", value_name = "TARGET", required_unless_present = "bisect")]
    on: Vec<String>,
    /// Look among the releases of this product that can be had for those between which a bug appeared or went
    #[arg(long, value_name = "PRODUCT", conflicts_with = "on")]
    bisect: Option<Product>,
    #[command(flatten)]
    running: RunningArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
}

#[derive(Debug, Args)]
struct MatrixArgs {
    #[command(flatten)]
    selection: Selection,
    /// Run the bugs here instead of reading what was recorded; repeatable
    #[arg(long = "on", value_name = "TARGET")]
    on: Vec<String>,
    #[command(flatten)]
    running: RunningArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = MatrixFormat::Text)]
    format: MatrixFormat,
}

/// Output formats of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MatrixFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// Markdown for pasting
    Md,
    /// One HTML page that needs no other file, with a filter
    Html,
    /// The page docs/known-bugs-study.md
    Study,
}

/// How bugs are run.
#[derive(Debug, Args)]
struct RunningArgs {
    /// Run this many cases at once, each in its own schema
    #[arg(long, value_name = "N", default_value = "2")]
    jobs: NonZeroUsize,
    #[command(flatten)]
    login: LoginArgs,
}

/// Does what was asked.
pub fn run(arguments: &BugsArgs) -> anyhow::Result<ExitCode> {
    let all = collection::bugs()?;
    let exit = match &arguments.command {
        BugsCommand::List(arguments) => list(arguments, &all)?,
        BugsCommand::Show(arguments) => show(arguments, &all)?,
        BugsCommand::Test(arguments) => test(arguments, &all)?,
        BugsCommand::Matrix(arguments) => matrix(arguments, &all)?,
    };
    Ok(exit.into())
}

fn list(arguments: &ListArgs, all: &[Bug]) -> anyhow::Result<Exit> {
    let chosen = arguments.selection.of(all)?;
    output::print(&match arguments.format {
        ListFormat::Text => bugs::list(&chosen, &output::text_options()),
        ListFormat::Json => bugs::list_json(&chosen, env!("CARGO_PKG_VERSION")),
    });
    Ok(Exit::Fine)
}

fn show(arguments: &ShowArgs, all: &[Bug]) -> anyhow::Result<Exit> {
    let chosen = selection::named(&arguments.pattern, all)?;
    output::print(&bugs::show(&recorded(all, &chosen), &output::text_options()));
    Ok(Exit::Fine)
}

/// What the headers of the chosen bugs record. All headers together say which levels a release has.
fn recorded<'b>(all: &'b [Bug], chosen: &[&Bug]) -> Matrix<'b> {
    let every: Vec<&Bug> = all.iter().collect();
    let mut matrix = Matrix::recorded(&every);
    matrix.keep(&|bug| chosen.iter().any(|kept| kept.id() == bug.id()));
    matrix
}

fn test(arguments: &TestArgs, all: &[Bug]) -> anyhow::Result<Exit> {
    let chosen = arguments.selection.of(all)?;
    let places = arguments.running.places(&arguments.selection.level)?;
    if let Some(product) = arguments.bisect {
        let matrix = bisect::search(product, &chosen, &places)?;
        output::print(&match arguments.format {
            ListFormat::Text => bugs::bisect::text(&matrix, product, &output::text_options()),
            ListFormat::Json => bugs::bisect::json(&matrix, product, env!("CARGO_PKG_VERSION")),
        });
        return Ok(Exit::Fine);
    }
    let matrix = at_places(&arguments.on, &chosen, &places)?;
    output::print(&match arguments.format {
        ListFormat::Text => bugs::tested(&matrix, &output::text_options()),
        ListFormat::Json => bugs::json(&matrix, env!("CARGO_PKG_VERSION")),
    });
    Ok(places::exit(&matrix))
}

fn matrix(arguments: &MatrixArgs, all: &[Bug]) -> anyhow::Result<Exit> {
    let chosen = arguments.selection.of(all)?;
    let matrix = if arguments.on.is_empty() {
        recorded(all, &chosen)
    } else {
        let places = arguments.running.places(&arguments.selection.level)?;
        at_places(&arguments.on, &chosen, &places)?
    };
    let version = env!("CARGO_PKG_VERSION");
    output::print(&match arguments.format {
        MatrixFormat::Text => bugs::text(&matrix, &output::text_options()),
        MatrixFormat::Json => bugs::json(&matrix, version),
        MatrixFormat::Md => bugs::markdown(&matrix),
        MatrixFormat::Html => bugs::html(&matrix, version),
        MatrixFormat::Study => bugs::study(&matrix),
    });
    Ok(places::exit(&matrix))
}

impl RunningArgs {
    fn places(&self, levels: &[LevelChoice]) -> anyhow::Result<Places> {
        let interrupt = Interrupt::listen()?;
        let login = self.login.read(&interrupt)?;
        let levels = if levels.is_empty() { vec![LevelChoice::All] } else { levels.to_vec() };
        Ok(Places { levels, jobs: self.jobs, login, interrupt })
    }
}
