//! A transaction test case: what to set up, and which session sends what, in which order.

mod error;
mod header;
mod parse;
mod print;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;

pub use error::CaseError;

use serde::{Deserialize, Serialize};

use crate::{Level, Product};

/// Index of a session in [`Case::sessions`].
pub type SessionIndex = usize;

/// One SQL statement as it is sent: without the trailing `;`, comments inside it kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The text that goes to the server, exactly once.
    pub sql: String,
    /// The line of the file where it starts, 1-based; 0 for statements that do not come from a file.
    pub line: usize,
}

/// A statement of a session at its position in the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Who submits it.
    pub session: SessionIndex,
    /// What is submitted.
    pub statement: Statement,
}

/// The optional `-- key: value` lines at the top of a `.case` file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// One sentence.
    pub title: Option<String>,
    /// Where the case comes from (URLs, papers); may be repeated.
    pub source: Vec<String>,
    /// The level of all sessions, unless the command line says otherwise.
    pub level: Option<Level>,
    /// Levels of single sessions: `-- level t2: read committed`.
    pub session_levels: Vec<(String, Level)>,
    /// The products that the case is written for; empty means any.
    pub targets: Vec<Product>,
    /// Expected verdicts, one text each (`views allowed same-value-update`).
    pub expect: Vec<String>,
    /// Every other `-- key: value` line, kept in order for printing and for the commands that know them.
    pub other: Vec<(String, String)>,
}

/// Schema, initial rows, sessions with their statements, and the schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Short name: the file's stem, or what the generator called it.
    pub name: String,
    /// What the top of the file says.
    pub header: Header,
    /// Runs before the sessions start, in a separate session.
    pub setup: Vec<Statement>,
    /// The sessions' names in order of their first statement.
    pub sessions: Vec<String>,
    /// The schedule: the submitted order of all statements.
    pub steps: Vec<Step>,
    /// Runs after the final state has been read; its answers are part of the run.
    pub check: Vec<Statement>,
    /// Runs last.
    pub teardown: Vec<Statement>,
}

impl Case {
    /// The level that the file asks for in this session.
    pub fn level_of(&self, session: SessionIndex) -> Option<Level> {
        let name = &self.sessions[session];
        let own = self.header.session_levels.iter().find(|(session, _)| session == name);
        own.map(|(_, level)| *level).or(self.header.level)
    }
}
