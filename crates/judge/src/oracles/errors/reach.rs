//! What statements reach: tables, and of some tables only rows that they name by the primary key.
//!
//! Idea: what is connected by definitions (a foreign key, a trigger, a view) counts as one table. Rows of one table are
//! told apart only where a statement cannot have come near the others, by any lock or plan: a single condition on an
//! integer primary key, which no other index can serve, in a table that nothing is connected to and that has no other
//! key. Where rows are locked as they are found (`latest`), whoever inserts or moves a key may meet gaps between rows,
//! and so meets everybody.
//!
//! Assumption: a row that the whole condition names by its primary key is looked up there.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_claims::WriteView;
use anchorite_model::Run;
use anchorite_model::sql::Dialect;
use anchorite_sql::rows_by_key::{Rows, rows_by_key};
use anchorite_sql::schema::{self, Table};
use anchorite_sql::tokens::{name, significant};
use anchorite_sql::{Definition, ParsedStatement};

/// The tables of a case in groups: what is connected by definitions counts as one.
pub(super) struct Tables<'r> {
    pub dialect: Dialect,
    /// Each table with the number of its group.
    groups: Vec<(&'r str, usize)>,
    /// The tables whose rows can be told apart, by an integer primary key.
    keyed: Vec<Table>,
    /// Each view with the group of its tables.
    views: Vec<(String, usize)>,
    has_gaps: bool,
}

/// What was reached: groups of tables, whole or by keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reached(BTreeMap<usize, Rows>);

impl Reached {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether two may have met.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|(group, rows)| match (rows, other.0.get(group)) {
            (_, None) => false,
            (Rows::Keys(here), Some(Rows::Keys(there))) => !here.is_disjoint(there),
            _ => true,
        })
    }

    fn add(&mut self, group: usize, rows: Rows) {
        match (self.0.get_mut(&group), rows) {
            (Some(Rows::Keys(known)), Rows::Keys(more)) => known.extend(more),
            (Some(Rows::All), _) => {}
            (_, rows) => drop(self.0.insert(group, rows)),
        }
    }
}

impl<'r> Tables<'r> {
    pub(super) fn of(run: &'r Run, sees: WriteView) -> Self {
        let dialect = run.target.product.dialect();
        let names = run.final_state.iter().map(|(table, _)| table.as_str());
        let groups = names.enumerate().map(|(group, table)| (table, group)).collect();
        let has_gaps = sees == WriteView::Latest;
        let mut tables = Self { dialect, groups, keyed: Vec::new(), views: Vec::new(), has_gaps };
        let setup: Vec<&str> = run.case.setup.iter().map(|one| one.sql.as_str()).collect();
        for sql in &setup {
            let named = tables.named(sql);
            let Some(first) = named.first().copied() else { continue };
            let joined = tables.groups.iter_mut().filter(|(_, group)| named.contains(group));
            joined.for_each(|(_, group)| *group = first);
        }
        for sql in &setup {
            let definition = Definition::read(sql, dialect);
            if definition.programs {
                // The text of a routine may be a string.
                tables.groups.iter_mut().for_each(|(_, group)| *group = 0);
            }
            let of = tables.named(sql).first().copied();
            tables.views.extend(definition.view.zip(of));
        }
        let parsed: Vec<ParsedStatement> =
            setup.iter().map(|sql| ParsedStatement::read(sql, dialect)).collect();
        tables.keyed = schema::tables(&parsed);
        tables.keyed.retain(|table| {
            let is_alone = table.unique.is_empty() && table.foreign.is_empty();
            is_alone && matches!(table.primary.as_slice(), [key] if table.integers.contains(key))
        });
        tables
    }

    /// The groups of the tables that a statement names.
    fn named(&self, sql: &str) -> BTreeSet<usize> {
        let words = significant(sql, self.dialect);
        let names: Vec<&str> = words.iter().filter_map(name).collect();
        let is_named = |table: &str| names.iter().any(|name| name.eq_ignore_ascii_case(table));
        let tables = self.groups.iter().filter(|(table, _)| is_named(table));
        let views = self.views.iter().filter(|(view, _)| is_named(view));
        tables.map(|(_, group)| *group).chain(views.map(|(_, group)| *group)).collect()
    }

    /// What these statements reach.
    pub(super) fn reached<'s>(&self, statements: impl Iterator<Item = &'s str>) -> Reached {
        let mut reached = Reached::default();
        for sql in statements {
            for group in self.named(sql) {
                reached.add(group, self.rows(sql, group));
            }
        }
        reached
    }

    /// Which rows of the only table of a group a statement reaches.
    fn rows(&self, sql: &str, group: usize) -> Rows {
        let mut members = self.groups.iter().filter(|(_, of)| *of == group);
        let (Some((name, _)), None) = (members.next(), members.next()) else { return Rows::All };
        if self.views.iter().any(|(_, of)| *of == group) {
            return Rows::All;
        }
        let Some(table) = self.keyed.iter().find(|known| known.name.eq_ignore_ascii_case(name))
        else {
            return Rows::All;
        };
        rows_by_key(sql, self.dialect, table, !self.has_gaps)
    }
}
