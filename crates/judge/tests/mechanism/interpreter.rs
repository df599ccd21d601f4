//! Executes statements one after the other: what a database without concurrency does. Serial orders and single rows are
//! asked here.

use std::collections::HashMap;

use anchorite_model::sql::StatementKind;
use anchorite_model::{
    Answer, Case, DbError, ErrorClass, Event, Level, Outcome, Rows, Run, RunError, Runner, Value,
};
use anchorite_sql::followed::{Row, Tables, Write};
use anchorite_sql::formula::{Formula, Scope};

/// Takes product, level and sessions from the run that is judged.
pub struct Interpreter<'r> {
    run: &'r Run,
    /// What was read once: set-ups, by the number of their statements, and writes.
    set_ups: HashMap<usize, (Tables, Vec<Row>)>,
    writes: HashMap<String, Write>,
}

impl<'r> Interpreter<'r> {
    pub fn new(run: &'r Run) -> Self {
        Self { run, set_ups: HashMap::new(), writes: HashMap::new() }
    }
}

impl Runner for Interpreter<'_> {
    fn run(&mut self, case: &Case, _: Option<Level>) -> Result<Run, RunError> {
        let dialect = self.run.target.product.dialect();
        let read_set_up = || Tables::of(case, dialect).expect("simple tables");
        let set_up = self.set_ups.entry(case.setup.len()).or_insert_with(read_set_up);
        let (tables, mut rows) = (&set_up.0, set_up.1.clone());
        let mut events = Vec::new();
        for (n, step) in (1..).zip(&case.steps) {
            let sql = step.statement.sql.clone();
            let outcome = match StatementKind::of(&sql) {
                StatementKind::Begin | StatementKind::Commit { .. } => {
                    Outcome::Ok(Answer::default())
                }
                StatementKind::Select { .. } => Outcome::Ok(read(tables, &rows, &sql)),
                _ => {
                    let read = || tables.write(&sql).unwrap_or_else(|| panic!("{sql}"));
                    let statement = self.writes.entry(sql.clone()).or_insert_with(read);
                    write(tables, &mut rows, statement)
                }
            };
            let moments = (Some(2 * n - 1), Some(2 * n));
            let (sent, answered) = moments;
            events.push(Event { n, session: step.session, sql, outcome, at_us: 0, sent, answered });
        }
        let left = |at: usize| {
            rows.iter().filter(|(table, _)| *table == at).map(|(_, row)| row.clone()).collect()
        };
        let tables = tables.all.iter().enumerate();
        let final_state = tables
            .map(|(at, table)| {
                (table.name.clone(), Rows { columns: table.columns.clone(), rows: left(at) })
            })
            .collect();
        Ok(Run { case: case.clone(), events, final_state, ..self.run.clone() })
    }
}

pub fn holds(tables: &Tables, table: usize, filter: Option<&Formula>, row: &[Value]) -> bool {
    let scope = Scope { columns: &tables.all[table].columns, row };
    filter.is_none_or(|filter| filter.truth(scope).expect("a simple condition") == Some(true))
}

fn read(tables: &Tables, rows: &[Row], sql: &str) -> Answer {
    let read = tables.read(sql).expect("a simple query");
    let found = rows.iter().filter(|(table, row)| {
        *table == read.table && holds(tables, read.table, read.filter.as_ref(), row)
    });
    let columns = tables.all[read.table].columns.clone();
    let results = vec![Rows { columns, rows: found.map(|(_, row)| row.clone()).collect() }];
    Answer { results, ..Answer::default() }
}

fn write(tables: &Tables, rows: &mut Vec<Row>, statement: &Write) -> Outcome {
    let before = rows.clone();
    let affected = match statement {
        Write::Insert { table, rows: new } => {
            let count = new.len();
            rows.extend(new.iter().map(|row| (*table, row.clone())));
            count
        }
        Write::Delete { table, filter } => {
            rows.retain(|(at, row)| at != table || !holds(tables, *table, filter.as_ref(), row));
            before.len() - rows.len()
        }
        Write::Update { table, set, filter } => {
            let mut count = 0;
            for (at, row) in rows.iter_mut() {
                if at == table && holds(tables, *table, filter.as_ref(), row) {
                    let old = row.clone();
                    let scope = Scope { columns: &tables.all[*table].columns, row: &old };
                    for (column, formula) in set {
                        row[*column] = formula.value(scope).expect("a simple expression");
                    }
                    count += usize::from(!tables.counts_changes() || *row != old);
                }
            }
            count
        }
    };
    let mut keys: Vec<(usize, &Value)> =
        rows.iter().map(|(table, row)| (*table, &row[0])).collect();
    keys.sort();
    if keys.windows(2).any(|two| two[0] == two[1]) {
        *rows = before;
        return Outcome::Error(DbError { class: ErrorClass::Constraint, ..DbError::default() });
    }
    Outcome::Ok(Answer { affected: Some(affected as u64), ..Answer::default() })
}
