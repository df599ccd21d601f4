//! Commands of two-phase commit: XA of MariaDB and MySQL, prepared transactions of PostgreSQL.
//!
//! Idea: a transaction that is prepared outlives its session, and a ROLLBACK does not end one of XA. To clean up after
//! a case, their names must be known, and these are in the statements. An id is kept as written, so that it can be
//! written again.
//!
//! Blind spot: an id that is written in two ways ('a', "a") counts as two; a command inside a procedure is not seen.

use super::kind::significant_tokens;
use super::scan::{Token, TokenKind};

/// One command, with the id of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TwoPhase {
    /// `XA START`, `XA BEGIN`.
    Start(String),
    /// `XA END`: no more statements follow.
    End(String),
    /// `XA PREPARE`.
    Prepare(String),
    /// `PREPARE TRANSACTION`: the session is free again.
    Detach(String),
    /// `XA COMMIT`, `XA ROLLBACK`, `COMMIT PREPARED`, `ROLLBACK PREPARED`.
    Finish(String),
}

impl TwoPhase {
    /// The command; `None` for every other statement.
    pub fn of(sql: &str) -> Option<Self> {
        let tokens = significant_tokens(sql);
        let [first, second, id @ ..] = tokens.as_slice() else { return None };
        let is = |word: &str| second.is_word(word);
        let command: fn(String) -> Self = match () {
            () if first.is_word("XA") && (is("START") || is("BEGIN")) => Self::Start,
            () if first.is_word("XA") && is("END") => Self::End,
            () if first.is_word("XA") && is("PREPARE") => Self::Prepare,
            () if first.is_word("XA") && (is("COMMIT") || is("ROLLBACK")) => Self::Finish,
            () if first.is_word("PREPARE") && is("TRANSACTION") => Self::Detach,
            () if (first.is_word("COMMIT") || first.is_word("ROLLBACK")) && is("PREPARED") => {
                Self::Finish
            }
            () => return None,
        };
        let id = written(sql, id);
        (!id.is_empty()).then(|| command(id))
    }
}

/// The id as it is written: `'a'`, `'a', 'b', 1`, `X'61'`. Words after it (`ONE PHASE`, `SUSPEND`) are not part of it.
fn written(sql: &str, tokens: &[Token<'_>]) -> String {
    let is_prefix = |at: usize| {
        let next = tokens.get(at + 1);
        next.is_some_and(|next| next.kind == TokenKind::String && next.start == tokens[at].end())
    };
    let belongs = |at: usize| {
        let token = &tokens[at];
        let is_value = matches!(token.kind, TokenKind::String | TokenKind::Number)
            || token.kind == TokenKind::QuotedName
            || token.is_symbol(",");
        is_value || (token.kind == TokenKind::Word && is_prefix(at))
    };
    let count = (0..tokens.len()).take_while(|at| belongs(*at)).count();
    match tokens[..count] {
        [first, .., last] => sql[first.start..last.end()].to_owned(),
        [only] => only.text.to_owned(),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_apart_and_ids_kept_as_written() {
        let id = str::to_owned;
        let table = [
            ("XA START 'a'", Some(TwoPhase::Start(id("'a'")))),
            ("xa begin 'a', 'b', 1 join", Some(TwoPhase::Start(id("'a', 'b', 1")))),
            ("/* x */ XA START X'61',0x62", Some(TwoPhase::Start(id("X'61',0x62")))),
            ("XA END 'a' SUSPEND FOR MIGRATE", Some(TwoPhase::End(id("'a'")))),
            ("XA PREPARE \"a\"", Some(TwoPhase::Prepare(id("\"a\"")))),
            ("XA COMMIT 'a' ONE PHASE", Some(TwoPhase::Finish(id("'a'")))),
            ("XA ROLLBACK 'a';", Some(TwoPhase::Finish(id("'a'")))),
            ("XA RECOVER", None),
            ("XA START", None),
            ("PREPARE TRANSACTION 'it''s'", Some(TwoPhase::Detach(id("'it''s'")))),
            ("COMMIT PREPARED 'a'", Some(TwoPhase::Finish(id("'a'")))),
            ("ROLLBACK PREPARED 'a'", Some(TwoPhase::Finish(id("'a'")))),
            ("PREPARE s AS SELECT 1", None),
            ("ROLLBACK", None),
            ("SELECT 'XA START'", None),
        ];
        for (sql, command) in table {
            assert_eq!(TwoPhase::of(sql), command, "{sql}");
        }
    }
}
