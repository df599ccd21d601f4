//! `anchorite clean`: shows and drops what earlier runs left on a server.
//!
//! Every command removes by itself what runs on this machine left ([`crate::leftovers`]). This one handles the rest:
//! what runs on other machines left, of which only the age is known, and what earlier releases left, of which not even
//! that is known. It first shows what would be dropped. It never touches anything without our mark, or anything whose
//! owner is still running.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use anchorite_drivers::{Marked, Owner, Target};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::exit::{BadInput, Exit};
use crate::hunt::{duration, span};
use crate::interrupt::Interrupt;
use crate::login::LoginArgs;
use crate::output::{complain, print};
use crate::targets;

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs drop what they create. A run that is killed, or that loses its server, cannot; the next command on the same
server does it instead, if the run was on this machine. This command is for the rest.

Examples:
  anchorite clean sqlite
  anchorite clean mariadb://root@127.0.0.1:3306
  anchorite clean postgres://postgres@db.example.org --older-than 2h --yes")]
pub struct CleanArgs {
    /// Where to look: a URL, or sqlite
    #[arg(value_name = "TARGET")]
    target: String,
    /// Drop without asking
    #[arg(long)]
    yes: bool,
    /// Drop what runs on other machines left if it is older than this (90s, 10m, 1h, 24h)
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h")]
    older_than: Duration,
    /// Also drop what has no known age: earlier releases did not record it
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    login: LoginArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Something with our mark, and what happens to it.
struct Item {
    marked: Marked,
    /// Why it stays; `None` = it may be dropped.
    stays: Option<String>,
    /// The result of dropping it.
    outcome: Option<Result<(), String>>,
}

/// Runs the command.
pub fn run(arguments: &CleanArgs) -> anyhow::Result<ExitCode> {
    let login = arguments.login.read(&Interrupt::listen()?)?;
    let (target, _) = targets::open_running(&arguments.target, &login)?.ok_or_else(|| {
        BadInput(format!(
            "'{}' is a private server, which exists only while its command runs: expected a URL or sqlite",
            arguments.target
        ))
    })?;
    let mut items: Vec<Item> = target.marked()?.into_iter().map(|m| arguments.judge(m)).collect();
    items.sort_by(|a, b| a.marked.name.cmp(&b.marked.name));
    let droppable = items.iter().filter(|item| item.stays.is_none()).count();
    if arguments.format == Format::Text {
        print(&list(target.as_ref(), &items));
    }
    let is_agreed = droppable > 0 && (arguments.yes || arguments.asks() && agrees(droppable)?);
    if is_agreed {
        drop_all(target.as_ref(), &mut items);
    }
    match arguments.format {
        Format::Json => print(&format!("{}\n", document(target.as_ref(), &items))),
        Format::Text => print(&told(&items, droppable, is_agreed)),
    }
    let has_failed = items.iter().any(|item| matches!(item.outcome, Some(Err(_))));
    Ok(if has_failed { Exit::Target } else { Exit::Fine }.into())
}

impl CleanArgs {
    /// Whether there is a terminal to ask on.
    fn asks(&self) -> bool {
        self.format == Format::Text && std::io::stdin().is_terminal()
    }

    fn judge(&self, marked: Marked) -> Item {
        let stays = match (marked.owner, marked.age) {
            (Owner::Ended, _) => None,
            (Owner::Us | Owner::Running, _) => Some("its run is still active".to_owned()),
            (Owner::Elsewhere | Owner::Unknown, Some(age)) if age >= self.older_than => None,
            (Owner::Elsewhere | Owner::Unknown, Some(_)) => {
                Some(format!("younger than {} (--older-than)", span(self.older_than)))
            }
            (Owner::Elsewhere | Owner::Unknown, None) if self.all => None,
            (Owner::Elsewhere | Owner::Unknown, None) => {
                Some("of unknown age (--all drops it)".to_owned())
            }
        };
        Item { marked, stays, outcome: None }
    }
}

/// Asks; anything but a yes is a no.
fn agrees(count: usize) -> anyhow::Result<bool> {
    complain(&format!("Drop {}? [y/N]", of_count(count)));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}

fn drop_all(target: &dyn Target, items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.stays.is_none()) {
        let dropped = target.remove_marked(&item.marked);
        item.outcome = Some(dropped.map_err(|error| error.to_string()));
    }
}

fn list(target: &dyn Target, items: &[Item]) -> String {
    if items.is_empty() {
        return format!("Nothing of ours is left on {}.\n", target.info());
    }
    let mut text = format!("On {}:\n", target.info());
    for Item { marked, stays, .. } in items {
        let age = marked.age.map(|age| format!(", {} old", span(age))).unwrap_or_default();
        let verdict =
            stays.as_ref().map_or("can be dropped".to_owned(), |why| format!("stays: {why}"));
        let (kind, owner) = (marked.kind.name(), owner_told(marked.owner));
        text += &format!("  {kind} {} ({owner}{age}): {verdict}\n", marked.name);
    }
    text
}

fn told(items: &[Item], droppable: usize, is_agreed: bool) -> String {
    if droppable == 0 {
        return String::new();
    }
    if !is_agreed {
        return format!("Nothing was dropped; --yes drops {}.\n", of_count(droppable));
    }
    let failures: Vec<String> = items
        .iter()
        .filter_map(|item| Some((item, item.outcome.as_ref()?.as_ref().err()?)))
        .map(|(item, error)| format!("Could not drop {}: {error}\n", item.marked.name))
        .collect();
    format!("Dropped {}.\n{}", of_count(droppable - failures.len()), failures.concat())
}

fn document(target: &dyn Target, items: &[Item]) -> serde_json::Value {
    let item = |item: &Item| {
        let failure = item.outcome.as_ref().and_then(|outcome| outcome.as_ref().err());
        json!({
            "kind": item.marked.kind.name(),
            "name": item.marked.name,
            "owner": owner_word(item.marked.owner),
            "age_seconds": item.marked.age.map(|age| age.as_secs()),
            "stays": item.stays,
            "dropped": matches!(item.outcome, Some(Ok(()))),
            "error": failure,
        })
    };
    let info = target.info();
    json!({
        "anchorite": env!("CARGO_PKG_VERSION"),
        "target": {"product": info.product.name(), "version": info.version},
        "found": items.iter().map(item).collect::<serde_json::Value>(),
    })
}

const fn owner_word(owner: Owner) -> &'static str {
    match owner {
        Owner::Us | Owner::Running => "running",
        Owner::Ended => "ended",
        Owner::Elsewhere => "elsewhere",
        Owner::Unknown => "unknown",
    }
}

const fn owner_told(owner: Owner) -> &'static str {
    match owner {
        Owner::Us | Owner::Running => "of a run that is still active",
        Owner::Ended => "of a run that has ended",
        Owner::Elsewhere => "from another machine, or from before a reboot",
        Owner::Unknown => "from an earlier release",
    }
}

fn of_count(count: usize) -> String {
    format!("{count} {}", if count == 1 { "leftover" } else { "leftovers" })
}
