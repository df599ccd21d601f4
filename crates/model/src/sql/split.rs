//! Finds the `;` that ends a statement, even that of a stored routine without any `DELIMITER`.
//!
//! Idea: inside the statements that may have a body (CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT, PACKAGE,
//! and MariaDB's `BEGIN NOT ATOMIC`) count the blocks that are open: BEGIN, CASE, IF … THEN, LOOP, WHILE, REPEAT,
//! FOR … IN; each ends with its `END`. A `;` ends the statement only where no block is open. In PostgreSQL's
//! CREATE RULE a `;` inside parentheses does not end it either. Everywhere else the first `;` ends it, so
//! `BEGIN;` is the start of a transaction.
//!
//! Source: the grammars of MySQL's and MariaDB's compound statements, SQLite's CREATE TRIGGER, PostgreSQL's
//! `BEGIN ATOMIC`.
//!
//! Assumption: IF, LOOP, WHILE, REPEAT and FOR open a block only where a statement may begin; elsewhere they are
//! functions (`IF(a, b, c)`), clauses (`FOR UPDATE`) or options (`IF EXISTS`).
//!
//! Blind spots: MariaDB's Oracle mode (`… IS BEGIN`, `FOR … LOOP`), and columns named `begin`, `end` or `case`
//! without quotes or a table name in front.

use super::Dialect;
use super::scan::{ScanError, Token, TokenKind, Tokens};

/// How a statement ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With the `;` at this byte offset.
    At(usize),
    /// The text ends before the statement does.
    Missing {
        /// Byte offset of the innermost block that is still open (`BEGIN`, `IF`), if one is.
        open_block: Option<usize>,
    },
}

/// Where the statement that starts at the byte offset `start` ends.
///
/// `stop` is called for each comment outside blocks, and may end the search by returning `true`: the statement then
/// counts as [`Ending::Missing`].
pub fn statement_end<'a>(
    text: &'a str,
    start: usize,
    dialect: Dialect,
    mut stop: impl FnMut(&Token<'a>) -> bool,
) -> Result<Ending, ScanError> {
    let mut tokens = Tokens::new(text, start, dialect);
    let head = significant_words(&tokens);
    let mut body = Body { shape: Shape::of(&head), ..Body::default() };
    while let Some(token) = tokens.next() {
        let token = token?;
        if token.kind == TokenKind::BlockComment && body.is_closed() && stop(&token) {
            break;
        }
        if !token.is_significant() {
            continue;
        }
        if token.kind == TokenKind::Semicolon && body.is_closed() {
            return Ok(Ending::At(token.start));
        }
        body.take(token, &tokens);
    }
    Ok(Ending::Missing { open_block: body.open.last().copied() })
}

/// The most significant tokens needed to recognise a statement: enough for CREATE OR REPLACE with a DEFINER.
const HEAD_LENGTH: usize = 12;

fn significant_words<'a>(tokens: &Tokens<'a>) -> Vec<Token<'a>> {
    significant(tokens).take(HEAD_LENGTH).collect()
}

/// The tokens that follow, as far as they can be read.
fn significant<'a>(tokens: &Tokens<'a>) -> impl Iterator<Item = Token<'a>> {
    tokens.clone().map_while(Result::ok).filter(Token::is_significant)
}

/// Which tokens keep a `;` from ending the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Shape {
    #[default]
    Plain,
    Blocks,
    Parentheses,
}

