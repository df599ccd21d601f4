//! The versions of all rows, from the chains that were seen of them.
//!
//! Idea: a chain lists the statements that wrote a row, so every beginning of a chain is a version too. A row that was
//! deleted has one more version, in which it is gone. Assumption: a statement that was answered without an error wrote
//! what shows its label; a label of any other statement is a version that nobody can have written.

use std::collections::{BTreeMap, HashMap};

use anchorite_model::{Rows, Run, Value};
use anchorite_sql::chained::{BETWEEN_CHAINS, Effect};

use super::Untold;
use super::between::Between;
use super::case::{ChainedCase, Part};
use crate::evidence::transactions::{Performed, Transaction};

/// Number of a version in [`Versions::all`].
pub type VersionId = usize;

/// One version of a row.
#[derive(Debug, Clone)]
pub struct Version {
    /// The row.
    pub row: usize,
    /// Its values with the chain at the end; `None` if they are not known, or the row is gone.
    pub values: Option<Vec<Value>>,
    /// Whether the row is gone.
    pub is_gone: bool,
    /// The number of the statement that wrote it; 0 = the set-up.
    pub n: usize,
    /// The transaction that wrote it; `None` = the set-up.
    pub writer: Option<usize>,
    /// The version that it replaced.
    pub before: Option<VersionId>,
    /// Whether its writer took it back, or was rolled back.
    pub is_undone: bool,
    /// The moment at which the statement that wrote it was sent.
    pub sent: usize,
    /// The moment at which that statement was answered.
    pub made: usize,
}

/// A row over time.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its table.
    pub table: usize,
    /// Whether the set-up made it.
    pub is_initial: bool,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    /// The tables' names, as in the final state.
    pub tables: Vec<String>,
    /// The number of columns of each table, with the chain.
    pub columns: Vec<usize>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The versions.
    pub all: Vec<Version>,
    /// Of each row, those that were committed, in order.
    pub orders: Vec<Vec<VersionId>>,
    /// Whether rows may disappear without a statement about them: foreign keys that pass on deletions.
    pub passes_on: bool,
    by_chain: HashMap<(usize, String), VersionId>,
    chains: HashMap<VersionId, String>,
    by_statement: HashMap<usize, Vec<VersionId>>,
}

/// The whole rows that a statement removed, by its number.
pub type Removed = HashMap<usize, Vec<Vec<Value>>>;

/// A statement that was answered, by its number.
pub type Writers<'r> = HashMap<usize, (usize, &'r Performed<'r>)>;

/// The statements of all transactions by their numbers.
pub fn writers<'r>(transactions: &'r [Transaction<'r>]) -> Writers<'r> {
    let all = transactions.iter().enumerate().flat_map(|(writer, transaction)| {
        transaction.statements.iter().map(move |one| (one.n, (writer, one)))
    });
    all.collect()
}

/// The versions that a run shows.
pub fn versions(
    run: &Run,
    case: &ChainedCase,
    transactions: &[Transaction<'_>],
    initial: &[(String, Rows)],
    removed: &Removed,
) -> Result<Versions, Untold> {
    let mut versions = Versions {
        tables: run.final_state.iter().map(|(name, _)| name.to_lowercase()).collect(),
        columns: run.final_state.iter().map(|(_, rows)| rows.columns.len()).collect(),
        ..Versions::default()
    };
    let mut entering =
        Entering { case, transactions, writers: writers(transactions), versions: &mut versions };
    for tables in [initial, &run.final_state] {
        for (table, (_, rows)) in tables.iter().enumerate() {
            for row in &rows.rows {
                entering.row(table, row)?;
            }
        }
    }
    for transaction in transactions {
        for performed in &transaction.statements {
            entering.shown(performed)?;
        }
    }
    for transaction in transactions {
        for performed in &transaction.statements {
            entering.deleted(run, performed, removed)?;
        }
    }
    versions.order(transactions)?;
    Ok(versions)
}

impl Versions {
    /// The version that a row with this chain is.
    pub fn with_chain(&self, table: usize, chain: &str) -> Option<VersionId> {
        self.by_chain.get(&(table, chain.to_owned())).copied()
    }

    /// The chain of a version; of one in which the row is gone there is none.
    pub fn chain_of(&self, id: VersionId) -> &str {
        self.chains.get(&id).map_or("", String::as_str)
    }

    /// The number of a table.
    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|known| known == name)
    }

    /// What a statement wrote, as far as it was seen.
    pub fn of_statement(&self, n: usize) -> impl Iterator<Item = VersionId> + '_ {
        self.by_statement.get(&n).into_iter().flatten().copied()
    }

    /// The chain of a row.
    pub fn chain(values: &[Value]) -> Option<&str> {
        match values.last()? {
            Value::Text(chain) => Some(chain),
            _ => None,
        }
    }

    /// The rows of each table in a result whose last columns are whole rows; `None` for a row that is not there.
    pub fn whole_rows<'v>(
        &self,
        tables: &[usize],
        values: &'v [Value],
    ) -> Vec<(usize, &'v [Value])> {
        let mut end = values.len();
        let mut found = Vec::new();
        for &table in tables.iter().rev() {
            let Some(start) = end.checked_sub(self.columns[table]) else { break };
            let row = &values[start..end];
            if Self::chain(row).is_some() {
                found.push((table, row));
            }
            end = start;
        }
        found
    }

    /// Orders the versions of each row that were committed.
    fn order(&mut self, transactions: &[Transaction<'_>]) -> Result<(), Untold> {
        self.orders = vec![Vec::new(); self.rows.len()];
        for (id, version) in self.all.iter().enumerate() {
            if version.writer.is_some() {
                self.by_statement.entry(version.n).or_default().push(id);
            }
            let is_committed = version.writer.is_none_or(|writer| transactions[writer].committed);
            if is_committed && !version.is_undone {
                self.orders[version.row].push(id);
            }
        }
        for order in &mut self.orders {
            order.sort_by_key(|id| self.all[*id].made);
            for pair in order.windows(2) {
                let is_turned = self.all[pair[0]].before == Some(pair[1]);
                if is_turned {
                    return Err("a version was answered before the one that it replaced".into());
                }
            }
        }
        Ok(())
    }
}

