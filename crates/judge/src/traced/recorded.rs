//! What an instrumented run tells, as a history that `anchorite check` reads.
//!
//! Idea: a row is a key, and its chain, which no other version has, is the value. A query reads the versions that it
//! returned, and is a read of a predicate if it chooses row by row: with what it examined without a match, as far as
//! that is certain, and with what it would say about every other version. Rows that are not there at the beginning have
//! an initial version that matches nothing. What a transaction took back by ROLLBACK TO is a transaction of its own
//! that was rolled back. The moments of a run are its real time.
//!
//! Assumption and blind spot: those of [`super`]; dependencies that are only possible are not in the history.

use anchorite_check::model::{
    Atom, BuildError, History, HistoryBuilder, KeyId, OpKind, Outcome, Predicate, PredicateRead,
    SymbolKind, Workload,
};

use super::looks::Look;
use super::rows::VersionId;
use super::{Told, Traced};
use crate::evidence::transactions::{Performed, Transaction};

/// What a row was before it was there.
const UNBORN: &str = "not there yet";

/// The history of an instrumented run.
pub fn recorded(told: &Told, transactions: &[Transaction<'_>]) -> Result<History, BuildError> {
    let traced = told.by(transactions);
    let mut recording = Recording { traced, builder: HistoryBuilder::new() };
    recording.builder.set_workload(Workload::Predicates);
    recording.initial();
    let mut order: Vec<usize> = (0..transactions.len()).collect();
    order.sort_by_key(|at| transactions[*at].began);
    for at in order {
        recording.transaction(at)?;
    }
    Ok(recording.builder.finish())
}

struct Recording<'t> {
    traced: Traced<'t>,
    builder: HistoryBuilder,
}

