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

mod compare;
mod constraints;
mod damage;
mod locks;
pub mod mechanism;
mod orders;
mod replay;
pub(crate) mod transactions;

use anchorite_claims::{Claims, Deviation, DocumentedWrites, Exception, ReadPlace};
use anchorite_model::sql::Dialect;
use anchorite_model::{
    BlockingKnowledge, Case, Ending, Expected, Judgement, Level, Outcome, Run, Verdict,
};

use crate::Oracle;
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

/// Judges a run by the final states that serial orders of its committed transactions give.
pub fn judge<E>(
    run: &Run,
    claims: &Claims,
    rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
) -> Result<Judgement, E> {
    let damage = damage::damage(run);
    let (verdict, expected) = match prepare(run, claims) {
        _ if !damage.is_empty() => {
            let anomaly = DAMAGE.to_owned();
            (Verdict::Violation { anomaly, because: damage }, Vec::new())
        }
        Ok((documented, transactions)) => {
            let (verdict, expected) =
                Trial { run, documented: documented.clone(), transactions: &transactions }
                    .verdict(rehearse)?;
            let is_bad = matches!(verdict, Verdict::Violation { .. });
            let held = locks::Held { run, documented: &documented, transactions: &transactions };
            match if is_bad { None } else { held.broken(rehearse)? } {
                Some(because) => {
                    (Verdict::Violation { anomaly: LOCK.to_owned(), because }, Vec::new())
                }
                None => (verdict, expected),
            }
        }
        Err(reason) => (Verdict::Undecided { reason }, Vec::new()),
    };
    Ok(Judgement { oracle: Oracle::FinalState.name().to_owned(), verdict, expected })
}

/// What the oracle assumes, or which assumption is not met.
fn prepare<'a>(
    run: &'a Run,
    claims: &'a Claims,
) -> Result<(DocumentedWrites<'a>, Vec<Transaction<'a>>), String> {
    if let Ending::TargetLost(why) = &run.ending {
        return Err(format!("the run is not complete: {why}"));
    }
    if let BlockingKnowledge::Timeout { reason, .. } = &run.blocking
        && run.events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }))
    {
        return Err(format!("who waited for whom was guessed, because {reason}"));
    }
    let level = common_level(run)?;
    let documented = claims.writes(&run.target, level).ok_or_else(|| {
        format!("nothing is claimed about writes at {level} of {}", run.target.product)
    })?;
    Ok((documented, transactions::transactions(run)?))
}

/// The level that all sessions really ran at.
pub(crate) fn common_level(run: &Run) -> Result<Level, String> {
    let mut levels = run.sessions.iter().map(|session| {
        let level = session.level.or_else(|| session.effective_level());
        level.ok_or_else(|| format!("the level of {} is not known", session.name))
    });
    let first = levels.next().unwrap_or_else(|| Err("there are no sessions".to_owned()))?;
    for level in levels {
        if level? != first {
            return Err("the sessions ran at different levels".to_owned());
        }
    }
    Ok(first)
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
    fn verdict<E>(
        &self,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Result<(Verdict, Vec<Expected>), E> {
        let undecided = |reason: String| (Verdict::Undecided { reason }, Vec::new());
        let nobody = |_: &Transaction<'_>| false;
        let strict = Leniency { left_out: &nobody, free: &nobody };
        let refused = self.refused();
        let mut unexplained = Vec::new();
        if !refused.is_empty() {
            match self.serial(strict, &refused, rehearse)? {
                Serial::Explained => return Ok((Verdict::Pass, Vec::new())),
                Serial::Unexplained { expected, all_tried: true, .. } => unexplained = expected,
                _ => {}
            }
        }
        Ok(match self.serial(strict, &[], rehearse)? {
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
                let verdict = match self.lenient(only_reads, rehearse)? {
                    Some(allowed) => allowed,
                    None => self.unexplained(&expected, only_reads, rehearse)?,
                };
                expected.truncate(EXPECTED_SHOWN);
                (verdict, expected)
            }
        })
    }

    /// Allowed, if a serial order explains the run as soon as those are judged leniently whom a documented exception
    /// is about: locking queries outside of transactions, whose subqueries need not read what they themselves read,
    /// and INSERTs that keep no lock on a key that was free.
    fn lenient<E>(
        &self,
        only_reads: bool,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Result<Option<Verdict>, E> {
        let dialect = Dialect::of(self.run.target.product);
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
                || !matches!(self.serial(leniency, &[], rehearse)?, Serial::Explained)
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
        let dialect = Dialect::of(self.run.target.product);
        transactions::refused_inserts(self.transactions, dialect, self.documented.claims.sees)
    }

    /// Tries the serial orders until one explains the run, and these refusals with it.
    fn serial<E>(
        &self,
        leniency: Leniency<'_>,
        refused: &[Transaction<'_>],
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Result<Serial, E> {
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
                let performed = self.perform(&order, Form::Statements, reads, rehearse)?;
                if performed.as_ref().is_ok_and(|expected| expected.differences.is_empty()) {
                    return Ok(Serial::Explained);
                }
                // With reads it says too much about the writes.
                alone = Some(performed).filter(|_| !reads);
            }
            let differences = match self.perform(&order, Form::Transactions, reads, rehearse)? {
                Ok(expected) => expected,
                Err(reason) => return Ok(Serial::Failed(reason)),
            };
            if differences.differences.is_empty() {
                let alone = match alone {
                    Some(alone) => alone,
                    None => self.perform(&order, Form::Statements, false, rehearse)?,
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
    fn perform<E>(
        &self,
        order: &[&Transaction<'_>],
        form: Form,
        reads: bool,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Result<Result<Expected, String>, E> {
        let replay = replay::replay(self.run, order, form, reads);
        let rehearsal = rehearse(&replay.case)?;
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
    fn unexplained<E>(
        &self,
        expected: &[Expected],
        only_reads: bool,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Result<Verdict, E> {
        let mut because = sentences(expected);
        if let Some(broken) = constraints::broken(self.run, rehearse)? {
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
            mechanism::explain(self.run, self.transactions, &self.documented, rehearse)?;
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
