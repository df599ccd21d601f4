//! What went wrong in a run that an oracle calls a violation: its causes.
//!
//! Idea: the run is followed once more with all versions of all rows, and the fewest mistakes are looked for that
//! explain every answer and the tables at the end (`follow`): a statement that used a stale version, an uncommitted
//! one, missed a row, did not wait; a commit of which something is lost. Each of them is a [`Cause`]: typed, and
//! printed as a sentence. If there are several explanations of the same size, the most telling comes first, and the
//! others are kept: while a case is reduced, its cause must remain one that it had.
//!
//! An oracle that looks at one specific thing has one deed that its violations are ([`oracles::Oracle::deed_of`]). That
//! a statement failed is how a mistake shows, though, so there the run is followed first. If the run is right statement
//! by statement, the cause is that no order of the transactions explains it.
//!
//! Source: Troc's views and Elle's idea that a report is worth as much as its explanation; the search is ours.
//!
//! Assumption: a run that was reduced has one cause. Blind spot: DDL in the schedule, more than two mistakes.

mod details;
mod follow;
mod meeting;
mod questions;
mod views;

use std::collections::BTreeSet;

use anchorite_claims::{ReadKind, ReadPlace, ReadView, WriteClaims, WriteView};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Cause, Deed, Judgement, Meanwhile, RunError, Verdict};

use crate::evidence::actions::actions;
use crate::evidence::together;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::versions::State;
use crate::evidence::world::World;
use crate::evidence::{Evidence, level_of};
use crate::laboratory::Laboratory;
use crate::oracles;
use crate::oracles::damage::is_damaged;
use crate::oracles::differential::{SECOND, TWIN};
use crate::oracles::errors::untold;
use crate::oracles::final_state::{READS, STATEMENTS, TRANSACTIONS};
use crate::oracles::lock::one_writer::two_writers;
use details::Details;
use follow::{Explanation, Following, Order};
use questions::Questions;

/// The most causes that are kept of one violation.
const CAUSES_MAX: usize = 12;

/// The causes of what an oracle said, the most telling first; empty if it is no violation.
pub fn causes(
    evidence: &Evidence<'_>,
    judgement: &Judgement,
    laboratory: &mut Laboratory<'_>,
) -> Result<Vec<Cause>, RunError> {
    let anomaly = match &judgement.verdict {
        Verdict::Violation { anomaly, .. } => anomaly.as_str(),
        _ => return Ok(Vec::new()),
    };
    if !judgement.causes.is_empty() {
        return Ok(judgement.causes.clone());
    }
    let details = Details::of(evidence.run);
    if let Some(deed) = root(evidence) {
        return Ok(vec![details.of_oracle(deed)]);
    }
    let oracle = oracles::named(&judgement.oracle);
    if let Some(deed) = oracle.ok().and_then(|oracle| oracle.deed_of(anomaly)) {
        let reasons = reasons(deed, evidence, &details, laboratory)?;
        return Ok(if reasons.is_empty() { vec![details.of_oracle(deed)] } else { reasons });
    }
    let mut found = followed(evidence, &details, laboratory)?;
    let is_about_orders = [TRANSACTIONS, STATEMENTS, READS].contains(&anomaly);
    // What is right here, statement by statement, may still differ from what somebody else answers.
    found.retain(|cause| is_about_orders || cause.deed != Deed::NoOrder);
    // Where nobody meets anybody there is one order, and each statement was right in it.
    let is_alone = anomaly == STATEMENTS && !evidence.transactions().is_ok_and(meet);
    let orders = found.iter_mut().filter(|cause| is_alone && cause.deed == Deed::NoOrder);
    orders.for_each(|cause| *cause = details.of_oracle(Deed::WrongInTransaction));
    if !found.is_empty() {
        return Ok(found);
    }
    Ok(vec![Cause::of(match anomaly {
        STATEMENTS => Deed::WrongInTransaction,
        TWIN | SECOND => Deed::AnsweredDifferently,
        _ => Deed::Unexplained,
    })])
}

