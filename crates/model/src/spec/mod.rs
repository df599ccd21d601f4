//! PostgreSQL's isolation test specification: the `.spec` files of `src/test/isolation`.
//!
//! A spec names sessions, each with steps, and permutations of the steps; without permutations, all interleavings are
//! run. The markers of a permutation's step control when its completion is reported. Source: the README of PostgreSQL's
//! isolation tests. The parser is `parse`; the stage runs specs as PostgreSQL does.

mod parse;

pub use parse::SpecError;

use crate::sql::Dialect;
use crate::sql::split::{Ending, statement_end};
use crate::{Case, Header, Statement, Step};

/// A parsed spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// The file's stem.
    pub name: String,
    /// Blocks that run before each permutation, one text each.
    pub setups: Vec<String>,
    /// Runs after each permutation.
    pub teardown: Option<String>,
    /// The sessions in the order of the file.
    pub sessions: Vec<SpecSession>,
    /// The permutations; empty = all interleavings.
    pub permutations: Vec<Vec<PermutationStep>>,
}

/// A session of a spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecSession {
    /// Its name.
    pub name: String,
    /// Runs in this session before its first step.
    pub setup: Option<String>,
    /// Its steps in order.
    pub steps: Vec<SpecStep>,
    /// Runs in this session after the permutation.
    pub teardown: Option<String>,
}

/// A named piece of SQL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecStep {
    /// Its name, unique in the file.
    pub name: String,
    /// The text between the braces, sent as it is.
    pub sql: String,
    /// The line where it starts.
    pub line: usize,
}

/// Where a step is: its session and its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRef {
    /// Index of the session.
    pub session: usize,
    /// Index of the step in the session.
    pub step: usize,
}

/// A step in a permutation, with its markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermutationStep {
    /// Which step.
    pub step: StepRef,
    /// Its markers.
    pub markers: Vec<Marker>,
}

/// A condition on reporting a step's completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// `(*)`: report it as waiting at first, whether it waits or not.
    Waits,
    /// `(other)`: do not report its completion while the other step is unfinished.
    After(StepRef),
    /// `(other notices n)`: not before the other step's session has received n more NOTICEs.
    AfterNotices(StepRef, usize),
}

impl Spec {
    /// The step that a reference means.
    pub fn step(&self, step: StepRef) -> &SpecStep {
        &self.sessions[step.session].steps[step.step]
    }

    /// The permutations to run: the given ones, or every interleaving in PostgreSQL's order.
    pub fn all_permutations(&self) -> Vec<Vec<PermutationStep>> {
        if !self.permutations.is_empty() {
            return self.permutations.clone();
        }
        let mut found = Vec::new();
        self.interleave(&mut vec![0; self.sessions.len()], &mut Vec::new(), &mut found);
        found
    }

    fn interleave(
        &self,
        taken: &mut Vec<usize>,
        so_far: &mut Vec<PermutationStep>,
        found: &mut Vec<Vec<PermutationStep>>,
    ) {
        let mut complete = true;
        for session in 0..self.sessions.len() {
            if taken[session] < self.sessions[session].steps.len() {
                complete = false;
                let step = StepRef { session, step: taken[session] };
                so_far.push(PermutationStep { step, markers: Vec::new() });
                taken[session] += 1;
                self.interleave(taken, so_far, found);
                taken[session] -= 1;
                so_far.pop();
            }
        }
        if complete {
            found.push(so_far.clone());
        }
    }

    /// Each permutation as a separate case. Session set-ups become the sessions' first statements.
    pub fn cases(&self) -> Vec<Case> {
        let permutations = self.all_permutations();
        permutations.iter().map(|permutation| self.case(permutation)).collect()
    }

    fn case(&self, permutation: &[PermutationStep]) -> Case {
        let names: Vec<&str> =
            permutation.iter().map(|step| self.step(step.step).name.as_str()).collect();
        let mut steps = Vec::new();
        for (session, description) in self.sessions.iter().enumerate() {
            push_steps(&mut steps, session, description.setup.as_deref().unwrap_or(""), 0);
        }
        for PermutationStep { step, .. } in permutation {
            let SpecStep { sql, line, .. } = self.step(*step);
            push_steps(&mut steps, step.session, sql, *line);
        }
        for (session, description) in self.sessions.iter().enumerate() {
            push_steps(&mut steps, session, description.teardown.as_deref().unwrap_or(""), 0);
        }
        Case {
            name: self.name.clone(),
            header: Header {
                title: Some(format!("{}: {}", self.name, names.join(" "))),
                ..Header::default()
            },
            setup: self.setups.iter().flat_map(|block| statements(block, 0)).collect(),
            sessions: self.sessions.iter().map(|session| session.name.clone()).collect(),
            steps,
            check: Vec::new(),
            teardown: statements(self.teardown.as_deref().unwrap_or(""), 0),
        }
    }
}

fn push_steps(steps: &mut Vec<Step>, session: usize, block: &str, line: usize) {
    let statements = statements(block, line).into_iter();
    steps.extend(statements.map(|statement| Step { session, statement }));
}

/// The statements of a block; what cannot be split is sent to the server as it is.
fn statements(block: &str, line: usize) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut start = 0;
    while !block[start..].trim().is_empty() {
        let end = match statement_end(block, start, Dialect::Postgres, |_| false) {
            Ok(Ending::At(end)) => end,
            Ok(Ending::Missing { .. }) | Err(_) => block.len(),
        };
        let sql = block[start..end].trim().to_owned();
        found.push(Statement { sql, line });
        start = (end + 1).min(block.len());
    }
    found
}
