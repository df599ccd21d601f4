//! The output of `anchorite server`: columns for people, one JSON document for programs.

use anchorite_servers::Kept;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::output::print;

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// The option `--format`.
#[derive(Debug, Clone, Copy, Args)]
pub struct FormatArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// The JSON form of a kept server.
pub fn of_kept(kept: &Kept) -> Value {
    json!({
        "target": kept.target, "version": kept.version, "source": kept.source, "cached": true,
        "running": running(kept),
    })
}

/// Where a kept server runs, in its JSON form.
pub fn running(kept: &Kept) -> Value {
    json!({"url": kept.url, "pid": kept.pid, "folder": kept.folder, "name": kept.name})
}

/// Prints servers as one JSON document.
pub fn print_json(servers: Vec<Value>) {
    let document = json!({"anchorite": env!("CARGO_PKG_VERSION"), "servers": servers});
    print(&format!("{document:#}\n"));
}

/// Columns as wide as their widest cell.
pub fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let rows = [["mysql@9.7".to_owned(), "debian".to_owned()]];
        assert_eq!(
            table(["target", "source"], rows.into_iter()),
            "target     source\nmysql@9.7  debian\n"
        );
    }
}