/// Whether two transactions were open at the same time.
fn meet(transactions: &[Transaction<'_>]) -> bool {
    let mut pairs = transactions.windows(2);
    pairs.any(|pair| pair[1].began < pair[0].ended)
}

/// Why a statement failed, where following the run gives more than that it did.
fn reasons(
    deed: Deed,
    evidence: &Evidence<'_>,
    details: &Details<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Vec<Cause>, RunError> {
    if !matches!(deed, Deed::FailedOtherwise | Deed::FailedWithoutCause) {
        return Ok(Vec::new());
    }
    let mut found = followed(evidence, details, laboratory)?;
    found.retain(|cause| !matches!(cause.deed, Deed::NoOrder | Deed::FailedWithoutCause));
    Ok(found)
}

/// What explains everything else that is wrong in a run: there were two writers at a time, the data are damaged, or a
/// transaction was ended and not told.
fn root(evidence: &Evidence<'_>) -> Option<Deed> {
    let run = evidence.run;
    let transactions = evidence.transactions();
    let promise = evidence.writes().ok().and_then(|writes| writes.claims.one_writer.as_ref());
    if let (Ok(transactions), Some(_)) = (transactions.as_ref(), promise)
        && two_writers(run, transactions).is_some()
    {
        return Some(Deed::DidNotWait);
    }
    if is_damaged(run) {
        return Some(Deed::DataDamaged);
    }
    let mut all = transactions.ok()?.iter();
    let is_untold = all.any(|transaction| untold(run, transaction).is_some());
    is_untold.then_some(Deed::EndedUntold)
}

/// The causes that the run itself shows when it is followed.
fn followed(
    evidence: &Evidence<'_>,
    details: &Details<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Vec<Cause>, RunError> {
    let (Ok(documented), Ok(transactions)) = (evidence.writes(), evidence.transactions()) else {
        return Ok(Vec::new());
    };
    let is_ddl = |statement: &Performed<'_>| statement.kind == StatementKind::Ddl;
    if transactions.iter().any(|transaction| transaction.statements.iter().any(is_ddl)) {
        return Ok(Vec::new());
    }
    let state = State::initial(evidence.initial(laboratory)?);
    let Ok(evaluator) = evidence.evaluator() else { return Ok(Vec::new()) };
    let reads = documented.claims.reads != ReadPlace::Free;
    let counts = |statement: &Performed<'_>| {
        statement.kind.writes() || reads && matches!(statement.kind, StatementKind::Select { .. })
    };
    let alternatives = together::alternatives(evidence.run, transactions);
    let alternatives = alternatives.unwrap_or_else(|| vec![transactions.to_vec()]);
    let orders: Vec<Order<'_>> = alternatives
        .into_iter()
        .map(|transactions| {
            let actions = actions(&transactions.iter().collect::<Vec<_>>(), counts);
            Order { transactions, actions }
        })
        .collect();
    let claims = with_view_of_reads(evidence, documented.claims);
    let mut following = Following {
        run: evidence.run,
        claims: &claims,
        orders: &orders,
        keys: evaluator.all_unique_keys(),
        questions: Questions::new(&evaluator, laboratory),
    };
    let initial = World { state };
    let mut found = Vec::new();
    for Explanation { order, world, mistakes } in following.explanations(&initial)? {
        // A second mistake may follow from the first.
        let cause = match mistakes.first() {
            Some(mistake) => details.cause(mistake, &world, &orders[order].transactions),
            None => details.of_oracle(Deed::NoOrder),
        };
        found.push(cause);
    }
    found.sort_by_cached_key(|cause| (!is_specific(cause), cause.clone()));
    let mut names = BTreeSet::new();
    found.retain(|cause| names.insert(cause.name()));
    found.truncate(CAUSES_MAX);
    Ok(found)
}

/// The claims with the view of plain reads: where one serial order explains reads and writes, who reads a snapshot
/// writes on it, too.
fn with_view_of_reads(evidence: &Evidence<'_>, claims: &WriteClaims) -> WriteClaims {
    let run = evidence.run;
    let read_back = run.sessions.first().map(|session| session.level_read_back.as_str());
    let plain =
        |level| evidence.claims.read_of_session(&run.target, level, read_back, ReadKind::Plain);
    let read = level_of(run).and_then(plain);
    let is_snapshot = read.is_some_and(|read| read.sees == ReadView::TransactionSnapshot);
    let sees = match claims.reads {
        ReadPlace::Serial if is_snapshot => WriteView::TransactionSnapshot,
        _ => claims.sees,
    };
    WriteClaims { sees, ..claims.clone() }
}

/// Whether a cause says more than others that explain the same: the key of the very row that was missed was moved
/// while the statement waited.
fn is_specific(cause: &Cause) -> bool {
    use Meanwhile::{IndexEntryMoved, PrimaryKeyMoved, UniqueKeyMoved};
    let is_moved = matches!(cause.meanwhile, PrimaryKeyMoved | UniqueKeyMoved | IndexEntryMoved);
    cause.deed == Deed::RowMissed && is_moved && !cause.waited_for.is_empty()
}
