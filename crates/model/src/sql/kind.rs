//! What kind a statement is, by its first words.
//!
//! Idea: the stage and the oracles need to know where transactions begin and end, and what reads or writes; the first
//! words tell. Everything that is not recognised is [`StatementKind::Other`], never a guess.
//!
//! Assumption: the contents of MySQL's `/*! … */` are ignored. `END` is a COMMIT (PostgreSQL, SQLite).
//!
//! Blind spot: whether the server was really inside a transaction is not known here; see the answer.

use super::Dialect;
use super::scan::{Token, TokenKind, Tokens};

/// The kind of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`, `END`.
    Commit {
        /// `AND CHAIN`: the next transaction begins at once.
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`: the whole transaction.
    Rollback {
        /// `AND CHAIN`: the next transaction begins at once.
        chain: bool,
    },
    /// `ROLLBACK TO` this savepoint.
    RollbackTo(String),
    /// `SAVEPOINT` of this name.
    Savepoint(String),
    /// `RELEASE` of this savepoint.
    Release(String),
    /// A query, also `WITH … SELECT`, `VALUES` and `TABLE`.
    Select {
        /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE` and the like.
        locking: bool,
    },
    /// `INSERT`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
    /// `REPLACE`
    Replace,
    /// `MERGE`
    Merge,
    /// `CREATE`, `ALTER`, `DROP`, `TRUNCATE`, `RENAME`.
    Ddl,
    /// `SET autocommit`: whether statements outside transactions are transactions of their own.
    Autocommit(bool),
    /// `SET`, `RESET`, `PRAGMA`.
    SetCommand,
    /// Anything else.
    Other,
}

impl StatementKind {
    /// The kind of this statement.
    pub fn of(sql: &str) -> Self {
        if let Some(kind) = Self::of_write(sql).or_else(|| Self::of_single_word(sql)) {
            return kind;
        }
        let tokens = significant_tokens(sql);
        let parentheses = tokens.iter().take_while(|token| token.is_symbol("(")).count();
        let words = Words(&tokens[parentheses..]);
        words.transaction_command().unwrap_or_else(|| words.other_command())
    }

    /// The kind of a write by its very first word: covers most statements without reading on.
    fn of_write(sql: &str) -> Option<Self> {
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || !b.is_ascii();
        let word = &sql[..sql.bytes().take_while(|b| is_name(*b)).count()];
        let kinds = [
            ("INSERT", Self::Insert),
            ("UPDATE", Self::Update),
            ("DELETE", Self::Delete),
            ("REPLACE", Self::Replace),
        ];
        kinds.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, kind)| kind)
    }

    /// The kind of a statement that is one word and nothing else: where most transactions begin and end.
    fn of_single_word(sql: &str) -> Option<Self> {
        let kinds = [
            ("BEGIN", Self::Begin),
            ("COMMIT", Self::Commit { chain: false }),
            ("ROLLBACK", Self::Rollback { chain: false }),
        ];
        kinds.into_iter().find(|(word, _)| sql.eq_ignore_ascii_case(word)).map(|(_, kind)| kind)
    }

    /// Whether it ends a transaction, going by its words.
    pub const fn ends_transaction(&self) -> bool {
        matches!(self, Self::Commit { .. } | Self::Rollback { .. })
    }

    /// Whether it changes rows.
    pub const fn writes(&self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::Replace | Self::Merge)
    }
}

/// The tokens in the first dialect that can read the statement to its end, else as far as one can.
pub(super) fn significant_tokens(sql: &str) -> Vec<Token<'_>> {
    let tokens = |dialect| Tokens::new(sql, 0, dialect);
    let dialect =
        Dialect::ALL.into_iter().find(|dialect| tokens(*dialect).all(|token| token.is_ok()));
    tokens(dialect.unwrap_or(Dialect::Postgres))
        .map_while(Result::ok)
        .filter(|token| token.is_significant() && token.kind != TokenKind::Hint)
        .collect()
}

/// The significant tokens of a statement.
struct Words<'t, 'a>(&'t [Token<'a>]);

