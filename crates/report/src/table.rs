//! A result set as a small table.
//!
//! Idea: names, a rule under each, rows; numbers right-aligned. No vertical lines, because those separate the sessions.
//! `NULL` is unquoted; a text that could be mistaken for something else is quoted. In a table that is too wide, long
//! texts are truncated first; numbers never are. If that is not enough, each row becomes a line of `name = value`.
//! Blind spot: types are not shown, so the text `1` looks like the number. JSON distinguishes them.

use anchorite_model::{Rows, Value};

use crate::escape::visible;
use crate::result::counted;
use crate::style::{Glyphs, Ink, Line};
use crate::wrap::{cut, width, wrap};

/// Rows beyond this many are counted instead of shown.
pub(crate) const ROWS_MAX: usize = 20;
/// The columns that one cell may take.
const CELL_WIDTH_MAX: usize = 40;
/// Texts and names are not truncated below this many columns to make a table fit.
const TEXT_WIDTH_MIN: usize = 8;
/// The columns between two cells.
const GAP: usize = 2;

/// Lays out a result set in at most `limit` columns.
pub(crate) fn table(rows: &Rows, limit: usize, glyphs: Glyphs) -> Vec<Line> {
    let count = rows.rows.iter().map(Vec::len).fold(rows.columns.len(), usize::max);
    if rows.rows.is_empty() {
        return vec![Line::of(Ink::Plain, "no rows")];
    }
    if count == 0 {
        let text = format!("{} without columns", counted(rows.rows.len(), "row", "rows"));
        return vec![Line::of(Ink::Plain, text)];
    }
    let columns: Vec<Column> = (0..count).map(|i| Column::of(rows, i, glyphs)).collect();
    let mut lines = match fit(&columns, limit) {
        Some(widths) => grid(&columns, &widths, glyphs),
        None => records(&columns, limit),
    };
    if let Some(more) = rows.rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        let text = format!("{} {}", glyphs.ellipsis(), counted(more, "more row", "more rows"));
        lines.push(Line::of(Ink::Faint, text));
    }
    lines
}

/// One value in one line, for people. Quoted if it could be mistaken for another value.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Float(x) => float(*x),
        Value::Text(text) => {
            let odd = text.is_empty()
                || text.starts_with(['\'', ' '])
                || text.ends_with(' ')
                || text.contains("  ")
                || text.starts_with("0x")
                || text.eq_ignore_ascii_case("null");
            let text = visible(text);
            if odd { format!("'{}'", text.replace('\'', "''")) } else { text }
        }
        other => visible(&other.to_string()),
    }
}

/// A float that still looks like one: `1.0`, `1e300`, `NaN`, `Infinity`.
pub(crate) fn float(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    // `Debug` is Rust's shortest exact form; `Display` would write 1e300 with three hundred zeros.
    format!("{x:?}")
}

struct Column {
    name: String,
    cells: Vec<(Ink, String)>,
    right: bool,
    /// The columns below which this one is not squeezed.
    floor: usize,
    natural: usize,
}

impl Column {
    fn made((name, cells): (String, Vec<(Ink, String)>)) -> Self {
        let natural = cells.iter().map(|(_, text)| width(text)).max().unwrap_or(0);
        let natural = natural.max(width(&name));
        Self { name, cells, right: false, floor: natural, natural }
    }

    fn of(rows: &Rows, index: usize, glyphs: Glyphs) -> Self {
        let shown = || rows.rows.iter().take(ROWS_MAX).map(|row| row.get(index));
        let cells: Vec<(Ink, String)> = shown()
            .map(|value| match value {
                None => (Ink::Plain, String::new()),
                Some(Value::Null) => (Ink::Faint, "NULL".to_owned()),
                Some(value) => (Ink::Plain, cut(&cell(value), CELL_WIDTH_MAX, glyphs.ellipsis())),
            })
            .collect();
        let is_number =
            |value: &Value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Decimal(_));
        let right = shown().flatten().all(|value| is_number(value) || *value == Value::Null)
            && shown().flatten().any(is_number);
        let name = rows.columns.get(index).map(|name| visible(name)).unwrap_or_default();
        let name = cut(&name, CELL_WIDTH_MAX, glyphs.ellipsis());
        let widest = cells.iter().map(|(_, text)| width(text)).max().unwrap_or(0);
        let floor = if right { widest } else { widest.min(TEXT_WIDTH_MIN) };
        Self {
            floor: floor.max(width(&name).min(TEXT_WIDTH_MIN)),
            natural: widest.max(width(&name)).max(1),
            name,
            cells,
            right,
        }
    }
}

