//! From a mistake to a cause: the statement and its path, the row, what happened to it meanwhile, what took part.

use anchorite_model::sql::StatementKind;
use anchorite_model::{
    Awaited, Blocker, Cause, Deed, Doer, ErrorClass, Meanwhile, Outcome, Part, Run, Statement,
    Value,
};
use anchorite_sql::ast::{Insert, Statement as Tree};
use anchorite_sql::schema::{self, Table};
use anchorite_sql::syntax::{has_subquery_as_value, relations};
use anchorite_sql::{ParsedStatement, access_path};

use super::meeting::Meeting;
use super::views::Mistake;
use crate::evidence::ends::last_event;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::versions::{Row, Version};
use crate::evidence::words::tuple;
use crate::evidence::world::World;

/// What can happen to a row, that which can hide it best from a scan first.
const STRONGEST: [Meanwhile; 7] = [
    Meanwhile::PrimaryKeyMoved,
    Meanwhile::UniqueKeyMoved,
    Meanwhile::IndexEntryMoved,
    Meanwhile::Replaced,
    Meanwhile::Inserted,
    Meanwhile::Deleted,
    Meanwhile::Changed,
];

/// What is known about a run from its texts.
pub(super) struct Details<'r> {
    run: &'r Run,
    tables: Vec<Table>,
}

impl<'r> Details<'r> {
    pub(super) fn of(run: &'r Run) -> Self {
        let dialect = run.target.product.dialect();
        let read = |statement: &Statement| ParsedStatement::read(&statement.sql, dialect);
        let setup: Vec<ParsedStatement> = run.case.setup.iter().map(read).collect();
        Self { run, tables: schema::tables(&setup) }
    }

    /// The cause of a violation of which only the deed is known.
    pub(super) fn of_oracle(&self, deed: Deed) -> Cause {
        let parts = self.run.case.steps.iter().filter_map(|step| self.part(&step.statement.sql));
        let refers = self.tables.iter().any(|table| !table.foreign.is_empty());
        let acts = self.tables.iter().any(|table| table.passes_on);
        let part = match deed {
            Deed::NoOrder => parts.filter(|part| *part == Part::Conflict).min(),
            Deed::ConstraintBroken => refers.then_some(Part::ForeignKey),
            Deed::DataDamaged => {
                acts.then_some(Part::Action).or_else(|| refers.then_some(Part::ForeignKey))
            }
            _ => None,
        };
        Cause { part, ..Cause::of(deed) }
    }

