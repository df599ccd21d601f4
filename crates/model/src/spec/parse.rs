//! Reads a `.spec` file.
//!
//! Grammar and lexical rules follow PostgreSQL 15: a block of SQL ends at its first `}`; blanks (but not
//! newlines) right after `{` and right before `}` belong to the braces; names are bare or in double
//! quotes; `#` begins a comment.

use std::collections::HashMap;

use super::{Marker, PermutationStep, Spec, SpecSession, SpecStep, StepRef};

/// What is wrong with a spec, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: expected {expected}, found {found}")]
pub struct SpecError {
    /// The file.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    /// What was expected.
    pub expected: String,
    /// What is there.
    pub found: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(String),
    Block(String),
    Number(usize),
    Punctuation(char),
    End,
}

impl Token {
    fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("'{word}'"),
            Self::Quoted(name) => format!("the name \"{name}\""),
            Self::Block(_) => "a block in braces".to_owned(),
            Self::Number(number) => format!("the number {number}"),
            Self::Punctuation(c) => format!("'{c}'"),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

const KEYWORDS: [&str; 6] = ["notices", "permutation", "session", "setup", "step", "teardown"];

impl Spec {
    /// Reads the text of a spec; `file` is for messages, its stem becomes the spec's name.
    pub fn parse(file: &str, text: &str) -> Result<Self, SpecError> {
        let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
        let name = base.strip_suffix(".spec").unwrap_or(base).to_owned();
        let mut parser = Parser::new(file, text)?;
        let spec = parser.spec(name)?;
        Ok(spec)
    }
}

/// A permutation as written: names that are resolved when all sessions are known.
struct RawStep {
    name: String,
    at: usize,
    markers: Vec<RawMarker>,
}

enum RawMarker {
    Waits,
    After(String, usize),
    AfterNotices(String, usize, usize),
}

struct Parser<'t> {
    file: &'t str,
    text: &'t str,
    at: usize,
    token: Token,
    token_at: usize,
}

impl<'t> Parser<'t> {
    fn new(file: &'t str, text: &'t str) -> Result<Self, SpecError> {
        let mut parser = Self { file, text, at: 0, token: Token::End, token_at: 0 };
        parser.advance()?;
        Ok(parser)
    }

    fn spec(&mut self, name: String) -> Result<Spec, SpecError> {
        let mut spec = Spec { name, ..Spec::default() };
        while self.keyword("setup")? {
            spec.setups.push(self.block()?);
        }
        if self.keyword("teardown")? {
            spec.teardown = Some(self.block()?);
        }
        while self.keyword("session")? {
            spec.sessions.push(self.session()?);
        }
        if spec.sessions.is_empty() {
            return Err(self.wrong("'setup', 'teardown' or 'session'"));
        }
        let mut raw = Vec::new();
        while self.keyword("permutation")? {
            raw.push(self.permutation()?);
        }
        if self.token != Token::End {
            return Err(self.wrong("'step', 'session', 'permutation' or the end of the file"));
        }
        let known = self.step_names(&spec)?;
        spec.permutations =
            raw.into_iter().map(|steps| self.resolve(steps, &known)).collect::<Result<_, _>>()?;
        Ok(spec)
    }

    fn session(&mut self) -> Result<SpecSession, SpecError> {
        let mut session = SpecSession { name: self.name("a session name")?, ..Default::default() };
        if self.keyword("setup")? {
            session.setup = Some(self.block()?);
        }
        while self.keyword("step")? {
            let line = self.position(self.token_at).0;
            let name = self.name("a step name")?;
            session.steps.push(SpecStep { name, sql: self.block()?, line });
        }
        if session.steps.is_empty() {
            return Err(self.wrong("'step'"));
        }
        if self.keyword("teardown")? {
            session.teardown = Some(self.block()?);
        }
        Ok(session)
    }

    fn permutation(&mut self) -> Result<Vec<RawStep>, SpecError> {
        let mut steps = Vec::new();
        while self.at_name() {
            let at = self.token_at;
            let name = self.name("a step name")?;
            let markers = if self.punctuation('(')? { self.markers()? } else { Vec::new() };
            steps.push(RawStep { name, at, markers });
        }
        if steps.is_empty() { Err(self.wrong("a step name")) } else { Ok(steps) }
    }

