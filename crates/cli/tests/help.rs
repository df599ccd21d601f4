//! The help of every command ends with examples that work as they stand; manual pages and completions know them all.
//!
//! The examples that need no server are run, in a folder with the cases and with what a hunt left. Budgets are made
//! smaller; nothing else is changed.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn anchorite(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Every command, as the words that call it.
fn commands(folder: &Path, above: &[&str], found: &mut Vec<Vec<String>>) {
    let help = stdout(&anchorite(folder, &[above, &["--help"]].concat()));
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in listed.take_while(|line| !line.is_empty()) {
        // The explanation of a command may go on in further lines, which stand deeper.
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        let Some(name) = name.and_then(|rest| rest.split_whitespace().next()) else { continue };
        if name != "help" {
            let words = [above, &[name]].concat();
            found.push(words.iter().map(ToString::to_string).collect());
            commands(folder, &words, found);
        }
    }
}

fn all_commands(folder: &Path) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    commands(folder, &[], &mut found);
    assert!(found.len() > 12, "{found:?}");
    found
}

/// The examples that a help ends with.
fn examples(help: &str) -> Vec<String> {
    let after = help.lines().skip_while(|line| !line.starts_with("Example"));
    let lines = after.map(|line| line.strip_prefix("Example:").unwrap_or(line).trim());
    lines.filter(|line| line.contains("anchorite ")).map(str::to_owned).collect()
}

/// Whether an example can be run here: no server is started or stopped, and no finding is needed.
fn needs_nothing(example: &str) -> bool {
    !["@", "://", "server st", "/findings/"].iter().any(|part| example.contains(part))
}

/// The same with a smaller budget.
fn shortened(example: &str) -> String {
    let budget = match example {
        "anchorite selftest" => " --cases 100",
        hunt if hunt.starts_with("anchorite hunt")
            && !hunt.contains(" --case")
            && !hunt.contains(" --time ") =>
        {
            " --time 1s"
        }
        _ => "",
    };
    let example = example.replace("--cases 2000", "--cases 40").replace("--time 10s", "--time 1s");
    example.replace("--cases 200 ", "--cases 100 ") + budget
}

/// How an example ends: a fault that it plants itself is found.
fn exit_code(example: &str) -> i32 {
    i32::from(example.contains("stress ") && example.contains("--sabotage "))
}

#[test]
fn the_examples_of_every_help_work() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    std::os::unix::fs::symlink(cases, folder.path().join("cases")).expect("a link");
    for out in ["findings", "hunt-out"] {
        let hunt = ["hunt", "--cases", "8", "--seed", "1", "--out", out];
        stdout(&anchorite(folder.path(), &hunt));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_anchorite")).parent().expect("its folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(program.to_owned()).chain(std::env::split_paths(&path)),
    );
    let path = path.expect("a PATH");
    for command in all_commands(folder.path()).iter().chain([&Vec::new()]) {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = stdout(&anchorite(folder.path(), &[&words[..], &["--help"]].concat()));
        let examples = examples(&help);
        let last = help.trim_end().lines().last().unwrap_or_default();
        assert!(examples.iter().any(|one| last.ends_with(one)), "{command:?} ends with: {last}");
        for example in examples.iter().filter(|example| needs_nothing(example)) {
            let mut shell = Command::new("sh");
            shell.args(["-c", &shortened(example)]).env("PATH", &path);
            let output = shell.current_dir(folder.path()).stdin(Stdio::null()).output();
            let output = output.expect("the shell starts");
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(exit_code(example)), "{example}: {told}");
        }
    }
}

#[test]
fn manual_pages_and_completions_know_every_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(stdout(&anchorite(folder.path(), &["man", "man1"])), "");
    for words in all_commands(folder.path()) {
        let page = folder.path().join(format!("man1/anchorite-{}.1", words.join("-")));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{page:?}: {e}"));
        assert!(page.contains(".TH ") && page.contains("Example"), "{words:?}: {page}");
    }
    let first = stdout(&anchorite(folder.path(), &["man"]));
    let written = std::fs::read_to_string(folder.path().join("man1/anchorite.1"));
    assert_eq!(first, written.expect("the first page"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&anchorite(folder.path(), &["completions", shell]));
        for word in ["hunt", "selftest", "versions", "strict"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let output = anchorite(folder.path(), &["completions", "cmd"]);
    assert_eq!(output.status.code(), Some(2));
}
