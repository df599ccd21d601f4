//! A case in the form in which it is reduced, and what it costs to read.

use anchorite_model::sql::{Dialect, TokenKind};
use anchorite_model::transactions::Follower;
use anchorite_model::{Answer, Case, Header, SessionIndex, Statement, Step};

use anchorite_sql::ParsedStatement;

/// A step of a draft.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) session: SessionIndex,
    pub(crate) parsed: ParsedStatement,
}

/// A case that is being reduced.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Name, level, targets, check and teardown: what the reducer leaves alone.
    frame: Case,
    pub(crate) setup: Vec<ParsedStatement>,
    pub(crate) sessions: Vec<String>,
    pub(crate) lines: Vec<Line>,
}

/// How much there is to read, the most important figure first: statements, tokens, sizes of literals,
/// characters, switches between sessions, and how late transactions begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    statements: usize,
    tokens: usize,
    literals: u64,
    characters: usize,
    switches: usize,
}

impl Draft {
    /// Takes a case apart. Headers that refer to step numbers (`shows`, `expect`) are dropped.
    pub(crate) fn of(case: &Case, dialect: Dialect) -> Self {
        let header = Header { expect: Vec::new(), other: Vec::new(), ..case.header.clone() };
        let read = |statement: &Statement| ParsedStatement::read(&statement.sql, dialect);
        let lines = case.steps.iter();
        Self {
            frame: Case {
                name: case.name.clone(),
                header,
                check: case.check.clone(),
                teardown: case.teardown.clone(),
                ..Case::default()
            },
            setup: case.setup.iter().map(read).collect(),
            sessions: case.sessions.clone(),
            lines: lines
                .map(|step| Line { session: step.session, parsed: read(&step.statement) })
                .collect(),
        }
    }

    /// Puts the case together; sessions without statements vanish.
    pub(crate) fn to_case(&self) -> Case {
        let statement =
            |parsed: &ParsedStatement| Statement { sql: parsed.text().to_owned(), line: 0 };
        let mut case = self.frame.clone();
        case.setup = self.setup.iter().map(statement).collect();
        let speakers = self.speakers();
        case.sessions = speakers.iter().map(|session| self.sessions[*session].clone()).collect();
        let place = |session| speakers.iter().position(|other| *other == session).unwrap_or(0);
        let lines = self.lines.iter();
        case.steps = lines
            .map(|line| Step { session: place(line.session), statement: statement(&line.parsed) })
            .collect();
        let sessions = &case.sessions;
        case.header.session_levels.retain(|(name, _)| sessions.contains(name));
        case
    }

    /// The sessions with statements, in order of their first one.
    pub(crate) fn speakers(&self) -> Vec<SessionIndex> {
        let mut speakers = Vec::new();
        for line in &self.lines {
            if !speakers.contains(&line.session) {
                speakers.push(line.session);
            }
        }
        speakers
    }

    /// Every statement, setup first.
    pub(crate) fn parsed_statements(&self) -> impl Iterator<Item = &ParsedStatement> {
        self.setup.iter().chain(self.lines.iter().map(|line| &line.parsed))
    }

    /// Every statement, setup first.
    pub(crate) fn sentences_mut(&mut self) -> impl Iterator<Item = &mut ParsedStatement> {
        self.setup.iter_mut().chain(self.lines.iter_mut().map(|line| &mut line.parsed))
    }

    /// Whether it is a valid question: it has statements, and every changed one can be parsed again.
    pub(crate) fn is_sound(&self) -> bool {
        !self.lines.is_empty() && self.parsed_statements().all(ParsedStatement::is_sound)
    }

    /// What it costs to read.
    pub(crate) fn cost(&self) -> Cost {
        let pairs = self.lines.windows(2);
        let mut cost = Cost {
            statements: self.setup.len() + self.lines.len(),
            tokens: 0,
            literals: 0,
            characters: 0,
            switches: pairs.filter(|pair| pair[0].session != pair[1].session).count(),
        };
        for parsed in self.parsed_statements() {
            for token in parsed.tokens() {
                cost.tokens += 1;
                cost.characters += token.text.len();
                cost.literals += match token.kind {
                    TokenKind::Number => number_weight(token.text),
                    TokenKind::String => string_weight(token.text),
                    _ => 0,
                };
            }
        }
        cost
    }

    /// Which transaction each step belongs to, if all goes well; numbered in order of appearance.
    pub(crate) fn transactions(&self) -> Vec<usize> {
        let mut followers = vec![Follower::default(); self.sessions.len()];
        let mut met: Vec<(SessionIndex, usize)> = Vec::new();
        let number = |line: &Line| {
            let follower = &mut followers[line.session];
            follower.take(&line.parsed.kind(), Ok(&Answer::default()));
            let transaction = (line.session, follower.number());
            met.iter().position(|known| *known == transaction).unwrap_or_else(|| {
                met.push(transaction);
                met.len() - 1
            })
        };
        self.lines.iter().map(number).collect()
    }

    /// Keeps the steps for which `keep` holds, by position.
    pub(crate) fn retain_lines(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let mut at = 0;
        self.lines.retain(|_| {
            at += 1;
            keep(at - 1)
        });
    }
}

/// Small integers are easy to read, everything else is not.
pub(crate) fn number_weight(text: &str) -> u64 {
    const STRANGE: u64 = 1 << 20;
    text.parse::<u64>().map_or(STRANGE + text.len() as u64, |number| number.min(STRANGE))
}

/// `'a'` is simpler than `'b'`, and both are simpler than `'Xy z'`.
fn string_weight(text: &str) -> u64 {
    const STRANGE: u64 = 60;
    let weight = |c: char| match c {
        '\'' | '"' => 0,
        'a'..='z' => u64::from(u32::from(c) - u32::from('a') + 1),
        _ => STRANGE,
    };
    text.chars().map(weight).sum()
}
