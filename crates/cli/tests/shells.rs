//! Completion scripts and manual pages, tried in the programs that they are for.
//!
//! bash is everywhere; a test for a program that this machine does not have says that it was skipped.

#![allow(clippy::print_stdout, reason = "tests tell what they skip")]

use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_anchorite");

/// What a program prints; `None`, and a remark, if it is not there.
fn said(folder: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let bin = Path::new(PROGRAM).parent().expect("its folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("PATH", path.expect("a PATH")).env("HOME", folder).env("TERM", "dumb");
    let Ok(output) = command.output() else {
        println!("skipped: there is no {program} here");
        return None;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &told)
}

/// The script for a shell, in a file.
fn script(folder: &Path, shell: &str, name: &str) {
    let script = said(folder, PROGRAM, &["completions", shell]).expect("it was built");
    std::fs::write(folder.join(name), script).expect("it can be written");
}

#[test]
fn bash_completes_commands_options_and_values() {
    let folder = tempfile::tempdir().expect("a folder");
    script(folder.path(), "bash", "anchorite.bash");
    for (words, expected) in [
        ("hu", "hunt"),
        ("shell --sess", "--sessions"),
        ("server st", "start"),
        ("run --format ju", "junit"),
    ] {
        let all: Vec<&str> = words.split(' ').collect();
        let (last, before) = all.split_last().expect("a word");
        let before = before.last().unwrap_or(&"anchorite");
        let ask = format!(
            "source anchorite.bash; COMP_WORDS=(anchorite {words}); COMP_CWORD={}; \
             _anchorite anchorite '{last}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            all.len()
        );
        let arguments = ["--norc", "--noprofile", "-c", &ask];
        let Some(found) = said(folder.path(), "bash", &arguments) else { return };
        assert!(found.lines().any(|line| line == expected), "{words}: {found}");
    }
}

#[test]
fn fish_completes_commands_with_what_they_do() {
    let folder = tempfile::tempdir().expect("a folder");
    script(folder.path(), "fish", "anchorite.fish");
    let ask =
        "source anchorite.fish; complete -C 'anchorite hu'; complete -C 'anchorite shell --sess'";
    let Some(found) = said(folder.path(), "fish", &["--no-config", "-c", ask]) else { return };
    assert!(found.lines().any(|line| line.starts_with("hunt\tGenerate")), "{found}");
    assert!(found.contains("--sessions\t"), "{found}");
}

#[test]
fn zsh_takes_the_function_from_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    script(folder.path(), "zsh", "_anchorite");
    let ask = "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; print $_comps[anchorite]; \
               autoload +X _anchorite && whence -w _anchorite";
    let Some(found) = said(folder.path(), "zsh", &["-f", "-c", ask]) else { return };
    assert_eq!(found, "_anchorite\n_anchorite: function\n");
}

#[test]
fn manual_pages_are_laid_out_without_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    said(folder.path(), PROGRAM, &["man", "man1"]).expect("it was built");
    for page in ["anchorite", "anchorite-shell", "anchorite-hunt"] {
        let arguments = ["-man", "-Tutf8", "-ww", "-z", &format!("man1/{page}.1")];
        let Some(warnings) = said(folder.path(), "groff", &arguments) else { return };
        assert_eq!(warnings, "", "{page}");
    }
}