/// Ready-made cells under their columns' names, each column as wide as its contents; `None` if that is wider than
/// `limit`.
pub(crate) fn whole_grid(
    columns: Vec<(String, Vec<(Ink, String)>)>,
    limit: usize,
    glyphs: Glyphs,
) -> Option<Vec<Line>> {
    let columns: Vec<Column> = columns.into_iter().map(Column::made).collect();
    let widths: Vec<usize> = columns.iter().map(|column| column.natural).collect();
    let whole = widths.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
    (whole <= limit).then(|| grid(&columns, &widths, glyphs))
}

/// Widths that fit into `limit`, squeezing the widest columns first; `None` if the floors are too
/// wide.
fn fit(columns: &[Column], limit: usize) -> Option<Vec<usize>> {
    let gaps = GAP * (columns.len() - 1);
    let mut widths: Vec<usize> = columns.iter().map(|column| column.natural).collect();
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
    while over > 0 {
        let widest = (0..columns.len())
            .filter(|i| widths[*i] > columns[*i].floor)
            .max_by_key(|i| (widths[*i], *i))?;
        widths[widest] -= 1;
        over -= 1;
    }
    Some(widths)
}

fn grid(columns: &[Column], widths: &[usize], glyphs: Glyphs) -> Vec<Line> {
    let height = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let mut names = Line::default();
    let mut rule = Line::default();
    let mut body = vec![Line::default(); height];
    for (i, (column, room)) in columns.iter().zip(widths).enumerate() {
        let gap = if i == 0 { 0 } else { GAP };
        let place = |line: &mut Line, ink: Ink, text: &str| {
            let text = cut(text, *room, glyphs.ellipsis());
            let slack = room - width(&text);
            line.push(Ink::Plain, " ".repeat(gap + if column.right { slack } else { 0 }));
            line.push(ink, text);
            line.push(Ink::Plain, " ".repeat(if column.right { 0 } else { slack }));
        };
        place(&mut names, Ink::Plain, &column.name);
        place(&mut rule, Ink::Faint, &glyphs.horizontal().repeat(*room));
        for (line, (ink, text)) in body.iter_mut().zip(&column.cells) {
            place(line, *ink, text);
        }
    }
    [names, rule].into_iter().chain(body).collect()
}

fn records(columns: &[Column], limit: usize) -> Vec<Line> {
    let height = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let record = |row: usize| {
        let pairs: Vec<String> = columns
            .iter()
            .filter_map(|column| {
                column.cells.get(row).map(|(_, text)| format!("{} = {text}", column.name))
            })
            .collect();
        format!("row {}: {}", row + 1, pairs.join(", "))
    };
    (0..height)
        .flat_map(|row| wrap(&record(row), limit, 2))
        .map(|line| Line::of(Ink::Plain, line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    fn drawn(columns: &[&str], rows: Vec<Vec<Value>>, limit: usize) -> String {
        let rows = Rows { columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows };
        let mut out = String::new();
        for line in table(&rows, limit, Glyphs::Ascii) {
            line.paint(Style::Plain, &mut out);
        }
        out
    }

    #[test]
    fn null_and_texts_that_look_like_it_differ() {
        let texts = ["NULL", "", " x", "0xff", "it's", "'"];
        let cells: Vec<String> =
            texts.iter().map(|t| cell(&Value::Text((*t).to_owned()))).collect();
        assert_eq!(cells, ["'NULL'", "''", "' x'", "'0xff'", "it's", "''''"]);
        assert_eq!(cell(&Value::Null), "NULL");
        assert_eq!(cell(&Value::Bytes(vec![0, 255])), "0x00ff");
    }

    #[test]
    fn floats_look_like_floats() {
        assert_eq!(float(1.0), "1.0");
        assert_eq!(float(1e300), "1e300");
        assert_eq!(float(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(float(f64::NAN), "NaN");
    }

    #[test]
    fn wide_tables_lose_text_first_and_never_digits() {
        let row = || vec![Value::Int(1_234_567_890), Value::Text("a long text indeed".to_owned())];
        insta::assert_snapshot!(drawn(&["id", "name"], vec![row()], 24), @r"
                id  name
        ----------  ------------
        1234567890  a long te...
        ");
        insta::assert_snapshot!(drawn(&["id", "name"], vec![row()], 15), @r"
        row 1: id =
          1234567890,
          name = a long
          text indeed
        ");
    }

    #[test]
    fn many_rows_are_counted() {
        let rows = (0..ROWS_MAX + 12).map(|i| vec![Value::Int(i as i128)]).collect();
        assert!(drawn(&["id"], rows, 20).ends_with("\n19\n... 12 more rows\n"));
        assert_eq!(drawn(&["id"], Vec::new(), 20), "no rows\n");
    }
}
