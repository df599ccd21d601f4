//! The lock oracle: rows that a locking read holds.
//!
//! Idea: a row that SELECT … FOR UPDATE or FOR SHARE has returned stays as it is until the transaction ends; a session
//! that wants to change it waits. So another session's write that matches such a row, and is answered while the
//! transaction is open, is wrong whatever the order of the transactions is. The DBMS itself is asked whether it
//! matches, on a table with just that row. The claims say where the vendor promises this (`locking_reads`).
//!
//! Assumption: the row was still the same when the write began, and the write could see it. So nothing is claimed
//! if the reader had written to the table before it read, or if another transaction has committed since the writer
//! began. What the reader writes afterwards changes nothing for others, but where a write may look at versions that
//! are not committed (the claims say so) and pass the row. Keys that are locked although there is no row are in
//! `absent_key`, databases with one writer at a time in `one_writer`. Blind spot: queries over several tables or
//! without all columns; locks of writes; gaps.

mod absent_key;
pub(crate) mod one_writer;
pub(crate) mod patience;

use anchorite_claims::{Deviation, WriteWord};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Awaited, Cause, Deed, Judgement, Run, Value, Verdict};
use anchorite_sql::{Definition, WriteShape, locked_table, write_shape};

use super::{Needs, Oracle, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::evaluator::Contents;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::words::{abridged, tuple};
use crate::laboratory::Laboratory;
use patience::{keeps_locks, open_until, waits_for};

/// The name of the violation: another session changed a row that a locking read had locked.
pub const LOCK: &str = "lock not held";

/// The oracle.
pub struct Lock;

impl Oracle for Lock {
    fn name(&self) -> &'static str {
        "lock"
    }

    fn about(&self) -> &'static str {
        "who changes a row that a locking read has returned must wait for the reader's end"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn deed(&self) -> Option<Deed> {
        Some(Deed::DidNotWait)
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let held = Held { run: evidence.run, transactions: evidence.transactions()? };
        let mut found = held.broken(evidence, laboratory)?.map(|it| (it, Awaited::LockingRead));
        if found.is_none() {
            found = held.broken_at_absent_key(evidence)?.map(|because| (because, Awaited::Gap));
        }
        let (because, causes) = match found {
            Some((because, awaited)) => (Some(because), vec![Cause::unawaited(awaited)]),
            None => (held.broken_by_two_writers(evidence)?, Vec::new()),
        };
        let verdict = because.map_or(Verdict::Pass, |because| Verdict::broken(LOCK, because));
        Ok(Judgement { causes, ..Judgement::new(self.name(), verdict) })
    }
}

/// What locking reads hold in a run.
struct Held<'a> {
    run: &'a Run,
    transactions: &'a [Transaction<'a>],
}

/// A locking read and a write that should have waited for it, if it matches one of the rows.
struct Meeting<'a> {
    reader: &'a Transaction<'a>,
    read: &'a Performed<'a>,
    rows: &'a [Vec<Value>],
    table: usize,
    writer: &'a Transaction<'a>,
    write: &'a Performed<'a>,
}

