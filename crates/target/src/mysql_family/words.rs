//! The first word of a statement, which tells what kind it is.

/// The statement's first word in capitals, behind comments and parentheses; empty if there is none.
pub(crate) fn first_word(sql: &str) -> String {
    let word = skip_comments(sql).chars().take_while(char::is_ascii_alphabetic);
    word.map(|letter| letter.to_ascii_uppercase()).collect()
}

fn skip_comments(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let end = if rest.starts_with("/*") && !rest.starts_with("/*!") {
            rest.find("*/").map(|end| end + 2)
        } else if rest.starts_with("--") || rest.starts_with('#') {
            rest.find('\n')
        } else {
            return rest;
        };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found() {
        for (sql, word) in [
            ("select 1", "SELECT"),
            ("  (SELECT 1) UNION SELECT 2", "SELECT"),
            ("/* a; b */ -- c\n# d\nCommit", "COMMIT"),
            ("-- nothing", ""),
            ("/* open", ""),
            ("", ""),
            ("@x", ""),
        ] {
            assert_eq!(first_word(sql), word, "{sql}");
        }
    }
}