impl Words<'_, '_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.0.get(at).is_some_and(|token| token.is_word(word))
    }

    fn first(&self) -> String {
        self.0.first().map_or_else(String::new, |token| token.text.to_ascii_uppercase())
    }

    fn transaction_command(&self) -> Option<StatementKind> {
        let optional = usize::from(self.is(1, "WORK") || self.is(1, "TRANSACTION"));
        let chain = self.is(optional + 1, "AND") && self.is(optional + 2, "CHAIN");
        let to_savepoint = self.is(optional + 1, "TO");
        match self.first().as_str() {
            "BEGIN" if !(self.is(1, "NOT") && self.is(2, "ATOMIC")) => Some(StatementKind::Begin),
            "START" if self.is(1, "TRANSACTION") => Some(StatementKind::Begin),
            "COMMIT" | "ROLLBACK" if self.is(1, "PREPARED") => Some(StatementKind::Other),
            "COMMIT" | "END" => Some(StatementKind::Commit { chain }),
            "ROLLBACK" if to_savepoint => {
                self.savepoint(optional + 2).map(StatementKind::RollbackTo)
            }
            "ROLLBACK" | "ABORT" => Some(StatementKind::Rollback { chain }),
            "SAVEPOINT" => self.name(1).map(StatementKind::Savepoint),
            "RELEASE" => self.savepoint(1).map(StatementKind::Release),
            _ => None,
        }
    }

    /// `[SAVEPOINT] name`
    fn savepoint(&self, at: usize) -> Option<String> {
        let is_keyword = self.is(at, "SAVEPOINT") && self.0.len() > at + 1;
        self.name(at + usize::from(is_keyword))
    }

    fn name(&self, at: usize) -> Option<String> {
        let token = self.0.get(at)?;
        match token.kind {
            TokenKind::Word => Some(token.text.to_owned()),
            TokenKind::String | TokenKind::QuotedName => {
                let quote = &token.text[token.text.len() - 1..];
                let inner = token.text.strip_prefix(quote)?.strip_suffix(quote)?;
                Some(inner.replace(&quote.repeat(2), quote))
            }
            _ => None,
        }
    }

    fn other_command(&self) -> StatementKind {
        match self.first().as_str() {
            "WITH" => self.behind_with().map_or(StatementKind::Other, |main| main.other_command()),
            "SELECT" | "VALUES" | "TABLE" => StatementKind::Select { locking: self.is_locking() },
            "INSERT" => StatementKind::Insert,
            "UPDATE" => StatementKind::Update,
            "DELETE" => StatementKind::Delete,
            "REPLACE" => StatementKind::Replace,
            "MERGE" => StatementKind::Merge,
            "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "RENAME" => StatementKind::Ddl,
            "SET" => self.autocommit().map_or(StatementKind::SetCommand, StatementKind::Autocommit),
            "RESET" | "PRAGMA" => StatementKind::SetCommand,
            _ => StatementKind::Other,
        }
    }

    /// What `SET [SESSION] autocommit = …` sets, if it sets nothing else.
    fn autocommit(&self) -> Option<bool> {
        let at = 1 + usize::from(self.is(1, "SESSION"));
        let is_it = self.is(at, "autocommit") && self.0.get(at + 1)?.is_symbol("=");
        let value = self.0.get(at + 2).filter(|_| is_it && self.0.len() == at + 3)?;
        match value.text.to_ascii_uppercase().as_str() {
            "0" | "OFF" | "FALSE" => Some(false),
            "1" | "ON" | "TRUE" => Some(true),
            _ => None,
        }
    }

    /// The main statement of a WITH: the first one outside parentheses.
    fn behind_with(&self) -> Option<Self> {
        let mut depth = 0_usize;
        let at = self.0.iter().position(|token| {
            match token.text {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
                && ["SELECT", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"]
                    .iter()
                    .any(|word| token.is_word(word))
        })?;
        Some(Self(&self.0[at..]))
    }

    fn is_locking(&self) -> bool {
        (0..self.0.len()).any(|at| {
            let update_or_share = |at| self.is(at, "UPDATE") || self.is(at, "SHARE");
            let for_clause = self.is(at, "FOR")
                && (update_or_share(at + 1)
                    || (self.is(at + 1, "NO")
                        && self.is(at + 2, "KEY")
                        && update_or_share(at + 3))
                    || (self.is(at + 1, "KEY") && update_or_share(at + 2)));
            for_clause || (self.is(at, "LOCK") && self.is(at + 1, "IN") && self.is(at + 2, "SHARE"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::StatementKind::{
        Autocommit, Begin, Ddl, Delete, Insert, Merge, Other, Release, Replace, RollbackTo,
        Savepoint, SetCommand, Update,
    };
    use super::*;

    const COMMIT: StatementKind = StatementKind::Commit { chain: false };
    const ROLLBACK: StatementKind = StatementKind::Rollback { chain: false };
    const PLAIN: StatementKind = StatementKind::Select { locking: false };
    const LOCKING: StatementKind = StatementKind::Select { locking: true };

    #[test]
    fn the_first_words_name_the_kind() {
        let table = [
            ("BEGIN", Begin),
            ("begin work", Begin),
            ("BEGIN IMMEDIATE TRANSACTION", Begin),
            ("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE", Begin),
            ("/* x */ START TRANSACTION WITH CONSISTENT SNAPSHOT", Begin),
            ("BEGIN NOT ATOMIC SELECT 1; END", Other),
            ("START REPLICA", Other),
            ("COMMIT", COMMIT),
            ("-- x\nCOMMIT WORK", COMMIT),
            ("END TRANSACTION", COMMIT),
            ("COMMIT AND NO CHAIN", COMMIT),
            ("COMMIT AND CHAIN", StatementKind::Commit { chain: true }),
            ("COMMIT WORK AND CHAIN NO RELEASE", StatementKind::Commit { chain: true }),
            ("COMMIT PREPARED 'x'", Other),
            ("ROLLBACK", ROLLBACK),
            ("ABORT", ROLLBACK),
            ("rollback transaction and chain", StatementKind::Rollback { chain: true }),
            ("ROLLBACK TO a", RollbackTo("a".to_owned())),
            ("ROLLBACK WORK TO SAVEPOINT `a``b`", RollbackTo("a`b".to_owned())),
            ("ROLLBACK TO SAVEPOINT", RollbackTo("SAVEPOINT".to_owned())),
            ("SAVEPOINT \"s 1\"", Savepoint("s 1".to_owned())),
            ("RELEASE SAVEPOINT s", Release("s".to_owned())),
            ("RELEASE s", Release("s".to_owned())),
            ("SELECT 1", PLAIN),
            ("((SELECT 1) UNION SELECT 2)", PLAIN),
            ("VALUES (1)", PLAIN),
            ("TABLE t", PLAIN),
            ("SELECT 'FOR UPDATE', `for` FROM t", PLAIN),
            ("SELECT * FROM t FOR UPDATE SKIP LOCKED", LOCKING),
            ("SELECT * FROM t FOR NO KEY UPDATE", LOCKING),
            ("SELECT * FROM t FOR KEY SHARE", LOCKING),
            (r"SELECT '\' FROM t FOR SHARE", LOCKING),
            ("SELECT * FROM t LOCK IN SHARE MODE", LOCKING),
            ("WITH a AS (SELECT 1), b(x) AS (DELETE FROM t RETURNING x) SELECT * FROM a", PLAIN),
            ("WITH RECURSIVE a AS (SELECT 1) UPDATE t SET x = 1", Update),
            ("INSERT INTO t SELECT * FROM u FOR UPDATE", Insert),
            ("/*+ hint */ UPDATE t SET a = 1", Update),
            ("DELETE FROM t", Delete),
            ("REPLACE INTO t VALUES (1)", Replace),
            ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", Merge),
            ("WITH u AS (SELECT 1) MERGE INTO t USING u ON TRUE WHEN MATCHED THEN DELETE", Merge),
            ("CREATE TABLE t(a INT)", Ddl),
            ("TRUNCATE t", Ddl),
            ("SET autocommit = 0", Autocommit(false)),
            ("SET SESSION autocommit=on", Autocommit(true)),
            ("SET autocommit = 0, sql_mode = ''", SetCommand),
            ("SET autocommit = @x", SetCommand),
            ("PRAGMA journal_mode", SetCommand),
            ("EXPLAIN SELECT 1", Other),
            ("CALL p()", Other),
            ("", Other),
            ("SAVEPOINT", Other),
            ("'open", Other),
        ];
        for (sql, kind) in table {
            assert_eq!(StatementKind::of(sql), kind, "{sql}");
        }
    }
}
