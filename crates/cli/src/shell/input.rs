//! From typed lines to what they ask for: pure.
//!
//! Idea: whatever is in a terminal or in a `.case` file can be pasted. A statement ends at its `;` and may span lines;
//! `t2> ` and `/* t2 */` before it name its session, which stays the current one. `/* setup */` counts for one
//! statement.
//!
//! Blind spot: a comment of a single word before a statement is taken for a session's name, as in a `.case` file.

use anchorite_model::sql::split::Ending;
use anchorite_model::sql::{Dialect, statement_end};

use super::commands::ShellCommand;

/// The session of the set-up in `.case` files.
const SETUP: &str = "setup";
/// What follows the end of a run; nothing that is typed can be there.
const AFTERWARDS: [&str; 2] = ["check", "teardown"];

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Go on in this session.
    Select(String),
    /// A statement in this session.
    Statement {
        /// The session's name.
        session: String,
        /// The text without its `;`.
        sql: String,
    },
    /// A statement before all sessions.
    SetUp(String),
    /// Something that concerns the shell.
    Command(ShellCommand),
    /// None of these, and why not.
    Mistake(String),
}

/// The lines that were typed so far.
#[derive(Debug)]
pub struct Input {
    dialect: Dialect,
    /// The session that the next statement belongs to.
    current: String,
    /// What was typed and is not whole yet.
    text: String,
    /// The next statement belongs to the set-up.
    is_setup: bool,
}

impl Input {
    /// Nothing is typed yet.
    pub fn new(dialect: Dialect, current: &str) -> Self {
        Self { dialect, current: current.to_owned(), text: String::new(), is_setup: false }
    }

    /// The current session.
    pub fn current(&self) -> &str {
        &self.current
    }

    /// Whether a statement has begun and not ended.
    pub fn is_open(&self) -> bool {
        !self.text.is_empty()
    }

    /// Forgets the statement that has begun; false if there is none.
    pub fn discard(&mut self) -> bool {
        self.is_setup = false;
        !std::mem::take(&mut self.text).is_empty()
    }

    /// Takes what was typed, one line or several, and returns what it asks for.
    pub fn take(&mut self, typed: &str) -> Vec<Request> {
        let mut requests = Vec::new();
        for line in typed.lines() {
            self.text.push_str(line);
            self.text.push('\n');
            while self.next(&mut requests) {}
        }
        requests
    }

    /// What is left when no more lines follow.
    pub fn finish(&mut self) -> Option<Request> {
        let rest = std::mem::take(&mut self.text);
        let told = format!("the last statement has no `;` and was not run: {}", rest.trim());
        (!rest.trim().is_empty()).then_some(Request::Mistake(told))
    }

    /// Takes one thing from the beginning of the text; false if there is nothing whole.
    fn next(&mut self, requests: &mut Vec<Request>) -> bool {
        let text = self.text.trim_start().to_owned();
        if text.is_empty() {
            self.text.clear();
            return false;
        }
        let (line, below) = text.split_once('\n').unwrap_or((&text, ""));
        let (line, below) = (line.trim_end(), below.to_owned());
        if let Some((name, rest)) = named(&text) {
            self.text = rest.to_owned();
            self.speak_as(name, requests);
        } else if line.starts_with("--") {
            self.text = below;
        } else if let Some(request) = whole_line(line, &self.current) {
            if let Request::Select(name) = &request {
                self.current.clone_from(name);
            }
            requests.push(request);
            self.text = below;
        } else {
            return self.next_statement(&text, requests);
        }
        true
    }

    fn speak_as(&mut self, name: &str, requests: &mut Vec<Request>) {
        if name == SETUP {
            self.is_setup = true;
        } else if AFTERWARDS.contains(&name) {
            requests.push(Request::Mistake(format!(
                "{name} statements run after the end of a case; .save FILE, and add them to the file"
            )));
            self.text.clear();
        } else {
            self.is_setup = false;
            if name != self.current {
                name.clone_into(&mut self.current);
                requests.push(Request::Select(name.to_owned()));
            }
        }
    }

