//! The `anchorite` command: reads the arguments, calls one function per subcommand, maps to exit codes.

mod at_once;
mod bugs;
mod check;
mod claims;
mod clean;
mod descriptors;
mod exit;
mod export;
mod files;
mod history_file;
mod hunt;
mod interrupt;
mod leftovers;
mod levels;
mod login;
mod oracles;
mod output;
mod pages;
mod private;
mod probe;
mod reduce;
mod report;
mod run;
mod second;
mod selftest;
mod selftest_text;
mod server;
mod server_output;
mod server_start;
mod shell;
mod stress;
mod targets;
mod versions;
mod welcome;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use signal_hook::consts::SIGXFSZ;

use self::output::{Colour, OutputMode, set_mode};

/// Finds out whether a SQL database keeps the isolation that it promises.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
#[command(after_help = "\
Example:
  anchorite hunt --time 10s")]
struct Cli {
    /// Print only results: no progress or remarks on standard error
    #[arg(long, global = true)]
    quiet: bool,
    /// A product that is not built in, described by this file (repeatable); see docs/adding-a-dbms.md
    #[arg(long = "descriptor", global = true, value_name = "FILE")]
    descriptors: Vec<PathBuf>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run .case files, or PostgreSQL isolation .spec files, statement by statement
    Run(run::RunArgs),
    /// Show the classic anomaly table: what each level prevents, beside what the vendor claims
    Probe(probe::ProbeArgs),
    /// The known-bug collection: list, show, test, matrix
    Bugs(bugs::BugsArgs),
    /// Show what each level promises, with the vendor's pages
    Claims(claims::ClaimsArgs),
    /// Make a case as small as possible while it still shows the same finding
    Reduce(reduce::ReduceArgs),
    /// Put the findings of a hunt on one page
    Report(report::ReportArgs),
    /// Write a case or a finding as a script: SQL for terminals, mtr, isolationtester, comments
    Export(export::ExportArgs),
    /// Generate, run and judge cases until the budget is used up
    Hunt(hunt::HuntArgs),
    /// Plant faults and count how many of them the oracles find
    Selftest(selftest::SelfTestArgs),
    /// Run many sessions at full speed on a target, and judge what they see while they run
    Stress(stress::StressArgs),
    /// Private throw-away servers: start, list, stop, versions
    Server(server::ServerArgs),
    /// Type statements into several sessions, and see at once who waits for whom
    Shell(shell::ShellArgs),
    /// Show and drop what earlier runs left on a server
    Clean(clean::CleanArgs),
    /// Judge recorded histories of transactions: levels, anomalies, and why
    Check(check::CheckArgs),
    /// Print a completion script for a shell
    Completions(pages::CompletionArgs),
    /// Print or write the manual pages
    Man(pages::ManArgs),
}

fn main() -> ExitCode {
    if let Err(error) = login::refuse_password_argument() {
        return output::report(&error.into());
    }
    if let Some(exit) = stress::serve_sqlite() {
        return exit;
    }
    if let Some(exit) = welcome::greet() {
        return exit;
    }
    let matches = Cli::command().color(colour_of_help()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    set_mode(OutputMode { quiet: cli.quiet, colour: cli.color });
    // A write beyond the file size limit (`ulimit -f`) must be an error, like a full disk, not end the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    if let Err(error) = descriptors::add(&cli.descriptors) {
        return output::report(&error);
    }
    let result = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Bugs(arguments) => bugs::run(&arguments),
        Command::Claims(arguments) => claims::run(&arguments),
        Command::Reduce(arguments) => reduce::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Hunt(arguments) => hunt::run(arguments),
        Command::Selftest(arguments) => selftest::run(&arguments),
        Command::Stress(arguments) => stress::run(&arguments),
        Command::Server(arguments) => server::run(arguments),
        Command::Shell(arguments) => shell::run(&arguments),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Completions(arguments) => pages::completions(&arguments, Cli::command()),
        Command::Man(arguments) => pages::man(&arguments, Cli::command()),
    };
    result.unwrap_or_else(|error| output::report(&error))
}

/// The value of `--color`, for help and usage errors, which are printed before the command line is fully parsed.
fn colour_of_help() -> ColorChoice {
    let words: Vec<String> = std::env::args().collect();
    let said = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--color") {
        Some("") => words.get(at + 1).map(String::as_str),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    });
    said.and_then(|when| when.parse().ok()).unwrap_or(ColorChoice::Auto)
}
