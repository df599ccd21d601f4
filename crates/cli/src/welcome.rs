//! `anchorite` without arguments on a terminal: what can be done here, with commands to copy.
//!
//! Idea: whoever has just built the program does not want all options but the next step. So what is on this machine
//! decides: servers that run, servers that could be started, cases and findings in this folder. Nothing is fetched and
//! nothing is started.
//!
//! Blind spot: servers that somebody else started are not looked for.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anchorite_servers::{kept_servers, offers};

use crate::exit::Exit;
use crate::output::print;

/// More than this many servers to start are not listed.
const OFFERS_MAX: usize = 4;

/// What there is.
#[derive(Default)]
struct Here {
    /// URLs of servers that `server start --keep` has started.
    running: Vec<String>,
    /// Servers that can be started at once.
    ready: Vec<String>,
    /// Servers that would have to be fetched first.
    fetched: Vec<String>,
    /// Whether a folder of cases is here.
    has_cases: bool,
    /// The folder of the last hunt here that found something.
    findings: Option<String>,
}

/// Says what can be done, if nothing was asked for and somebody is looking.
pub fn greet() -> Option<ExitCode> {
    let is_asked = std::env::args_os().len() > 1;
    if is_asked || !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return None;
    }
    print(&told(&look()));
    Some(Exit::Fine.into())
}

fn look() -> Here {
    let kept = kept_servers().unwrap_or_default();
    let mut here = Here {
        running: kept.into_iter().map(|server| server.url).collect(),
        has_cases: Path::new("cases/probe").is_dir(),
        findings: last_findings(Path::new("anchorite-findings")),
        ..Here::default()
    };
    for offer in offers().unwrap_or_default() {
        let list = if offer.cached { &mut here.ready } else { &mut here.fetched };
        list.push(offer.target);
    }
    here
}

/// The hunt that wrote last, among those in this folder.
fn last_findings(folder: &Path) -> Option<String> {
    let hunts = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let newest = hunts
        .filter(|path| path.is_dir())
        .max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok());
    newest.map(|path| path.display().to_string())
}

fn told(here: &Here) -> String {
    let mut text = String::from(
        "Anchorite finds out whether a SQL database keeps the isolation that it promises.\n",
    );
    let mut section = |title: &str, lines: &[(String, &str)]| {
        if lines.is_empty() {
            return;
        }
        text += &format!("\n{title}\n");
        for (command, about) in lines {
            let line = format!("  {:<56}{about}", format!("anchorite {command}"));
            text += &format!("{}\n", line.trim_end());
        }
    };
    let plain = |lines: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
        lines.iter().map(|(command, about)| ((*command).to_owned(), *about)).collect()
    };
    section(
        "Without any server, on the SQLite that is built in:",
        &plain(&[
            ("probe", "what each level prevents, claimed and observed"),
            ("hunt --time 10s", "generate transactions and look for violations"),
            ("shell", "type into two sessions, and see who waits for whom"),
        ]),
    );
    let mut local = Vec::new();
    if here.has_cases {
        local.push(("run cases/probe/P4.case".to_owned(), "run a case, statement by statement"));
    }
    if let Some(folder) = &here.findings {
        local.push((format!("report {folder}"), "what the last hunt found, on one page"));
    }
    section("In this folder:", &local);
    let running = here.running.iter().map(|url| (format!("shell {url}"), ""));
    section("On servers that run:", &running.collect::<Vec<_>>());
    let is_ready = !here.ready.is_empty();
    let start = to_start(if is_ready { &here.ready } else { &here.fetched });
    let title = match is_ready {
        true => "On private servers, which end with the command:",
        false => "On private servers, which are fetched first and end with the command:",
    };
    section(title, &start);
    section(
        "More:",
        &plain(&[
            ("server versions", "all servers that can be started here"),
            ("--help", "all commands"),
        ]),
    );
    text
}

/// A command for each of the first servers, none twice.
fn to_start(servers: &[String]) -> Vec<(String, &'static str)> {
    const COMMANDS: [(&str, &str); OFFERS_MAX] = [
        ("probe --on", "the same table for a server"),
        ("hunt --time 1m --on", "a hunt on a server"),
        ("shell", "sessions on a server"),
        ("server start", "the server itself, until Ctrl-C"),
    ];
    let pairs = servers.iter().zip(COMMANDS);
    pairs.map(|(server, (words, about))| (format!("{words} {server}"), about)).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn every_command_that_is_shown_can_be_copied() {
        let servers = ["mariadb@10.11", "mysql@9.7", "postgres@15", "tidb@8.5", "postgres@17"];
        let full = Here {
            running: vec!["mariadb://root@127.0.0.1:4001".to_owned()],
            ready: servers.map(str::to_owned).to_vec(),
            fetched: Vec::new(),
            has_cases: true,
            findings: Some("anchorite-findings/seed-1".to_owned()),
        };
        let bare = Here { fetched: vec!["mariadb@10.11".to_owned()], ..Here::default() };
        for here in [&full, &bare, &Here::default()] {
            let text = told(here);
            let shown = text.lines().filter_map(|line| line.strip_prefix("  anchorite "));
            let commands: Vec<&str> =
                shown.map(|line| line.split("  ").next().unwrap_or(line)).collect();
            assert!(commands.len() >= 5, "{text}");
            for command in commands.iter().filter(|command| **command != "--help") {
                let words = std::iter::once("anchorite").chain(command.split_whitespace());
                assert!(Cli::command().try_get_matches_from(words).is_ok(), "{command}");
            }
        }
        let text = told(&full);
        assert!(
            text.contains("shell mariadb://root@127.0.0.1:4001") && !text.contains("postgres@17")
        );
        assert!(told(&bare).contains("which are fetched first"));
    }
}
