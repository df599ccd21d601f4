//! Asks the DBMS what a statement does to given rows, by running it on tables with just these rows.
//!
//! Idea: no SQL is re-implemented; what was asked once is remembered.

mod shapes;
mod succession;
mod unchecked;

use std::collections::{BTreeMap, HashMap, HashSet};

use anchorite_model::sql::{StatementKind, literal};
use anchorite_model::{
    Answer, Case, Event, Outcome, Rows, Run, RunError, SessionIndex, Statement, Step, Value,
};
use anchorite_sql::search::{Search, search};
use anchorite_sql::tokens::significant;
use anchorite_sql::{Definition, ParsedStatement, schema, write_shape};

use crate::laboratory::Laboratory;
pub use succession::Successive;

/// What a statement did to one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// How many rows the server counted: 0 or 1.
    pub affected: u64,
    /// The row afterwards; `None` = deleted.
    pub values: Option<Vec<Value>>,
    /// What it returned.
    pub returned: Vec<Vec<Value>>,
}

/// Rows by the number of their table.
pub type Contents = BTreeMap<usize, Vec<Vec<Value>>>;

/// What a statement did to given contents.
#[derive(Debug, Clone)]
pub struct After {
    /// How many rows the server counted.
    pub affected: u64,
    /// What is there afterwards.
    pub tables: Vec<(String, Rows)>,
    /// What it returned (RETURNING), sorted.
    pub returned: Vec<Vec<Value>>,
}

impl After {
    /// Whether the answer to a statement says the same, as far as it says anything.
    pub fn agrees(&self, answer: &Answer) -> bool {
        answer.affected.is_none_or(|count| count == self.affected)
            && returned(answer) == self.returned
    }
}

/// Why it is not known what a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untried {
    /// The rows cannot be put into the tables.
    Filling,
    /// The statement itself fails on them.
    Statement,
    /// It does more than to change that row.
    NotThatRow,
}

/// The rows that a statement returned, sorted.
pub fn returned(answer: &Answer) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> =
        answer.results.iter().flat_map(|result| result.rows.clone()).collect();
    rows.sort();
    rows
}

/// Runs statements on chosen contents.
pub struct Evaluator<'r> {
    run: &'r Run,
    ddl: Vec<Statement>,
    /// What makes triggers and routines: filling tables would set them off, so they are made afterwards.
    programs: Vec<String>,
    definitions: Vec<Definition>,
    schema: Vec<schema::Table>,
    generated: HashSet<(String, String)>,
    /// The tables in the order of their creation, so that parents are filled first.
    filling_order: Vec<usize>,
    known: HashMap<String, Tried>,
}

/// The most rows that one statement of the set-up inserts.
const MOST_ROWS: usize = 100;

/// What a statement answered, and what was there afterwards; `None` if the rows cannot be put into the tables.
pub type Tried = Option<(Outcome, Vec<(String, Rows)>)>;