struct Entering<'e, 'r> {
    case: &'e ChainedCase,
    transactions: &'e [Transaction<'r>],
    writers: HashMap<usize, (usize, &'e Performed<'r>)>,
    versions: &'e mut Versions,
}

impl Entering<'_, '_> {
    /// A whole row.
    fn row(&mut self, table: usize, values: &[Value]) -> Result<VersionId, Untold> {
        let Some(chain) = Versions::chain(values) else {
            return Err(Untold::Unwritten(format!(
                "a row of {} has no chain, so no statement of the case wrote it",
                self.versions.tables[table]
            )));
        };
        let id = self.chain(table, chain)?;
        self.versions.all[id].values.get_or_insert_with(|| values.to_vec());
        Ok(id)
    }

    /// A chain, with everything before it.
    fn chain(&mut self, table: usize, chain: &str) -> Result<VersionId, Untold> {
        if let Some(known) = self.versions.with_chain(table, chain) {
            return Ok(known);
        }
        let parts = parts(chain);
        let of_setup = parts.iter().take_while(|part| part.starts_with('s')).count();
        let first = of_setup.max(1);
        let mut before = None;
        for end in first..=parts.len() {
            let beginning = parts[..end].join(",");
            before = Some(match self.versions.with_chain(table, &beginning) {
                Some(known) => known,
                None => {
                    let label = if of_setup == end { None } else { Some(parts[end - 1]) };
                    self.version(table, beginning, label, before)?
                }
            });
        }
        before.ok_or_else(|| "a chain is empty".into())
    }

    fn version(
        &mut self,
        table: usize,
        chain: String,
        label: Option<&str>,
        before: Option<VersionId>,
    ) -> Result<VersionId, Untold> {
        let row = match before {
            Some(before) => self.versions.all[before].row,
            None => {
                self.versions.rows.push(Row { table, is_initial: label.is_none() });
                self.versions.rows.len() - 1
            }
        };
        let mut version = Version {
            row,
            values: None,
            is_gone: false,
            n: 0,
            writer: None,
            before,
            is_undone: false,
            sent: 0,
            made: 0,
        };
        if let Some(label) = label {
            let n = label.split(['.', '(']).next().and_then(|n| n.parse().ok()).unwrap_or(0);
            self.written(&mut version, n, table)?;
        }
        self.versions.all.push(version);
        let id = self.versions.all.len() - 1;
        self.versions.chains.insert(id, chain.clone());
        self.versions.by_chain.insert((table, chain), id);
        Ok(id)
    }

    /// Enters who wrote a version.
    fn written(&self, version: &mut Version, n: usize, table: usize) -> Result<(), Untold> {
        let name = &self.versions.tables[table];
        let step = self.case.step(n);
        let writes = step.is_some_and(|step| match &step.chained.effect {
            Effect::Inserts { table, .. } | Effect::Updates(table) | Effect::Deletes(table) => {
                table == name
            }
            _ => false,
        });
        let of = self.case.of(n);
        let (Some(&(writer, performed)), true) = (self.writers.get(&n), writes) else {
            return Err(Untold::Unwritten(format!(
                "a row of {name} shows the label of step {of}, which cannot have written it"
            )));
        };
        if performed.reply.is_err() {
            return Err(Untold::Unwritten(format!(
                "a row of {name} shows what step {of} wrote, which was answered by an error"
            )));
        }
        version.n = n;
        version.writer = Some(writer);
        version.is_undone = performed.undone || !self.transactions[writer].committed;
        (version.sent, version.made) = (performed.start, performed.end);
        Ok(())
    }

