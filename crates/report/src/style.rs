//! Colours and line-drawing characters.
//!
//! Idea: a line is a list of pieces with an ink each; it is measured without colour and coloured last, so colour can
//! never change the layout. Every ink repeats what the words already say: plain output loses nothing.

use crate::wrap::width;

/// Whether the output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// No escape sequences at all.
    #[default]
    Plain,
    /// The sixteen colours that every terminal has, chosen by the user's own theme.
    Ansi,
}

/// The characters that rules and marks are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Box drawing and `…`.
    #[default]
    Unicode,
    /// Nothing outside ASCII; the statements and cells themselves keep their characters.
    Ascii,
}

impl Glyphs {
    pub(crate) const fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    pub(crate) const fn horizontal(self) -> &'static str {
        self.pick("─", "-")
    }

    pub(crate) const fn vertical(self) -> &'static str {
        self.pick("│", "|")
    }

    pub(crate) const fn cross(self) -> &'static str {
        self.pick("┼", "+")
    }

    pub(crate) const fn heavy(self) -> &'static str {
        self.pick("━", "=")
    }

    /// The mark before whatever is neither SQL nor a plain answer.
    pub(crate) const fn mark(self) -> &'static str {
        self.pick("▸ ", "> ")
    }

    pub(crate) const fn ellipsis(self) -> &'static str {
        self.pick("…", "...")
    }
}

/// The role of a piece of a line, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Ordinary text.
    Plain,
    /// Titles and names of sessions.
    Title,
    /// Numbers, rules, `ok` and whatever else is less important.
    Faint,
    /// Waiting, or worth a second look.
    Warning,
    /// Resumed after a wait.
    Good,
    /// Failed.
    Bad,
}

impl Ink {
    const fn codes(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Title => "1",
            Self::Faint => "2",
            Self::Warning => "33",
            Self::Good => "32",
            Self::Bad => "31",
        }
    }
}

/// One line of output in inked pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pieces: Vec<(Ink, String)>,
    width: usize,
}

impl Line {
    /// A line of one piece.
    pub fn of(ink: Ink, text: impl Into<String>) -> Self {
        let mut line = Self::default();
        line.push(ink, text);
        line
    }

    /// Adds a piece at the end.
    pub fn push(&mut self, ink: Ink, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.width += width(&text);
            self.pieces.push((ink, text));
        }
    }

    /// Adds the pieces of another line at the end.
    pub fn append(&mut self, other: &Self) {
        self.width += other.width;
        self.pieces.extend(other.pieces.iter().cloned());
    }

    /// Adds spaces up to a width.
    pub fn pad_to(&mut self, columns: usize) {
        self.push(Ink::Plain, " ".repeat(columns.saturating_sub(self.width)));
    }

    /// The pieces with their inks.
    pub fn pieces(&self) -> &[(Ink, String)] {
        &self.pieces
    }

    /// The columns that the line takes.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// The line behind an indent.
    pub fn indented(&self, columns: usize) -> Self {
        let mut line = Self::default();
        if self.width > 0 {
            line.push(Ink::Plain, " ".repeat(columns));
            line.append(self);
        }
        line
    }

    /// Writes the line and its end, without spaces at the end.
    pub fn paint(&self, style: Style, out: &mut String) {
        let solid = self.pieces.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        let count = solid.map_or(0, |last| last + 1);
        for (i, (ink, text)) in self.pieces[..count].iter().enumerate() {
            let text = if i + 1 == count { text.trim_end() } else { text };
            if style == Style::Plain || ink.codes().is_empty() {
                out.push_str(text);
            } else {
                out.push_str(&format!("\u{1b}[{}m{text}\u{1b}[0m", ink.codes()));
            }
        }
        out.push('\n');
    }
}
