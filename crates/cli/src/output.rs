//! All printing of the command: results on standard output, everything else on standard error.
//!
//! Idea: `--quiet` and `--color` apply to the whole command, so they are kept here and every other file just calls
//! `print`, `tell` or `complain`. A *remark* (progress, advice, what was skipped) is suppressed by `--quiet`; a
//! *complaint* says why the exit code is not 0, and is always shown. Source: the conventions of NO_COLOR (no-color.org)
//! and of CLICOLOR and CLICOLOR_FORCE (bixense.com/clicolors).

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use anchorite_report::{Glyphs, Style, TextOptions};
use clap::ValueEnum;
use indicatif::ProgressDrawTarget;

use crate::exit::{self, Exit};

/// Columns if standard output is not a terminal and `COLUMNS` is not set.
const DEFAULT_WIDTH: usize = 120;

/// The value of `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR or CLICOLOR=0 is set; elsewhere only with CLICOLOR_FORCE=1
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to print, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputMode {
    /// Print only results and complaints.
    pub quiet: bool,
    /// When to use colour.
    pub colour: Colour,
}

static MODE: OnceLock<OutputMode> = OnceLock::new();

/// Sets the mode, once per command.
pub fn set_mode(mode: OutputMode) {
    // Only the first call counts; there is only one command line.
    let _ = MODE.set(mode);
}

fn mode() -> OutputMode {
    MODE.get().copied().unwrap_or_default()
}

/// Prints results. If the reader has gone away (`| head`), the command ends silently; a full disk is reported.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) else { return };
    drop(out);
    anchorite_servers::stop_all();
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(Exit::Fine as i32);
    }
    complain(&format!("cannot write to standard output: {error}"));
    let exit = if exit::is_disk_full(&error) { Exit::DiskFull } else { Exit::BadInput };
    std::process::exit(exit as i32);
}

/// A remark on standard error; not with `--quiet`.
pub fn tell(text: &str) {
    if !mode().quiet {
        complain(text);
    }
}

/// Whether remarks are not wanted.
pub fn is_quiet() -> bool {
    mode().quiet
}

/// Says what went wrong, in one message, and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let exit = exit::code_of(error);
    if exit == Exit::Interrupted {
        complain("interrupted; everything that was started is stopped and removed");
    } else {
        complain(&exit::told(error));
    }
    exit.into()
}

/// Says on standard error why the exit code is what it is.
pub fn complain(text: &str) {
    // Whoever has closed standard error does not want to know; that must not end the work.
    let _ = writeln!(io::stderr(), "anchorite: {text}");
}

/// Where progress is drawn: standard error, if that is a terminal; nowhere with `--quiet`.
pub fn progress_target() -> ProgressDrawTarget {
    match mode().quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}

/// Width, colour and line characters that suit standard output.
pub fn text_options() -> TextOptions {
    let terminal = io::stdout().is_terminal();
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|value| value.to_lowercase().replace('-', "").contains("utf8"));
    TextOptions {
        width: width(terminal),
        style: if is_coloured(&io::stdout()) { Style::Ansi } else { Style::Plain },
        glyphs: if utf8 || !terminal { Glyphs::Unicode } else { Glyphs::Ascii },
    }
}

/// Whether to colour what goes to this stream.
pub fn is_coloured(stream: &impl IsTerminal) -> bool {
    wants_colour(mode().colour, stream.is_terminal(), |name| std::env::var_os(name))
}

fn wants_colour(
    asked: Colour,
    terminal: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let on = |name: &str| set(name).map(|value| value != "0");
    match asked {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if set("NO_COLOR").is_some() => false,
        Colour::Auto if on("CLICOLOR_FORCE") == Some(true) => true,
        Colour::Auto => {
            let dumb = variable("TERM").is_some_and(|value| value == "dumb");
            terminal && !dumb && on("CLICOLOR") != Some(false)
        }
    }
}

fn width(terminal: bool) -> usize {
    asked_width()
        .or_else(|| if terminal { seen_width(io::stdout()) } else { None })
        .unwrap_or(DEFAULT_WIDTH)
}

/// The columns of a live line on standard error.
pub fn live_width() -> usize {
    asked_width().or_else(|| seen_width(io::stderr())).unwrap_or(DEFAULT_WIDTH)
}

fn asked_width() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

fn seen_width(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_counts_first_then_the_environment_then_the_terminal() {
        let coloured = |asked, terminal, set: &[(&str, &str)]| {
            wants_colour(asked, terminal, |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        let auto = Colour::Auto;
        for (asked, terminal, set, expected) in [
            (auto, true, &[][..], true),
            (auto, false, &[], false),
            (auto, true, &[("NO_COLOR", "1")], false),
            (auto, true, &[("NO_COLOR", "")], true),
            (auto, true, &[("CLICOLOR", "0")], false),
            (auto, true, &[("TERM", "dumb")], false),
            (auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (Colour::Always, false, &[("NO_COLOR", "1")], true),
            (Colour::Never, true, &[("CLICOLOR_FORCE", "1")], false),
        ] {
            assert_eq!(coloured(asked, terminal, set), expected, "{asked:?} {terminal} {set:?}");
        }
    }
}
