//! The first visit (`docs/tutorial.md`): every command is run, and prints what the page says.
//!
//! Idea: a block of `sh` is a list of commands, the block of `text` after it what they print on standard output. There
//! `…` stands for any text, and alone on a line for any lines. A command's exit code is 0, unless a remark behind it
//! says otherwise. Blocks of `console` are not run: they install the program, which the tests have.
//!
//! The server that the page uses must be in `ANCHORITE_TEST_SERVERS`.

#![allow(clippy::print_stdout, reason = "tests tell what they skip")]

use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_anchorite");
const SERVER: &str = "mariadb@10.11";

/// Commands and what they print together.
struct Visit<'p> {
    commands: &'p str,
    printed: &'p str,
}

fn visits(page: &str) -> Vec<Visit<'_>> {
    let blocks: Vec<(&str, &str)> = page
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .filter(|(kind, _)| *kind != "console")
        .collect();
    blocks
        .chunks(2)
        .map(|pair| {
            assert_eq!(pair.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["sh", "text"]);
            Visit { commands: pair[0].1, printed: pair[1].1 }
        })
        .collect()
}

/// The commands of a block; one that ends with `\` goes on in the next line.
fn commands(block: &str) -> Vec<(String, i32)> {
    let joined = block.replace("\\\n", " ");
    let command = |line: &str| match line.split_once("  # exit code ") {
        Some((command, code)) => (command.to_owned(), code.trim().parse().expect("an exit code")),
        None => (line.to_owned(), 0),
    };
    joined.lines().filter(|line| !line.trim().is_empty()).map(command).collect()
}

fn run(folder: &Path, (command, code): &(String, i32)) -> String {
    let bin = Path::new(PROGRAM).parent().expect("its folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", path.expect("a PATH"))
        .env("ANCHORITE_STATE", folder.join("state"))
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let complaint = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(*code), "{command}: {complaint}{printed}");
    printed
}

/// Whether a line is as the page says.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.trim().split('…');
    let line = line.trim();
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// The first line of the page that does not come, where it should.
fn missing<'p>(printed: &str, page: &'p str) -> Option<&'p str> {
    let mut lines = printed.lines();
    let mut may_skip = false;
    for pattern in page.lines() {
        if pattern.trim() == "…" {
            may_skip = true;
            continue;
        }
        let found = match may_skip {
            true => lines.any(|line| is_like(line, pattern)),
            false => lines.next().is_some_and(|line| is_like(line, pattern)),
        };
        if !found {
            return Some(pattern);
        }
        may_skip = false;
    }
    (!may_skip && lines.next().is_some()).then_some("(the end)")
}

#[test]
fn patterns_skip_what_they_say_and_nothing_else() {
    assert!(is_like("MariaDB 10.11.18, rc: x", "MariaDB 10.11.…, rc: x"));
    assert!(is_like("  ▸ blocked by t1", "▸ blocked by t1"));
    assert!(!is_like("a b", "a") && !is_like("b", "a…") && !is_like("ab", "a…c"));
    assert_eq!(missing("a\nb\nc\n", "a\n…\nc\n"), None);
    assert_eq!(missing("a\nb\nc\n", "a\nc\n"), Some("c"));
    assert_eq!(missing("a\nb\nc\n", "a\n…\nd\n"), Some("d"));
    assert_eq!(missing("a\nb\n", "a\n"), Some("(the end)"));
    assert_eq!(missing("a\nb\n", "a\n…\n"), None);
    assert_eq!(missing("", ""), None);
}

#[test]
fn every_command_of_the_first_visit_prints_what_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let visits = visits(&page);
    assert!(visits.len() >= 9, "{}", visits.len());
    let servers = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    if !servers.split_whitespace().any(|server| server == SERVER) {
        println!("skipped: ANCHORITE_TEST_SERVERS does not name {SERVER}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for visit in visits {
        let commands = commands(visit.commands);
        let printed: String = commands.iter().map(|command| run(folder.path(), command)).collect();
        if let Some(line) = missing(&printed, visit.printed) {
            panic!("{}\ndoes not print\n  {line}\nbut\n{printed}", visit.commands);
        }
    }
}
