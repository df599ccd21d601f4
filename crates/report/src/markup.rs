//! Untrusted text inside Markdown.
//!
//! Source: the GitHub Flavored Markdown specification. A code span ends at a run of as many
//! backticks as opened it; a fence at a line of at least as many; a table's cell at a `|` that no
//! backslash precedes, even inside a code span.

use crate::escape::{visible, visible_line};

/// Text without markup: every character that could be markup is escaped.
pub(crate) fn plain(text: &str) -> String {
    let text = visible(text);
    let mut out = String::new();
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        let after = text[i + c.len_utf8()..].chars().next().unwrap_or(' ');
        let inside_a_word = before.is_alphanumeric() && after.is_alphanumeric();
        if "\\`*[]<>|#~&".contains(c) || (c == '_' && !inside_a_word) {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// A web address as a link, any other text as it is.
pub(crate) fn link(text: &str) -> String {
    let address = text.starts_with("https://") || text.starts_with("http://");
    let whole = text.chars().all(|c| c.is_ascii_graphic() && !"<>|`\"\\".contains(c));
    if address && whole { format!("<{text}>") } else { plain(text) }
}

/// Text as a code span that also works inside a table.
pub(crate) fn code(text: &str) -> String {
    let text = visible(text);
    if text.trim().is_empty() {
        return String::new();
    }
    if text.contains("\\|") {
        // Here escaping a pipe for the table would be ambiguous with the backslash before it.
        return format!("<code>{}</code>", entities(&text));
    }
    let ticks = "`".repeat(longest_run(&text) + 1);
    let spaced = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let pad = if spaced { " " } else { "" };
    format!("{ticks}{pad}{}{pad}{ticks}", text.replace('|', "\\|"))
}

/// Text in a fence that it cannot close, with control characters escaped.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(visible_line).collect();
    let ticks = "`".repeat((longest_run(text) + 1).max(3));
    format!("{ticks}{language}\n{}\n{ticks}\n", lines.join("\n"))
}

/// A line of a table.
pub(crate) fn row<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<&str> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn entities(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out += &format!("&#{};", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(plain("a|b *c* <d> `e`\nf"), "a\\|b \\*c\\* \\<d\\> \\`e\\`\\\\nf");
    }

    #[test]
    fn only_what_needs_it_is_escaped() {
        assert_eq!(plain("pg_blocking_pids _x_"), "pg_blocking_pids \\_x\\_");
        assert_eq!(link("https://a.example/b_c"), "<https://a.example/b_c>");
        assert_eq!(link("https://a.example/ <b>"), "https://a.example/ \\<b\\>");
    }

    #[test]
    fn a_span_outlasts_backticks_and_pipes() {
        assert_eq!(code("SELECT 1"), "`SELECT 1`");
        assert_eq!(code("SELECT `a`"), "`` SELECT `a` ``");
        assert_eq!(code("a || b"), "`a \\|\\| b`");
        assert_eq!(code("a \\| b"), "<code>a &#92;&#124; b</code>");
        assert_eq!(code("  "), "");
    }

    #[test]
    fn a_fence_outlasts_fences() {
        assert_eq!(fenced("sql", "SELECT '\n```\n';\n"), "````sql\nSELECT '\n```\n';\n````\n");
        assert_eq!(fenced("sql", "a\u{1b}\tb"), "```sql\na\\u{1b}\tb\n```\n");
    }
}
