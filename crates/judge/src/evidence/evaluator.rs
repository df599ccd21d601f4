//! Asks the DBMS what a statement does to given rows, by running it on tables with just these rows.
//!
//! Idea: no SQL is re-implemented; what was asked once is remembered.

use std::collections::{BTreeMap, HashMap, HashSet};

use anchorite_model::sql::{StatementKind, literal};
use anchorite_model::{Case, Outcome, Rows, Run, RunError, SessionIndex, Statement, Step, Value};
use anchorite_sql::Definition;

use crate::laboratory::Laboratory;

/// What a statement did to one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// How many rows the server counted: 0 or 1.
    pub affected: u64,
    /// The row afterwards; `None` = deleted.
    pub values: Option<Vec<Value>>,
}

/// Rows by the number of their table.
pub type Contents = BTreeMap<usize, Vec<Vec<Value>>>;

/// What a statement did to given contents: affected rows and what is there afterwards.
pub type After = (u64, Vec<(String, Rows)>);

/// Runs statements on chosen contents.
pub struct Evaluator<'r> {
    run: &'r Run,
    ddl: Vec<Statement>,
    definitions: Vec<Definition>,
    generated: HashSet<(String, String)>,
    /// The tables in the order of their creation, so that parents are filled first.
    filling_order: Vec<usize>,
    known: HashMap<String, Result<After, String>>,
}

/// The columns (table, column) that tables compute by themselves.
fn generated(definitions: &[Definition]) -> HashSet<(String, String)> {
    let columns = definitions.iter().flat_map(|definition| {
        let table = definition.table.iter();
        table.flat_map(|table| definition.generated.iter().map(|c| (table.clone(), c.clone())))
    });
    columns.collect()
}

impl<'r> Evaluator<'r> {
    /// An evaluator for the tables of a run; or why there cannot be one.
    pub fn new(run: &'r Run) -> Result<Self, String> {
        let kinds = run.case.setup.iter().map(|statement| StatementKind::of(&statement.sql));
        let mut ddl = Vec::new();
        for (statement, kind) in run.case.setup.iter().zip(kinds) {
            match kind {
                StatementKind::Ddl => ddl.push(statement.clone()),
                kind if kind.writes() => {}
                _ => return Err("the set-up does more than to fill tables".to_owned()),
            }
        }
        let dialect = run.target.product.dialect();
        let read = |statement: &Statement| Definition::read(&statement.sql, dialect);
        let definitions: Vec<Definition> = ddl.iter().map(read).collect();
        let created_at = |name: &String| {
            let is_of = |table: &String| table.eq_ignore_ascii_case(name);
            definitions.iter().position(|definition| definition.table.as_ref().is_some_and(is_of))
        };
        let mut filling_order: Vec<usize> = (0..run.final_state.len()).collect();
        filling_order.sort_by_key(|&table| created_at(&run.final_state[table].0));
        let generated = generated(&definitions);
        Ok(Self { run, ddl, definitions, generated, filling_order, known: HashMap::new() })
    }

    /// Whether rows change by statements alone, so that they can be followed one by one; or why not.
    pub fn follows_rows(&self) -> Result<(), String> {
        if self.definitions.iter().any(|definition| definition.acts) {
            return Err("a foreign key changes rows by itself".to_owned());
        }
        Ok(())
    }

    /// The tables that a row of this one may refer to: those that were created before it.
    pub fn may_refer_to(&self, table: usize) -> &[usize] {
        let refers = self.definitions.iter().any(|definition| definition.refers);
        let at = self.filling_order.iter().position(|other| *other == table).unwrap_or(0);
        if refers { &self.filling_order[..at] } else { &[] }
    }

