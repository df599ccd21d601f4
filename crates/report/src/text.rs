//! Runs as text for a terminal: the form that people read most.
//!
//! Idea: who, where and at which level first; then what happened, one column per session; then the final state, the
//! checks, the notes and the verdicts. Repeats with the same outcome are shown once. Every mark is spelled out
//! (`blocked by t1`), so there is no legend, and colour only makes reading faster. Blind spot: setup and teardown are
//! not shown; they are in the file that was run.

use anchorite_model::{BlockingKnowledge, Ending, Rows, Run};

use crate::blame::{Blame, blame_of_verdicts};
use crate::columns::{COLUMN_WIDTH_MAX, COLUMN_WIDTH_MIN, Draw, schedule};
use crate::entries::{
    Entry, EntryKind, Item, Tone, answer_items, describe, error_items, never_answered,
};
use crate::escape::{visible, visible_lines};
use crate::fold::{Outcomes, Repeats, fold, repeats_told};
use crate::page::{INDENT, Page, TextOptions, paint, prose, section};
use crate::result::{LevelGroup, blocking_label, level_groups, level_label, session_names};
use crate::style::{Ink, Line};
use crate::summary::summary;
use crate::table::table;
use crate::wrap::{width, wrap, wrap_before};
use crate::{Runs, brief, matrix};

/// The columns that a table is indented by below its statement.
const TABLE_INDENT: usize = 1;
/// The columns that a continued line of a statement is indented by.
const HANG: usize = 4;

/// The results as text.
pub fn text<'a>(runs: impl Into<Runs<'a>>, options: &TextOptions) -> String {
    let runs = runs.into();
    let page = Page::new(options);
    let mut lines = Vec::new();
    if runs.brief {
        lines.extend(brief::lines(runs.results, &page));
    }
    for repeats in fold(runs.results) {
        for (i, outcomes) in repeats.outcomes.iter().enumerate() {
            if runs.brief && !outcomes.result.is_bad() {
                continue;
            }
            page.rule(&mut lines);
            page.result(&repeats, i, outcomes, &mut lines);
        }
    }
    for failure in runs.failures {
        page.rule(&mut lines);
        let told = format!("{} on {}: {}", failure.case, failure.target, failure.message);
        lines.extend(prose(Ink::Bad, &visible(&told), page.prose));
    }
    if runs.results.len() != 1 || !runs.failures.is_empty() {
        page.rule(&mut lines);
        lines.extend(matrix::lines(&runs, &page));
        lines.extend(prose(Ink::Title, &summary(&runs), page.prose));
    }
    paint(&lines, options.style)
}

impl Page {
    fn result(&self, all: &Repeats<'_>, index: usize, one: &Outcomes<'_>, out: &mut Vec<Line>) {
        let run = &one.result.run;
        self.header(run, out);
        if let Some(told) = repeats_told(all, index) {
            self.field("repeats", Ink::Plain, &told, out);
        }
        out.push(Line::default());
        let blame = blame_of_verdicts(run, &one.result.verdicts);
        out.extend(schedule_lines(self, run, blame.as_ref()));
        self.final_state(&run.final_state, out);
        self.checks(run, out);
        if !run.notes.is_empty() {
            section("Notes", out);
            for note in &run.notes {
                self.indented(Ink::Plain, &format!("- {}", visible(note)), out);
            }
        }
        if let Ending::TargetLost(how) = &run.ending {
            section("The server was lost", out);
            self.indented(Ink::Bad, &visible(how), out);
        }
        self.verdicts(one.result, out);
        self.opinions(one.result, out);
    }

    fn header(&self, run: &Run, out: &mut Vec<Line>) {
        let name = visible(&run.case.name);
        match &run.case.header.title {
            Some(title) if !title.is_empty() => {
                let title = format!("{name}: {}", visible(title));
                out.extend(prose(Ink::Title, &title, self.prose));
            }
            _ => out.extend(prose(Ink::Title, &name, self.prose)),
        }
        for source in &run.case.header.source {
            self.field("source", Ink::Plain, source, out);
        }
        self.field("target", Ink::Plain, &run.target.to_string(), out);
        self.field("level", Ink::Plain, level_label(run), out);
        for (i, group) in level_groups(run).iter().enumerate() {
            let ink = if group.differs { Ink::Warning } else { Ink::Plain };
            self.field(if i == 0 { "sessions" } else { "" }, ink, &level_told(group), out);
        }
        let exact = matches!(run.blocking, BlockingKnowledge::Asked(_));
        let ink = if exact { Ink::Plain } else { Ink::Warning };
        self.field("blocking", ink, &blocking_label(&run.blocking), out);
    }

    pub(crate) fn items(&self, items: &[Item<'_>], room: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for item in items {
            match item {
                Item::Remark(tone, text) => lines.extend(self.remark(*tone, text, room)),
                Item::Rows(rows) => {
                    let drawn = table(rows, room - TABLE_INDENT, self.glyphs);
                    lines.extend(drawn.iter().map(|line| line.indented(TABLE_INDENT)));
                }
            }
        }
        lines
    }

