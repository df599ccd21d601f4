//! The table below several results: cases by level, one table per target.
//!
//! Idea: what people scroll down to. A cell is the worst verdict of its place, with a sign for whether the case says
//! the same, so a regression stands out among hundreds of runs. If there are several targets, each has its own table,
//! which fits a terminal.

use anchorite_judge::Agreement;
use anchorite_model::{Ending, Level, Rank, Verdict};

use crate::escape::visible;
use crate::markup::{plain, row};
use crate::page::{INDENT, Page, prose};
use crate::result::level_label;
use crate::style::{Glyphs, Ink, Line};
use crate::wrap::width;
use crate::{RunFailure, RunResult, Runs};

/// The result of a case at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    /// No oracle judged it.
    Ran,
    Pass,
    Allowed,
    /// A violation that the case announces.
    Known,
    Undecided,
    /// A violation that breaks no promise.
    Undocumented,
    Violation,
    Lost,
    /// It could not be run.
    Failed,
}

impl Word {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Pass => "pass",
            Self::Allowed => "allowed",
            Self::Known => "violation",
            Self::Undecided => "undecided",
            Self::Undocumented => "UNDOCUMENTED",
            Self::Violation => "VIOLATION",
            Self::Lost => "LOST",
            Self::Failed => "NOT RUN",
        }
    }

    fn of(result: &RunResult) -> Self {
        if result.run.ending != Ending::Complete {
            return Self::Lost;
        }
        let known = result.compared.announced;
        let words = result.verdicts.iter().map(|(_, verdict)| match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Allowed { .. } => Self::Allowed,
            Verdict::Violation { .. } if known => Self::Known,
            Verdict::Undecided { .. } => Self::Undecided,
            Verdict::Violation { rank: Rank::Undocumented, .. } => Self::Undocumented,
            Verdict::Violation { rank: Rank::Broken, .. } => Self::Violation,
        });
        words.max().unwrap_or(Self::Ran)
    }
}

/// A verdict and whether the case says the same; the worse of two counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub word: Word,
    pub agreement: Option<Agreement>,
}

impl Cell {
    pub(crate) fn of(result: &RunResult) -> Self {
        Self { word: Word::of(result), agreement: result.compared.agreement() }
    }

    fn worse(self, other: Self) -> Self {
        let rank = |agreement: Option<Agreement>| match agreement {
            None => 0,
            Some(Agreement::AsExpected) => 1,
            Some(Agreement::OtherVersion) => 2,
            Some(Agreement::Differs) => 3,
        };
        let agreement = [self.agreement, other.agreement].into_iter().max_by_key(|a| rank(*a));
        Self { word: self.word.max(other.word), agreement: agreement.flatten() }
    }

    pub(crate) const fn sign(self, glyphs: Glyphs) -> &'static str {
        match self.agreement {
            None => " ",
            Some(Agreement::AsExpected) => glyphs.pick("✓", "+"),
            Some(Agreement::Differs) => glyphs.pick("✗", "!"),
            Some(Agreement::OtherVersion) => "~",
        }
    }

    pub(crate) const fn ink(self) -> Ink {
        match (self.agreement, self.word) {
            (Some(Agreement::Differs), _)
            | (_, Word::Undocumented | Word::Violation | Word::Lost | Word::Failed) => Ink::Bad,
            (_, Word::Undecided) | (Some(Agreement::OtherVersion), _) => Ink::Warning,
            (_, Word::Pass) => Ink::Good,
            _ => Ink::Plain,
        }
    }

    fn told(self, glyphs: Glyphs) -> String {
        format!("{} {}", self.sign(glyphs), self.word.name())
    }
}

/// One target's table.
struct Matrix {
    target: String,
    levels: Vec<String>,
    rows: Vec<(String, Vec<Option<Cell>>)>,
}

fn matrices(runs: &Runs<'_>) -> Vec<Matrix> {
    let mut matrices: Vec<Matrix> = Vec::new();
    for result in runs.results {
        let (run, cell) = (&result.run, Cell::of(result));
        add(&mut matrices, &run.target.to_string(), level_label(run), &run.case.name, cell);
    }
    for RunFailure { case, target, level, .. } in runs.failures {
        let cell = Cell { word: Word::Failed, agreement: None };
        let level = level.map_or("default", Level::name);
        add(&mut matrices, &target.to_string(), level, case, cell);
    }
    matrices.iter_mut().for_each(Matrix::sort_levels);
    matrices
}

impl Matrix {
    /// The weakest level first; unnamed levels last.
    fn sort_levels(&mut self) {
        let mut order: Vec<usize> = (0..self.levels.len()).collect();
        let place = |column: usize| {
            let level: Option<Level> = self.levels[column].parse().ok();
            Level::ALL.iter().position(|known| Some(*known) == level).unwrap_or(Level::ALL.len())
        };
        order.sort_by_key(|column| place(*column));
        self.levels = order.iter().map(|column| self.levels[*column].clone()).collect();
        for (_, cells) in &mut self.rows {
            *cells = order.iter().map(|column| cells.get(*column).copied().flatten()).collect();
        }
    }
}

