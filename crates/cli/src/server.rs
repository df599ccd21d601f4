//! `anchorite server start|list|log|stop|versions`: the test bed.
//!
//! A server that is started without `--keep` runs until Ctrl-C (or SIGTERM, or SIGHUP); the end of standard input does
//! not stop it. Progress goes to standard error, the result to standard output.

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use anchorite_drivers::cockroach::hurry_waiters;
use anchorite_drivers::endpoint::Endpoint as Address;
use anchorite_drivers::open;
use anchorite_servers::{
    Endpoint, Error, Kept, Progress, handshake, kept_server, kept_servers, stop_all, stop_kept,
};
use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::exit::{Exit, told};
use crate::output::{complain, is_coloured, print, progress_target, tell};
use crate::server_output::{Format, print_json, running, table};
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

#[derive(Debug, Clone, Copy, Args)]
pub struct FormatArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
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

/// From now on SIGINT, SIGTERM and SIGHUP end every throw-away server and discard everything half-made, so that a
/// pending download or start gets [`Error::Interrupted`]. Further calls have no effect.
pub fn stop_servers_on_signals() -> anyhow::Result<()> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    if INSTALLED.set(()).is_err() {
        return Ok(());
    }
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .context("cannot listen for signals")?;
    std::thread::spawn(move || signals.forever().for_each(|_| stop_all()));
    Ok(())
}

/// A server is ready when it accepts a login. Looking at its greeting first is cheap and fails fast.
pub fn ready(endpoint: &Endpoint) -> Result<String, String> {
    handshake::greets(endpoint)?;
    let url = endpoint.url();
    let target = open(&url).map_err(|error| error.to_string())?;
    if endpoint.product.descriptor().driver == "cockroach" {
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        hurry_waiters(&address).map_err(|error| error.to_string())?;
    }
    Ok(target.info().version.clone())
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

/// The JSON form of a kept server.
pub fn of_kept(kept: &Kept) -> Value {
    json!({
        "target": kept.target, "version": kept.version, "source": kept.source, "cached": true,
        "running": running(kept),
    })
}

/// Progress on standard error: a spinner on a terminal, plain lines elsewhere.
pub struct Spinner {
    bar: ProgressBar,
}

impl Spinner {
    /// Starts the spinner.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(progress_target());
        let template = match is_coloured(&std::io::stderr()) {
            true => "{spinner} {prefix} {wide_msg:.dim}",
            false => "{spinner} {prefix} {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }

    /// Removes the spinner.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Progress for Spinner {
    fn step(&self, text: &str) {
        if self.bar.is_hidden() {
            tell(text);
        }
        self.bar.set_prefix(text.to_owned());
        self.bar.set_message("");
    }

    fn detail(&self, text: &str) {
        self.bar.set_message(text.to_owned());
    }
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
