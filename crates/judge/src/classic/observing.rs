//! Which row versions statements saw, as far as their answers prove it.
//!
//! Idea: a read is compared with the versions of the rows. A row that was returned was seen in one of the versions that
//! give these values; one that was not returned, in one that does not match, or not at all. The count of a write, and
//! what it made of a row, prove something in the same way. Where several versions remain, all of them are kept, and a
//! dependency counts only if all of them agree.

use anchorite_model::Value;
use anchorite_sql::followed::{Read, Write};
use anchorite_sql::formula::Formula;

use super::history::History;
use super::observation::{Observation, Proof, Seen};
use crate::evidence::transactions::Performed;

impl History {
    /// What the count of a write proves about the rows that it saw: a version is possible if some versions of the other
    /// rows give the same count with it.
    pub(super) fn counted(
        &self,
        writer: usize,
        statement: &Performed<'_>,
        write: &Write,
        affected: u64,
    ) -> Option<Vec<Observation>> {
        let (table, set, filter) = match write {
            Write::Insert { .. } => return Some(Vec::new()),
            Write::Delete { table, filter } => (*table, None, filter.as_ref()),
            Write::Update { table, set, filter } => (*table, Some(set), filter.as_ref()),
        };
        let mut options: Vec<(usize, Vec<(Seen, u64)>)> = Vec::new();
        for row in (0..self.rows.len()).filter(|row| self.rows[*row] == table) {
            let mut of_row = Vec::new();
            if !self.was_there(row) {
                of_row.push((Seen::Unborn, 0));
            }
            for (index, version) in self.visible(row, statement) {
                let is_left = self.tables.counts_changes()
                    && set.is_some_and(|set| self.after(index, set) == version.values);
                let counts = self.matches(version, filter)? && !is_left;
                of_row.push((Seen::Version(index), u64::from(counts)));
            }
            options.push((row, of_row));
        }
        let least = |of_row: &[(Seen, u64)]| of_row.iter().map(|(_, count)| *count).min();
        let most = |of_row: &[(Seen, u64)]| of_row.iter().map(|(_, count)| *count).max();
        let least_of_all: u64 = options.iter().filter_map(|(_, of_row)| least(of_row)).sum();
        let most_of_all: u64 = options.iter().filter_map(|(_, of_row)| most(of_row)).sum();
        let mut observations = Vec::new();
        for (row, of_row) in &options {
            let fewest = least_of_all - least(of_row).unwrap_or(0);
            let highest = most_of_all - most(of_row).unwrap_or(0);
            let is_possible = |count: u64| (fewest + count..=highest + count).contains(&affected);
            let possible = of_row.iter().filter(|(_, count)| is_possible(*count));
            let seen: Vec<Seen> = possible.map(|(seen, _)| *seen).collect();
            if !seen.is_empty() && seen.len() < of_row.len() {
                observations.push(Observation::of_write(
                    writer,
                    statement.n,
                    *row,
                    seen,
                    Proof::Count,
                ));
            }
        }
        Some(observations)
    }

    /// Whether the result of an UPDATE proves that it saw exactly this version: every earlier one would have given
    /// another row.
    pub(super) fn proves(
        &self,
        index: usize,
        set: &[(usize, Formula)],
        filter: Option<&Formula>,
    ) -> Option<bool> {
        let row = self.versions[index].row;
        let now = self.after(index, set);
        let all = self.installed(row).map(|(other, _)| other);
        let earlier: Vec<usize> = all.take_while(|other| *other < index).collect();
        let mut proves = !earlier.is_empty();
        for other in earlier {
            let then = self.after(other, set);
            proves &= self.matches(&self.versions[other], filter)? && then.is_some() && then != now;
        }
        Some(proves)
    }

    /// Whether the result of a write is in the final state, or was read.
    pub(super) fn came_out(&self, made: usize) -> bool {
        let is_last =
            self.installed(self.versions[made].row).last().is_some_and(|(v, _)| v == made);
        let only = |observation: &Observation| {
            observation.returned && observation.seen == [Seen::Version(made)]
        };
        is_last
            || self
                .observations
                .iter()
                .any(|observation| observation.proof == Proof::Rows && only(observation))
    }

    /// What a query saw of each row of its table, as far as it is proved; `None` if the versions do not explain it.
    pub(super) fn seen_by(
        &self,
        reader: usize,
        statement: &Performed<'_>,
        read: &Read,
    ) -> Option<Vec<Observation>> {
        let returned = &statement.reply.ok()?.results.first()?.rows;
        let rows: Vec<usize> =
            (0..self.rows.len()).filter(|row| self.rows[*row] == read.table).collect();
        let mut observations: Vec<Observation> = Vec::new();
        let mut unsure: Vec<usize> = Vec::new();
        let mut distinct: Vec<&Vec<Value>> = returned.iter().collect();
        distinct.sort();
        distinct.dedup();
        for tuple in distinct {
            let times = returned.iter().filter(|row| *row == tuple).count();
            let candidates = self.candidates(&rows, statement, read, tuple)?;
            if candidates.len() < times {
                return None;
            }
            let is_sure = candidates.len() == times;
            for (row, seen) in candidates {
                if is_sure {
                    let (n, by_write) = (statement.n, read.locking);
                    let (filter, proof) = (None, Proof::Rows);
                    observations.push(Observation {
                        reader,
                        n,
                        row,
                        seen,
                        returned: true,
                        filter,
                        by_write,
                        proof,
                    });
                } else {
                    unsure.push(row);
                }
            }
        }
        for row in rows {
            let times = observations.iter().filter(|observation| observation.row == row).count();
            if times > 1 || (times == 1 && unsure.contains(&row)) {
                return None;
            }
            if times == 0 && !unsure.contains(&row) {
                observations.push(self.missing(reader, statement, read, row)?);
            }
        }
        Some(observations)
    }

    /// The rows, with those of their versions that give what a query returned.
    fn candidates(
        &self,
        rows: &[usize],
        statement: &Performed<'_>,
        read: &Read,
        tuple: &[Value],
    ) -> Option<Vec<(usize, Vec<Seen>)>> {
        let mut candidates = Vec::new();
        for row in rows {
            let mut seen = Vec::new();
            for (index, version) in self.visible(*row, statement) {
                let gives = version.values.as_ref().is_some_and(|values| {
                    read.columns.iter().map(|column| &values[*column]).eq(tuple.iter())
                });
                if gives && self.matches(version, read.filter.as_ref())? {
                    seen.push(Seen::Version(index));
                }
            }
            if !seen.is_empty() {
                candidates.push((*row, seen));
            }
        }
        Some(candidates)
    }

    /// What a query may have seen of a row that it did not return.
    fn missing(
        &self,
        reader: usize,
        statement: &Performed<'_>,
        read: &Read,
        row: usize,
    ) -> Option<Observation> {
        let mut seen = if self.was_there(row) { Vec::new() } else { vec![Seen::Unborn] };
        for (index, version) in self.visible(row, statement) {
            if !self.matches(version, read.filter.as_ref())? {
                seen.push(Seen::Version(index));
            }
        }
        let (n, filter, by_write) = (statement.n, read.filter.clone(), read.locking);
        let observation = Observation {
            reader,
            n,
            row,
            seen,
            returned: false,
            filter,
            by_write,
            proof: Proof::Rows,
        };
        (!observation.seen.is_empty()).then_some(observation)
    }
}