    /// What a statement returned.
    fn shown(&mut self, performed: &Performed<'_>) -> Result<(), Untold> {
        let Some(step) = self.case.step(performed.n) else { return Ok(()) };
        let Ok(answer) = performed.reply else { return Ok(()) };
        let names = match (&step.chained.effect, step.part) {
            (Effect::Reads(tables) | Effect::Lists(tables), _) => tables.clone(),
            (Effect::Deletes(table), _) | (Effect::Inserts { table, .. }, Part::Before) => {
                vec![table.clone()]
            }
            _ => return Ok(()),
        };
        let tables: Option<Vec<usize>> =
            names.iter().map(|name| self.versions.table(name)).collect();
        let tables = tables.ok_or("a statement is about a table that is not one of the case")?;
        let lists = matches!(step.chained.effect, Effect::Lists(_));
        for row in answer.results.iter().flat_map(|result| &result.rows) {
            if lists {
                for (table, chains) in listed(&tables, row) {
                    for chain in chains.split(BETWEEN_CHAINS) {
                        self.chain(table, chain)?;
                    }
                }
                continue;
            }
            let whole: Vec<(usize, Vec<Value>)> = self
                .versions
                .whole_rows(&tables, row)
                .into_iter()
                .map(|(table, row)| (table, row.to_vec()))
                .collect();
            for (table, row) in whole {
                self.row(table, &row)?;
            }
        }
        Ok(())
    }

    /// The versions in which rows are gone.
    fn deleted(
        &mut self,
        run: &Run,
        performed: &Performed<'_>,
        removed: &Removed,
    ) -> Result<(), Untold> {
        let Some(step) = self.case.step(performed.n).filter(|step| step.part != Part::Before)
        else {
            return Ok(());
        };
        let Ok(answer) = performed.reply else { return Ok(()) };
        let (name, rows) = match &step.chained.effect {
            Effect::Inserts { table, removes: true, .. } => {
                (table, removed.get(&performed.n).cloned().unwrap_or_default())
            }
            Effect::Deletes(name) if step.chained.before.is_some() => {
                let rows = read_before(run, self.case, &self.writers, performed)?;
                if answer.affected.is_some_and(|count| count != rows.len() as u64) {
                    return Err(
                        "a DELETE removed other rows than were read immediately before".into()
                    );
                }
                (name, rows)
            }
            Effect::Deletes(name) => {
                (name, answer.results.iter().flat_map(|result| result.rows.clone()).collect())
            }
            _ => return Ok(()),
        };
        let table = self.versions.table(name).ok_or("a DELETE is about another table")?;
        for values in rows {
            // What it returns for itself stands before the whole row.
            let start = values.len().saturating_sub(self.versions.columns[table]);
            let replaced = self.row(table, &values[start..])?;
            let row = self.versions.all[replaced].row;
            let mut version = Version {
                row,
                values: None,
                is_gone: true,
                before: Some(replaced),
                ..self.versions.all[replaced].clone()
            };
            self.written(&mut version, performed.n, table)?;
            self.versions.all.push(version);
        }
        Ok(())
    }
}

/// The rows that were read immediately before a statement, each once, if nothing came between.
pub fn read_before(
    run: &Run,
    case: &ChainedCase,
    writers: &Writers<'_>,
    performed: &Performed<'_>,
) -> Result<Vec<Vec<Value>>, Untold> {
    const UNREAD: &str = "the rows that a statement may remove were not read before it";
    let (_, query) = *writers.get(&(performed.n - 1)).ok_or(UNREAD)?;
    let Ok(answer) = query.reply else { return Err(UNREAD.into()) };
    let of = case.of(performed.n);
    let effect = case.step(performed.n).map(|step| &step.chained.effect);
    let (Some(Effect::Deletes(table)) | Some(Effect::Inserts { table, .. })) = effect else {
        return Err(UNREAD.into());
    };
    if (Between { run, case }).is_disturbed(of, table, query.end, performed.end) {
        let reason = "another statement came between one that removes rows and the query before it";
        return Err(reason.into());
    }
    let mut rows: BTreeMap<Option<String>, Vec<Value>> = BTreeMap::new();
    for row in answer.results.iter().flat_map(|result| &result.rows) {
        rows.entry(Versions::chain(row).map(str::to_owned)).or_insert_with(|| row.clone());
    }
    Ok(rows.into_values().collect())
}

/// The chains that the last columns list, by table.
pub fn listed<'v>(tables: &[usize], row: &'v [Value]) -> Vec<(usize, &'v str)> {
    let start = row.len().saturating_sub(tables.len());
    let texts = tables.iter().zip(&row[start..]);
    let known = texts.filter_map(|(table, value)| match value {
        Value::Text(text) if !text.is_empty() => Some((*table, text.as_str())),
        _ => None,
    });
    known.collect()
}

/// The parts of a chain: those between commas that are in no parentheses.
fn parts(chain: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in chain.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&chain[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&chain[start..]);
    found
}

/// The chain that a copied row was made from.
pub fn copied_from(chain: &str) -> Option<&str> {
    let first = *parts(chain).first()?;
    let (_, rest) = first.split_once('(')?;
    rest.strip_suffix(')')
}