    fn markers(&mut self) -> Result<Vec<RawMarker>, SpecError> {
        let mut markers = Vec::new();
        loop {
            if self.punctuation('*')? {
                markers.push(RawMarker::Waits);
            } else {
                let at = self.token_at;
                let name = self.name("'*' or a step name")?;
                if self.keyword("notices")? {
                    let Token::Number(count) = self.token else {
                        return Err(self.wrong("a number of notices"));
                    };
                    self.advance()?;
                    markers.push(RawMarker::AfterNotices(name, count, at));
                } else {
                    markers.push(RawMarker::After(name, at));
                }
            }
            if self.punctuation(')')? {
                return Ok(markers);
            }
            if !self.punctuation(',')? {
                return Err(self.wrong("',' or ')'"));
            }
        }
    }

    fn step_names(&self, spec: &Spec) -> Result<HashMap<String, StepRef>, SpecError> {
        let mut known = HashMap::new();
        for (session, description) in spec.sessions.iter().enumerate() {
            for (step, SpecStep { name, line, .. }) in description.steps.iter().enumerate() {
                if known.insert(name.clone(), StepRef { session, step }).is_some() {
                    return Err(SpecError {
                        file: self.file.to_owned(),
                        line: *line,
                        column: 1,
                        expected: "a step name that is not yet taken".to_owned(),
                        found: format!("'{name}' again"),
                    });
                }
            }
        }
        Ok(known)
    }

    fn resolve(
        &self,
        steps: Vec<RawStep>,
        known: &HashMap<String, StepRef>,
    ) -> Result<Vec<PermutationStep>, SpecError> {
        let find = |name: &str, at: usize| {
            known.get(name).copied().ok_or_else(|| {
                self.wrong_at(at, "the name of a step of a session", format!("'{name}'"))
            })
        };
        let marker = |raw: &RawMarker| {
            Ok(match raw {
                RawMarker::Waits => Marker::Waits,
                RawMarker::After(name, at) => Marker::After(find(name, *at)?),
                RawMarker::AfterNotices(name, count, at) => {
                    Marker::AfterNotices(find(name, *at)?, *count)
                }
            })
        };
        let resolved = steps.iter().map(|raw| {
            let markers = raw.markers.iter().map(marker).collect::<Result<_, _>>()?;
            Ok(PermutationStep { step: find(&raw.name, raw.at)?, markers })
        });
        resolved.collect()
    }

