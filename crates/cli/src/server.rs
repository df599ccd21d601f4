//! `anchorite server start|list|log|stop|versions`: the test bed.
//!
//! A server that is started without `--keep` runs until Ctrl-C (or SIGTERM, or SIGHUP); the end of standard input does
//! not stop it. Progress goes to standard error, the result to standard output.

use std::process::ExitCode;

use anchorite_servers::{Error, kept_server, kept_servers, stop_kept};
use clap::{Args, Subcommand};

use crate::exit::{Exit, told};
use crate::output::{complain, print};
use crate::server_output::{Format, FormatArgs, of_kept, print_json, table};
use crate::server_start::{self, StartArgs};
use crate::versions;

/// Arguments of `anchorite server`.
#[derive(Debug, Args)]
#[command(after_help = "Example: anchorite server start mariadb@10.11 --keep")]
pub struct ServerArgs {
    #[command(subcommand)]
    command: ServerCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum ServerCommand {
    /// Start a private throw-away server on a free loopback port
    #[command(after_help = "\
Examples:
  anchorite server start postgres@15
  anchorite server start mariadb@10.11 mariadb@11.8 --keep
  anchorite server start mysql@9.7 --set innodb_print_all_deadlocks=ON
  anchorite server start recipe:server.toml")]
    Start(StartArgs),
    /// List the running servers that were started with --keep
    #[command(after_help = "Example: anchorite server list --format json")]
    List(FormatArgs),
    /// Stop servers that were started with --keep and remove their folders
    #[command(after_help = "Example: anchorite server stop --all")]
    Stop(StopArgs),
    /// Print the log of a server that was started with --keep
    #[command(after_help = "Example: anchorite server log mariadb@10.11 --lines 20")]
    Log(LogArgs),
    /// List the servers that are available on this machine, and which need no download
    #[command(after_help = "Example: anchorite server versions")]
    Versions(FormatArgs),
}

#[derive(Debug, Args)]
struct LogArgs {
    /// Name, port or target of the server, as `list` shows it
    name: String,
    /// Only this many lines at the end
    #[arg(long, value_name = "N")]
    lines: Option<usize>,
}

#[derive(Debug, Args)]
struct StopArgs {
    /// Names, ports or targets of the servers, as `list` shows them
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

/// Runs the command.
pub fn run(args: ServerArgs) -> anyhow::Result<ExitCode> {
    let result = match args.command {
        ServerCommand::Start(args) => server_start::run(&args),
        ServerCommand::List(args) => run_list(args.format),
        ServerCommand::Stop(args) => run_stop(&args),
        ServerCommand::Log(args) => run_log(&args),
        ServerCommand::Versions(args) => versions::run(args.format),
    };
    result.or_else(|error| match error.downcast_ref::<Error>() {
        Some(cause) => {
            complain(&told(&error));
            Ok(exit_of(cause).into())
        }
        None => Err(error),
    })
}

/// The exit code for a server that is not available.
pub fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Interrupted => Exit::Interrupted,
        error if error.is_usage() => Exit::BadInput,
        _ => Exit::Target,
    }
}

fn run_list(format: Format) -> anyhow::Result<ExitCode> {
    let kept = kept_servers()?;
    match format {
        Format::Json => print_json(kept.iter().map(of_kept).collect()),
        Format::Text if kept.is_empty() => print("no kept servers\n"),
        Format::Text => {
            let rows = kept.iter().map(|server| {
                let version = format!("{} ({})", server.version, server.source);
                let folder = server.folder.display().to_string();
                [server.name.clone(), server.target.clone(), version, server.url.clone(), folder]
            });
            print(&table(["name", "asked for", "version", "target", "folder"], rows));
        }
    }
    Ok(Exit::Fine.into())
}

fn run_stop(args: &StopArgs) -> anyhow::Result<ExitCode> {
    let names = (!args.all).then_some(args.names.as_slice());
    for server in stop_kept(names)? {
        print(&format!("stopped {} ({})\n", server.name, server.url));
    }
    Ok(Exit::Fine.into())
}

fn run_log(args: &LogArgs) -> anyhow::Result<ExitCode> {
    let log = kept_server(&args.name)?.log();
    let lines: Vec<&str> = log.lines().collect();
    let from = args.lines.map_or(0, |count| lines.len().saturating_sub(count));
    print(&lines[from..].iter().map(|line| format!("{line}\n")).collect::<String>());
    Ok(Exit::Fine.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        server: ServerArgs,
    }

    fn parses(words: &str) -> bool {
        Command::try_parse_from(std::iter::once("server").chain(words.split_whitespace())).is_ok()
    }

    #[test]
    fn the_commands_of_the_manual_parse() {
        for words in [
            "start mariadb@10.11",
            "start postgres --keep --format json",
            "start mysql --arg --innodb-print-all-deadlocks=1 --arg --verbose",
            "start cockroach --binary /x/cockroach",
            "list",
            "list --format json",
            "stop --all",
            "start mariadb@10.5 mariadb@10.11 --keep",
            "start mysql --set innodb_print_all_deadlocks=ON",
            "start recipe:server.toml",
            "stop mariadb-4001 4002",
            "log 4001 --lines 20",
            "versions --format json",
        ] {
            assert!(parses(words), "{words}");
        }
        for words in [
            "",
            "start",
            "log",
            "stop",
            "stop --all mariadb",
            "start mysql --set nothing",
            "versions --format xml",
        ] {
            assert!(!parses(words), "{words}");
        }
    }
}
