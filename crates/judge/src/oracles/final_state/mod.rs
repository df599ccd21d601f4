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

pub mod mechanism;

use anchorite_claims::{Claims, Deviation, DocumentedWrites, Exception, ReadPlace};
use anchorite_model::sql::{Dialect, StatementKind, Tokens};
use anchorite_model::{Covers, Expected, Judgement, Level, TargetInfo, Verdict};

use super::{Needs, Oracle, Sees, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::serial::{Leniency, MOST_ORDERS, PerformedOrder, Serial, shown};
use crate::evidence::transactions::{Performed, Transaction};
use crate::laboratory::Laboratory;
use mechanism::Explanation;

/// The name of a violation: no serial order of the transactions gives the writes.
pub const TRANSACTIONS: &str = "write-serializability (tx-WSS)";
/// … the same statements outside transactions give another result.
pub const STATEMENTS: &str = "statement-serializability (stmt-WSS)";
/// … only the reads differ, at a level that also makes promises about them.
pub const READS: &str = "serializability of reads";
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
        let verdict = match self.lenient(only_reads, laboratory)? {
            Some(allowed) => allowed,
            None => self.unexplained(sentences, only_reads, laboratory)?,
        };
        Ok((verdict, expected))
    }

    /// Allowed, if a serial order explains the run once those covered by a documented exception are judged leniently:
    /// locking queries outside transactions, whose subqueries need not read what they themselves read, and INSERTs that
    /// keep no lock on a key that was free.
    fn lenient(
        &self,
        only_reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Verdict>, Unjudged> {
        let dialect = self.evidence.run.target.product.dialect();
        let nobody = |_: &Transaction<'_>| false;
        let is_nested = |transaction: &Transaction<'_>| is_nested_query(transaction, dialect);
        let is_upsert = |transaction: &Transaction<'_>| has_upsert(transaction, dialect);
        let nested = Leniency { left_out: &is_nested, free: &nobody };
        let unkept = Leniency { left_out: &nobody, free: &is_upsert };
        for (deviation, leniency) in [(Deviation::Nested, nested), (Deviation::Unkept, unkept)] {
            let is_about = |exception: &&Exception| exception.rows.contains(&deviation);
            let concerns = |t: &&Transaction<'_>| (leniency.left_out)(t) || (leniency.free)(t);
            let exception = self.documented.exceptions.iter().copied().find(is_about);
            let whom = self.transactions.iter().find(concerns);
            let (Some(exception), Some(whom)) = (exception, whom) else { continue };
            if deviation == Deviation::Nested && !only_reads {
                continue;
            }
            let search = self.evidence.search(&[])?;
            if !matches!(search.perform(leniency, laboratory)?, Serial::Explained) {
                continue;
            }
            let because = vec![
                format!(
                    "a serial order explains it, but for the locks that {} did not keep",
                    whom.name
                ),
                mechanism::exception_sentence(exception),
            ];
            return Ok(Some(explained(exception, because)));
        }
        Ok(None)
    }

    /// No serial order explains the run: is it documented, or wrong?
    fn unexplained(
        &self,
        mut because: Vec<String>,
        only_reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Verdict, Unjudged> {
        let anomaly = if only_reads { READS } else { TRANSACTIONS };
        let is_of_orders = |exception: &&Exception| {
            let of_orders = [Deviation::Nested, Deviation::Unkept];
            exception.rows.iter().all(|row| of_orders.contains(row))
        };
        if self.documented.exceptions.iter().all(is_of_orders) {
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
                let reason = format!("no serial order explains it, and {reason}");
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

/// Whether one of its INSERTs may find one key taken after it found another one free.
fn has_upsert(transaction: &Transaction<'_>, dialect: Dialect) -> bool {
    transaction.statements.iter().any(|statement| {
        let tokens = Tokens::new(statement.sql, 0, dialect).filter_map(Result::ok);
        let mut words = tokens.filter(|token| token.is_significant());
        statement.kind == StatementKind::Replace
            || (statement.kind == StatementKind::Insert
                && words.any(|token| token.is_word("DUPLICATE") || token.is_word("IGNORE")))
    })
}

/// Whether it is a single locking query with another query inside.
fn is_nested_query(transaction: &Transaction<'_>, dialect: Dialect) -> bool {
    let is_locking = |statement: &Performed<'_>| {
        let tokens = Tokens::new(statement.sql, 0, dialect).filter_map(Result::ok);
        statement.kind == StatementKind::Select { locking: true }
            && tokens.filter(|token| token.is_word("SELECT")).count() > 1
    };
    transaction.begin.is_none() && transaction.statements.iter().all(is_locking)
}
