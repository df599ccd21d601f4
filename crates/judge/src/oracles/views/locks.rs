//! What a statement must have waited for.
//!
//! Idea: a statement that was answered although another transaction, still open, was in its way has not waited: a
//! locking read that returned a row which somebody had changed and not committed, or locked; a write of such a row; a
//! row with a unique key that somebody had written; a new row that a locking statement of somebody matches, where the
//! claims say that its gaps are locked too; a child without a parent, or a parent with a child, but for what is not
//! committed. Who waited longer than necessary is never wrong.
//!
//! Source: the claims (`locking_reads`, `order = "commit"`: gaps included). The DBMS itself is asked what matches, and
//! which keys are the same, by trying statements on chosen rows. Blind spot: queries over several tables; locks of
//! statements that matched and changed nothing; gaps that no row falls into.

use anchorite_claims::{ReadView, SerialOrder};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Awaited, Cause, Deed, ErrorClass, Outcome, RunError, Value};
use anchorite_sql::tokens::significant;

use super::course::{Following, Place};
use super::met::is_exclusive;
use super::seen::{Course, Sight, Unawaited};
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::{Row, Version, Writer};
use crate::evidence::words::{abridged, tuple};
use crate::laboratory::Laboratory;
use crate::oracles::lock::patience::waits_for;

/// What a write has done to one row.
struct Written<'s> {
    table: usize,
    /// What it was based on; `None`: the row is new.
    before: Option<&'s Vec<Value>>,
    row: &'s Row,
    after: Option<&'s Vec<Value>>,
}

