//! The refused-key oracle: a key that was refused as taken, although it was free.
//!
//! Idea: an INSERT of constants that fails with a duplicate key says that the key existed. So it is placed in the
//! serial orders: if one explains everything else, but none also explains the refusal, no row can have had the key.
//!
//! A transaction of several statements may be open meanwhile and move the key later, which no order of whole
//! transactions shows. So each refused INSERT is also tried after what had been committed by then: if all of them are
//! refused there, nothing is said.
//!
//! Assumption: the refused INSERT left no trace. Blind spot: INSERTs after other writes of their transaction, those
//! that read what they insert, and optimistic transactions, which find out about a key at their COMMIT.

use anchorite_model::{Deed, Judgement, Outcome, Verdict};

use super::{Needs, Oracle, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::refusals::refused_inserts;
use crate::evidence::replay::{Form, replay};
use crate::evidence::serial::{MOST_ORDERS, Serial, shown};
use crate::evidence::transactions::Transaction;
use crate::laboratory::Laboratory;

/// The name of the violation: an INSERT was refused because of a key that no order gives.
pub const REFUSED: &str = "key refused without cause";

/// The oracle.
pub struct RefusedKey;

impl Oracle for RefusedKey {
    fn name(&self) -> &'static str {
        "refused-key"
    }

    fn about(&self) -> &'static str {
        "an INSERT may be refused only for a key that some serial order gives"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn deed(&self) -> Option<Deed> {
        Some(Deed::FailedWithoutCause)
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let orders = match evidence.serial_with_refusals(laboratory)? {
            None | Some(Serial::Explained) => {
                return Ok(Judgement::new(self.name(), Verdict::Pass));
            }
            Some(Serial::OnlyAsTransactions(_)) => {
                let reason = "a serial order explains the run only as transactions";
                return Err(reason.to_owned().into());
            }
            Some(Serial::Unexplained { all_tried: false, .. }) => {
                return Err(format!("more than {MOST_ORDERS} serial orders are possible").into());
            }
            Some(Serial::Failed(reason)) => return Err(reason.clone().into()),
            Some(Serial::Unexplained { orders, .. }) => orders,
        };
        if !matches!(evidence.serial(laboratory)?, Serial::Explained) {
            let reason = "no serial order explains the run without the refused INSERT either";
            return Err(reason.to_owned().into());
        }
        if refused_at_their_moment(evidence, laboratory)? {
            let reason =
                "a key was taken when an INSERT was refused, but in no order of whole transactions";
            return Err(reason.to_owned().into());
        }
        let (expected, because) = shown(orders);
        let verdict = Verdict::broken(REFUSED, because);
        Ok(Judgement { expected, ..Judgement::new(self.name(), verdict) })
    }
}

/// Whether each refused INSERT is also refused after what had been committed by then, in the order of the commits.
fn refused_at_their_moment(
    evidence: &Evidence<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<bool, Unjudged> {
    let run = evidence.run;
    let (transactions, sees) = (evidence.transactions()?, evidence.writes()?.claims.sees);
    for refused in &refused_inserts(transactions, run.target.product, sees) {
        let is_before = |other: &&Transaction<'_>| other.committed && other.ended < refused.ended;
        let mut order: Vec<&Transaction<'_>> = transactions.iter().filter(is_before).collect();
        order.sort_by_key(|other| other.ended);
        order.push(refused);
        let replay = replay(run, &order, Form::Transactions, true);
        let performed = laboratory.run(&replay.case)?;
        let answer = refused.statements.last().and_then(|it| replay.answer(&performed, it.n));
        if !matches!(answer, Some(Outcome::Error(_))) {
            return Ok(false);
        }
    }
    Ok(true)
}
