//! How a read that locks its rows may have met each of them.
//!
//! Idea: what such a read has returned stays as it is until its transaction ends. So a row that changed while it waited
//! was met in its last version, or passed before, because an earlier version did not match; an old version cannot be
//! returned. SKIP LOCKED leaves out a row that somebody held, and no other one.
//!
//! Assumption: one table, no LIMIT, no groups: then the read, tried on a table with just one row, tells whether that
//! row matches. Blind spot: which rows an open transaction has locked without changing them is not known, so that each
//! row of a table at which it was may be left out.

use anchorite_claims::{ReadKind, ReadView};
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Outcome, Rows, RunError, Value};
use anchorite_sql::locked_table;
use anchorite_sql::tokens::significant;

use super::course::{Following, Place};
use super::seen::{Choices, Course};
use super::statement::Traits;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::{Row, Writer};
use crate::laboratory::Laboratory;
use crate::oracles::lock::one_writer::wants_to_end;

impl<'r> Following<'_, 'r> {
    /// The only table of a read that locks the rows that it returns.
    pub(super) fn locks_rows_of(&self, writer: Writer, read: &Performed<'_>) -> Option<usize> {
        self.transactions[writer].begin.filter(|begin| !is_optimistic(begin))?;
        let dialect = self.run.target.product.dialect();
        self.documented(writer).claims.locking_reads.as_ref()?;
        let is_locking = match read.kind {
            StatementKind::Select { locking: true } => true,
            StatementKind::Select { locking: false } => {
                let claim = self.claim(writer, ReadKind::Plain);
                !self.only_reads(writer)
                    && claim.is_some_and(|claim| claim.sees == ReadView::Latest)
            }
            _ => false,
        };
        let shares = self.run.target.product.descriptor().transactions.shared_locks;
        let name = locked_table(read.sql, dialect, shares).filter(|_| is_locking)?;
        let [rows] = read.reply.ok()?.results.as_slice() else { return None };
        let mut tables = self.run.final_state.iter();
        let table = tables.position(|(table, _)| table.eq_ignore_ascii_case(&name))?;
        // A shared lock may be one of an index alone, if that has all columns of the query.
        let transactions = &self.run.target.product.descriptor().transactions;
        let is_clustered = !transactions.locks_indexes_alone
            || is_exclusive(read.sql, dialect)
            || self.known.has_one_index[table];
        let is_whole = has_all(rows, &self.run.final_state[table].1.columns);
        (is_whole || is_clustered).then_some(table)
    }

    /// Whether a transaction says that it only reads.
    pub(super) fn only_reads(&self, writer: Writer) -> bool {
        let dialect = self.run.target.product.dialect();
        self.transactions[writer].begin.is_some_and(|begin| {
            let tokens = significant(begin, dialect);
            tokens.windows(2).any(|two| two[0].is_word("READ") && two[1].is_word("ONLY"))
        })
    }

    /// How a locking read that waited, or skipped what was locked, may have met each row; `None` if that is not known.
    pub(super) fn met(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        traits: &Traits,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Choices>, RunError> {
        let sees = match self.claim(place.writer, self.kind_of_read(read)) {
            Some(claim) if claim.taken.is_none() => claim.sees,
            _ => return Ok(None),
        };
        let follows = matches!(sees, ReadView::Latest | ReadView::CheckedAgain);
        let Some(table) = self.locks_rows_of(place.writer, read) else { return Ok(None) };
        if !(follows && read.waited || traits.skips_locked) {
            return Ok(None);
        }
        let rows = course.world.state.rows.iter().enumerate();
        let rows: Vec<(usize, &Row)> = rows.filter(|(_, row)| row.table == table).collect();
        let session = self.transactions[place.writer].session;
        let versions = rows.iter().flat_map(|(_, row)| &row.versions);
        let alone = |values: &Vec<Value>| Contents::from([(table, vec![values.clone()])]);
        let wanted: Vec<Contents> =
            versions.filter_map(|version| version.values.as_ref()).map(alone).collect();
        evaluator.find_out(session, read.sql, &wanted, laboratory)?;
        let mut met = Choices::new();
        for &(at, row) in &rows {
            let mut returns = |values: Option<&Vec<Value>>| match values {
                Some(values) => self.returns(session, read, table, values, evaluator, laboratory),
                None => Ok(false),
            };
            let now = row.visible(place.writer, read.end);
            let is_held = row.held_by_others(place.writer).next().is_some();
            if traits.skips_locked {
                let same =
                    rows.iter().filter(|(_, row)| row.visible(place.writer, read.end) == now);
                let holds = (is_held, same.count() > 1);
                let choices = self.unless_locked(place.writer, read, (table, now), holds);
                met.insert(at, choices);
                continue;
            }
            let changed = row.committed_between(read.start, read.end);
            if changed.is_empty() || row.own(place.writer).is_some() {
                continue;
            }
            let matched = returns(row.visible(place.writer, read.start))?;
            let choices = if sees == ReadView::CheckedAgain {
                vec![now.filter(|_| matched).cloned()]
            } else {
                let mut may_pass = !matched;
                for version in &changed[..changed.len() - 1] {
                    may_pass |= !returns(version.values.as_ref())?;
                }
                std::iter::once(now.cloned()).chain(may_pass.then_some(None)).collect()
            };
            met.insert(at, choices);
        }
        Ok(Some(met))
    }

    /// Whether a read returns a row that is alone in its table.
    pub(super) fn returns(
        &self,
        session: usize,
        read: &Performed<'r>,
        table: usize,
        values: &[Value],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<bool, RunError> {
        let alone = Contents::from([(table, vec![values.to_vec()])]);
        let mut finds_some = |contents: &Contents| -> Result<bool, RunError> {
            let tried = evaluator.tried(session, read.sql, contents, laboratory)?;
            Ok(matches!(tried, Some((Outcome::Ok(answer), _))
                if answer.results.iter().any(|rows| !rows.rows.is_empty())))
        };
        // A count returns a row even of nothing.
        Ok(finds_some(&alone)? && (self.is_whole(read, table) || !finds_some(&Contents::new())?))
    }

    /// Whether a read that matches a row, as it stood at its end, has returned it: a row that was changed or made while
    /// the read waited may have been passed.
    pub(super) fn has_returned(
        &self,
        read: &Performed<'_>,
        row: &Row,
        values: &Vec<Value>,
    ) -> bool {
        let mut answers = read.reply.iter().flat_map(|answer| &answer.results);
        let is_in_order = self.is_in_order(read, row.table);
        let is_told = is_in_order && !self.known.keys[row.table].is_empty();
        if self.known.traits(read.sql).skips_locked && !is_told {
            return false;
        }
        if is_in_order {
            return answers.any(|rows| rows.rows.contains(values));
        }
        let before = row.committed_at(read.start).and_then(|version| version.values.as_ref());
        before == Some(values) && row.committed_between(read.start, read.end).is_empty()
    }

    /// Whether a read returns rows as they stand in the table.
    fn is_in_order(&self, read: &Performed<'_>, table: usize) -> bool {
        let columns = &self.run.final_state[table].1.columns;
        let mut results = read.reply.iter().flat_map(|answer| &answer.results);
        results.all(|rows| rows.columns == *columns)
    }

    fn is_whole(&self, read: &Performed<'_>, table: usize) -> bool {
        let columns = &self.run.final_state[table].1.columns;
        let mut results = read.reply.iter().flat_map(|answer| &answer.results);
        results.all(|rows| has_all(rows, columns))
    }

    /// A row, unless somebody holds it; where that is not known, what was returned tells.
    fn unless_locked(
        &self,
        writer: Writer,
        read: &Performed<'_>,
        (table, now): (usize, Option<&Vec<Value>>),
        (is_held, is_like_others): (bool, bool),
    ) -> Vec<Option<Vec<Value>>> {
        let mut answers = read.reply.iter().flat_map(|answer| &answer.results);
        match now {
            None => vec![None],
            Some(_) if is_held => vec![None],
            Some(values) if is_like_others || !self.is_in_order(read, table) => {
                let may_be = self.may_be_locked(writer, read, table);
                std::iter::once(Some(values.clone())).chain(may_be.then_some(None)).collect()
            }
            Some(values) if self.may_be_locked(writer, read, table) => {
                let is_there = answers.any(|rows| rows.rows.contains(values));
                vec![is_there.then(|| values.clone())]
            }
            Some(values) => vec![Some(values.clone())],
        }
    }

    /// Whether another transaction was at a table, so that it may have locked any of its rows.
    fn may_be_locked(&self, writer: Writer, read: &Performed<'_>, table: usize) -> bool {
        let is_other = |(at, other): &(usize, &Transaction<'_>)| {
            *at != writer && other.began < read.end && other.ended > read.start
        };
        let others = self.transactions.iter().enumerate().filter(is_other);
        let mut statements = others.flat_map(|(_, other)| &other.statements);
        statements.any(|statement| {
            let looks = matches!(statement.kind, StatementKind::Select { .. });
            (statement.is_write() || looks)
                && statement.start < read.end
                && self.known.reach(statement.sql).contains(&table)
        })
    }

    /// What kind of read it is.
    pub(super) fn kind_of_read(&self, read: &Performed<'_>) -> ReadKind {
        match read.kind {
            StatementKind::Select { locking: true } => ReadKind::Locking,
            _ => ReadKind::Plain,
        }
    }

    /// Whether another transaction keeps what it holds until after a moment.
    pub(super) fn holds_until_after(&self, other: Writer, moment: usize) -> bool {
        let other = &self.transactions[other];
        !other.begin.is_some_and(is_optimistic) && wants_to_end(self.run, other) > moment
    }
}

/// Whether a read keeps everybody else out of its rows.
pub(super) fn is_exclusive(sql: &str, dialect: Dialect) -> bool {
    let tokens = significant(sql, dialect);
    let clause = tokens.iter().skip_while(|token| !token.is_word("FOR"));
    // FOR NO KEY UPDATE, too, keeps out every writer.
    clause.take(4).any(|token| token.is_word("UPDATE"))
}

/// Whether rows have all columns of a table, in any order.
fn has_all(rows: &Rows, columns: &[String]) -> bool {
    columns.iter().all(|column| rows.columns.contains(column))
}
