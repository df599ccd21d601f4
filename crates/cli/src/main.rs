//! The `anchorite` command: reads the arguments, calls one function per subcommand, maps to exit codes.

mod check;
mod exit;
mod files;
mod interrupt;
mod levels;
mod output;
mod run;
mod targets;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Finds out whether a SQL database keeps the isolation that it promises.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run .case files, or PostgreSQL isolation .spec files, statement by statement
    Run(run::RunArgs),
    /// Judge recorded histories of transactions: levels, anomalies, and why
    Check(check::CheckArgs),
}

fn main() -> ExitCode {
    let interrupt = match interrupt::listen() {
        Ok(flag) => flag,
        Err(error) => return exit::report(&error.into()),
    };
    let result = match Cli::parse().command {
        Command::Run(arguments) => run::run(&arguments, &interrupt),
        Command::Check(arguments) => check::run(arguments),
    };
    result.unwrap_or_else(|error| exit::report(&error))
}
