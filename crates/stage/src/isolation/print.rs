//! Result sets as libpq's `PQprint` draws them for isolationtester: aligned, `|` between columns.
//!
//! A column is right-aligned while all its values look like numbers; NULL and the empty string both
//! print as nothing; widths are counted in bytes. Reproduced from libpq's documented options and its
//! observable output, because the expected outputs of PostgreSQL's suite depend on it.

use anchorite_drivers::pg_wire::PgRows;

/// The text of a result set, with its `(n rows)` line and an empty line.
pub fn result_set(result: &PgRows) -> String {
    if result.columns.is_empty() {
        return String::new();
    }
    let cells: Vec<Vec<&str>> = result
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.as_deref().unwrap_or("")).collect())
        .collect();
    let columns: Vec<Column> = result
        .columns
        .iter()
        .enumerate()
        .map(|(at, (name, _))| Column::new(name, cells.iter().map(|row| row[at])))
        .collect();
    let line = |texts: Vec<String>| texts.join("|") + "\n";
    let mut out = line(columns.iter().map(|column| column.pad(column.name)).collect());
    let rules: Vec<String> = columns.iter().map(|column| "-".repeat(column.width)).collect();
    out += &(rules.join("+") + "\n");
    for row in &cells {
        out += &line(columns.iter().zip(row).map(|(column, cell)| column.pad(cell)).collect());
    }
    let plural = if cells.len() == 1 { "" } else { "s" };
    out + &format!("({} row{plural})\n\n", cells.len())
}

struct Column<'a> {
    name: &'a str,
    width: usize,
    numeric: bool,
}

impl<'a> Column<'a> {
    fn new(name: &'a str, cells: impl Iterator<Item = &'a str>) -> Self {
        let mut column = Self { name, width: name.len(), numeric: true };
        for cell in cells.filter(|cell| !cell.is_empty()) {
            column.width = column.width.max(cell.len());
            column.numeric &= looks_numeric(cell);
        }
        column
    }

    fn pad(&self, text: &str) -> String {
        let blanks = " ".repeat(self.width.saturating_sub(text.len()));
        if self.numeric { blanks + text } else { text.to_owned() + &blanks }
    }
}

fn looks_numeric(cell: &str) -> bool {
    let bytes = cell.as_bytes();
    bytes.iter().all(|b| b.is_ascii_digit() || b".Ee -".contains(b))
        && !cell.starts_with(['E', 'e'])
        && bytes.last().is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_like_libpq() {
        let text = |t: &str| Some(t.to_owned());
        let result = PgRows {
            columns: vec![("id".into(), 23), ("name".into(), 25)],
            rows: vec![vec![text("1"), text("checking")], vec![text("100"), None]],
            tag: String::new(),
        };
        let expected = " id|name    \n---+--------\n  1|checking\n100|        \n(2 rows)\n\n";
        assert_eq!(result_set(&result), expected);
        let empty = PgRows { columns: vec![("a".into(), 23)], ..PgRows::default() };
        assert_eq!(result_set(&empty), "a\n-\n(0 rows)\n\n");
        assert_eq!(result_set(&PgRows::default()), "");
    }
}