fn add(matrices: &mut Vec<Matrix>, target: &str, level: &str, case: &str, cell: Cell) {
    let at = matrices.iter().position(|matrix| matrix.target == target).unwrap_or_else(|| {
        let target = target.to_owned();
        matrices.push(Matrix { target, levels: Vec::new(), rows: Vec::new() });
        matrices.len() - 1
    });
    let matrix = &mut matrices[at];
    let column = matrix.levels.iter().position(|known| known == level).unwrap_or_else(|| {
        matrix.levels.push(level.to_owned());
        matrix.levels.len() - 1
    });
    let row = matrix.rows.iter().position(|(known, _)| known == case).unwrap_or_else(|| {
        matrix.rows.push((case.to_owned(), Vec::new()));
        matrix.rows.len() - 1
    });
    let cells = &mut matrix.rows[row].1;
    cells.resize(cells.len().max(column + 1), None);
    cells[column] = Some(cells[column].map_or(cell, |known| known.worse(cell)));
}

/// What the signs mean, where there are any.
fn legend(runs: &Runs<'_>, glyphs: Glyphs) -> Option<String> {
    let has = |wanted| runs.results.iter().any(|r| r.compared.agreement() == Some(wanted));
    let known = [
        (Agreement::AsExpected, "as the case says"),
        (Agreement::Differs, "not as the case says"),
        (Agreement::OtherVersion, "measured on other releases only"),
    ];
    let told =
        known.into_iter().filter(|(agreement, _)| has(*agreement)).map(|(agreement, told)| {
            let cell = Cell { word: Word::Ran, agreement: Some(agreement) };
            format!("{} {told}", cell.sign(glyphs))
        });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The tables as text; lists where the terminal is too narrow for them.
pub(crate) fn lines(runs: &Runs<'_>, page: &Page) -> Vec<Line> {
    let mut out = Vec::new();
    for matrix in matrices(runs) {
        let table = matrix.table(page.glyphs);
        let fits = table.iter().all(|line| line.width() <= page.width);
        out.extend(if fits { table } else { matrix.list(page) });
        out.push(Line::default());
    }
    let legend = legend(runs, page.glyphs).map(|told| prose(Ink::Faint, &told, page.prose));
    out.extend(legend.unwrap_or_default());
    out
}

impl Matrix {
    fn table(&self, glyphs: Glyphs) -> Vec<Line> {
        let told = |cell: &Option<Cell>| cell.map_or(String::new(), |cell| cell.told(glyphs));
        let names = self.rows.iter().map(|(name, _)| width(&visible(name)));
        let first = names.chain([width(&visible(&self.target))]).max().unwrap_or(0);
        let column = |column: usize| {
            let cells = self.rows.iter().map(|(_, row)| width(&told(&row[column])));
            cells.chain([width(&self.levels[column])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.levels.len()).map(column).collect();
        let line = |name: &str, ink: Ink, cells: Vec<(Ink, String)>| {
            let mut line = Line::of(ink, visible(name));
            let mut at = first + INDENT;
            for ((ink, cell), width) in cells.into_iter().zip(&widths) {
                line.pad_to(at);
                line.push(ink, cell);
                at += width + INDENT;
            }
            line
        };
        let head = self.levels.iter().map(|level| (Ink::Title, level.clone())).collect();
        let mut out = vec![line(&self.target, Ink::Title, head)];
        for (name, row) in &self.rows {
            let cells = row.iter().map(|cell| (cell.map_or(Ink::Plain, Cell::ink), told(cell)));
            out.push(line(name, Ink::Plain, cells.collect()));
        }
        out
    }

    fn list(&self, page: &Page) -> Vec<Line> {
        let mut out = prose(Ink::Title, &visible(&self.target), page.prose);
        for (name, row) in &self.rows {
            out.extend(prose(Ink::Plain, &visible(name), page.prose));
            for (level, cell) in self.levels.iter().zip(row) {
                if let Some(cell) = cell {
                    let told = format!("{} at {}", cell.told(page.glyphs), visible(level));
                    page.indented(cell.ink(), &told, &mut out);
                }
            }
        }
        out
    }
}

/// The tables as Markdown.
pub(crate) fn markdown(runs: &Runs<'_>) -> String {
    let mut out = String::new();
    for matrix in matrices(runs) {
        let head =
            [matrix.target.as_str()].into_iter().chain(matrix.levels.iter().map(String::as_str));
        let head: Vec<String> = head.map(plain).collect();
        out += &row(head.iter().map(String::as_str));
        out += &row(head.iter().map(|_| "---"));
        for (name, cells) in &matrix.rows {
            let told =
                |cell: &Option<Cell>| cell.map_or(String::new(), |c| c.told(Glyphs::Unicode));
            let cells: Vec<String> =
                [plain(name)].into_iter().chain(cells.iter().map(told)).collect();
            out += &row(cells.iter().map(|cell| cell.trim()));
        }
        out += "\n";
    }
    out += &legend(runs, Glyphs::Unicode).map(|told| format!("{told}\n\n")).unwrap_or_default();
    out
}