impl Shape {
    fn of(head: &[Token<'_>]) -> Self {
        let is =
            |at: usize, word| head.get(at).is_some_and(|token: &Token<'_>| token.is_word(word));
        if is(0, "BEGIN") {
            return if is(1, "NOT") && is(2, "ATOMIC") { Self::Blocks } else { Self::Plain };
        }
        if !is(0, "CREATE") && !is(0, "ALTER") {
            return Self::Plain;
        }
        let mut at = 1;
        while ["OR", "REPLACE", "TEMP", "TEMPORARY", "CONSTRAINT", "AGGREGATE"]
            .iter()
            .any(|word| is(at, word))
        {
            at += 1;
        }
        if is(at, "DEFINER") {
            at = behind_definer(head, at);
        }
        let has_body = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"];
        match () {
            () if has_body.iter().any(|word| is(at, word)) => Self::Blocks,
            () if is(at, "RULE") => Self::Parentheses,
            () => Self::Plain,
        }
    }
}

/// `DEFINER = name`, `DEFINER = CURRENT_USER()`, `DEFINER = 'name'@host`.
fn behind_definer(head: &[Token<'_>], definer: usize) -> usize {
    let is_symbol = |at: usize, symbol| head.get(at).is_some_and(|token| token.is_symbol(symbol));
    let name = if is_symbol(definer + 1, "=") { definer + 2 } else { definer + 1 };
    let behind = if is_symbol(name + 1, "(") { name + 3 } else { name + 1 };
    match head.get(behind) {
        Some(token) if token.is_symbol("@") => behind + 2,
        Some(token) if token.text.starts_with('@') => behind + 1,
        _ => behind,
    }
}

/// What is open at the current token.
#[derive(Debug, Default)]
struct Body<'a> {
    shape: Shape,
    /// Where each open block, or parenthesis, began.
    open: Vec<usize>,
    before: Option<Token<'a>>,
}

impl<'a> Body<'a> {
    fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    fn take(&mut self, token: Token<'a>, following: &Tokens<'a>) {
        match self.shape {
            Shape::Plain => {}
            Shape::Parentheses if token.is_symbol("(") => self.open.push(token.start),
            Shape::Parentheses if token.is_symbol(")") => drop(self.open.pop()),
            Shape::Parentheses => {}
            Shape::Blocks => self.take_in_block(token, following),
        }
        self.before = Some(token);
    }

    fn take_in_block(&mut self, token: Token<'a>, following: &Tokens<'a>) {
        if token.kind != TokenKind::Word || self.is_part_of_a_name(following) {
            return;
        }
        let after_end = self.before.is_some_and(|before| before.is_word("END"));
        if token.is_word("END") {
            self.open.pop();
        } else if !after_end && self.opens(&token, following) {
            self.open.push(token.start);
        }
    }

    /// `t.end`, `begin.x`, `XA END`.
    fn is_part_of_a_name(&self, following: &Tokens<'a>) -> bool {
        let is_dot = |token: &Token<'_>| token.is_symbol(".");
        self.before.is_some_and(|before| is_dot(&before) || before.is_word("XA"))
            || following.clone().next().is_some_and(|next| next.is_ok_and(|next| is_dot(&next)))
    }

    fn opens(&self, token: &Token<'_>, following: &Tokens<'a>) -> bool {
        if token.is_word("BEGIN") || token.is_word("CASE") {
            return true;
        }
        if !self.a_statement_may_begin() {
            return false;
        }
        let mut next = significant(following);
        match token.text.to_ascii_uppercase().as_str() {
            "IF" => then_follows(next),
            "LOOP" | "WHILE" => true,
            "REPEAT" => next.next().is_some_and(|next| !next.is_symbol("(")),
            "FOR" => next.nth(1).is_some_and(|second| second.is_word("IN")),
            _ => false,
        }
    }

    fn a_statement_may_begin(&self) -> bool {
        const BEFORE_A_STATEMENT: [&str; 16] = [
            "BEGIN",
            "ATOMIC",
            "THEN",
            "ELSE",
            "DO",
            "LOOP",
            "REPEAT",
            "ROW",
            "SQL",
            "DATA",
            "DETERMINISTIC",
            "DEFINER",
            "INVOKER",
            "FOUND",
            "SQLEXCEPTION",
            "SQLWARNING",
        ];
        self.before.is_none_or(|before| match before.kind {
            TokenKind::Semicolon | TokenKind::String => true,
            TokenKind::Symbol => before.text == ":" || before.text == ")",
            TokenKind::Word => BEFORE_A_STATEMENT.iter().any(|word| before.is_word(word)),
            _ => false,
        })
    }
}

/// Whether an IF is a statement: its THEN comes before anything that cannot be part of its condition. That
/// distinguishes it from the function in `CASE … THEN IF(a, b, c) WHEN …`.
fn then_follows<'a>(following: impl Iterator<Item = Token<'a>>) -> bool {
    let mut cases = 0_usize;
    let mut parentheses = 0_usize;
    for token in following {
        match token.kind {
            TokenKind::Semicolon => return false,
            TokenKind::Symbol if token.text == "(" => parentheses += 1,
            TokenKind::Symbol if token.text == ")" && parentheses == 0 => return false,
            TokenKind::Symbol if token.text == ")" => parentheses -= 1,
            TokenKind::Word if parentheses == 0 => match token.text.to_ascii_uppercase().as_str() {
                "CASE" => cases += 1,
                "END" if cases > 0 => cases -= 1,
                "THEN" if cases == 0 => return true,
                "WHEN" | "ELSE" | "END" if cases == 0 => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_statement(text: &str, dialect: Dialect) -> Option<&str> {
        match statement_end(text, 0, dialect, |_| false) {
            Ok(Ending::At(end)) => Some(&text[..end]),
            _ => None,
        }
    }

    #[test]
    fn a_plain_statement_ends_at_its_first_semicolon() {
        let table = [
            "BEGIN",
            "BEGIN WORK",
            "BEGIN ISOLATION LEVEL SERIALIZABLE, NOT DEFERRABLE",
            "END",
            "SELECT 'a;b', \"c;d\", `e;f`",
            "SELECT CASE WHEN a THEN b END /* ; */",
            "INSERT INTO t VALUES ($$;$$), ($q$;$$;$q$)",
            "DO $$ BEGIN PERFORM 1; END $$",
            "CREATE FUNCTION f() RETURNS int AS $$ BEGIN RETURN 1; END $$ LANGUAGE plpgsql",
            "CREATE TABLE \"trigger\"(event INT)",
            "CREATE INDEX i ON event(x)",
            "DROP TABLE IF EXISTS t",
        ];
        for statement in table {
            for dialect in Dialect::ALL {
                let text = format!("{statement}; COMMIT;");
                assert_eq!(first_statement(&text, dialect), Some(statement), "{dialect:?}");
            }
        }
    }

    #[test]
    fn a_routine_ends_after_its_last_block() {
        let table = [
            "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE u SET a = CASE b WHEN 1 THEN 2 END; END",
            "create or replace definer=`root`@`localhost` procedure p(x int) begin select 1; end",
            "CREATE DEFINER = CURRENT_USER() PROCEDURE p() BEGIN SELECT 1; END",
            "CREATE DEFINER = me@'%' PROCEDURE p() BEGIN SELECT 1; END",
            "CREATE DEFINER = 'me'@localhost PROCEDURE p() BEGIN SELECT 1; END",
            "CREATE DEFINER = me TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END",
            "CREATE PROCEDURE p() SELECT 1",
            "CREATE PROCEDURE p() BEGIN IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; END IF; END",
            "CREATE PROCEDURE p() IF (a) > 0 THEN SELECT 1; END IF",
            "CREATE PROCEDURE p() COMMENT 'x' IF NOT EXISTS (SELECT 1) THEN SELECT 1; END IF",
            "CREATE PROCEDURE p() BEGIN SELECT IF(a, b, c), REPEAT('x', 2); DROP TABLE IF EXISTS t; END",
            "CREATE PROCEDURE p() BEGIN IF IF(a, b, c) THEN SELECT 1; ELSE IF x THEN SELECT 2; END IF; END IF; END",
            "CREATE PROCEDURE p() BEGIN SET x = CASE WHEN a THEN IF(b, 1, 2) WHEN c THEN 3 ELSE IF(d, 1, 2) END; END",
            "CREATE PROCEDURE p() BEGIN CASE x WHEN 1 THEN SELECT 1; ELSE BEGIN END; END CASE; SELECT 2; END",
            "CREATE PROCEDURE p() l: BEGIN m: LOOP LEAVE m; END LOOP m; WHILE a DO SELECT 1; END WHILE; END l",
            "CREATE PROCEDURE p() BEGIN REPEAT SET x = 1; UNTIL x END REPEAT; SELECT a FROM (b) FOR UPDATE; END",
            "CREATE PROCEDURE p() BEGIN FOR i IN 1..3 DO SELECT i; END FOR; END",
            "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT t.end FROM t; XA END 'x'; SELECT 1; END",
            "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; END; SELECT 1; END",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN SELECT 1; END",
            "CREATE FUNCTION f(a int) RETURNS int LANGUAGE SQL \
             BEGIN ATOMIC SELECT 1; SELECT CASE WHEN a > 1 THEN 2 END; END",
            "BEGIN NOT ATOMIC SELECT 1; IF a THEN SELECT 2; END IF; END",
            "CREATE RULE r AS ON INSERT TO t DO ALSO (INSERT INTO a VALUES (1); INSERT INTO b VALUES (2))",
        ];
        for statement in table {
            for dialect in Dialect::ALL {
                let text = format!("{statement}; SELECT 3; END;");
                assert_eq!(first_statement(&text, dialect), Some(statement), "{dialect:?}");
            }
        }
    }

    #[test]
    fn an_open_block_is_reported_where_it_began() {
        let text = "CREATE PROCEDURE p() BEGIN IF a THEN SELECT 1; END;";
        let ending = statement_end(text, 0, Dialect::Mysql, |_| false);
        assert_eq!(ending, Ok(Ending::Missing { open_block: text.find("BEGIN") }));
        let ending = statement_end("SELECT 1", 0, Dialect::Mysql, |_| false);
        assert_eq!(ending, Ok(Ending::Missing { open_block: None }));
    }
}
