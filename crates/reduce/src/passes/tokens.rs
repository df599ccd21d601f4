//! Parts of statements that have no trusted syntax tree, found by their tokens.
//!
//! Idea: clauses begin with well-known words and end where the next one begins or the parenthesis closes; conditions
//! are joined by AND; lists have commas. If the wrong part is cut out, the statement does not run, and the answer is
//! no.

use anchorite_model::sql::Token;

use crate::draft::Draft;
use crate::search::Picker;
use anchorite_sql::ParsedStatement;

/// Words that begin an optional clause.
const CLAUSES: [&str; 14] = [
    "WHERE",
    "ORDER",
    "GROUP",
    "HAVING",
    "LIMIT",
    "FOR",
    "LOCK",
    "RETURNING",
    "PARTITION",
    "ENGINE",
    "ON",
    "USING",
    "AND",
    "OFFSET",
];

/// Clauses, conjuncts and list items of statements without a tree.
pub(super) fn parts(draft: &mut Draft, picker: &mut Picker<'_>) {
    for parsed in draft.sentences_mut() {
        if parsed.tree().is_none() {
            cut(parsed, picker);
        }
    }
}

fn cut(parsed: &mut ParsedStatement, picker: &mut Picker<'_>) {
    let tokens = parsed.tokens();
    let mut gone = vec![false; tokens.len()];
    for start in 0..tokens.len() {
        if let Some(end) = part_end(&tokens, start)
            && picker.goes()
        {
            gone[start..end].iter_mut().for_each(|gone| *gone = true);
        }
    }
    if !gone.contains(&true) {
        return;
    }
    let mut text = String::new();
    let mut end = 0;
    for (token, _) in tokens.iter().zip(&gone).filter(|(_, gone)| !**gone) {
        if token.start > end && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(token.text);
        end = token.end();
    }
    parsed.rewrite(&text);
}

/// Where the part that begins with this token ends; `None` if none begins here. A part is a clause with its
/// first word, or an item of a list with the comma in front of it.
fn part_end(tokens: &[Token<'_>], start: usize) -> Option<usize> {
    let first = &tokens[start];
    let is_clause = start > 1 && CLAUSES.iter().any(|word| first.is_word(word));
    let is_item = first.is_symbol(",");
    if !is_clause && !is_item {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start + 1) {
        match token.text {
            "(" => depth += 1,
            ")" if depth == 0 => return Some(at),
            ")" => depth -= 1,
            "," if depth == 0 && is_item => return Some(at),
            // AND belongs to the WHERE that it follows, not to another AND.
            _ if depth == 0
                && CLAUSES.iter().any(|word| token.is_word(word))
                && (first.is_word("AND") || is_item || !token.is_word("AND")) =>
            {
                return Some(at);
            }
            _ => {}
        }
    }
    Some(tokens.len())
}
