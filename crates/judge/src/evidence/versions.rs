//! The versions of every row while a run is followed.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_model::{Rows, Value};

/// Number of a transaction among the committed ones.
pub type Writer = usize;

/// One version of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The values; `None` = deleted.
    pub values: Option<Vec<Value>>,
    /// Who made it; `None` = the set-up.
    pub writer: Option<Writer>,
    /// The moment at which the statement that made it was answered.
    pub made: usize,
    /// The moment at which its transaction committed; `None` = not yet.
    pub committed: Option<usize>,
}

/// One row over time; it stays the same row when its key changes.
#[derive(Debug, Clone)]
pub struct Row {
    /// The table.
    pub table: usize,
    /// Its versions, oldest first.
    pub versions: Vec<Version>,
    /// Versions that were taken back, and when.
    pub undone: Vec<(Version, usize)>,
}

impl Row {
    /// A row that begins with this version.
    pub fn new(table: usize, version: Version) -> Self {
        Self { table, versions: vec![version], undone: Vec::new() }
    }

    /// The version that a transaction has made itself.
    pub fn own(&self, writer: Writer) -> Option<&Version> {
        self.versions
            .iter()
            .rev()
            .find(|version| version.writer == Some(writer) && version.committed.is_none())
    }

    /// The latest version that was committed at this moment or before.
    pub fn committed_at(&self, moment: usize) -> Option<&Version> {
        // Of several versions that were committed together, the last one counts.
        self.versions
            .iter()
            .filter(|version| version.committed.is_some_and(|at| at <= moment))
            .max_by_key(|version| version.committed)
    }

    /// The versions that were committed after the first and not after the second moment, oldest first.
    pub fn committed_between(&self, after: usize, until: usize) -> Vec<&Version> {
        let mut found: Vec<&Version> = self
            .versions
            .iter()
            .filter(|version| version.committed.is_some_and(|at| at > after && at <= until))
            .collect();
        found.sort_by_key(|version| version.committed);
        // Of several versions that were committed together, other transactions have seen only the last.
        let is_last = |at: usize| {
            found.get(at + 1).is_none_or(|next: &&Version| next.committed != found[at].committed)
        };
        (0..found.len()).filter(|&at| is_last(at)).map(|at| found[at]).collect()
    }

    /// The versions that another transaction has made and not committed.
    pub fn held_by_others(&self, writer: Writer) -> impl Iterator<Item = &Version> {
        self.versions
            .iter()
            .filter(move |version| version.committed.is_none() && version.writer != Some(writer))
    }

    /// The versions of others that were taken back after a moment.
    pub fn undone_since(&self, writer: Writer, moment: usize) -> impl Iterator<Item = &Version> {
        let is_it =
            move |(version, at): &&(Version, usize)| *at > moment && version.writer != Some(writer);
        self.undone.iter().filter(is_it).map(|(version, _)| version)
    }

    /// The latest version at a moment, committed or not.
    pub fn latest_at(&self, moment: usize) -> Option<&Version> {
        let undone = self.undone.iter().filter(|(_, at)| *at > moment).map(|(version, _)| version);
        let all = self.versions.iter().chain(undone);
        all.filter(|version| version.made <= moment).max_by_key(|version| version.made)
    }

    /// What a transaction sees of it at a moment.
    pub fn visible(&self, writer: Writer, moment: usize) -> Option<&Vec<Value>> {
        let version = self.own(writer).or_else(|| self.committed_at(moment))?;
        version.values.as_ref()
    }
}

/// All rows.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The tables' names, in the order of the final state.
    pub tables: Vec<String>,
    /// The rows of all tables.
    pub rows: Vec<Row>,
}

impl State {
    /// The state after the set-up.
    pub fn initial(tables: &[(String, Rows)]) -> Self {
        let names = tables.iter().map(|(name, _)| name.clone()).collect();
        let rows = tables.iter().enumerate().flat_map(|(table, (_, rows))| {
            rows.rows.iter().map(move |values| {
                let values = Some(values.clone());
                Row::new(table, Version { values, writer: None, made: 0, committed: Some(0) })
            })
        });
        Self { tables: names, rows: rows.collect() }
    }

    /// Marks what a transaction has written as committed.
    pub fn commit(&mut self, writer: Writer, moment: usize) {
        for row in &mut self.rows {
            for version in &mut row.versions {
                if version.writer == Some(writer) && version.committed.is_none() {
                    version.committed = Some(moment);
                }
            }
        }
    }

    /// Takes back, at a moment, what a transaction has written since another one and not committed.
    pub fn take_back(&mut self, writer: Writer, since: usize, moment: usize) {
        for row in &mut self.rows {
            let is_gone = |version: &mut Version| {
                version.writer == Some(writer)
                    && version.committed.is_none()
                    && version.made > since
            };
            let gone = row.versions.extract_if(.., is_gone);
            row.undone.extend(gone.map(|version| (version, moment)));
        }
    }

    /// The moments of commits after the first and not after the second moment, in order.
    pub fn commits_between(&self, after: usize, until: usize) -> Vec<usize> {
        let versions = self.rows.iter().flat_map(|row| &row.versions);
        let committed = versions.filter_map(|version| version.committed);
        let moments: BTreeSet<usize> = committed.filter(|at| *at > after && *at <= until).collect();
        moments.into_iter().collect()
    }

    /// Everything that a transaction sees at a moment, by table.
    pub fn view(&self, writer: Writer, moment: usize) -> BTreeMap<usize, Vec<Vec<Value>>> {
        let mut view: BTreeMap<usize, Vec<Vec<Value>>> = BTreeMap::new();
        for row in &self.rows {
            if let Some(values) = row.visible(writer, moment) {
                view.entry(row.table).or_default().push(values.clone());
            }
        }
        view
    }

    /// The moments after the first and not after the second one at which versions were made or taken back, in order.
    pub fn changes_between(&self, after: usize, until: usize) -> Vec<usize> {
        let made = self.rows.iter().flat_map(|row| row.versions.iter().map(|version| version.made));
        let undone = self.rows.iter().flat_map(|row| &row.undone);
        let undone = undone.flat_map(|(version, at)| [version.made, *at]);
        let moments: BTreeSet<usize> =
            made.chain(undone).filter(|at| *at > after && *at <= until).collect();
        moments.into_iter().collect()
    }

    /// The latest versions at a moment, committed or not, by table.
    pub fn latest(&self, moment: usize) -> BTreeMap<usize, Vec<Vec<Value>>> {
        let mut view: BTreeMap<usize, Vec<Vec<Value>>> = BTreeMap::new();
        for row in &self.rows {
            if let Some(values) = row.latest_at(moment).and_then(|it| it.values.as_ref()) {
                view.entry(row.table).or_default().push(values.clone());
            }
        }
        view
    }

    /// What is left in a table when everything has ended, sorted.
    pub fn committed_rows(&self, table: usize) -> Vec<&Vec<Value>> {
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .filter(|row| row.table == table)
            .filter_map(|row| row.committed_at(usize::MAX)?.values.as_ref())
            .collect();
        rows.sort();
        rows
    }
}
