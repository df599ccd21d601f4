//! One set of tables: a schema that is used for one case after another.
//!
//! Idea: after a case its final state is read and all rows are deleted, in one round trip; before the next one rows are
//! inserted, in one round trip together with the guard that stops background work of the server. Tables with a
//! different DDL are dropped and created anew. After an error nothing is taken for granted: the tables are created
//! anew, statement by statement, so that a set-up error is reported as it is on fresh tables.

use anchorite_drivers::{Schema, Session, TargetError, Upkeep, execute, execute_all};
use anchorite_model::{Case, DbError, Outcome, Rows, Run, TargetInfo};

use super::preparation::Preparation;
use crate::ending::note_table;
use crate::open_sessions::set_up;
use crate::{RunOptions, StageError};

/// Bytes that a row version takes in addition to its values: header, line pointer, alignment.
const VERSION_OVERHEAD: usize = 48;
/// Bytes that a failed statement may have left behind.
const FAILED_STATEMENT: usize = 256;

/// A schema and what is known about its tables.
pub(super) struct Set {
    pub schema: Box<dyn Schema>,
    pub upkeep: Upkeep,
    /// `None`: unknown.
    tables: Option<Tables>,
    /// Nothing was ever created in it.
    is_new: bool,
    /// A transaction number of the server above those of the last case here; `None`: not asked yet.
    pub left_at: Option<u64>,
    /// Bytes of row versions since the tables were made or truncated, roughly.
    worn: usize,
}

/// Tables that exist.
struct Tables {
    ddl: Vec<String>,
    /// In the order of their names.
    names: Vec<String>,
    /// Reads all rows of each.
    reads: Vec<String>,
    /// Deletes all rows; `None`: that would not make them as good as new.
    deletes: Option<Vec<String>>,
    truncate: String,
    /// Whether some table refers to another one.
    refers: bool,
}

impl Set {
    pub(super) fn new(schema: Box<dyn Schema>) -> Self {
        let upkeep = schema.upkeep();
        Self { schema, upkeep, tables: None, is_new: true, left_at: None, worn: 0 }
    }

    /// Whether the tables of this preparation are there, empty and as good as new but for purge.
    pub(super) fn can_refill(&self, preparation: &Preparation<'_>) -> bool {
        let is_same = |tables: &Tables| {
            tables.ddl.iter().eq(preparation.ddl.iter().map(|statement| &statement.sql))
        };
        self.tables.as_ref().is_some_and(is_same)
    }

    /// Whether nothing is known about its tables: it has to be made anew for any case.
    pub(super) fn is_blank(&self) -> bool {
        self.tables.is_none()
    }

    /// Whether another set has the same tables.
    pub(super) fn has_same_tables(&self, other: &Self) -> bool {
        let (one, other) = (self.tables.as_ref(), other.tables.as_ref());
        one.map(|tables| &tables.ddl) == other.map(|tables| &tables.ddl)
    }

    /// Whether it can be used for any preparation.
    pub(super) fn can_be_made(&self) -> bool {
        self.is_new || !self.upkeep.clear.is_empty()
    }

    /// Makes the next case create new tables.
    pub(super) fn distrust(&mut self) {
        self.tables = None;
    }

    /// Inserts rows into the empty tables, then stops background work. After an error their state is unknown.
    pub(super) fn refill(
        &mut self,
        preparation: &Preparation<'_>,
        own_session: &mut dyn Session,
        options: &RunOptions,
    ) -> Result<(), DbError> {
        let Some(tables) = self.tables.take() else { return Err(DbError::default()) };
        let entry = self.upkeep.enter.iter().map(String::as_str);
        let stillness = self.upkeep.stillness.iter().map(String::as_str);
        let statements: Vec<&str> = entry.chain(refilling(preparation)).chain(stillness).collect();
        execute_all(own_session, &statements, options.limits.housekeeping)?;
        self.wear(bytes_of_rows(preparation));
        self.tables = Some(tables);
        Ok(())
    }

    /// Drops what is there, creates the tables anew and fills them.
    pub(super) fn make(
        &mut self,
        case: &Case,
        preparation: &Preparation<'_>,
        own_session: &mut dyn Session,
        target: &TargetInfo,
        options: &RunOptions,
    ) -> Result<(), StageError> {
        self.tables = None;
        let limit = options.limits.housekeeping;
        let cannot_prepare = |error: DbError| TargetError::Prepare {
            target: target.to_string(),
            reason: format!("the tables of the case before: {}", error.message),
        };
        // A refill that failed halfway.
        let recover =
            ["ROLLBACK"].into_iter().chain(self.upkeep.after_delete.iter().map(String::as_str));
        for sql in recover {
            // SQLite has nothing to roll back and says so.
            let _ = execute(own_session, sql, limit);
        }
        let clear = self.upkeep.clear.iter().filter(|_| !self.is_new);
        for sql in clear.chain(&self.upkeep.enter) {
            execute(own_session, sql, limit).map_err(cannot_prepare)?;
        }
        self.is_new = false;
        set_up(own_session, target, case, options)?;
        let names = self.schema.tables(own_session, limit).map_err(cannot_prepare)?;
        self.worn = bytes_of_rows(preparation);
        self.tables = Some(self.describe(preparation, names));
        Ok(())
    }

    /// Stops background work of the server until the COMMIT of the arena's own session.
    pub(super) fn hold_still(
        &self,
        own_session: &mut dyn Session,
        options: &RunOptions,
    ) -> Result<(), TargetError> {
        for sql in &self.upkeep.stillness {
            execute(own_session, sql, options.limits.housekeeping).map_err(|error| {
                TargetError::Prepare {
                    target: self.schema.name().to_owned(),
                    reason: error.message,
                }
            })?;
        }
        Ok(())
    }

