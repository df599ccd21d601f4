//! The views oracle: what may each statement see?
//!
//! Idea: the run is followed in the order in which it happened, with every version of every row, also those of
//! transactions that roll back. The claims say which versions a read sees; the unchanged statement is executed on a
//! table with exactly these, by the same server, and must return what it returned. What a write did is followed too:
//! as a whole where only one view is possible, row by row otherwise.
//!
//! Source: Troc (Dou et al., ICSE 2023), for any number of transactions and any claim; following instead of predicting
//! waits, and every course instead of one, is ours.
//!
//! Assumption: a statement's answer depends on the rows that it sees. Blind spot: what is not followed, which is said
//! for each statement; a write that could have had several effects leads to several courses, and one that fits is
//! enough.

mod course;
mod failed;
mod half_done;
mod limited;
mod locks;
mod met;
mod missed;
mod names;
mod read;
mod seen;
mod sight;
mod statement;
mod tables;
mod tell;
mod unchanged;
mod unjudged;
mod versions;
mod write;

use anchorite_claims::Claims;
use anchorite_model::{
    Blocker, Cause, Covers, Deed, Event, Judgement, Level, Outcome, Run, TargetInfo, Verdict,
};

use super::{Needs, Oracle, Sees, Unjudged as NoJudgement};
use crate::evidence::Evidence;
use crate::evidence::serial::Serial;
use crate::evidence::together;
use crate::evidence::transactions::Transaction;
use crate::evidence::versions::State;
use crate::evidence::world::World;
use crate::laboratory::Laboratory;
use course::{Following, Outcomes};
use seen::Needed;
use statement::Known;
use unjudged::Unjudged;

/// The oracle.
pub struct Views;

impl Oracle for Views {
    fn name(&self) -> &'static str {
        "views"
    }

    fn about(&self) -> &'static str {
        "each statement must see the versions that its level promises, and no others"
    }

    fn needs(&self) -> Needs {
        Needs::WritesOfEach
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, NoJudgement> {
        let transactions = evidence.transactions()?;
        if tables::are_changed(evidence.run, transactions) {
            return Err(undecided(Unjudged::Ddl));
        }
        let transactions = ended(evidence.run, transactions);
        let Some(alternatives) = together::alternatives(evidence.run, &transactions) else {
            return Err(undecided(Unjudged::Together));
        };
        let mut evaluator = evidence.evaluator_of_tables()?;
        let known = Known::of(evidence.run, &evaluator).map_err(undecided)?;
        let documented = evidence.writes_of_each()?;
        let initial = State::initial(evidence.initial(laboratory)?);
        let mut all = Outcomes::default();
        for transactions in &alternatives {
            let following = Following {
                run: evidence.run,
                claims: evidence.claims,
                documented: &documented,
                transactions,
                known: &known,
            };
            let world = World { state: initial.clone() };
            let found = following.outcomes(world, &mut evaluator, laboratory)?;
            if found.arrived {
                return Ok(Judgement::new(self.name(), Verdict::Pass));
            }
            all.needed = Needed::milder(all.needed, found.needed);
            all.unjudged = all.unjudged.or(found.unjudged);
            all.failure = all.failure.or(found.failure);
        }
        if let (None, Some(needed)) = (all.unjudged, all.needed) {
            let is_of_read = needed.is_of_read;
            let verdict = explained(needed, evidence, laboratory)?;
            let is_wrong = matches!(verdict, Verdict::Violation { .. });
            let causes = (is_of_read && is_wrong).then(|| Cause::of(Deed::StaleVersionUsed));
            let judgement = Judgement::new(self.name(), verdict);
            return Ok(Judgement { causes: causes.into_iter().collect(), ..judgement });
        }
        match (all.unjudged, all.failure) {
            (None, Some(failure)) => {
                let following = Following {
                    run: evidence.run,
                    claims: evidence.claims,
                    documented: &documented,
                    transactions: &alternatives[0],
                    known: &known,
                };
                Ok(following.judgement(self.name(), &failure, &mut evaluator, laboratory)?)
            }
            (reason, _) => Err(undecided(reason.unwrap_or(Unjudged::Courses))),
        }
    }

    fn sees(&self) -> &'static [Sees] {
        const READS: Sees = Sees {
            sabotages: &[
                "dirty-read",
                "non-repeatable-read",
                "phantom",
                "stale-snapshot",
                "own-write-invisible",
                "row-missed",
            ],
            at: None,
        };
        const WRITES: Sees = Sees {
            sabotages: &[
                "lost-update",
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
        &[READS, WRITES]
    }

    fn covers(&self, _: &Claims, _: &TargetInfo, _: Level) -> Option<Covers> {
        Some(Covers::WritesAndReads)
    }
}

/// The transactions, with an end also for those that the case leaves open: they are rolled back when nothing more can
/// be sent, and what waits for them then goes on.
fn ended<'r>(run: &'r Run, transactions: &[Transaction<'r>]) -> Vec<Transaction<'r>> {
    let mut all = transactions.to_vec();
    for open in all.iter_mut().filter(|transaction| transaction.ended == usize::MAX) {
        let own = open.statements.iter().map(|statement| statement.end).max().unwrap_or_default();
        let freed = freed_by_the_end(run, open, own);
        let sent = run.events.iter().filter_map(|event| event.sent);
        let last = sent.filter(|sent| freed.is_none_or(|freed| *sent < freed)).max();
        open.ended = own.max(last.unwrap_or_default());
    }
    all
}

/// When the first statement went on that had waited for nobody but an open transaction, which it outlived.
fn freed_by_the_end(run: &Run, open: &Transaction<'_>, own: usize) -> Option<usize> {
    let only_for_it = |event: &&Event| {
        let own = [Blocker::Session(open.session)];
        matches!(&event.outcome, Outcome::Blocked { by, .. } if *by == own)
    };
    let waits = run.events.iter().filter(only_for_it);
    let answers = waits.filter_map(|wait| {
        let answer = run.events.iter().find(|event| event.n == wait.n && event.is_answer())?;
        answer.answered.filter(|answered| *answered > own)
    });
    // A ROLLBACK TO may set free what waits.
    answers.min().filter(|_| !open.statements.iter().any(|statement| statement.undone))
}

/// The verdict on what only an exception explains.
fn explained(
    needed: Needed,
    evidence: &Evidence<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Verdict, NoJudgement> {
    let Needed { name, because, is_documented, is_of_read } = needed;
    // What writes did may be that of a serial order, without any exception.
    if !is_of_read && matches!(evidence.serial(laboratory)?, Serial::Explained) {
        return Ok(Verdict::Pass);
    }
    Ok(match is_documented {
        true => Verdict::Allowed { exception: name, because },
        false => Verdict::undocumented(&name, because),
    })
}

fn undecided(reason: Unjudged) -> NoJudgement {
    NoJudgement::Undecided(reason.to_string())
}
