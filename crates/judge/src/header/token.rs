//! The words, numbers, texts and punctuation of a condition.

use crate::header::lines::ConditionError;

/// One piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    Number(i128),
    Text(String),
    Punctuation(char),
}

/// A syntax error at a column of the line.
pub(crate) fn syntax(text: &str, column: usize, expected: &str, found: String) -> ConditionError {
    ConditionError::Syntax {
        case: String::new(),
        key: String::new(),
        text: text.to_owned(),
        column,
        expected: expected.to_owned(),
        found,
    }
}

/// The words, numbers, texts and punctuation of a line, each with its column.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ConditionError> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let start = at;
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        if c == '\'' {
            let (content, end) = quoted(&chars, at)
                .ok_or_else(|| syntax(text, start + 1, "a closing '", "none".to_owned()))?;
            at = end;
            tokens.push((start + 1, Token::Text(content)));
        } else if "(),".contains(c) {
            at += 1;
            tokens.push((start + 1, Token::Punctuation(c)));
        } else {
            at += chars[at..].iter().take_while(|c| is_word_part(**c)).count();
            if at == start {
                return Err(syntax(text, start + 1, "a word, a number or a row", format!("'{c}'")));
            }
            let word: String = chars[start..at].iter().collect();
            let token = word.parse().map_or(Token::Word(word), Token::Number);
            tokens.push((start + 1, token));
        }
    }
    Ok(tokens)
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The content of the quoted text that begins at `at`, and where it ends; `''` is a quote inside it.
fn quoted(chars: &[char], at: usize) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut at = at + 1;
    loop {
        match (chars.get(at)?, chars.get(at + 1)) {
            ('\'', Some('\'')) => {
                content.push('\'');
                at += 2;
            }
            ('\'', _) => return Some((content, at + 1)),
            (c, _) => {
                content.push(*c);
                at += 1;
            }
        }
    }
}