    fn next_statement(&mut self, text: &str, requests: &mut Vec<Request>) -> bool {
        let Ok(Ending::At(end)) = statement_end(text, 0, self.dialect, |_| false) else {
            self.text = text.to_owned();
            return false;
        };
        let sql = text[..end].trim().to_owned();
        self.text = text[end + 1..].to_owned();
        if !sql.is_empty() {
            let session = self.current.clone();
            requests.push(match std::mem::take(&mut self.is_setup) {
                true => Request::SetUp(sql),
                false => Request::Statement { session, sql },
            });
        }
        true
    }
}

/// A line that is complete without a `;`.
fn whole_line(line: &str, current: &str) -> Option<Request> {
    if line.starts_with('.') {
        return Some(match ShellCommand::parse(line) {
            Ok(command) => Request::Command(command),
            Err(told) => Request::Mistake(told),
        });
    }
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    match line.trim_end_matches(';') {
        "help" | "?" => Some(Request::Command(ShellCommand::Help)),
        "quit" | "exit" => Some(Request::Command(ShellCommand::Quit)),
        name if name == current || name.strip_prefix('t').is_some_and(is_number) => {
            Some(Request::Select(name.to_owned()))
        }
        _ => None,
    }
}

/// The session that the text names first, and what follows.
fn named(text: &str) -> Option<(&str, &str)> {
    if let Some(comment) = text.strip_prefix("/*") {
        let (name, rest) = comment.split_once("*/")?;
        let name = name.trim();
        return (name_length(name) == name.len() && !name.is_empty()).then_some((name, rest));
    }
    let length = name_length(text);
    let rest = text[length..].strip_prefix('>')?;
    (length > 0).then(|| (&text[..length], rest))
}

/// The bytes of the name that the text begins with.
fn name_length(text: &str) -> usize {
    let is_part = |(at, c): &(usize, char)| {
        c.is_alphabetic() || *c == '_' || (*at > 0 && (c.is_numeric() || *c == '-'))
    };
    text.char_indices().take_while(is_part).map(|(_, c)| c.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(typed: &str) -> Vec<Request> {
        Input::new(Dialect::Mysql, "t1").take(typed)
    }

    fn statement(session: &str, sql: &str) -> Request {
        Request::Statement { session: session.to_owned(), sql: sql.to_owned() }
    }

    fn select(session: &str) -> Request {
        Request::Select(session.to_owned())
    }

    #[test]
    fn a_statement_ends_at_its_semicolon() {
        assert_eq!(requests("BEGIN; SELECT ';'"), [statement("t1", "BEGIN")]);
        let mut input = Input::new(Dialect::Mysql, "t1");
        assert_eq!(input.take("SELECT a"), []);
        assert!(input.is_open());
        assert_eq!(input.take("FROM t;"), [statement("t1", "SELECT a\nFROM t")]);
        assert!(!input.is_open() && input.finish().is_none());
        assert_eq!(input.take("SELECT"), []);
        assert!(input.discard() && !input.is_open() && !input.discard());
        assert_eq!(input.take("SELECT 1"), []);
        assert!(
            matches!(input.finish(), Some(Request::Mistake(told)) if told.contains("SELECT 1"))
        );
    }

    #[test]
    fn sessions_are_named_in_three_ways() {
        assert_eq!(requests("t2"), [select("t2")]);
        assert_eq!(
            requests("t2> BEGIN; COMMIT;"),
            [select("t2"), statement("t2", "BEGIN"), statement("t2", "COMMIT")]
        );
        let pasted =
            "-- title: x\n/* setup */ CREATE TABLE t (a INT);\n/* a */ BEGIN;\n/* a */ SELECT 1;";
        assert_eq!(
            requests(pasted),
            [
                Request::SetUp("CREATE TABLE t (a INT)".to_owned()),
                select("a"),
                statement("a", "BEGIN"),
                statement("a", "SELECT 1"),
            ]
        );
        assert!(matches!(&requests("/* check */ SELECT 1;")[..], [Request::Mistake(_)]));
        assert_eq!(requests("/*+ hint */ SELECT 1;"), [statement("t1", "/*+ hint */ SELECT 1")]);
        assert_eq!(requests("SELECT 2 > 1;"), [statement("t1", "SELECT 2 > 1")]);
    }

    #[test]
    fn a_command_is_a_line() {
        assert_eq!(requests(".waits"), [Request::Command(ShellCommand::Waits)]);
        assert_eq!(requests("exit;"), [Request::Command(ShellCommand::Quit)]);
        assert!(matches!(&requests(".nothing")[..], [Request::Mistake(_)]));
    }
}