impl<'r> Following<'_, 'r> {
    /// Why a locking read that sees this must have waited, or failed.
    pub(super) fn taken_from_others(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        sight: &Sight,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Unawaited>, RunError> {
        let Some(table) = self.locks_rows_of(place.writer, read) else { return Ok(None) };
        // Which of several equal rows were skipped cannot be told.
        if self.known.traits(read.sql).skips_locked && self.known.keys[table].is_empty() {
            return Ok(None);
        }
        let session = self.transactions[place.writer].session;
        let claim = self.claim(place.writer, self.kind_of_read(read));
        let fails = claim.is_some_and(|claim| claim.sees == ReadView::TransactionSnapshot);
        let own = course.snapshots.get(&place.writer).copied();
        let moment = sight.moment.filter(|_| fails).or(own.filter(|_| fails)).unwrap_or(read.end);
        let of_table = course.world.state.rows.iter().filter(|row| row.table == table);
        for row in of_table {
            let Some(values) = row.visible(place.writer, moment) else { continue };
            let is_seen = sight.contents.get(&table).is_some_and(|rows| rows.contains(values));
            let holder = self.holder(row, place.writer, read.end);
            let since = row.committed_between(moment, read.end);
            let newer = since.last().filter(|_| fails && row.own(place.writer).is_none());
            if !is_seen || (holder.is_none() && newer.is_none()) {
                continue;
            }
            if self.returns(session, read, table, values, evaluator, laboratory)? {
                let newer = newer.and_then(|version| version.writer);
                let (other, since, cause) = match (holder, newer) {
                    (Some(holder), _) => {
                        (holder, "and not yet committed", Cause::unawaited(Awaited::Row))
                    }
                    (None, Some(other)) => {
                        let told = "since the snapshot: it had to fail";
                        (other, told, Cause::of(Deed::ConflictMissed))
                    }
                    (None, None) => continue,
                };
                let (row, name) = (tuple(values), &self.transactions[other].name);
                let did = format!("returned and locked {row}, which {name} had changed {since}");
                return Ok(Some(self.unawaited_by(place, read, &did, cause)));
            }
        }
        self.locked_twice(course, place, read, (table, sight), evaluator, laboratory)
    }

    /// Why a read that locks rows for itself alone must have waited for another one that had done so.
    fn locked_twice(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        (table, sight): (usize, &Sight),
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Unawaited>, RunError> {
        let dialect = self.run.target.product.dialect();
        if !is_exclusive(read.sql, dialect) {
            return Ok(None);
        }
        let session = self.transactions[place.writer].session;
        for (other, locker) in self.lockers(place.writer, read) {
            let locks = |first: &&Performed<'r>| {
                first.end < read.start
                    && keeps_locks_of(locker, first, read.end)
                    && is_exclusive(first.sql, dialect)
                    && self.locks_rows_of(other, first) == Some(table)
            };
            for first in locker.statements.iter().filter(locks) {
                for row in course.world.state.rows.iter().filter(|row| row.table == table) {
                    let Some(values) = row.visible(place.writer, read.end) else { continue };
                    // One that skips what is locked does not see it.
                    if !sight.contents.get(&table).is_some_and(|rows| rows.contains(values)) {
                        continue;
                    }
                    let is_same = row.visible(other, first.end) == Some(values);
                    if is_same
                        && row.own(other).is_none()
                        && self.has_returned(first, row, values)
                        && self.returns(session, read, table, values, evaluator, laboratory)?
                        && self.returns(session, first, table, values, evaluator, laboratory)?
                    {
                        let had = self.had_locked(locker, first);
                        let did = format!("returned and locked {}, which {had}", tuple(values));
                        let cause = Cause::unawaited(Awaited::LockingRead);
                        return Ok(Some(self.unawaited_by(place, read, &did, cause)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Why a write that led to a course must have waited.
    pub(super) fn unawaited(
        &self,
        after: &Course,
        place: Place,
        write: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Unawaited>, RunError> {
        if let Some(told) = self.two_writers(after, place, write) {
            return Ok(Some(told));
        }
        let written = written(after, place.writer, write);
        for one in &written {
            if let Some(told) = self.same_key(after, place, write, one) {
                return Ok(Some(told));
            }
        }
        for (other, locker) in self.lockers(place.writer, write) {
            let is_before = |first: &&Performed<'r>| {
                first.end < write.start && keeps_locks_of(locker, first, write.end)
            };
            for first in locker.statements.iter().filter(is_before) {
                for one in &written {
                    let is_locked =
                        self.is_locked(one, (other, locker), first, evaluator, laboratory)?;
                    if let Some(values) = is_locked {
                        let had = self.had_locked(locker, first);
                        let (did, awaited) = match one.before {
                            Some(_) => ("changed", Awaited::LockingRead),
                            None => ("inserted", Awaited::Gap),
                        };
                        let which = one.before.map_or("where", |_| "which");
                        let did = format!("{did} {}, {which} {had}", tuple(values));
                        let cause = Cause::unawaited(awaited);
                        return Ok(Some(self.unawaited_by(place, write, &did, cause)));
                    }
                }
            }
        }
        self.needs_uncommitted(after, place, write, evaluator, laboratory)
    }

    /// Why a write must have waited where there can be only one writer: somebody else is one.
    fn two_writers(
        &self,
        after: &Course,
        place: Place,
        write: &Performed<'_>,
    ) -> Option<Unawaited> {
        self.documented(place.writer).claims.one_writer.as_ref()?;
        let has_written = write.reply.is_ok_and(|answer| answer.affected.unwrap_or(0) > 0);
        let others = self.transactions.iter().enumerate().filter(|(other, transaction)| {
            let is_open = self.has_begun(transaction) < write.start && transaction.begin.is_some();
            *other != place.writer && is_open && self.holds_until_after(*other, write.end)
        });
        let reserves = |begin: &str| {
            let tokens = significant(begin, self.run.target.product.dialect());
            tokens.iter().any(|token| token.is_word("IMMEDIATE") || token.is_word("EXCLUSIVE"))
        };
        let mut writers = others.filter(|(other, transaction)| {
            !after.world.written_by(*other).is_empty() || transaction.begin.is_some_and(reserves)
        });
        let (_, other) = writers.next().filter(|_| has_written)?;
        let did = format!("wrote, although {} was writing and had not ended", other.name);
        Some(self.unawaited_by(place, write, &did, Cause::of(Deed::DidNotWait)))
    }

    /// When its BEGIN was answered, which may have waited.
    fn has_begun(&self, transaction: &Transaction<'_>) -> usize {
        let mut own = self.run.events.iter().filter(|event| event.session == transaction.session);
        let first = own.find(|event| event.sent == Some(transaction.began) && event.is_answer());
        first.and_then(|event| event.answered).unwrap_or(usize::MAX)
    }

    /// Whether a statement has locked what a write has changed: the values that it matches.
    fn is_locked<'s>(
        &self,
        one: &Written<'s>,
        (other, locker): (Writer, &Transaction<'r>),
        first: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<&'s Vec<Value>>, RunError> {
        let claims = self.documented(other).claims;
        let session = locker.session;
        let of_read = self.locks_rows_of(other, first) == Some(one.table);
        match (one.before, one.after) {
            (Some(before), _) => {
                let is_same = one.row.committed_at(first.end).and_then(|it| it.values.as_ref())
                    == Some(before);
                let by_other = one.row.own(other).is_some();
                let holds = of_read
                    && is_same
                    && self.has_returned(first, one.row, before)
                    && !by_other
                    && self.returns(session, first, one.table, before, evaluator, laboratory)?;
                Ok(holds.then_some(before))
            }
            // Where it skips a row it locks nothing, and the row may be put back there.
            (None, Some(new))
                if claims.order == SerialOrder::Commit
                    && !self.known.traits(first.sql).skips_locked =>
            {
                let holds = if of_read {
                    self.returns(session, first, one.table, new, evaluator, laboratory)?
                } else {
                    self.changes(session, first, one.table, new, evaluator, laboratory)?
                };
                Ok(holds.then_some(new))
            }
            _ => Ok(None),
        }
    }

    /// Whether a simple UPDATE or DELETE changes a row that is alone in its table.
    fn changes(
        &self,
        session: usize,
        write: &Performed<'r>,
        table: usize,
        values: &[Value],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<bool, RunError> {
        let is_change = matches!(write.kind, StatementKind::Update | StatementKind::Delete);
        let name = &self.run.final_state[table].0;
        let shape = evaluator.shape(write.sql);
        let is_simple = shape.is_some_and(|shape| {
            shape.table.eq_ignore_ascii_case(name)
                && !shape.has_subquery
                && !shape.names_table_again
        });
        if !is_change || !is_simple || evaluator.passes_on(table) {
            return Ok(false);
        }
        let none = Contents::new();
        let effect = evaluator.on_row(session, write.sql, table, values, &none, laboratory)?;
        Ok(effect.is_ok_and(|effect| effect.affected > 0))
    }

    /// Why a write that has given a row a unique key must have waited: somebody else has written the same.
    fn same_key(
        &self,
        after: &Course,
        place: Place,
        write: &Performed<'r>,
        one: &Written<'_>,
    ) -> Option<Unawaited> {
        let values = one.after?;
        for key in &self.known.unique_keys[one.table] {
            let of_key = |values: &Vec<Value>| {
                let key: Vec<Value> = key.iter().map(|&column| values[column].clone()).collect();
                (!key.is_empty() && !key.contains(&Value::Null)).then_some(key)
            };
            let new = of_key(values);
            if new.is_none() || new == one.before.and_then(of_key) {
                continue;
            }
            for row in after.world.state.rows.iter().filter(|row| row.table == one.table) {
                let mut held = row.held_by_others(place.writer);
                let is_same = |version: &&Version| version.values.as_ref().and_then(of_key) == new;
                let holder = held.find(is_same).and_then(|version| version.writer);
                if let Some(holder) = holder.filter(|it| self.holds_until_after(*it, write.end)) {
                    let name = &self.transactions[holder].name;
                    let did = format!(
                        "wrote {}, with a unique key that {name} had written and not yet committed",
                        tuple(values)
                    );
                    let cause = Cause::unawaited(Awaited::UniqueKey);
                    return self
                        .waits(place.writer, holder)
                        .then(|| self.unawaited_by(place, write, &did, cause));
                }
            }
        }
        None
    }

    /// Why a write must have waited that would fail beside what others have written and not committed: of the tables
    /// that foreign keys link, and, for an INSERT, of its own.
    fn needs_uncommitted(
        &self,
        after: &Course,
        place: Place,
        write: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Unawaited>, RunError> {
        // What is checked only at the COMMIT need not be waited for.
        let promises = self.documented(place.writer).claims.locking_reads.is_some();
        let promises = promises && !self.known.defers;
        let shape = evaluator.shape(write.sql).filter(|it| promises && !it.has_subquery);
        let Some(shape) = shape else { return Ok(None) };
        let reach = self.known.reach(write.sql);
        let rows = after.world.state.rows.iter().filter(|row| reach.contains(&row.table));
        let is_insert = write.kind == StatementKind::Insert && !shape.yields_to_keys;
        let is_own =
            |row: &Row| after.world.state.tables[row.table].eq_ignore_ascii_case(&shape.table);
        let (mut committed, mut dirty, mut holder) = (Contents::new(), Contents::new(), None);
        for row in rows {
            let mut versions = row.versions.iter();
            let is_new = versions.all(|version| version.made == write.end);
            let mine =
                row.versions.iter().rev().find(|version| {
                    version.writer == Some(place.writer) && version.made < write.end
                });
            let before = mine.or_else(|| row.committed_at(write.end));
            let before = before.filter(|_| !is_new).and_then(|version| version.values.clone());
            let other = self.holder(row, place.writer, write.end);
            let other = other.filter(|_| is_insert || !is_own(row));
            committed.entry(row.table).or_default().extend(before.clone());
            let theirs = row.held_by_others(place.writer).last().filter(|_| other.is_some());
            let shown = theirs.map_or(before, |version| version.values.clone());
            dirty.entry(row.table).or_default().extend(shown);
            holder = holder.or(other.map(|other| (row, other)));
        }
        let Some((row, holder)) = holder.filter(|_| dirty != committed) else { return Ok(None) };
        let session = self.transactions[place.writer].session;
        evaluator.find_out(session, write.sql, &[committed.clone(), dirty.clone()], laboratory)?;
        let is_free = evaluator.tried(session, write.sql, &committed, laboratory)?;
        let beside = evaluator.tried(session, write.sql, &dirty, laboratory)?;
        let fails = matches!(&beside, Some((Outcome::Error(error), _))
            if error.class == ErrorClass::Constraint);
        let is_meeting = fails && matches!(is_free, Some((Outcome::Ok(_), _)));
        let name = &self.transactions[holder].name;
        let did = format!("did not wait for {name}, beside whose rows it fails");
        let awaited = if is_own(row) { Awaited::UniqueKey } else { Awaited::Reference };
        let cause = Cause::unawaited(awaited);
        Ok(is_meeting.then(|| self.unawaited_by(place, write, &did, cause)))
    }

    /// The other transaction that has changed a row, and keeps it until after a moment.
    fn holder(&self, row: &Row, writer: Writer, moment: usize) -> Option<Writer> {
        let mut holders = row.held_by_others(writer).filter_map(|version| version.writer);
        holders.find(|other| self.holds_until_after(*other, moment) && self.waits(writer, *other))
    }

    /// The transactions of others that take locks, and are open until after this statement.
    fn lockers(
        &self,
        writer: Writer,
        statement: &Performed<'_>,
    ) -> impl Iterator<Item = (Writer, &Transaction<'r>)> {
        let end = statement.end;
        self.transactions.iter().enumerate().filter(move |(other, locker)| {
            *other != writer
                && locker.begin.is_some_and(|begin| !is_optimistic(begin))
                && locker.began < end
                && self.holds_until_after(*other, end)
                && self.waits(writer, *other)
        })
    }

    /// Whether a transaction waits where another one has a lock.
    fn waits(&self, writer: Writer, other: Writer) -> bool {
        waits_for(&self.transactions[writer], &self.transactions[other], self.run)
    }

    fn had_locked(&self, locker: &Transaction<'_>, first: &Performed<'_>) -> String {
        format!("step {} ({}) of {} had locked", first.n, abridged(first.sql), locker.name)
    }

    fn unawaited_by(
        &self,
        place: Place,
        statement: &Performed<'_>,
        did: &str,
        cause: Cause,
    ) -> Unawaited {
        let name = &self.transactions[place.writer].name;
        let told = format!("step {} of {name} ({}): {did}", statement.n, abridged(statement.sql));
        Unawaited { told, cause }
    }
}

/// Whether a transaction keeps what one of its statements has locked until a moment: that was not taken back, and
/// nothing has failed since then, which may have taken back a part of the transaction.
fn keeps_locks_of(locker: &Transaction<'_>, first: &Performed<'_>, until: usize) -> bool {
    let gives_up = |one: &Performed<'_>| one.ignored || one.reply.is_err();
    let mut later = locker.statements.iter().filter(|one| one.n > first.n && one.start < until);
    !first.undone && !gives_up(first) && !later.any(gives_up)
}

/// The rows that a write has changed or made.
fn written<'s>(after: &'s Course, writer: Writer, write: &Performed<'_>) -> Vec<Written<'s>> {
    let mut found = Vec::new();
    for row in &after.world.state.rows {
        let is_of_it = |version: &&Version| {
            version.writer == Some(writer)
                && version.committed.is_none()
                && version.made == write.end
        };
        let Some(version) = row.versions.iter().rev().find(is_of_it) else { continue };
        let mut older = row.versions.iter().rev().filter(|version| !is_of_it(version));
        let mine =
            older.find(|version| version.writer == Some(writer) && version.committed.is_none());
        let base = mine.or_else(|| row.committed_at(write.end));
        let before = base.and_then(|version| version.values.as_ref());
        found.push(Written { table: row.table, before, row, after: version.values.as_ref() });
    }
    found
}
