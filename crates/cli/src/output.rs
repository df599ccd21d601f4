//! Where the command prints: results on standard output, everything else on standard error.

use std::io::{self, IsTerminal, Write};

use anchorite_report::{Glyphs, Style, TextOptions};

/// Columns where standard output is no terminal and `COLUMNS` says nothing.
const DEFAULT_WIDTH: usize = 120;

/// Prints results. A reader that has gone away (`| head`) ends the command quietly.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Says something on standard error.
#[expect(clippy::print_stderr, reason = "the place where the command talks to its user")]
pub fn tell(text: &str) {
    eprintln!("anchorite: {text}");
}

/// Width, colour and line characters that suit where standard output goes.
pub fn text_options() -> TextOptions {
    let terminal = io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|value| value.to_lowercase().replace('-', "").contains("utf8"));
    TextOptions {
        width: width(terminal),
        style: if colour { Style::Ansi } else { Style::Plain },
        glyphs: if utf8 || !terminal { Glyphs::Unicode } else { Glyphs::Ascii },
    }
}

fn width(terminal: bool) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        (size.ws_col > 0).then(|| usize::from(size.ws_col))
    };
    asked.or_else(|| if terminal { seen() } else { None }).unwrap_or(DEFAULT_WIDTH)
}