impl Held<'_> {
    /// Why a lock was not held; `None` if there is no evidence of that.
    fn broken(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Vec<String>>, Unjudged> {
        let meetings = self.meetings();
        let Some(url) = &evidence.writes()?.claims.locking_reads else {
            return match meetings.as_slice() {
                [] => Ok(None),
                _ => Err("nothing is claimed about locking reads".to_owned().into()),
            };
        };
        if meetings.is_empty() {
            return Ok(None);
        }
        let mut evaluator = evidence.evaluator()?;
        for meeting in meetings {
            if Self::may_look_past(&meeting, evidence)? {
                continue;
            }
            let Meeting { write, table, writer, .. } = meeting;
            let others: Contents = evaluator
                .may_refer_to(table)
                .iter()
                .map(|&other| (other, self.run.final_state[other].1.rows.clone()))
                .collect();
            let with = |row: &Vec<Value>| {
                let mut contents = others.clone();
                contents.insert(table, vec![row.clone()]);
                contents
            };
            let wanted: Vec<Contents> = meeting.rows.iter().map(with).collect();
            evaluator.find_out(writer.session, write.sql, &wanted, laboratory)?;
            for row in meeting.rows {
                let effect =
                    evaluator.on_row(writer.session, write.sql, table, row, &others, laboratory)?;
                if effect.is_ok_and(|effect| effect.affected > 0) {
                    return Ok(Some(meeting.sentences(row, url)));
                }
            }
        }
        Ok(None)
    }

    /// Whether the write may have judged a locked row by a version that the reader has made of it since, and passed it.
    fn may_look_past(meeting: &Meeting<'_>, evidence: &Evidence<'_>) -> Result<bool, Unjudged> {
        let Meeting { reader, read, write, .. } = meeting;
        let documented = evidence.writes()?;
        let word = WriteWord::of(&write.kind);
        let excuse = word.and_then(|word| documented.excuse(word, Deviation::Held));
        let mut between = reader.statements.iter().filter(|it| it.start > read.start);
        Ok(excuse.is_some() && between.any(|it| it.is_write() && it.start < write.end))
    }

    /// Why a key that is not there was not locked; `None` if there is no evidence of that.
    fn broken_at_absent_key(
        &self,
        evidence: &Evidence<'_>,
    ) -> Result<Option<Vec<String>>, Unjudged> {
        let Some(promise) = &evidence.writes()?.claims.absent_keys else { return Ok(None) };
        let overlooked = absent_key::overlooked(self.run, self.transactions);
        Ok(overlooked.map(|overlooked| overlooked.sentences(&promise.says, &promise.url)))
    }

    /// Why there were two writers at a time; `None` if there were not.
    fn broken_by_two_writers(
        &self,
        evidence: &Evidence<'_>,
    ) -> Result<Option<Vec<String>>, Unjudged> {
        let Some(promise) = &evidence.writes()?.claims.one_writer else { return Ok(None) };
        let two = one_writer::two_writers(self.run, self.transactions);
        Ok(two.map(|two| two.sentences(&promise.says, &promise.url)))
    }

    fn meetings(&self) -> Vec<Meeting<'_>> {
        let mut found = Vec::new();
        for reader in self.transactions.iter().filter(|reader| keeps_locks(reader)) {
            for read in &reader.statements {
                let Some((table, rows)) = self.locked_rows(read) else { continue };
                if self.has_written(reader, read, table) {
                    continue;
                }
                for (writer, write) in self.writes_meanwhile(reader, read, table) {
                    found.push(Meeting { reader, read, rows, table, writer, write });
                }
            }
        }
        found
    }

    /// Whether the reader had written to the table before it read there, so that it may have returned versions that
    /// nobody else sees. What it writes later leaves the committed versions as they were returned.
    fn has_written(&self, reader: &Transaction<'_>, read: &Performed<'_>, table: usize) -> bool {
        let (dialect, name) = (self.run.target.product.dialect(), &self.run.final_state[table].0);
        let may_reach = |statement: &Performed<'_>| {
            let shape = write_shape(statement.sql, dialect);
            let may_be_it = |shape: WriteShape| {
                shape.table.eq_ignore_ascii_case(name) || !self.is_table(&shape.table)
            };
            shape.is_none_or(may_be_it) || self.may_act(table)
        };
        let before = reader.statements.iter().filter(|statement| statement.start < read.start);
        before.filter(|statement| statement.is_write()).any(may_reach)
    }

    /// Whether this is the name of a table, not of a view.
    fn is_table(&self, name: &str) -> bool {
        self.run.final_state.iter().any(|(table, _)| table.eq_ignore_ascii_case(name))
    }

    /// Whether a foreign key or a trigger may change rows of this table by itself.
    fn may_act(&self, table: usize) -> bool {
        let (dialect, name) = (self.run.target.product.dialect(), &self.run.final_state[table].0);
        let definitions =
            self.run.case.setup.iter().map(|statement| Definition::read(&statement.sql, dialect));
        let concerns = |definition: &Definition| {
            let is_it = |table: &String| table.eq_ignore_ascii_case(name);
            definition.table.as_ref().is_none_or(is_it)
        };
        let mut acting = definitions.filter(|definition| definition.acts || definition.programs);
        acting.any(|definition| concerns(&definition))
    }

    /// The table and the whole rows that a read has locked.
    fn locked_rows<'a>(&self, read: &'a Performed<'_>) -> Option<(usize, &'a [Vec<Value>])> {
        let product = self.run.target.product;
        // Some products take no shared locks at all.
        let shares = product.descriptor().transactions.shared_locks;
        let is_locking = read.kind == StatementKind::Select { locking: true };
        let name = locked_table(read.sql, product.dialect(), shares).filter(|_| is_locking)?;
        let answer = read.reply.ok()?;
        let [rows] = answer.results.as_slice() else { return None };
        let mut tables = self.run.final_state.iter();
        let table = tables.position(|(table, _)| table.eq_ignore_ascii_case(&name))?;
        (rows.columns == self.run.final_state[table].1.columns).then_some((table, &rows.rows))
    }

    /// The writes of others that were sent while the reader was open, and answered without waiting.
    fn writes_meanwhile<'s>(
        &'s self,
        reader: &'s Transaction<'_>,
        read: &'s Performed<'_>,
        table: usize,
    ) -> impl Iterator<Item = (&'s Transaction<'s>, &'s Performed<'s>)> {
        let dialect = self.run.target.product.dialect();
        let name = &self.run.final_state[table].0;
        let until = open_until(self.run, reader);
        let writers =
            self.transactions.iter().filter(move |writer| waits_for(writer, reader, self.run));
        let all =
            writers.flat_map(|writer| writer.statements.iter().map(move |write| (writer, write)));
        all.filter(move |(writer, write)| {
            let is_meanwhile = write.start > read.end && !write.waited && write.end < until;
            let is_change = matches!(write.kind, StatementKind::Update | StatementKind::Delete);
            let simple = || {
                write_shape(write.sql, dialect).is_some_and(|shape| {
                    shape.table.eq_ignore_ascii_case(name)
                        && !shape.has_subquery
                        && !shape.names_table_again
                })
            };
            is_meanwhile
                && is_change
                && write.reply.is_ok()
                && simple()
                && !self.somebody_committed(reader, writer, write)
        })
    }

    /// Whether writes of others became visible since the writer began. The reader's do so only when it ends.
    fn somebody_committed(
        &self,
        reader: &Transaction<'_>,
        writer: &Transaction<'_>,
        write: &Performed<'_>,
    ) -> bool {
        self.transactions.iter().any(|other| {
            other.committed
                && other.is_writer()
                && !std::ptr::eq(other, writer)
                && !std::ptr::eq(other, reader)
                && other.ended > writer.began
                && other.began < write.end
        })
    }
}

impl Meeting<'_> {
    fn sentences(&self, row: &[Value], url: &str) -> Vec<String> {
        let (reader, writer) = (&self.reader.name, &self.writer.name);
        vec![
            format!(
                "step {} ({}) of {reader} returned and locked {}",
                self.read.n,
                abridged(self.read.sql),
                tuple(row)
            ),
            format!(
                "step {} ({}) of {writer} changes that row, and did not wait until {reader} had ended",
                self.write.n,
                abridged(self.write.sql)
            ),
            format!("promised: what a locking read returned stays locked until its end ({url})"),
        ]
    }
}