/// What does a statement do to given contents?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question<'q> {
    /// Whose statement it is.
    pub session: SessionIndex,
    /// The statement.
    pub sql: &'q str,
    /// What it finds.
    pub contents: Contents,
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
                kind if kind.writes() => {
                    // Rows of VALUES: statements are tried on many choices of rows.
                    if statement.sql.matches("), (").count() > MOST_ROWS {
                        return Err(
                            "a table has too many rows to be followed one by one".to_owned()
                        );
                    }
                }
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
        let parsed = ddl.iter().map(|statement| ParsedStatement::read(&statement.sql, dialect));
        let schema = schema::tables(&parsed.collect::<Vec<_>>());
        let (known, makes) = (HashMap::new(), |one: &(_, &Definition)| one.1.programs);
        let (programs, ddl): (Vec<_>, Vec<_>) = ddl.into_iter().zip(&definitions).partition(makes);
        let programs = programs.into_iter().map(|(statement, _)| statement.sql).collect();
        let ddl = ddl.into_iter().map(|(statement, _)| statement).collect();
        Ok(Self { run, ddl, programs, definitions, schema, generated, filling_order, known })
    }

    /// Whether something acts by itself when rows change: a trigger, a rule.
    pub fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Whether a foreign key or a trigger changes rows by itself when a row of this table is changed.
    pub fn passes_on(&self, table: usize) -> bool {
        let name = &self.run.final_state[table].0;
        let is_referred = |definition: &&Definition| {
            let mut names = definition.references.iter();
            definition.references.is_empty() || names.any(|other| other.eq_ignore_ascii_case(name))
        };
        let acting = self.definitions.iter().filter(|definition| definition.acts);
        self.has_programs() || acting.filter(is_referred).count() > 0
    }

    /// Whether a constraint is checked when a transaction commits: by itself a statement may fail that did not.
    pub fn checks_late(&self) -> bool {
        self.definitions.iter().any(|definition| definition.late)
    }

    /// How a simple write looks for its rows.
    pub fn search(&self, sql: &str) -> Search {
        let dialect = self.run.target.product.dialect();
        let shape = write_shape(sql, dialect);
        let is_it = |table: &&schema::Table| {
            shape.as_ref().is_some_and(|shape| shape.table.eq_ignore_ascii_case(&table.name))
        };
        let table = self.schema.iter().find(is_it);
        table.map_or(Search::Unknown, |table| search(sql, dialect, table))
    }

    /// The columns of a table's primary key; none if there is none, or it is not known.
    pub fn primary_key(&self, table: usize) -> Vec<usize> {
        let Some(known) = self.definition(table) else { return Vec::new() };
        let places = known.primary.iter().map(|name| self.place(table, name));
        places.collect::<Option<_>>().unwrap_or_default()
    }

    /// The columns of each key of a table: the primary one, and those of unique columns.
    pub fn unique_keys(&self, table: usize) -> Vec<Vec<usize>> {
        let known = self.definition(table).into_iter();
        let keys =
            known.flat_map(|known| std::iter::once(&known.primary).chain(&known.unique_keys));
        let places = keys.filter(|key| !key.is_empty()).map(|key| {
            key.iter().map(|column| self.place(table, column)).collect::<Option<Vec<usize>>>()
        });
        places.flatten().collect()
    }

    /// The same for each table.
    pub fn all_unique_keys(&self) -> Vec<Vec<Vec<usize>>> {
        (0..self.run.final_state.len()).map(|table| self.unique_keys(table)).collect()
    }

    /// The columns of a table that are in a key or an index.
    pub fn key_columns(&self, table: usize) -> Vec<usize> {
        let columns = self.definition(table).into_iter().flat_map(|it| {
            it.primary.iter().chain(&it.unique).chain(&it.indexed).chain(&it.foreign)
        });
        columns.filter_map(|name| self.place(table, name)).collect()
    }

    /// Whether a condition on these columns leaves nothing but the table itself to be scanned: no other index has one
    /// of them, and the table is in one piece.
    pub fn is_scanned(&self, table: usize, condition: &[&str]) -> bool {
        let Some(known) = self.definition(table) else { return false };
        let dialect = self.run.target.product.dialect();
        let is_divided = |statement: &Statement| {
            significant(&statement.sql, dialect).iter().any(|token| token.is_word("PARTITION"))
        };
        let mut indexed = known.unique.iter().chain(&known.indexed).chain(&known.foreign);
        let is_used =
            |column: &String| condition.iter().any(|name| name.eq_ignore_ascii_case(column));
        !indexed.any(is_used) && !self.ddl.iter().any(is_divided)
    }

    /// The indexes of a table but for its primary key, each with the places of its columns.
    pub fn indexes(&self, table: usize) -> Vec<(&str, Vec<usize>)> {
        let indexes =
            self.definition(table).map_or_else(Vec::new, |known| known.indexes.iter().collect());
        let places = indexes.into_iter().map(|index| {
            let places = index.columns.iter().map(|column| self.place(table, column));
            Some((index.name.as_str(), places.collect::<Option<Vec<usize>>>()?))
        });
        places.flatten().collect()
    }

    /// What the set-up says about a table.
    fn definition(&self, table: usize) -> Option<&schema::Table> {
        let name = &self.run.final_state[table].0;
        self.schema.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// The place of a column in the rows of a table.
    fn place(&self, table: usize, name: &str) -> Option<usize> {
        let columns = &self.run.final_state[table].1.columns;
        columns.iter().position(|column| column.eq_ignore_ascii_case(name))
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
    ) -> Result<Result<Effect, Untried>, RunError> {
        let mut contents = others.clone();
        contents.insert(table, vec![row.to_vec()]);
        let after = match self.on(session, sql, &contents, laboratory)? {
            // Its parent is another row of the table.
            Err(_) if self.refers_to_itself(table) => {
                self.without_keys(session, sql, &contents, laboratory)?
            }
            after => after,
        };
        let after = match after {
            Ok(after) => after,
            Err(reason) => return Ok(Err(reason)),
        };
        for (other, (_, rows)) in
            after.tables.iter().enumerate().filter(|(other, _)| *other != table)
        {
            if rows.rows.len() != contents.get(&other).map_or(0, Vec::len) {
                return Ok(Err(Untried::NotThatRow));
            }
        }
        let left = &after.tables[table].1.rows;
        Ok(match left.len() {
            0 | 1 => {
                let (affected, values) = (after.affected, left.first().cloned());
                Ok(Effect { affected, values, returned: after.returned })
            }
            _ => Err(Untried::NotThatRow),
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
        statements.extend(self.programs.iter().cloned());
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
        let question = |contents: &Contents| Question { session, sql, contents: contents.clone() };
        self.find_out_all(&all.iter().map(question).collect::<Vec<_>>(), laboratory)
    }

    /// The same for several statements.
    pub fn find_out_all(
        &mut self,
        questions: &[Question<'_>],
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(), RunError> {
        let mut cases: BTreeMap<String, Case> = BTreeMap::new();
        for Question { session, sql, contents } in questions {
            let key = self.key(sql, contents);
            if !self.known.contains_key(&key) {
                cases.insert(key, self.case_on(*session, sql, contents));
            }
        }
        let (keys, cases): (Vec<String>, Vec<Case>) = cases.into_iter().unzip();
        if cases.len() > 1 {
            let runs = laboratory.run_all(&cases)?;
            self.known.extend(keys.into_iter().zip(runs.into_iter().map(read)));
        }
        Ok(())
    }

    /// What the statement answers on these contents, and what it leaves.
    pub fn tried(
        &mut self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Tried, RunError> {
        let key = self.key(sql, contents);
        let tried = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => read(laboratory.run(&self.case_on(session, sql, contents))?),
        };
        let tried = match tried {
            None => self.unchecked(session, sql, contents, laboratory)?,
            tried => tried,
        };
        self.known.insert(key, tried.clone());
        Ok(tried)
    }

    /// Under which a result is remembered: the order of rows does not matter.
    fn key(&self, sql: &str, contents: &Contents) -> String {
        let mut sorted = contents.clone();
        sorted.values_mut().for_each(|rows| rows.sort());
        let mut statements = self.filling(&sorted);
        statements.push(sql.to_owned());
        statements.join(";\n")
    }

    /// What the statement does to these contents.
    pub fn on(
        &mut self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<After, Untried>, RunError> {
        Ok(after(self.tried(session, sql, contents, laboratory)?))
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

/// What a statement did, or why that is not known.
fn after(tried: Tried) -> Result<After, Untried> {
    match tried {
        None => Err(Untried::Filling),
        Some((Outcome::Ok(answer), tables)) => {
            let affected = answer.affected.unwrap_or(0);
            Ok(After { affected, tables, returned: returned(&answer) })
        }
        Some(_) => Err(Untried::Statement),
    }
}

/// The last answer of a rehearsal in which everything before it went well, and what it left.
fn read(rehearsal: Run) -> Tried {
    let mut events = rehearsal.events;
    let last = events.pop()?;
    let failed = |event: &Event| matches!(event.outcome, Outcome::Error(_));
    (!events.iter().any(failed)).then_some((last.outcome, rehearsal.final_state))
}