impl Recording<'_> {
    fn text(&mut self, text: &str) -> Atom {
        self.builder.symbols().intern(SymbolKind::Text, text)
    }

    /// The key of a row: its table, and the beginning of its chain.
    fn key(&mut self, row: usize) -> KeyId {
        let versions = self.traced.versions;
        let table = &versions.tables[versions.rows[row].table];
        let first = (0..versions.all.len()).find(|id| versions.all[*id].row == row);
        let name = format!("{table}:{}", first.map_or("", |id| versions.chain_of(id)));
        let name = self.text(&name);
        self.builder.key(name)
    }

    /// What names a version.
    fn value(&mut self, id: VersionId) -> Atom {
        let version = &self.traced.versions.all[id];
        let replaced = version.before.filter(|_| version.is_gone).unwrap_or(id);
        let chain = self.traced.versions.chain_of(replaced);
        let name = match version.is_gone {
            true => format!("{chain},{} gone", version.n),
            false => chain.to_owned(),
        };
        self.text(&name)
    }

    /// The value of a version, or of a row that is not there yet.
    fn state(&mut self, state: Option<VersionId>) -> Atom {
        match state {
            Some(id) => self.value(id),
            None => self.text(UNBORN),
        }
    }

    fn initial(&mut self) {
        let versions = self.traced.versions;
        for row in 0..versions.rows.len() {
            let key = self.key(row);
            let first = versions.orders[row].first().copied();
            let value = self.state(first.filter(|_| versions.rows[row].is_initial));
            self.builder.set_initial_of(key, value);
        }
    }

    fn transaction(&mut self, at: usize) -> Result<(), BuildError> {
        let one = &self.traced.transactions[at];
        let name = self.text(&one.name);
        let session = self.builder.session(name);
        let outcome = if one.committed { Outcome::Committed } else { Outcome::Aborted };
        let time = (one.began as u64, one.ended as u64);
        let is_undone = |performed: &&Performed<'_>| performed.undone && one.committed;
        self.builder.begin(session, at as i64 + 1, outcome, time);
        for performed in one.statements.iter().filter(|performed| !is_undone(performed)) {
            self.looks(at, performed)?;
            self.writes(performed)?;
        }
        if one.statements.iter().any(|performed| is_undone(&performed)) {
            let label = (self.traced.transactions.len() + at) as i64 + 1;
            self.builder.begin(session, label, Outcome::Aborted, time);
            for performed in one.statements.iter().filter(is_undone) {
                self.writes(performed)?;
            }
        }
        Ok(())
    }

    /// What a statement read.
    fn looks(&mut self, reader: usize, performed: &Performed<'_>) -> Result<(), BuildError> {
        let traced = self.traced;
        let looks = traced.looks.iter().enumerate();
        for (at, look) in looks.filter(|(_, one)| one.n == performed.n && one.reader == reader) {
            for &seen in look.found.iter().filter(|seen| counts(traced, look, **seen)) {
                let key = self.key(traced.versions.all[seen].row);
                let value = self.value(seen);
                self.builder.push(OpKind::Read, key, value)?;
                self.sql(performed.n);
            }
            if look.is_whole {
                self.predicate(at, performed)?;
            }
        }
        Ok(())
    }

    fn predicate(&mut self, at: usize, performed: &Performed<'_>) -> Result<(), BuildError> {
        let traced = self.traced;
        let (versions, look) = (traced.versions, &traced.looks[at]);
        let pair = |recording: &mut Self, row: usize, state: Option<VersionId>| {
            (recording.key(row), recording.state(state))
        };
        let found =
            look.found.iter().filter(|id| versions.orders[versions.all[**id].row].contains(id));
        let found: Vec<VersionId> = found.copied().collect();
        let matched = found.iter().map(|id| pair(self, versions.all[*id].row, Some(*id))).collect();
        let unmatched = traced.dependencies.unmatched.iter().filter(|(look, ..)| *look == at);
        let unmatched = unmatched.map(|(_, row, state)| pair(self, *row, *state)).collect();
        let mut others = Vec::new();
        for (row, order) in versions.orders.iter().enumerate() {
            if versions.rows[row].table != look.table {
                continue;
            }
            let (key, unborn) = pair(self, row, None);
            others.push((key, unborn, false));
            for &id in order {
                if let Some(&matches) = traced.matches.get(&(at, id)) {
                    let (key, value) = pair(self, row, Some(id));
                    others.push((key, value, matches));
                }
            }
        }
        let text = traced.case.step(performed.n).map_or("", |step| step.sql.as_str());
        let predicate = Predicate::Text(text.into());
        self.builder.push_predicate(PredicateRead { predicate, matched, unmatched, others })?;
        self.sql(performed.n);
        Ok(())
    }

    /// What a statement wrote.
    fn writes(&mut self, performed: &Performed<'_>) -> Result<(), BuildError> {
        let versions = self.traced.versions;
        for id in versions.of_statement(performed.n).collect::<Vec<_>>() {
            let version = &versions.all[id];
            let key = self.key(version.row);
            let value = self.value(id);
            let kind = match (version.is_gone, version.before) {
                (true, _) => OpKind::Delete,
                (false, None) => OpKind::Insert,
                (false, Some(_)) => OpKind::Write,
            };
            self.builder.push(kind, key, value)?;
            let place = versions.orders[version.row].iter().position(|one| *one == id);
            if let Some(place) = place {
                self.builder.version_number(place as u64 + 1);
            }
            self.sql(performed.n);
        }
        Ok(())
    }

    fn sql(&mut self, n: usize) {
        let sql = self.traced.case.step(n).map(|step| step.sql.clone());
        self.builder.text(&sql.unwrap_or_default());
    }
}

/// Whether a statement depends on a version that it found: of what a blind write replaced, only if that was not the
/// latest one.
fn counts(traced: Traced<'_>, look: &Look, seen: VersionId) -> bool {
    let versions = traced.versions;
    let order = &versions.orders[versions.all[seen].row];
    let place = order.iter().position(|id| *id == seen);
    let next = place.and_then(|place| order.get(place + 1));
    let is_replaced = next.is_some_and(|next| versions.all[*next].n == look.n);
    !(look.is_blind && look.by_write && is_replaced)
}
