//! The run as a history of row versions: who wrote which, and what is proved about which were read.
//!
//! Idea: the writes are executed again on a model of the tables, in the order in which they were answered, each on the
//! latest versions of the rows. If every count and the final state match the server's, the model's versions are what
//! the server wrote; if not, nothing is claimed. A read is then compared with the versions: where only one version of a
//! row can have given what was returned, or not returned, that is the one that was read.
//!
//! Source: Adya's histories (reads of versions, a version order per item, predicates that match versions). Assumption:
//! the versions of a row are in the order in which they were written. Blind spot: everything that [`Tables`] does not
//! understand; reads that several versions explain.

use anchorite_model::sql::literal;
use anchorite_model::{Run, Value};
use anchorite_sql::formula::{Formula, Scope};

use super::observation::{Observation, Proof, Seen};
use crate::evidence::transactions::{Performed, Transaction};
use anchorite_sql::followed::{Row, Tables, Write};

/// A version of a row.
#[derive(Debug, Clone)]
pub struct Version {
    /// The row that it is a version of.
    pub row: usize,
    /// Its values; `None` where the row was deleted.
    pub values: Option<Vec<Value>>,
    /// The transaction that wrote it; `None` for the initial rows.
    pub writer: Option<usize>,
    /// The number of the statement that wrote it.
    pub n: usize,
    /// What an UPDATE assigned; empty for rows that were inserted or deleted.
    set: Vec<(usize, Formula)>,
    written_at: usize,
    gone_at: Option<usize>,
}

/// The versions of all rows and what was seen of them.
pub struct History {
    /// The tables.
    pub tables: Tables,
    /// Their rows at the beginning.
    pub initial: Vec<Row>,
    /// All versions, in the order in which they were written.
    pub versions: Vec<Version>,
    /// The table of each row.
    pub(super) rows: Vec<usize>,
    /// What was proved about reads.
    pub observations: Vec<Observation>,
    /// The rows whose versions do not show in which order they were written.
    unclear: Vec<usize>,
}

enum Action<'t, 'r> {
    Perform(usize, &'t Performed<'r>),
    RollBack(usize),
}

