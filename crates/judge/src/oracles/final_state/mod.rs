//! The final-state oracle.
//!
//! Idea: the committed transactions, executed one after the other, must end with the tables that the run ended with,
//! with the same success or failure of every write and the same affected counts: once as transactions and once as
//! single statements. At serializable the reads must also be the same.
//!
//! Source: WriteCheck (VLDB 2025): write-specific serializability, tx-WSS and stmt-WSS. It takes commit order for the
//! serial order; that is correct only where every row and gap that a write examines stays locked. Elsewhere any order
//! in which what finished before something else began also comes first may explain the run, and where none does, the
//! documented mechanism may ([`mechanism`]). So there are four verdicts: an order explains it (pass), a documented
//! exception does (allowed), nothing does (violation), or the run contains something that is not followed (undecided).
//!
//! Assumption: a write depends on nothing but the database (no variables, no clock, no random numbers).
//! Blind spot: reads below serializable; deviations that an order happens to explain.

mod lenient;
pub mod mechanism;

use anchorite_claims::{Claims, DocumentedWrites, Exception, ReadPlace};
use anchorite_model::{Covers, Expected, Judgement, Level, TargetInfo, UNEXPLAINED, Verdict};

use super::{Needs, Oracle, Sees, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::serial::{MOST_ORDERS, PerformedOrder, Serial, shown};
use crate::evidence::transactions::Transaction;
use crate::laboratory::Laboratory;
use lenient::Unexplained;
use mechanism::Explanation;

/// The name of a violation: no serial order of the transactions gives the writes.
pub const TRANSACTIONS: &str = "write-serializability (tx-WSS)";
/// … the same statements outside transactions give another result.
pub const STATEMENTS: &str = "statement-serializability (stmt-WSS)";
/// … only the reads differ, at a level that also makes promises about them.
pub const READS: &str = "serializability of reads";
const NUMBERED: &str = "a table numbers its rows, and a serial order may give them other numbers";
/// The oracle.
pub struct FinalState;

impl Oracle for FinalState {
    fn name(&self) -> &'static str {
        "final-state"
    }

    fn about(&self) -> &'static str {
        "the committed transactions, one after the other, must give the same writes and the same tables"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let (documented, transactions) = (evidence.writes()?, evidence.transactions()?);
        let examination = Examination { evidence, documented, transactions };
        let (verdict, expected) = examination.verdict(laboratory)?;
        Ok(Judgement { expected, ..Judgement::new(self.name(), verdict) })
    }

    /// Reads are compared only where the level promises them to be serializable. A lock that is not taken shows only if
    /// another session wants it.
    fn sees(&self) -> &'static [Sees] {
        const WRITES: Sees = Sees {
            sabotages: &[
                "write-skew",
                "lost-update",
                "conflict-ignored",
                "lock-not-taken",
                "early-commit",
                "row-skipped",
                "write-lost",
                "duplicate-execution",
                "commit-lost",
                "commit-torn",
                "rollback-kept",
                "savepoint-kept",
            ],
            at: None,
        };
        const READS: Sees = Sees {
            sabotages: &[
                "dirty-read",
                "non-repeatable-read",
                "phantom",
                "stale-snapshot",
                "own-write-invisible",
                "row-missed",
            ],
            at: Some(Level::Serializable),
        };
        &[WRITES, READS]
    }

    fn covers(&self, claims: &Claims, target: &TargetInfo, level: Level) -> Option<Covers> {
        Some(match claims.writes(target, level)?.claims.reads {
            ReadPlace::Free => Covers::Writes,
            ReadPlace::Serial | ReadPlace::Locked => Covers::WritesAndReads,
        })
    }

    fn narrows(&self, anomaly: &str) -> Option<Covers> {
        [TRANSACTIONS, STATEMENTS].contains(&anomaly).then_some(Covers::Writes)
    }
}

/// A run that is being judged.
struct Examination<'e, 'a> {
    evidence: &'e Evidence<'a>,
    documented: &'e DocumentedWrites<'a>,
    transactions: &'e [Transaction<'a>],
}

impl Examination<'_, '_> {
    fn verdict(
        &self,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(Verdict, Vec<Expected>), Unjudged> {
        let orders = match self.evidence.serial(laboratory)? {
            Serial::Explained => return Ok((Verdict::Pass, Vec::new())),
            // Another order hands out other numbers, and a rollback gives none back.
            _ if self.evidence.has_numbered_rows() => return Err(NUMBERED.to_owned().into()),
            Serial::Failed(reason) => return Err(reason.clone().into()),
            Serial::OnlyAsTransactions(order) => {
                let expected = order.expected();
                let because = expected.differences.clone();
                return Ok((Verdict::broken(STATEMENTS, because), vec![expected]));
            }
            Serial::Unexplained { all_tried: false, .. } => {
                return Err(format!("more than {MOST_ORDERS} serial orders are possible").into());
            }
            Serial::Unexplained { orders, .. } => orders,
        };
        let only_reads = orders.iter().any(PerformedOrder::differs_in_reads_only);
        let (expected, sentences) = shown(orders);
        let Self { evidence, documented, transactions } = *self;
        let unexplained = Unexplained { evidence, documented, transactions, only_reads };
        let verdict = match unexplained.verdict(laboratory)? {
            Some(verdict) => verdict,
            None => self.unexplained(sentences, only_reads, laboratory)?,
        };
        Ok((verdict, expected))
    }

    /// No serial order explains the run: is it documented, or wrong?
    fn unexplained(
        &self,
        mut because: Vec<String>,
        only_reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Verdict, Unjudged> {
        let anomaly = if only_reads { READS } else { TRANSACTIONS };
        let is_of_rows = |exception: &&Exception| exception.rows.iter().any(|row| row.is_of_rows());
        if !self.documented.exceptions.iter().any(is_of_rows) {
            let claims = self.documented.claims;
            because.push(format!("promised: {} ({})", claims.says, claims.url));
            return Ok(Verdict::broken(anomaly, because));
        }
        let explanation =
            mechanism::explain(self.evidence, self.transactions, self.documented, laboratory)?;
        Ok(match explanation {
            Explanation::Documented { exception, because } => explained(exception, because),
            Explanation::Impossible(more) => {
                because.extend(more);
                Verdict::broken(anomaly, because)
            }
            Explanation::CannotTell(reason) => {
                let reason = format!("{UNEXPLAINED}, and {reason}");
                Verdict::Undecided { reason }
            }
        })
    }
}

/// What a run is whose deviations this exception explains: allowed, if the vendor documents it.
fn explained(exception: &Exception, because: Vec<String>) -> Verdict {
    match exception.is_documented() {
        true => Verdict::Allowed { exception: exception.name.clone(), because },
        false => Verdict::undocumented(&exception.name, because),
    }
}
