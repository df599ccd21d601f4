//! The layout of a schedule: one column per session, or stacked if the columns would be too narrow.
//!
//! Idea: a column is as wide as its contents. If that does not fit, the remarks wrap before the statements do; if that
//! is not enough, the width is divided, with narrow columns keeping what they need. Time runs downwards, one entry
//! below the other, so the order of events is never in doubt. Assumption: every entry's session has a name, and a entry
//! can be laid out in any width of at least [`BODY_WIDTH_MIN`].

use crate::entries::Entry;
use crate::style::{Glyphs, Ink, Line};
use crate::wrap::{cut, width};

/// A column that has to wrap its statements may not get narrower than this; the entries are stacked
/// instead.
pub(crate) const COLUMN_WIDTH_MIN: usize = 30;
/// The widest column, however wide the terminal is: long lines are hard to follow.
pub(crate) const COLUMN_WIDTH_MAX: usize = 90;
/// The least width that is left for a entry.
pub(crate) const BODY_WIDTH_MIN: usize = 12;
/// Longer names of sessions are cut in the stacked form.
const NAME_WIDTH_MAX: usize = 16;
/// The columns between a statement's number and its text.
const NUMBER_GAP: usize = 2;
/// The columns of ` │ `.
const SEPARATOR: usize = 3;