    /// What the statement does to the only row of a table, others being as given.
    pub fn on_row(
        &mut self,
        session: SessionIndex,
        sql: &str,
        table: usize,
        row: &[Value],
        others: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<Effect, String>, RunError> {
        let mut contents = others.clone();
        contents.insert(table, vec![row.to_vec()]);
        let after = match self.on(session, sql, &contents, laboratory)? {
            Ok(after) => after,
            Err(reason) => return Ok(Err(reason)),
        };
        for (other, (_, rows)) in after.1.iter().enumerate().filter(|(other, _)| *other != table) {
            if rows.rows.len() != contents.get(&other).map_or(0, Vec::len) {
                return Ok(Err("a write changes a second table".to_owned()));
            }
        }
        let left = &after.1[table].1.rows;
        Ok(match left.len() {
            0 | 1 => Ok(Effect { affected: after.0, values: left.first().cloned() }),
            _ => Err("a write makes two rows of one".to_owned()),
        })
    }

    /// The case that fills the tables with what the run ended with.
    pub fn filled_as_at_the_end(&self) -> Case {
        let tables = self.run.final_state.iter().enumerate();
        let contents = tables.map(|(table, (_, rows))| (table, rows.rows.clone())).collect();
        self.case(0, self.filling(&contents))
    }

    fn case(&self, session: SessionIndex, statements: Vec<String>) -> Case {
        let step = |sql: String| Step { session, statement: Statement { sql, line: 0 } };
        Case {
            setup: self.ddl.clone(),
            steps: statements.into_iter().map(step).collect(),
            check: Vec::new(),
            ..self.run.case.clone()
        }
    }

    /// The case that runs a statement on these contents.
    pub fn case_on(&self, session: SessionIndex, sql: &str, contents: &Contents) -> Case {
        let mut statements = self.filling(contents);
        statements.push(sql.to_owned());
        self.case(session, statements)
    }

    /// Finds out, in as few round trips as possible, what the statement does to each of these contents: what is asked
    /// afterwards is known then.
    pub fn find_out(
        &mut self,
        session: SessionIndex,
        sql: &str,
        all: &[Contents],
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(), RunError> {
        let mut cases: BTreeMap<String, Case> = BTreeMap::new();
        for contents in all {
            let mut statements = self.filling(contents);
            statements.push(sql.to_owned());
            let key = statements.join(";\n");
            if !self.known.contains_key(&key) {
                cases.insert(key, self.case(session, statements));
            }
        }
        let (keys, cases): (Vec<String>, Vec<Case>) = cases.into_iter().unzip();
        if cases.len() > 1 {
            let runs = laboratory.run_all(&cases)?;
            self.known.extend(keys.into_iter().zip(runs.iter().map(read)));
        }
        Ok(())
    }

    /// What the statement does to these contents.
    pub fn on(
        &mut self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<After, String>, RunError> {
        let mut statements = self.filling(contents);
        statements.push(sql.to_owned());
        let key = statements.join(";\n");
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let rehearsal = laboratory.run(&self.case(session, statements))?;
        let after = read(&rehearsal);
        self.known.insert(key, after.clone());
        Ok(after)
    }

    fn filling(&self, contents: &Contents) -> Vec<String> {
        let dialect = self.run.target.product.dialect();
        let mut statements = Vec::new();
        for table in &self.filling_order {
            let Some(rows) = contents.get(table).filter(|rows| !rows.is_empty()) else { continue };
            let (name, shape) = &self.run.final_state[*table];
            let given: Vec<usize> = (0..shape.columns.len())
                .filter(|&at| !self.generated.contains(&(name.clone(), shape.columns[at].clone())))
                .collect();
            let columns: Vec<&str> = given.iter().map(|&at| shape.columns[at].as_str()).collect();
            let tuples: Vec<String> = rows
                .iter()
                .map(|row| {
                    let cells: Vec<String> =
                        given.iter().map(|&at| literal(&row[at], dialect)).collect();
                    format!("({})", cells.join(", "))
                })
                .collect();
            statements.push(format!(
                "INSERT INTO {name} ({}) VALUES {}",
                columns.join(", "),
                tuples.join(", ")
            ));
        }
        statements
    }
}

fn read(rehearsal: &Run) -> Result<After, String> {
    let failed = rehearsal.events.iter().find_map(|event| match &event.outcome {
        Outcome::Error(error) => Some(&error.message),
        _ => None,
    });
    if let Some(message) = failed {
        return Err(format!("a statement fails on a single row: {message}"));
    }
    match rehearsal.events.last().map(|event| &event.outcome) {
        Some(Outcome::Ok(answer)) => {
            Ok((answer.affected.unwrap_or(0), rehearsal.final_state.clone()))
        }
        _ => Err("a statement on a single row was not answered".to_owned()),
    }
}
