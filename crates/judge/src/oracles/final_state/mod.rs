//! The final-state oracle.
//!
//! Idea: the committed transactions, performed one after the other, must end with the tables that the run
//! ended with, with the same success or failure of every write and the same affected counts: once as
//! transactions and once as single statements. At serializable the reads must be the same too.
//!
//! Source: WriteCheck (VLDB 2025): write-specific serializability, tx-WSS and stmt-WSS. It takes the order
//! of the commits for the serial order; that is right only where every row and gap that a write looks at stays
//! locked. Elsewhere any order may explain the run that keeps what was finished before something else
//! began, and where none does, the documented mechanism may ([`mechanism`]). So there are four verdicts:
//! an order explains it (pass), a documented exception does (allowed), nothing does (violation), or the
//! run has something in it that is not followed (undecided).
//!
//! Some things are wrong whatever the order is: data that the server itself calls damaged (`damage`), a final state
//! that the tables' own constraints refuse (`constraints`), a row that was changed although a locking read held it
//! (`locks`), and a key that was refused as taken although it was free (`transactions::refused_inserts`).
//!
//! Assumption: a write depends on nothing but the database (no variables, no clock, no random numbers).
//! Blind spot: reads below serializable; deviations that an order happens to explain.

pub(crate) mod compare;
mod constraints;
mod damage;
mod locks;
pub mod mechanism;
mod orders;
pub(crate) mod replay;
pub(crate) mod transactions;

use anchorite_claims::{Claims, Deviation, DocumentedWrites, Exception, ReadPlace};
use anchorite_model::{
    Covers, Ending, Expected, Judgement, Level, Run, RunError, TargetInfo, Verdict,
};

use super::{Needs, Oracle, Sees, Unjudged};
use crate::evidence::Evidence;
use crate::laboratory::Laboratory;
use mechanism::Explanation;
use replay::Form;
use transactions::Transaction;

/// What a violation is called: no serial order of the transactions gives the writes.
pub const TRANSACTIONS: &str = "write-serializability (tx-WSS)";
/// … the same statements outside of transactions give another result.
pub const STATEMENTS: &str = "statement-serializability (stmt-WSS)";
/// … only the reads differ, at a level that promises them too.
pub const READS: &str = "serializability of reads";
/// … an INSERT was refused because of a key that no order gives.
pub const REFUSED: &str = "key refused without cause";

pub use compare::abridged;
pub use constraints::CONSTRAINT;
pub use damage::DAMAGE;
pub use locks::LOCK;

/// As many serial orders are shown with a violation.
const EXPECTED_SHOWN: usize = 3;

/// The oracle.
pub struct FinalState;

impl Oracle for FinalState {
    fn name(&self) -> &'static str {
        "final-state"
    }

    fn about(&self) -> &'static str {
        "the committed transactions, one after the other, must give the same writes and the same tables"
    }

    /// Damaged data is wrong whatever was promised; everything else asks for the claim about writes.
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let run = evidence.run;
        let damage = damage::damage(run);
        if !damage.is_empty() {
            let verdict = Verdict::Violation { anomaly: DAMAGE.to_owned(), because: damage };
            return Ok(Judgement::new(self.name(), verdict));
        }
        let (documented, transactions) = (evidence.writes()?, evidence.transactions()?);
        let trial = Trial { run, documented: documented.clone(), transactions };
        let (verdict, expected) = trial.verdict(laboratory)?;
        let is_bad = matches!(verdict, Verdict::Violation { .. });
        let held = locks::Held { run, documented, transactions };
        let (verdict, expected) = match if is_bad { None } else { held.broken(laboratory)? } {
            Some(because) => (Verdict::Violation { anomaly: LOCK.to_owned(), because }, Vec::new()),
            None => (verdict, expected),
        };
        Ok(Judgement { expected, ..Judgement::new(self.name(), verdict) })
    }

    /// Reads are compared only where the level promises them to be serializable. A lock that is not taken shows only
    /// if somebody else comes along.
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

/// How the run differs from each of the first serial orders.
fn sentences(expected: &[Expected]) -> Vec<String> {
    let sentence =
        |order: &Expected| format!("not {}: {}", order.title, order.differences.join("; "));
    expected.iter().take(EXPECTED_SHOWN).map(sentence).collect()
}

struct Trial<'a> {
    run: &'a Run,
    documented: DocumentedWrites<'a>,
    transactions: &'a [Transaction<'a>],
}