    /// The cause that a mistake is.
    pub(super) fn cause(
        &self,
        mistake: &Mistake,
        world: &World,
        transactions: &[Transaction<'_>],
    ) -> Cause {
        let transaction = &transactions[mistake.writer];
        let statement = mistake.statement(transactions);
        let row = mistake.row.map(|row| &world.state.rows[row]);
        Cause {
            deed: mistake.deed,
            meanwhile: row.zip(statement).map_or(Meanwhile::Nothing, |(row, statement)| {
                let at = Meeting { writer: mistake.writer, transactions, statement };
                self.meanwhile(row, &at, world)
            }),
            awaited: (mistake.deed == Deed::DidNotWait).then_some(Awaited::Row),
            part: statement.and_then(|statement| self.part_of(statement)),
            statement: statement.map(|statement| self.doer(transaction, statement)),
            row: row.and_then(|row| self.row(row)),
            waited_for: statement.map_or_else(Vec::new, |statement| self.waited_for(statement.n)),
        }
    }

    fn doer(&self, transaction: &Transaction<'_>, statement: &Performed<'_>) -> Doer {
        let parsed = ParsedStatement::read(statement.sql, self.run.target.product.dialect());
        let path = parsed.tree().and_then(|tree| access_path(tree, &self.tables));
        let word = statement.sql.split_whitespace().next().unwrap_or_default();
        Doer {
            n: statement.n,
            transaction: transaction.name.clone(),
            kind: word.to_uppercase(),
            path: path.map(str::to_owned),
        }
    }

    fn row(&self, row: &Row) -> Option<String> {
        let values = row.versions.iter().rev().find_map(|version| version.values.as_ref())?;
        Some(format!("{} of {}", tuple(values), self.run.final_state[row.table].0))
    }

    fn waited_for(&self, n: usize) -> Vec<String> {
        let waits = self.run.events.iter().filter(|event| event.n == n);
        let blockers = waits.filter_map(|event| match &event.outcome {
            Outcome::Blocked { by, .. } => Some(by),
            _ => None,
        });
        let names = blockers.flatten().map(|blocker| match blocker {
            Blocker::Session(session) => self.run.sessions[*session].name.clone(),
            Blocker::Outside(_) | Blocker::Prepared(_) => "somebody else".to_owned(),
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    }

    fn part_of(&self, statement: &Performed<'_>) -> Option<Part> {
        let event = last_event(self.run, statement.n)?;
        match &event.outcome {
            Outcome::Error(error) if error.class == ErrorClass::Constraint => {
                Some(Part::Constraint)
            }
            _ => self.part(statement.sql),
        }
    }

    /// What takes part in a statement beside plain rows.
    fn part(&self, sql: &str) -> Option<Part> {
        let parsed = ParsedStatement::read(sql, self.run.target.product.dialect());
        let tree = parsed.tree()?;
        let relations = relations(tree);
        let mut tables = self.tables.iter().filter(|table| relations.contains(&table.name));
        let is_change = matches!(
            parsed.kind(),
            StatementKind::Update | StatementKind::Delete | StatementKind::Replace
        );
        if is_change && tables.any(|table| table.passes_on) {
            return Some(Part::Action);
        }
        if has_subquery_as_value(tree) {
            return Some(Part::Subquery);
        }
        match tree {
            Tree::Insert(Insert { on, or, ignore, .. }) => {
                (on.is_some() || or.is_some() || *ignore).then_some(Part::Conflict)
            }
            _ => None,
        }
    }

    /// What others did to a row since a transaction took its view: of several changes the one that can hide the row
    /// best from a scan, because what came before or after it is not what the mistake depends on.
    fn meanwhile(&self, row: &Row, at: &Meeting<'_, '_>, world: &World) -> Meanwhile {
        let met = row.versions.iter().enumerate().filter(|(_, version)| at.met(version));
        let changes = met.map(|(at, version)| {
            let mut earlier = row.versions[..at].iter().rev();
            match (earlier.find_map(|version| version.values.as_ref()), &version.values) {
                (None, _) if self.stood_there_before(row, world) => Meanwhile::Replaced,
                (None, _) => Meanwhile::Inserted,
                (Some(_), None) => Meanwhile::Deleted,
                (Some(before), Some(after)) => self.moved(row.table, before, after),
            }
        });
        changes
            .min_by_key(|change| STRONGEST.iter().position(|it| it == change))
            .unwrap_or_default()
    }

    /// Whether another row of the table had the same primary key.
    fn stood_there_before(&self, row: &Row, world: &World) -> bool {
        let Some(key) = row.versions.first().and_then(|version| self.primary(row.table, version))
        else {
            return false;
        };
        world.state.rows.iter().any(|other| {
            let mut versions = other.versions.iter();
            !std::ptr::eq(other, row)
                && other.table == row.table
                && versions.any(|version| self.primary(row.table, version).as_ref() == Some(&key))
        })
    }

    fn primary<'v>(&self, table: usize, version: &'v Version) -> Option<Vec<&'v Value>> {
        let values = version.values.as_ref()?;
        let columns = self.columns(table, Table::row_key);
        (!columns.is_empty()).then(|| columns.into_iter().map(|at| &values[at]).collect())
    }

    /// Which key a change moves.
    fn moved(&self, table: usize, before: &[Value], after: &[Value]) -> Meanwhile {
        let moves = |keys: fn(&Table) -> &[String]| {
            self.columns(table, keys).into_iter().any(|at| before[at] != after[at])
        };
        if moves(Table::row_key) {
            Meanwhile::PrimaryKeyMoved
        } else if moves(|table| &table.unique) {
            Meanwhile::UniqueKeyMoved
        } else if moves(|table| &table.indexed) || moves(|table| &table.foreign) {
            Meanwhile::IndexEntryMoved
        } else {
            Meanwhile::Changed
        }
    }

    /// The places of these columns in the rows of a table.
    fn columns(&self, table: usize, keys: fn(&Table) -> &[String]) -> Vec<usize> {
        let (name, rows) = &self.run.final_state[table];
        let is_it = |known: &&Table| known.name.eq_ignore_ascii_case(name);
        let Some(known) = self.tables.iter().find(is_it) else { return Vec::new() };
        let is_key =
            |column: &String| keys(known).iter().any(|key| key.eq_ignore_ascii_case(column));
        let places = rows.columns.iter().enumerate();
        places.filter(|(_, column)| is_key(column)).map(|(at, _)| at).collect()
    }
}
