//! Makes untrusted text safe to print.
//!
//! Idea: statements, cells and messages may contain anything, including terminal escape sequences, characters that
//! reverse the reading direction and invisible characters. Each of them is shown as an escape (`\n`, `\u{1b}`), so that
//! a report can neither control a terminal nor hide a difference. Blind spot: a backslash is not doubled, so `\n` in a
//! cell may be two characters or a line end. JSON is exact.

/// The width of a tab in a statement.
const TAB: &str = "    ";

/// One line of safe text; line ends are escaped too.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// One line of a script, safe; its tabs are kept.
pub(crate) fn visible_line(line: &str) -> String {
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

/// The lines of a statement or message, each safe: tabs are expanded, the common indent of all lines after the first is
/// removed, and blank lines at both ends are dropped.
pub(crate) fn visible_lines(text: &str) -> Vec<String> {
    let lines: Vec<String> = text
        .lines()
        .map(|line| visible(&line.replace('\t', TAB)).trim_end().to_owned())
        .skip_while(String::is_empty)
        .collect();
    let indent = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().skip(1).filter(|line| !line.is_empty()).map(indent).min();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let take = common.unwrap_or(0);
    lines[..end]
        .iter()
        .enumerate()
        .map(|(i, line)| match i {
            0 => line.trim_start().to_owned(),
            _ => line.get(take..).unwrap_or_default().to_owned(),
        })
        .collect()
}

/// Control characters, direction marks and invisible characters.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
        || (c as u32) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unsafe_stays() {
        assert_eq!(visible("a\u{1b}[31mb\r\n\tc\0"), "a\\u{1b}[31mb\\r\\n\\tc\\u{0}");
        assert_eq!(visible("\u{202e}evil\u{feff}\u{200b}"), "\\u{202e}evil\\u{feff}\\u{200b}");
        assert_eq!(visible("grüße 数据 e\u{301}"), "grüße 数据 e\u{301}");
    }

    #[test]
    fn a_statement_keeps_its_shape_but_not_its_indent() {
        let lines = visible_lines("\n  UPDATE t\n\t   SET c = 1\n\t WHERE k = 2;\n\n");
        assert_eq!(lines, ["UPDATE t", "  SET c = 1", "WHERE k = 2;"]);
        assert_eq!(visible_lines(""), Vec::<String>::new());
    }
}