/// Who is not held to all of the promise.
#[derive(Clone, Copy)]
struct Leniency<'f> {
    /// What these read is not compared.
    left_out: &'f dyn Fn(&Transaction<'_>) -> bool,
    /// These may stand before others that committed earlier.
    free: &'f dyn Fn(&Transaction<'_>) -> bool,
}

/// What the serial orders came to.
enum Serial {
    Explained,
    /// One explains the run as transactions, but not as single statements.
    OnlyAsTransactions(Expected),
    Unexplained {
        expected: Vec<Expected>,
        all_tried: bool,
        only_reads: bool,
    },
    Failed(String),
}

impl Trial<'_> {
    fn verdict(
        &self,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(Verdict, Vec<Expected>), RunError> {
        let undecided = |reason: String| (Verdict::Undecided { reason }, Vec::new());
        let nobody = |_: &Transaction<'_>| false;
        let strict = Leniency { left_out: &nobody, free: &nobody };
        let refused = self.refused();
        let mut unexplained = Vec::new();
        if !refused.is_empty() {
            match self.serial(strict, &refused, laboratory)? {
                Serial::Explained => return Ok((Verdict::Pass, Vec::new())),
                Serial::Unexplained { expected, all_tried: true, .. } => unexplained = expected,
                _ => {}
            }
        }
        Ok(match self.serial(strict, &[], laboratory)? {
            Serial::Explained if !unexplained.is_empty() => {
                unexplained.truncate(EXPECTED_SHOWN);
                let because = sentences(&unexplained);
                (Verdict::Violation { anomaly: REFUSED.to_owned(), because }, unexplained)
            }
            Serial::Explained => (Verdict::Pass, Vec::new()),
            Serial::Failed(reason) => undecided(reason),
            Serial::OnlyAsTransactions(expected) => {
                let because = expected.differences.clone();
                (Verdict::Violation { anomaly: STATEMENTS.to_owned(), because }, vec![expected])
            }
            Serial::Unexplained { all_tried: false, .. } => {
                undecided(format!("more than {} serial orders are possible", orders::MOST_ORDERS))
            }
            Serial::Unexplained { mut expected, only_reads, .. } => {
                let verdict = match self.lenient(only_reads, laboratory)? {
                    Some(allowed) => allowed,
                    None => self.unexplained(&expected, only_reads, laboratory)?,
                };
                expected.truncate(EXPECTED_SHOWN);
                (verdict, expected)
            }
        })
    }

    /// Allowed, if a serial order explains the run as soon as those are judged leniently whom a documented exception
    /// is about: locking queries outside of transactions, whose subqueries need not read what they themselves read,
    /// and INSERTs that keep no lock on a key that was free.
    fn lenient(
        &self,
        only_reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Verdict>, RunError> {
        let dialect = self.run.target.product.dialect();
        let nobody = |_: &Transaction<'_>| false;
        let is_nested = |transaction: &Transaction<'_>| transaction.is_nested_query(dialect);
        let is_upsert = |transaction: &Transaction<'_>| transaction.has_upsert(dialect);
        let nested = Leniency { left_out: &is_nested, free: &nobody };
        let unkept = Leniency { left_out: &nobody, free: &is_upsert };
        for (deviation, leniency) in [(Deviation::Nested, nested), (Deviation::Unkept, unkept)] {
            let is_about = |exception: &&Exception| exception.rows.contains(&deviation);
            let concerns = |t: &&Transaction<'_>| (leniency.left_out)(t) || (leniency.free)(t);
            let exception = self.documented.exceptions.iter().copied().find(is_about);
            let whom = self.transactions.iter().find(concerns);
            let (Some(exception), Some(whom)) = (exception, whom) else { continue };
            if (deviation == Deviation::Nested && !only_reads)
                || !matches!(self.serial(leniency, &[], laboratory)?, Serial::Explained)
            {
                continue;
            }
            let because = vec![
                format!(
                    "a serial order explains it, but for the locks that {} did not keep",
                    whom.name
                ),
                mechanism::exception_sentence(exception),
            ];
            return Ok(Some(Verdict::Allowed { exception: exception.name.clone(), because }));
        }
        Ok(None)
    }

    fn refused(&self) -> Vec<Transaction<'_>> {
        let product = self.run.target.product;
        transactions::refused_inserts(self.transactions, product, self.documented.claims.sees)
    }

    /// Tries the serial orders until one explains the run, and these refusals with it.
    fn serial(
        &self,
        leniency: Leniency<'_>,
        refused: &[Transaction<'_>],
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Serial, RunError> {
        let claims = self.documented.claims;
        let reads = claims.reads != ReadPlace::Free;
        let relevant: Vec<&Transaction<'_>> = self
            .transactions
            .iter()
            .filter(|transaction| transaction.committed && !(leniency.left_out)(transaction))
            .filter(|transaction| transaction.is_writer() || (reads && transaction.is_reader()))
            .chain(refused)
            .collect();
        let (orders, all_tried) = orders::orders(self.run, &relevant, claims, leniency.free);
        let mut expected = Vec::new();
        let mut only_reads = false;
        // An order that explains the transactions only. A later one may explain the statements, too.
        let mut halfway = None;
        for order in orders {
            let order: Vec<&Transaction<'_>> = order.iter().map(|&at| relevant[at]).collect();
            // What single statements give is right, whatever transactions would give: nearly always enough.
            // Where a read saw what a ROLLBACK TO took back, only a transaction gives that.
            let is_undone = |t: &&Transaction<'_>| t.statements.iter().any(|s| s.undone);
            let mut alone = None;
            if !(reads && order.iter().any(is_undone)) {
                let performed = self.perform(&order, Form::Statements, reads, laboratory)?;
                if performed.as_ref().is_ok_and(|expected| expected.differences.is_empty()) {
                    return Ok(Serial::Explained);
                }
                // With reads it says too much about the writes.
                alone = Some(performed).filter(|_| !reads);
            }
            let differences = match self.perform(&order, Form::Transactions, reads, laboratory)? {
                Ok(expected) => expected,
                Err(reason) => return Ok(Serial::Failed(reason)),
            };
            if differences.differences.is_empty() {
                let alone = match alone {
                    Some(alone) => alone,
                    None => self.perform(&order, Form::Statements, false, laboratory)?,
                };
                match alone {
                    Ok(alone) if alone.differences.is_empty() => return Ok(Serial::Explained),
                    Ok(alone) => halfway.get_or_insert(Serial::OnlyAsTransactions(alone)),
                    Err(reason) => halfway.get_or_insert(Serial::Failed(reason)),
                };
                continue;
            }
            only_reads |= differences.differences.iter().all(|text| text.contains(": returned "));
            expected.push(differences);
        }
        Ok(halfway.unwrap_or(Serial::Unexplained { expected, all_tried, only_reads }))
    }

    /// Performs one order and compares.
    fn perform(
        &self,
        order: &[&Transaction<'_>],
        form: Form,
        reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<Expected, String>, RunError> {
        let replay = replay::replay(self.run, order, form, reads);
        let rehearsal = laboratory.run(&replay.case)?;
        if let Ending::TargetLost(why) = &rehearsal.ending {
            return Ok(Err(format!("a serial order could not be performed: {why}")));
        }
        let names: Vec<&str> = order.iter().map(|transaction| transaction.name.as_str()).collect();
        let how = match form {
            Form::Transactions => "one transaction after the other",
            Form::Statements => "statement by statement without transactions",
        };
        Ok(Ok(Expected {
            title: format!("{}, {how}", names.join(", then ")),
            differences: compare::differences(self.run, &replay, &rehearsal),
            final_state: rehearsal.final_state,
        }))
    }

    /// No serial order explains the run: is it documented, or wrong?
    fn unexplained(
        &self,
        expected: &[Expected],
        only_reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Verdict, RunError> {
        let mut because = sentences(expected);
        if let Some(broken) = constraints::broken(self.run, laboratory)? {
            because.insert(0, broken);
            return Ok(Verdict::Violation { anomaly: CONSTRAINT.to_owned(), because });
        }
        let anomaly = if only_reads { READS } else { TRANSACTIONS }.to_owned();
        let is_of_orders = |exception: &&Exception| {
            let of_orders = [Deviation::Nested, Deviation::Unkept];
            exception.rows.iter().all(|row| of_orders.contains(row))
        };
        if self.documented.exceptions.iter().all(is_of_orders) {
            let claims = self.documented.claims;
            because.push(format!("promised: {} ({})", claims.says, claims.url));
            return Ok(Verdict::Violation { anomaly, because });
        }
        let explanation =
            mechanism::explain(self.run, self.transactions, &self.documented, laboratory)?;
        Ok(match explanation {
            Explanation::Documented { exception, because } => {
                Verdict::Allowed { exception: exception.name.clone(), because }
            }
            Explanation::Impossible(more) => {
                because.extend(more);
                Verdict::Violation { anomaly, because }
            }
            Explanation::CannotTell(reason) => {
                let reason = format!("no serial order explains it, and {reason}");
                Verdict::Undecided { reason }
            }
        })
    }
}
