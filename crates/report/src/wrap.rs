//! Widths, wrapping and cutting in terminal columns instead of bytes.
//!
//! Source: Unicode's East Asian Width, through the `unicode-width` crate.
//! Assumption: the text is already safe ([`crate::escape`]), so that every character has a width.
//! Blind spot: terminals disagree about some emoji sequences; such a line may look off by one.

use unicode_width::UnicodeWidthStr;

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Breaks one line at spaces so that no piece is wider than `limit`. The pieces after the first are
/// indented as the line itself was, plus `hang`. A word that fits on no line is broken inside.
pub(crate) fn wrap(text: &str, limit: usize, hang: usize) -> Vec<String> {
    wrap_before(text, limit, hang, |_| false)
}

/// Like [`wrap`], but a line that must be broken is broken before the last word that `opens` a part
/// of the text, if that leaves a line that is not too short.
pub(crate) fn wrap_before(
    text: &str,
    limit: usize,
    hang: usize,
    opens: fn(&str) -> bool,
) -> Vec<String> {
    let body = text.trim_start_matches(' ');
    // An indent must leave room for the words.
    let indent = (text.len() - body.len()).min(limit / 3);
    let hanging = " ".repeat((indent + hang).min(limit / 2));
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    let mut fresh = true;
    let mut opening = None;
    for (gap, word) in words(body) {
        if !fresh && width(&line) + gap + width(word) > limit {
            let kept = opening.filter(|_| !opens(word)).map(|at| line.split_off(at));
            lines.push(std::mem::replace(&mut line, hanging.clone()).trim_end().to_owned());
            line += kept.as_deref().unwrap_or_default();
            fresh = kept.is_none();
            opening = None;
        }
        if !fresh && width(&line) + gap + width(word) > limit {
            lines.push(std::mem::replace(&mut line, hanging.clone()));
            fresh = true;
        }
        if !fresh {
            line.push_str(&" ".repeat(gap));
        }
        if opens(word) && width(&line) >= limit / 3 {
            opening = Some(line.len());
        }
        let mut rest = word;
        while let Some((head, tail)) = overflow(rest, limit - width(&line)) {
            line.push_str(head);
            lines.push(std::mem::replace(&mut line, hanging.clone()));
            opening = None;
            rest = tail;
        }
        line.push_str(rest);
        fresh = false;
    }
    lines.push(line);
    lines
}

/// The words of a text, each with the number of spaces before it.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut gap = 0;
    text.split(' ').enumerate().filter_map(move |(i, word)| {
        gap += usize::from(i > 0);
        if word.is_empty() { None } else { Some((std::mem::take(&mut gap), word)) }
    })
}

/// Splits a text that takes more than `room` columns where they end, but after its first character. Looks no further
/// than that, because a statement may be megabytes long.
fn overflow(text: &str, room: usize) -> Option<(&str, &str)> {
    let end = prefix(text, room);
    let first = text.chars().next().map_or(0, char::len_utf8);
    (end < text.len()).then(|| text.split_at(end.max(first)))
}

/// The length in bytes of the longest prefix that takes at most `room` columns. A combining mark takes no column of its
/// own, so it stays with its character.
fn prefix(text: &str, room: usize) -> usize {
    let mut end = 0;
    for (start, c) in text.char_indices() {
        let next = start + c.len_utf8();
        if width(&text[..next]) > room {
            break;
        }
        end = next;
    }
    end
}

/// The text, or its beginning with an ellipsis if it takes more than `limit` columns.
pub(crate) fn cut(text: &str, limit: usize, ellipsis: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(width(ellipsis));
    format!("{}{ellipsis}", &text[..prefix(text, room)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_hang() {
        assert_eq!(
            wrap("UPDATE t SET c = 1 WHERE k = 2", 16, 2),
            ["UPDATE t SET c =", "  1 WHERE k = 2"]
        );
        assert_eq!(wrap("   AND x", 20, 2), ["   AND x"]);
        assert_eq!(wrap("a  b", 20, 2), ["a  b"]);
        assert_eq!(wrap("", 20, 2), [""]);
    }

    #[test]
    fn a_clause_goes_to_the_next_line_as_a_whole() {
        let wrapped =
            |limit| wrap_before("UPDATE t SET c = 1 WHERE k = 2", limit, 2, |w| w == "WHERE");
        assert_eq!(wrapped(28), ["UPDATE t SET c = 1", "  WHERE k = 2"]);
        assert_eq!(wrapped(9), ["UPDATE t", "  SET c =", "  1", "  WHERE k", "  = 2"]);
    }

    #[test]
    fn long_words_break_inside_and_wide_characters_count_twice() {
        assert_eq!(wrap("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("数据库事务", 5, 0), ["数据", "库事", "务"]);
        assert_eq!(wrap("e\u{301}e\u{301}e\u{301}", 2, 0), ["e\u{301}e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn cutting_never_splits_a_wide_character() {
        assert_eq!(cut("abc", 3, "…"), "abc");
        assert_eq!(cut("abcd", 3, "…"), "ab…");
        assert_eq!(cut("数据库", 4, "…"), "数…");
        assert_eq!(cut("abcdef", 5, "..."), "ab...");
    }
}