impl History {
    /// Follows a run; `None` if it cannot be followed, or the server behaved differently.
    pub fn of(run: &Run, transactions: &[Transaction<'_>]) -> Option<Self> {
        let statements = transactions.iter().flat_map(|transaction| &transaction.statements);
        // What a ROLLBACK TO undid existed for a while, which is not followed.
        statements.clone().all(|statement| !statement.undone).then_some(())?;
        let (tables, initial) = Tables::of(&run.case, run.target.product.dialect())?;
        let mut history = Self {
            tables,
            initial: initial.clone(),
            versions: Vec::new(),
            rows: Vec::new(),
            observations: Vec::new(),
            unclear: Vec::new(),
        };
        for (table, values) in initial {
            history.insert(table, values, None, 0, 0);
        }
        let mut reads = Vec::new();
        for (at, action) in actions(transactions) {
            match action {
                Action::RollBack(transaction) => history.roll_back(transaction, at),
                Action::Perform(transaction, statement) if statement.is_write() => {
                    history.write(transaction, statement, at)?;
                }
                Action::Perform(transaction, statement) => {
                    if let Some(read) = history.tables.read(statement.sql) {
                        reads.push((transaction, statement, read));
                    }
                }
            }
        }
        history.ends_like(run).then_some(())?;
        history.unclear = (0..history.rows.len()).filter(|row| !history.is_clear(*row)).collect();
        for (reader, statement, read) in reads {
            let seen = history.seen_by(reader, statement, &read).unwrap_or_default();
            history.observations.extend(seen);
        }
        let observations = std::mem::take(&mut history.observations);
        let (kept, unproved) = observations
            .into_iter()
            .partition(|observation| !matches!(observation.proof, Proof::Made(_)));
        history.observations = kept;
        let is_proved =
            |one: &Observation| matches!(one.proof, Proof::Made(made) if history.came_out(made));
        let proved: Vec<Observation> = Vec::into_iter(unproved).filter(is_proved).collect();
        history.observations.extend(proved);
        Some(history)
    }

    /// Whether a version does not depend on what it replaces.
    pub fn is_blind(&self, version: &Version) -> bool {
        version.set.iter().all(|(_, formula)| formula.is_constant())
    }

    /// Whether the versions of a row prove their order: no two writes of different transactions, one after the other,
    /// would have given the same the other way round.
    fn is_clear(&self, row: usize) -> bool {
        let chain: Vec<(usize, &Version)> = self.installed(row).collect();
        !chain.windows(3).any(|three| {
            let [(before, _), (_, first), (_, second)] = three else { return false };
            first.writer != second.writer
                && !first.set.is_empty()
                && !second.set.is_empty()
                && self.applied(*before, &[&second.set, &first.set]) == second.values
        })
    }

    /// Whether what is known of a row's versions can be relied on.
    pub fn is_sure_of(&self, row: usize) -> bool {
        !self.unclear.contains(&row)
    }

    /// The values of a version in words.
    pub fn told(&self, version: usize) -> String {
        let values = self.versions[version].values.as_deref().unwrap_or_default();
        let told: Vec<String> =
            values.iter().map(|value| literal(value, self.tables.dialect)).collect();
        format!("({})", told.join(", "))
    }

    /// The versions of a row that count, in order: those that were not rolled back.
    pub fn installed(&self, row: usize) -> impl Iterator<Item = (usize, &Version)> {
        let all = self.versions.iter().enumerate();
        all.filter(move |(_, version)| version.row == row && version.gone_at.is_none())
    }

    /// Whether a version matches a condition; `None` if that is not understood.
    pub fn matches(&self, version: &Version, filter: Option<&Formula>) -> Option<bool> {
        let Some(row) = &version.values else { return Some(false) };
        let Some(filter) = filter else { return Some(true) };
        let columns = &self.tables.all[self.rows[version.row]].columns;
        Some(filter.truth(Scope { columns, row })? == Some(true))
    }

    fn insert(
        &mut self,
        table: usize,
        row: Vec<Value>,
        writer: Option<usize>,
        n: usize,
        at: usize,
    ) {
        self.rows.push(table);
        let row_index = self.rows.len() - 1;
        self.push(row_index, Some(row), writer, n, Vec::new(), at);
    }

    fn push(
        &mut self,
        row: usize,
        values: Option<Vec<Value>>,
        writer: Option<usize>,
        n: usize,
        set: Vec<(usize, Formula)>,
        at: usize,
    ) {
        let (written_at, gone_at) = (at, None);
        self.versions.push(Version { row, values, writer, n, set, written_at, gone_at });
    }

    fn roll_back(&mut self, transaction: usize, at: usize) {
        let own = self.versions.iter_mut().filter(|version| version.writer == Some(transaction));
        own.filter(|version| version.gone_at.is_none()).for_each(|v| v.gone_at = Some(at));
    }

    /// The latest version of every row of a table that exists.
    fn latest(&self, table: usize) -> Vec<usize> {
        let rows = (0..self.rows.len()).filter(|row| self.rows[*row] == table);
        let last = rows.filter_map(|row| self.installed(row).last().map(|(index, _)| index));
        last.filter(|index| self.versions[*index].values.is_some()).collect()
    }

    /// Executes a write on the latest versions; `None` if it is not understood or the count differs.
    fn write(&mut self, transaction: usize, statement: &Performed<'_>, at: usize) -> Option<()> {
        let Ok(answer) = statement.reply else { return Some(()) };
        let affected = answer.affected?;
        let write = self.tables.write(statement.sql)?;
        let counted = self.counted(transaction, statement, &write, affected)?;
        let (writer, n) = (Some(transaction), statement.n);
        match write {
            Write::Insert { table, rows } => {
                (affected == rows.len() as u64).then_some(())?;
                rows.into_iter().for_each(|row| self.insert(table, row, writer, n, at));
            }
            Write::Delete { table, filter } => {
                let matched = self.matching(table, filter.as_ref())?;
                (affected == matched.len() as u64).then_some(())?;
                for index in matched {
                    self.push(self.versions[index].row, None, writer, n, Vec::new(), at);
                }
            }
            Write::Update { table, set, filter } => {
                let mut matched = Vec::new();
                for index in self.matching(table, filter.as_ref())? {
                    let after = self.after(index, &set)?;
                    let is_change = self.versions[index].values.as_ref() != Some(&after);
                    if is_change || !self.tables.counts_changes() {
                        matched.push((index, after));
                    }
                }
                (affected == matched.len() as u64).then_some(())?;
                for (index, after) in matched {
                    let row = self.versions[index].row;
                    if self.proves(index, &set, filter.as_ref())? {
                        let evidence = Proof::Made(self.versions.len());
                        let seen = vec![Seen::Version(index)];
                        let observation =
                            Observation::of_write(transaction, n, row, seen, evidence);
                        self.observations.push(observation);
                    }
                    self.push(row, Some(after), writer, n, set.clone(), at);
                }
            }
        }
        self.observations.extend(counted);
        Some(())
    }

    /// The latest versions that match.
    fn matching(&self, table: usize, filter: Option<&Formula>) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for index in self.latest(table) {
            if self.matches(&self.versions[index], filter)? {
                found.push(index);
            }
        }
        Some(found)
    }