    fn describe(&self, preparation: &Preparation<'_>, names: Vec<String>) -> Tables {
        let quoted: Vec<String> = names.iter().map(|name| self.schema.quote(name)).collect();
        // Tables that refer to others were created after them.
        let mut order: Vec<(usize, &String)> = Vec::new();
        for (name, quoted) in names.iter().zip(&quoted) {
            let made = preparation.refilled.iter().flatten();
            order.extend(
                made.enumerate()
                    .filter(|(_, made)| made.eq_ignore_ascii_case(name))
                    .map(|(at, _)| (at, quoted)),
            );
        }
        order.sort_by(|left, right| right.cmp(left));
        let is_known = preparation.refilled.is_some() && order.len() == names.len();
        let deletes = order.iter().map(|(_, quoted)| format!("DELETE FROM {quoted}")).collect();
        Tables {
            ddl: preparation.ddl.iter().map(|statement| statement.sql.clone()).collect(),
            reads: quoted.iter().map(|quoted| format!("SELECT * FROM {quoted}")).collect(),
            deletes: is_known.then_some(deletes),
            truncate: format!("TRUNCATE {}", quoted.join(", ")),
            names,
            refers: preparation.refers,
        }
    }

    /// Allows background work again, reads the final state, and deletes all rows: their traces have time to vanish
    /// before the set is used again. After an error the state is unknown.
    pub(super) fn leave(
        &mut self,
        run: &mut Run,
        own_session: &mut dyn Session,
        options: &RunOptions,
    ) -> Result<(), DbError> {
        self.wear(bytes_written(run));
        let truncates = self.is_worn(1);
        let moves_on = (!self.upkeep.stillness.is_empty()).then_some("COMMIT");
        let clearing = self.reading().chain(self.clearing(truncates));
        let statements: Vec<&str> = moves_on.into_iter().chain(clearing).collect();
        let answer = execute_all(own_session, &statements, options.limits.housekeeping);
        let answer = answer.inspect_err(|_| self.distrust())?;
        self.note(run, answer.results, truncates);
        Ok(())
    }

    /// The statements that read all rows of all tables, in the order of their names.
    pub(super) fn reading(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().flat_map(|tables| tables.reads.iter().map(String::as_str))
    }

    /// The statements that make the tables empty; none if that would not make them as good as new.
    pub(super) fn clearing(&self, truncates: bool) -> impl Iterator<Item = &str> {
        let tables = self.tables.as_ref().and_then(|t| Some((t, t.deletes.as_ref()?)));
        tables.into_iter().flat_map(move |(tables, deletes)| {
            // Without foreign keys no check has to be disabled for the deletes.
            let truncate = std::slice::from_ref(&tables.truncate);
            let emptying = if truncates { truncate } else { deletes.as_slice() };
            let [before, after] = [&self.upkeep.before_delete, &self.upkeep.after_delete];
            let [before, after] =
                if tables.refers { [&before[..], &after[..]] } else { [&[][..]; 2] };
            let inside = before.iter().chain(emptying).chain(after).map(String::as_str);
            as_transaction(inside.collect())
        })
    }

    /// Adds this many bytes of row versions.
    pub(super) fn wear(&mut self, bytes: usize) {
        self.worn += bytes;
    }

    /// Whether the tables have to be truncated, if this much wear is allowed.
    pub(super) fn is_worn(&self, factor: usize) -> bool {
        self.upkeep.worn_after.is_some_and(|limit| self.worn >= limit * factor)
    }

    /// Adds the tables' contents to the run. The tables are then empty, or in an unknown state.
    pub(super) fn note(&mut self, run: &mut Run, contents: Vec<Rows>, truncated: bool) {
        if truncated {
            self.worn = 0;
        }
        let Some(tables) = self.tables.take() else { return };
        for (name, rows) in tables.names.iter().zip(contents) {
            note_table(run, name.clone(), rows);
        }
        self.left_at = None;
        self.tables = Some(tables).filter(|tables| tables.deletes.is_some());
    }
}

/// The statements that fill empty tables.
pub(super) fn refilling<'p>(preparation: &'p Preparation<'_>) -> impl Iterator<Item = &'p str> {
    as_transaction(preparation.rows.iter().map(|statement| statement.sql.as_str()).collect())
}

/// One or two statements are not worth a BEGIN and a COMMIT.
fn as_transaction(statements: Vec<&str>) -> impl Iterator<Item = &str> {
    let ends = if statements.len() > 2 { [Some("BEGIN"), Some("COMMIT")] } else { [None, None] };
    let [begin, commit] = ends;
    begin.into_iter().chain(statements).chain(commit)
}

/// Space that the rows of a preparation take, roughly.
pub(super) fn bytes_of_rows(preparation: &Preparation<'_>) -> usize {
    preparation.rows.iter().map(|row| bytes_of_insert(&row.sql)).sum()
}

/// Space that the rows of an INSERT take, roughly: each has its own parenthesis.
fn bytes_of_insert(sql: &str) -> usize {
    sql.len() + sql.matches('(').count() * VERSION_OVERHEAD
}

/// Space that the statements of a run took, roughly.
pub(super) fn bytes_written(run: &Run) -> usize {
    let bytes = run.events.iter().map(|event| match &event.outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => {
            let rows = usize::try_from(answer.affected.unwrap_or_default()).unwrap_or(usize::MAX);
            rows.saturating_mul(2 * VERSION_OVERHEAD)
        }
        Outcome::Error(_) => FAILED_STATEMENT,
        Outcome::Blocked { .. } | Outcome::Skipped { .. } => 0,
    });
    bytes.sum()
}
