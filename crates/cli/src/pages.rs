//! `anchorite completions` and `anchorite man`: what a shell and `man` need to know about the command.
//!
//! Idea: the program itself generates both from the same description as `--help`, so they always match its version.
//! Source: `clap_complete` and `clap_mangen`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::output::print;

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Where shells look for it:
  bash  ~/.local/share/bash-completion/completions/anchorite
  zsh   a file _anchorite in a folder of $fpath
  fish  ~/.config/fish/completions/anchorite.fish

Examples:
  anchorite completions bash > anchorite.bash
  anchorite completions fish > anchorite.fish")]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
`man` finds the pages in ~/.local/share/man/man1 where ~/.local/bin is on the PATH.

Examples:
  anchorite man > anchorite.1
  anchorite man man1")]
pub struct ManArgs {
    /// Write a page for every command into this folder; default: print the main page
    folder: Option<PathBuf>,
}

/// Prints the script for a shell.
pub fn completions(arguments: &CompletionArgs, mut command: Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    print(&String::from_utf8(script).context("a completion script is text")?);
    Ok(Exit::Fine.into())
}

/// Prints the page of the command, or writes all of them.
pub fn man(arguments: &ManArgs, command: Command) -> anyhow::Result<ExitCode> {
    let command = command.disable_help_subcommand(true);
    match &arguments.folder {
        Some(folder) => {
            let failed = || format!("cannot write {}", folder.display());
            std::fs::create_dir_all(folder).with_context(failed)?;
            clap_mangen::generate_to(command, folder).with_context(failed)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            print(&String::from_utf8(page).context("a manual page is text")?);
        }
    }
    Ok(Exit::Fine.into())
}