    pub(super) fn after(&self, index: usize, set: &[(usize, Formula)]) -> Option<Vec<Value>> {
        self.applied(index, &[set])
    }

    /// The result of assignments, one after the other, on a version.
    fn applied(&self, index: usize, sets: &[&[(usize, Formula)]]) -> Option<Vec<Value>> {
        let version = &self.versions[index];
        let columns = &self.tables.all[self.rows[version.row]].columns;
        let mut row = version.values.clone()?;
        for set in sets {
            let before = row.clone();
            for (column, formula) in *set {
                row[*column] = formula.value(Scope { columns, row: &before })?;
            }
        }
        Some(row)
    }

    /// Whether the model ends with the server's tables.
    fn ends_like(&self, run: &Run) -> bool {
        (0..self.tables.all.len()).all(|table| {
            let latest = self.latest(table);
            let rows = latest.iter().filter_map(|index| self.versions[*index].values.as_ref());
            self.tables.is_final(run, table, rows.collect())
        })
    }

    /// Whether a row was there from the beginning.
    pub(super) fn was_there(&self, row: usize) -> bool {
        self.installed(row).next().is_some_and(|(_, version)| version.writer.is_none())
    }

    /// The versions that a statement can have seen: written before it was answered, and there when it was sent.
    pub(super) fn visible(
        &self,
        row: usize,
        statement: &Performed<'_>,
    ) -> impl Iterator<Item = (usize, &Version)> {
        let (start, end) = (statement.start, statement.end);
        self.versions.iter().enumerate().filter(move |(_, version)| {
            version.row == row
                && version.written_at < end
                && version.gone_at.is_none_or(|gone| gone > start)
        })
    }
}

/// What the transactions did, in the order in which it was answered.
fn actions<'t, 'r>(transactions: &'t [Transaction<'r>]) -> Vec<(usize, Action<'t, 'r>)> {
    let mut actions = Vec::new();
    for (index, transaction) in transactions.iter().enumerate() {
        let mut is_gone = false;
        for statement in transaction.statements.iter().filter(|statement| !statement.ignored) {
            actions.push((statement.end, Action::Perform(index, statement)));
            if matches!(statement.reply, Err(error) if error.transaction_gone) && !is_gone {
                is_gone = true;
                actions.push((statement.end, Action::RollBack(index)));
            }
        }
        if !transaction.committed && !is_gone {
            actions.push((transaction.ended, Action::RollBack(index)));
        }
    }
    actions.sort_by_key(|(at, _)| *at);
    actions
}