    /// A plain answer is unmarked, the server's words are indented, and everything else has a mark.
    fn remark(&self, tone: Tone, text: &str, room: usize) -> Vec<Line> {
        let (ink, mark) = match tone {
            Tone::Answer => (answer_ink(text), ""),
            Tone::Quote => (Ink::Plain, "  "),
            Tone::Progress => (Ink::Faint, self.glyphs.mark()),
            Tone::Blocked => (Ink::Warning, self.glyphs.mark()),
            Tone::Resumed => (Ink::Good, self.glyphs.mark()),
            Tone::Failed | Tone::Wrong => (Ink::Bad, self.glyphs.mark()),
        };
        let texts = visible_lines(text);
        let lines = texts.iter().flat_map(|text| wrap(text, room - width(mark), 0));
        let first = |i: usize| if i == 0 { mark.to_owned() } else { " ".repeat(width(mark)) };
        lines.enumerate().map(|(i, line)| Line::of(ink, first(i) + &line)).collect()
    }

    fn final_state(&self, tables: &[(String, Rows)], out: &mut Vec<Line>) {
        if tables.is_empty() {
            return;
        }
        section("Final state", out);
        for (name, rows) in tables {
            self.indented(Ink::Title, &visible(name), out);
            let room = self.width - INDENT - TABLE_INDENT;
            let drawn = table(rows, room, self.glyphs);
            out.extend(drawn.iter().map(|line| line.indented(INDENT + TABLE_INDENT)));
        }
    }

    fn checks(&self, run: &Run, out: &mut Vec<Line>) {
        if run.checks.is_empty() {
            return;
        }
        section("Checks", out);
        for (sql, answer) in &run.checks {
            let mut items = Vec::new();
            match answer {
                Ok(answer) => answer_items(sql, answer, false, &mut items),
                Err(error) => error_items(error, false, &mut items),
            }
            let sql = Some(sql.as_str());
            let entry = Entry {
                kind: EntryKind::Unscheduled,
                is_wrong: false,
                n: 0,
                session: 0,
                sql,
                items,
            };
            let lines = self.lines(&entry, self.width - INDENT);
            out.extend(lines.iter().map(|line| line.indented(INDENT)));
        }
    }
}

impl Draw for Page {
    fn lines(&self, entry: &Entry<'_>, room: usize) -> Vec<Line> {
        let mut lines = entry.sql.map(|sql| statement(sql, room)).unwrap_or_default();
        if let ([Item::Remark(Tone::Answer, short)], Some(last)) =
            (entry.items.as_slice(), lines.last_mut())
            && last.width() + INDENT + width(short) <= room
        {
            last.push(Ink::Plain, " ".repeat(INDENT));
            last.push(answer_ink(short), short.clone());
            return lines;
        }
        lines.extend(self.items(&entry.items, room));
        lines
    }

    fn need(&self, entry: &Entry<'_>) -> usize {
        let sql = entry.sql.map(|sql| statement(sql, COLUMN_WIDTH_MAX)).unwrap_or_default();
        let items = entry.items.iter().map(|item| {
            let lines = self.items(std::slice::from_ref(item), COLUMN_WIDTH_MAX);
            let widest = lines.iter().map(Line::width).max().unwrap_or(0);
            match item {
                Item::Remark(..) => widest.min(COLUMN_WIDTH_MIN),
                Item::Rows(_) => widest,
            }
        });
        sql.iter().map(Line::width).chain(items).max().unwrap_or(0)
    }
}

/// What happened, one column per session.
pub(crate) fn schedule_lines(page: &Page, run: &Run, blame: Option<&Blame>) -> Vec<Line> {
    let names: Vec<String> = session_names(run).iter().map(|name| visible(name)).collect();
    let mut lines = schedule(&describe(run, blame), &names, page.width, page.glyphs, page);
    for (n, session) in never_answered(run) {
        let text = format!("{}{n} ({session}) was never answered", page.glyphs.mark());
        lines.extend(prose(Ink::Warning, &visible(&text), page.prose));
    }
    lines
}

/// An `ok` may be dimmed; a count of rows may not, least of all a zero.
fn answer_ink(answer: &str) -> Ink {
    if answer == "ok" { Ink::Faint } else { Ink::Plain }
}

/// A statement with its `;`, which also separates it from the answer after it.
pub(crate) fn statement(sql: &str, room: usize) -> Vec<Line> {
    let mut texts = visible_lines(sql);
    match texts.last_mut() {
        // After a line comment the `;` would be part of the comment.
        Some(last) if !last.contains("--") && !last.contains('#') => last.push(';'),
        _ => texts.push(";".to_owned()),
    }
    texts
        .iter()
        .flat_map(|text| wrap_before(text, room, HANG, opens_clause))
        .map(|piece| Line::of(Ink::Plain, piece))
        .collect()
}

/// Words before which a long statement is best broken.
fn opens_clause(word: &str) -> bool {
    const CLAUSES: [&str; 17] = [
        "SET",
        "FROM",
        "WHERE",
        "VALUES",
        "SELECT",
        "AND",
        "OR",
        "JOIN",
        "LEFT",
        "INNER",
        "ON",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "RETURNING",
        "UNION",
    ];
    CLAUSES.iter().any(|clause| word.eq_ignore_ascii_case(clause))
}

fn level_told(group: &LevelGroup) -> String {
    let remark = group.remark.as_ref().map(|remark| format!(", {remark}"));
    format!("{}: {}{}", group.names.join(", "), group.read_back, remark.unwrap_or_default())
}
