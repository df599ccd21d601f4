//! A case with chains, and which of its statements belong to which of the original one.
//!
//! Idea: before a statement that reads rows which it does not show (a query inside it, a join, LIMIT) stands a query
//! of all rows of these tables. It is a statement of its own, so what follows from it is certain; and it says what the
//! next statement can have seen, if nothing came between.

use anchorite_model::sql::Dialect;
use anchorite_model::{Case, Product, Statement, StatementKind, Step};
use anchorite_sql::chained::{Chained, Style, chained, chained_setup, view};

/// A statement of the case with chains.
#[derive(Debug, Clone)]
pub struct ChainedStep {
    /// The number of the original statement in its schedule, 1-based.
    pub of: usize,
    /// The original text.
    pub sql: String,
    /// What became of it.
    pub chained: Chained,
    /// What it is for.
    pub part: Part,
}

/// What a statement of the case with chains is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It is the original statement.
    Own,
    /// It reads the rows that the next one may remove.
    Before,
    /// It reads all rows of a table that the original statement reads without showing which.
    Set,
}

/// A case with chains.
#[derive(Debug, Clone)]
pub struct ChainedCase {
    /// What to run.
    pub case: Case,
    /// Its steps.
    pub steps: Vec<ChainedStep>,
}

impl ChainedCase {
    /// A statement by its number in the schedule, 1-based.
    pub fn step(&self, n: usize) -> Option<&ChainedStep> {
        self.steps.get(n.checked_sub(1)?)
    }

    /// The number of the original statement.
    pub fn of(&self, n: usize) -> usize {
        self.step(n).map_or(n, |step| step.of)
    }

    /// A statement in words: by the number of the original one.
    pub fn told(&self, n: usize) -> String {
        let of = self.of(n);
        match self.step(n).map(|step| step.part) {
            Some(Part::Set) => format!("a query of all rows before step {of}"),
            _ => format!("step {of}"),
        }
    }
}

/// The case with chains, or why there is none.
pub fn chained_case(case: &Case, product: Product) -> Result<ChainedCase, String> {
    let dialect = product.dialect();
    let returning = product.descriptor().features.contains("delete-returning");
    let views = case.setup.iter().filter_map(|one| view(&one.sql, dialect)).collect();
    let style = Style { dialect, returning, views };
    let mut setup = Vec::new();
    for (at, statement) in case.setup.iter().enumerate() {
        let sql = chained_setup(&statement.sql, &format!("s{at}"), &style)?;
        setup.push(Statement { sql, line: statement.line });
    }
    let mut made = ChainedCase { case: case.clone(), steps: Vec::new() };
    made.case.setup = setup;
    made.case.check = Vec::new();
    made.case.steps = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        made.add(step, at + 1, &style)?;
    }
    Ok(made)
}

impl ChainedCase {
    /// A statement, with the queries that belong before it.
    fn add(&mut self, step: &Step, of: usize, style: &Style) -> Result<(), String> {
        let sql = &step.statement.sql;
        let asked = chained(sql, "0", style)?;
        // A write of these products reads the latest versions, as a locking query does.
        let locks = style.dialect == Dialect::Mysql
            && StatementKind::of(sql) != StatementKind::Select { locking: false };
        let lock = if locks { " FOR UPDATE" } else { "" };
        for table in &asked.unseen {
            let all = chained(&format!("SELECT * FROM {table}{lock}"), "0", style)?;
            self.push(step, of, all, Part::Set);
        }
        if let Some(before) = asked.before.clone() {
            self.push(step, of, Chained { sql: before, ..asked }, Part::Before);
        }
        let label = (self.steps.len() + 1).to_string();
        self.push(step, of, chained(sql, &label, style)?, Part::Own);
        Ok(())
    }

    fn push(&mut self, step: &Step, of: usize, chained: Chained, part: Part) {
        let statement = Statement { sql: chained.sql.clone(), line: step.statement.line };
        self.case.steps.push(Step { session: step.session, statement });
        self.steps.push(ChainedStep { of, sql: step.statement.sql.clone(), chained, part });
    }
}
