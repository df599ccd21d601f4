//! What text for a terminal is laid out on: widths, indents, titles and prose.
//!
//! Assumption: the terminal's width is known to the caller; below [`WIDTH_MIN`] lines get wider
//! than it.

use crate::escape::visible;
use crate::style::{Glyphs, Ink, Line, Style};
use crate::wrap::wrap;

/// Nothing is laid out narrower than this.
pub(crate) const WIDTH_MIN: usize = 40;
/// The widest prose and rules, however wide the terminal is.
const PROSE_WIDTH_MAX: usize = 120;
/// The columns that sections are indented by.
pub(crate) const INDENT: usize = 2;
/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// The columns of the terminal.
    pub width: usize,
    /// Coloured or not.
    pub style: Style,
    /// What lines are drawn with.
    pub glyphs: Glyphs,
}

/// The lines as one text.
pub(crate) fn paint(lines: &[Line], style: Style) -> String {
    let mut out = String::new();
    for line in lines {
        line.paint(style, &mut out);
    }
    out
}

/// What text is laid out on.
pub(crate) struct Page {
    /// The columns that there are.
    pub width: usize,
    /// The columns that prose may take.
    pub prose: usize,
    /// What lines are drawn with.
    pub glyphs: Glyphs,
}

impl Page {
    /// A page of the width that was asked for, within reason.
    pub fn new(options: &TextOptions) -> Self {
        Self {
            width: options.width.max(WIDTH_MIN),
            prose: options.width.clamp(WIDTH_MIN, PROSE_WIDTH_MAX),
            glyphs: options.glyphs,
        }
    }

    /// A rule between two things.
    pub fn rule(&self, out: &mut Vec<Line>) {
        if !out.is_empty() {
            out.push(Line::default());
            out.push(Line::of(Ink::Faint, self.glyphs.heavy().repeat(self.prose)));
        }
    }

    /// A named line of the header.
    pub fn field(&self, name: &str, ink: Ink, text: &str, out: &mut Vec<Line>) {
        const NAME_WIDTH: usize = 10;
        let room = self.prose - INDENT - NAME_WIDTH;
        for (i, piece) in wrap(&visible(text), room, 0).into_iter().enumerate() {
            let mut line = Line::of(Ink::Plain, " ".repeat(INDENT));
            line.push(Ink::Faint, if i == 0 { name } else { "" });
            line.pad_to(INDENT + NAME_WIDTH);
            line.push(ink, piece);
            out.push(line);
        }
    }

    /// Indented prose.
    pub fn indented(&self, ink: Ink, text: &str, out: &mut Vec<Line>) {
        let lines = prose(ink, text, self.prose - INDENT);
        out.extend(lines.iter().map(|line| line.indented(INDENT)));
    }
}

/// An empty line and a title.
pub(crate) fn section(title: &str, out: &mut Vec<Line>) {
    out.push(Line::default());
    out.push(Line::of(Ink::Title, title));
}

/// Text in lines that are not too long to follow.
pub(crate) fn prose(ink: Ink, text: &str, room: usize) -> Vec<Line> {
    wrap(text, room, INDENT).into_iter().map(|piece| Line::of(ink, piece)).collect()
}
