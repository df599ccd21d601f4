//! Statements as their tokens: what is asked in every case, where building a tree would take too long.
//!
//! Idea: a question to the tokens costs a microsecond, a tree a hundred times that. So what judges and runners ask of
//! each statement is answered here and in the files beside it ([`crate::write_shape`], [`crate::RowStatement`],
//! [`crate::Definition`], [`crate::locking`], [`crate::side_effects`]), each with the same rule: what is not surely
//! understood gets the careful answer. A test holds the answers against the trees.

use anchorite_model::sql::{Dialect, Token, TokenKind, Tokens};

/// The tokens that mean something, up to where the text can be read.
pub fn significant(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
    Tokens::new(sql, 0, dialect).map_while(Result::ok).filter(Token::is_significant).collect()
}

/// A name without its quotes; `None` for what is no name.
pub fn name<'a>(token: &Token<'a>) -> Option<&'a str> {
    match token.kind {
        TokenKind::Word => Some(token.text),
        TokenKind::QuotedName => Some(&token.text[1..token.text.len() - 1]),
        _ => None,
    }
}

/// Whether a token is one of these words.
pub fn is_any(token: &Token<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

/// The tokens that stand in no parentheses; the parentheses themselves do.
pub fn outside_parentheses<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut depth = 0_usize;
    let mut outer = Vec::new();
    for token in tokens {
        if token.is_symbol(")") {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            outer.push(*token);
        }
        if token.is_symbol("(") {
            depth += 1;
        }
    }
    outer
}