    /// Takes the keyword if it is next.
    fn keyword(&mut self, word: &str) -> Result<bool, SpecError> {
        let is_next = self.token == Token::Word(word.to_owned());
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn punctuation(&mut self, c: char) -> Result<bool, SpecError> {
        let is_next = self.token == Token::Punctuation(c);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn at_name(&self) -> bool {
        match &self.token {
            Token::Word(word) => !KEYWORDS.contains(&word.as_str()),
            Token::Quoted(_) => true,
            _ => false,
        }
    }

    fn name(&mut self, expected: &str) -> Result<String, SpecError> {
        if !self.at_name() {
            return Err(self.wrong(expected));
        }
        let (Token::Word(name) | Token::Quoted(name)) = self.token.clone() else {
            return Err(self.wrong(expected));
        };
        self.advance()?;
        Ok(name)
    }

    fn block(&mut self) -> Result<String, SpecError> {
        let Token::Block(sql) = self.token.clone() else {
            return Err(self.wrong("a block of SQL in braces"));
        };
        self.advance()?;
        Ok(sql)
    }

    fn advance(&mut self) -> Result<(), SpecError> {
        self.skip_blanks();
        self.token_at = self.at;
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            self.token = Token::End;
            return Ok(());
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
        let (token, length) = match first {
            '{' => self.scan_block(rest)?,
            '"' => self.scan_quoted(rest)?,
            '(' | ')' | ',' | '*' => (Token::Punctuation(first), 1),
            c if c.is_ascii_digit() => {
                let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let number = rest[..length].parse();
                (Token::Number(number.map_err(|_| self.wrong("a smaller number"))?), length)
            }
            c if is_word(c) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (Token::Word(rest[..length].to_owned()), length)
            }
            other => {
                let expected = "a keyword, a name or a block in braces";
                return Err(self.wrong_at(self.at, expected, format!("'{other}'")));
            }
        };
        self.token = token;
        self.at += length;
        Ok(())
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', '\x0c', '\u{feff}']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn scan_block(&self, rest: &str) -> Result<(Token, usize), SpecError> {
        let blank = [' ', '\t', '\r', '\x0c'];
        let end = rest.find('}').ok_or_else(|| {
            self.wrong_at(self.at, "a '}' that closes this block", "the end of the file".to_owned())
        })?;
        let sql = rest[1..end].trim_start_matches(blank).trim_end_matches(blank);
        Ok((Token::Block(sql.to_owned()), end + 1))
    }

    fn scan_quoted(&self, rest: &str) -> Result<(Token, usize), SpecError> {
        let mut name = String::new();
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    name.push('"');
                    chars.next();
                }
                '"' => return Ok((Token::Quoted(name), at + 1)),
                '\n' => break,
                c => name.push(c),
            }
        }
        let found = "the end of the line".to_owned();
        Err(self.wrong_at(self.at, "a '\"' that closes this name", found))
    }

    fn wrong(&self, expected: &str) -> SpecError {
        self.wrong_at(self.token_at, expected, self.token.describe())
    }

    fn wrong_at(&self, at: usize, expected: &str, found: String) -> SpecError {
        let (line, column) = self.position(at);
        SpecError { file: self.file.to_owned(), line, column, expected: expected.to_owned(), found }
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"
# a comment
setup { CREATE TABLE t (a int); }
setup
{
  INSERT INTO t VALUES (1);
}
teardown { DROP TABLE t; }
session s1
setup { BEGIN; }
step s1u { UPDATE t SET a = 2; }
step "s1 c"	{ COMMIT; }
session s2
step s2u {
  UPDATE t SET a = 3;
}
teardown { SELECT 1; }
permutation s1u s2u(*) "s1 c"
permutation s1u s2u("s1 c", s1u notices 2) "s1 c"
"#;

    #[test]
    fn reads_every_part() {
        let spec = Spec::parse("dir/x.spec", SPEC).unwrap();
        assert_eq!(spec.name, "x");
        assert_eq!(spec.setups[1], "\n  INSERT INTO t VALUES (1);\n");
        assert_eq!(spec.sessions[0].steps[1].name, "s1 c");
        assert_eq!(spec.sessions[1].steps[0].sql, "\n  UPDATE t SET a = 3;\n");
        assert_eq!(spec.sessions[1].teardown.as_deref(), Some("SELECT 1;"));
        let commit = StepRef { session: 0, step: 1 };
        let update = StepRef { session: 0, step: 0 };
        assert_eq!(spec.permutations[0][1].markers, [Marker::Waits]);
        assert_eq!(
            spec.permutations[1][1].markers,
            [Marker::After(commit), Marker::AfterNotices(update, 2)]
        );
    }

    #[test]
    fn without_permutations_all_interleavings_are_meant() {
        let spec = "session a step a1 {x} step a2 {x} session b step b1 {x}";
        let all = Spec::parse("x.spec", spec).unwrap().all_permutations();
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn says_where_and_what_was_expected() {
        let check = |text: &str, message: &str| {
            assert_eq!(Spec::parse("f.spec", text).unwrap_err().to_string(), message);
        };
        check(
            "session a\nstep s { SELECT 1;\n",
            "f.spec:2:8: expected a '}' that closes this block, found the end of the file",
        );
        check(
            "session a\nstep s {}\npermutation s  t\n",
            "f.spec:3:16: expected the name of a step of a session, found 't'",
        );
        check("session a\nsession b", "f.spec:2:1: expected 'step', found 'session'");
        check(
            "session a step s {} step s {}",
            "f.spec:1:1: expected a step name that is not yet taken, found 's' again",
        );
    }
}
