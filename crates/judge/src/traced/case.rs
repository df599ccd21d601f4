//! A case with chains, and which of its statements belong to which of the original one.

use anchorite_model::{Case, Product, Statement, Step};
use anchorite_sql::chained::{Chained, chained, chained_setup};

/// A statement of the case with chains.
#[derive(Debug, Clone)]
pub struct ChainedStep {
    /// The number of the original statement in its schedule, 1-based.
    pub of: usize,
    /// The original text.
    pub sql: String,
    /// What became of it.
    pub chained: Chained,
    /// Whether this is the query before a DELETE, and not the DELETE itself.
    pub reads_before: bool,
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
}

/// The case with chains, or why there is none.
pub fn chained_case(case: &Case, product: Product) -> Result<ChainedCase, String> {
    let dialect = product.dialect();
    let returning = product.descriptor().features.contains("delete-returning");
    let mut setup = Vec::new();
    for (at, statement) in case.setup.iter().enumerate() {
        let sql = chained_setup(&statement.sql, &format!("s{at}"), dialect)?;
        setup.push(Statement { sql, line: statement.line });
    }
    let mut made = ChainedCase { case: case.clone(), steps: Vec::new() };
    made.case.setup = setup;
    made.case.check = Vec::new();
    made.case.steps = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        let (of, sql) = (at + 1, &step.statement.sql);
        let mut label = (made.steps.len() + 1).to_string();
        let mut changed = chained(sql, &label, dialect, returning)?;
        if let Some(before) = changed.before.take() {
            made.push(step, before, of, &changed, true);
            label = (made.steps.len() + 1).to_string();
            changed = Chained { before: None, ..chained(sql, &label, dialect, returning)? };
        }
        let sql = changed.sql.clone();
        made.push(step, sql, of, &changed, false);
    }
    Ok(made)
}

impl ChainedCase {
    fn push(&mut self, step: &Step, sql: String, of: usize, chained: &Chained, reads_before: bool) {
        let statement = Statement { sql, line: step.statement.line };
        self.case.steps.push(Step { session: step.session, statement });
        let (chained, sql) = (chained.clone(), step.statement.sql.clone());
        self.steps.push(ChainedStep { of, sql, chained, reads_before });
    }
}