/// How entries are drawn.
pub(crate) trait Draw {
    /// The lines of a entry, none wider than `room` columns.
    fn lines(&self, entry: &Entry<'_>, room: usize) -> Vec<Line>;
    /// The width below which a statement or a table of the entry would have to wrap.
    fn need(&self, entry: &Entry<'_>) -> usize;
}

/// Lays out the entries in at most `limit` columns.
pub(crate) fn schedule(
    entries: &[Entry<'_>],
    names: &[String],
    limit: usize,
    glyphs: Glyphs,
    draw: &dyn Draw,
) -> Vec<Line> {
    let digits = entries.iter().map(|entry| entry.n.to_string().len()).max().unwrap_or(1);
    let label = digits + NUMBER_GAP;
    let widest = |measure: &dyn Fn(&Entry<'_>) -> usize| -> Vec<usize> {
        let of = |(session, name): (usize, &String)| {
            let own = entries.iter().filter(|entry| entry.session == session);
            label + own.map(measure).max().unwrap_or(0).max(width(name))
        };
        names.iter().enumerate().map(of).collect()
    };
    let wanted = widest(&|entry| {
        let lines = draw.lines(entry, COLUMN_WIDTH_MAX - label);
        lines.iter().map(Line::width).max().unwrap_or(0)
    });
    let needed = widest(&|entry| draw.need(entry).min(COLUMN_WIDTH_MAX - label));
    match share(&wanted, &needed, limit) {
        Some(widths) => side_by_side(entries, names, &widths, label, glyphs, draw),
        None => stacked(entries, names, limit, label, glyphs, draw),
    }
}

/// The widths of the columns; `None` if one that must wrap its statements would get too narrow.
fn share(wanted: &[usize], needed: &[usize], limit: usize) -> Option<Vec<usize>> {
    let room = limit.checked_sub(SEPARATOR * wanted.len().saturating_sub(1))?;
    // Every column gets what it needs, but at most `most`; this is the largest `most` that fits.
    let level = |most: usize| -> Vec<usize> {
        let pairs = wanted.iter().zip(needed);
        pairs.map(|(want, need)| (*want).min(most.max(*need))).collect()
    };
    let fits = |widths: &Vec<usize>| widths.iter().sum::<usize>() <= room;
    if fits(&level(0)) {
        return (0..=COLUMN_WIDTH_MAX.max(room)).rev().map(level).find(fits);
    }
    let level = |most: usize| needed.iter().map(|need| (*need).min(most)).collect::<Vec<_>>();
    (COLUMN_WIDTH_MIN..=room).rev().map(level).find(fits)
}

fn side_by_side(
    entries: &[Entry<'_>],
    names: &[String],
    widths: &[usize],
    label: usize,
    glyphs: Glyphs,
    draw: &dyn Draw,
) -> Vec<Line> {
    let row = |session: usize, cell: &Line| {
        let mut line = Line::default();
        let mut edge = 0;
        for (i, room) in widths.iter().enumerate() {
            if i > 0 {
                line.push(Ink::Faint, format!(" {} ", glyphs.vertical()));
                edge += SEPARATOR;
            }
            if i == session {
                line.append(cell);
            }
            edge += room;
            line.pad_to(edge);
        }
        line
    };
    let mut lines = heading(names, widths, label, glyphs);
    for entry in entries {
        for (i, text) in draw.lines(entry, widths[entry.session] - label).iter().enumerate() {
            lines.push(row(entry.session, &labelled(entry.n, i == 0, label, text)));
        }
    }
    lines
}

fn heading(names: &[String], widths: &[usize], label: usize, glyphs: Glyphs) -> Vec<Line> {
    let mut title = Line::default();
    let mut rule = String::new();
    let mut edge = 0;
    for (i, (name, room)) in names.iter().zip(widths).enumerate() {
        if i > 0 {
            title.push(Ink::Faint, format!(" {} ", glyphs.vertical()));
            rule += &format!("{0}{1}{0}", glyphs.horizontal(), glyphs.cross());
            edge += SEPARATOR;
        }
        title.push(Ink::Plain, " ".repeat(label));
        title.push(Ink::Title, cut(name, room - label, glyphs.ellipsis()));
        edge += room;
        title.pad_to(edge);
        rule += &glyphs.horizontal().repeat(*room);
    }
    vec![title, Line::of(Ink::Faint, rule)]
}

fn stacked(
    entries: &[Entry<'_>],
    names: &[String],
    limit: usize,
    label: usize,
    glyphs: Glyphs,
    draw: &dyn Draw,
) -> Vec<Line> {
    let room = limit.saturating_sub(label + NUMBER_GAP + BODY_WIDTH_MIN).clamp(1, NAME_WIDTH_MAX);
    let short = |session: usize| cut(&names[session], room, glyphs.ellipsis());
    let widest = entries.iter().map(|entry| width(&short(entry.session))).max().unwrap_or(0);
    let margin = label + widest + NUMBER_GAP;
    let mut lines = Vec::new();
    for entry in entries {
        for (i, text) in draw.lines(entry, limit - margin).iter().enumerate() {
            let mut line = labelled(entry.n, i == 0, label, &Line::default());
            if i == 0 {
                line.push(Ink::Title, short(entry.session));
            }
            line.pad_to(margin);
            line.append(text);
            lines.push(line);
        }
    }
    lines
}

/// The text after the statement's number, or after as many spaces.
fn labelled(n: usize, first: bool, label: usize, text: &Line) -> Line {
    let digits = label - NUMBER_GAP;
    let mut line = Line::default();
    if first {
        line.push(Ink::Faint, format!("{n:>digits$}"));
    }
    line.pad_to(label);
    line.append(text);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_columns_keep_what_they_need() {
        assert_eq!(share(&[20, 60], &[20, 60], 90), Some(vec![20, 60]));
        assert_eq!(share(&[20, 80], &[20, 80], 83), Some(vec![20, 60]));
        assert_eq!(share(&[50, 80], &[50, 80], 83), Some(vec![40, 40]));
        assert_eq!(share(&[50, 80], &[50, 80], 60), None);
        assert_eq!(share(&[10; 5], &[10; 5], 62), Some(vec![10; 5]));
        assert_eq!(share(&[], &[], 80), Some(Vec::new()));
    }

    #[test]
    fn remarks_give_way_to_statements() {
        assert_eq!(share(&[70, 70], &[30, 60], 103), Some(vec![40, 60]));
        assert_eq!(share(&[70, 70], &[30, 40], 103), Some(vec![50, 50]));
    }
}
