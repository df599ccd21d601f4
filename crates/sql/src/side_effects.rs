//! What a statement does beyond changing rows: to its session, to sequences, to the tables themselves.
//!
//! Idea: a statement is free of side effects if only rows show that it ran. What is not recognised is not.
//!
//! Blind spot: a stored function that is there before is not looked into.

use anchorite_model::sql::{Dialect, Token, TokenKind, Tokens};

/// Functions after which a session is not what it was, or whose value depends on what it did before.
const SESSION_FUNCTIONS: [&str; 16] = [
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
    "LAST_INSERT_ID",
    "ROW_COUNT",
    "FOUND_ROWS",
    "SET_CONFIG",
    "NEXTVAL",
    "CURRVAL",
    "LASTVAL",
    "SETVAL",
    "LAST_INSERT_ROWID",
    "CHANGES",
    "TOTAL_CHANGES",
    "DBLINK",
    "LOAD_EXTENSION",
];
/// Beginnings of such functions' names: advisory locks, logical messages, large objects.
const SESSION_FUNCTION_PREFIXES: [&str; 3] = ["PG_", "LO_", "DBLINK_"];

/// Words in the DDL of tables that number their rows.
const NUMBERING_WORDS: [&str; 9] = [
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "AUTO_RANDOM",
    "SERIAL",
    "BIGSERIAL",
    "SMALLSERIAL",
    "IDENTITY",
    "SEQUENCE",
    "NEXTVAL",
];
/// Words in the DDL of other tables that are not as good as new when their rows are deleted.
const LASTING_WORDS: [&str; 3] = ["VERSIONING", "TEMPORARY", "TEMP"];

/// The significant tokens; `None` if the text cannot be read to its end, or hides something in a hint.
fn whole(sql: &str, dialect: Dialect) -> Option<Vec<Token<'_>>> {
    let tokens: Vec<Token<'_>> = Tokens::new(sql, 0, dialect)
        .filter(|token| token.as_ref().map_or(true, Token::is_significant))
        .collect::<Result<_, _>>()
        .ok()?;
    let is_executed = |token: &Token<'_>| {
        token.kind == TokenKind::Semicolon
            || token.text.starts_with("/*!")
            || token.text.starts_with("/*M!")
    };
    (!tokens.iter().any(is_executed)).then_some(tokens)
}

/// Whether nothing in the text changes more than rows, beyond what the statement's first words say.
pub fn changes_only_rows(sql: &str, dialect: Dialect) -> bool {
    let Some(tokens) = whole(sql, dialect) else { return false };
    let is_select =
        tokens.first().is_some_and(|token| !token.is_word("INSERT") && !token.is_word("REPLACE"));
    !tokens.iter().enumerate().any(|(at, token)| {
        // SELECT … INTO makes a table or sets variables.
        let is_into = is_select && token.is_word("INTO") && !in_insert(&tokens[..at]);
        let is_variable = token.text.starts_with('@');
        is_into || is_variable || (token.kind == TokenKind::Word && changes_session(token.text))
    })
}

/// `WITH … INSERT INTO`, `MERGE INTO`, `REPLACE INTO`: the INTO of a write.
fn in_insert(before: &[Token<'_>]) -> bool {
    before
        .iter()
        .rev()
        .take(3)
        .any(|token| ["INSERT", "REPLACE", "MERGE"].iter().any(|word| token.is_word(word)))
}

fn changes_session(word: &str) -> bool {
    let has_prefix = |prefix: &&str| {
        word.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    SESSION_FUNCTIONS.iter().any(|function| word.eq_ignore_ascii_case(function))
        || SESSION_FUNCTION_PREFIXES.iter().any(has_prefix)
}

/// Whether a DDL statement makes something that hands out numbers, which a rollback does not give back.
pub fn numbers_rows(sql: &str, dialect: Dialect) -> bool {
    whole(sql, dialect).is_some_and(|tokens| {
        tokens.first().is_some_and(|token| token.is_word("CREATE")) && tokens.iter().any(numbers)
    })
}

fn numbers(token: &Token<'_>) -> bool {
    NUMBERING_WORDS.iter().any(|word| token.is_word(word))
}

/// The table that a DDL statement makes, if any: `Some(None)` for an index or a view. `None` if it does
/// something that deleting rows does not undo.
pub fn made_by(sql: &str, dialect: Dialect) -> Option<Option<String>> {
    let tokens = whole(sql, dialect)?;
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    let lasts = |token: &Token<'_>| LASTING_WORDS.iter().any(|word| token.is_word(word));
    if !is(0, "CREATE") || tokens.iter().any(|token| lasts(token) || numbers(token)) {
        return None;
    }
    if is(1, "INDEX") || (is(1, "UNIQUE") && is(2, "INDEX")) || is(1, "VIEW") {
        return Some(None);
    }
    // Rows that come with the table would be deleted for good.
    if !is(1, "TABLE") || tokens.iter().any(|token| token.is_word("SELECT")) {
        return None;
    }
    let name = if is(2, "IF") { 5 } else { 2 };
    let is_qualified = tokens.get(name + 1).is_some_and(|token| token.is_symbol("."));
    let name = tokens.get(name).filter(|_| !is_qualified)?;
    Some(Some(name.text.trim_matches(['"', '`', '[', ']']).to_owned()))
}
