//! The differential oracle.
//!
//! Idea: the same case, run where it should give the same result: on a second target (`--against`: another version, or
//! other settings, of the same product), or on twin schemas of the same target, whose tables are stored differently
//! (`twins`). Twice each: with the schedule, and one transaction after the other. The other oracles ask the server what
//! is correct; if it is wrong without any concurrency, they do not notice. A twin does.
//!
//! Source: differential testing (McKeeman, 1998); for one server, the plans of a query (TQS, SIGMOD 2023) and of
//! a database schema.
//!
//! The kind of difference decides (`sides`): an answer that differs although everything before it was the same and
//! nothing had waited is a violation by one side or the other, unless two targets may order transactions differently
//! and their claims allow both answers. If a statement waited, or was refused because of others, on one side only,
//! everything after that may differ: then both runs are judged by their claims. If both are allowed, so is the
//! difference; if it is the second target that breaks its claims, the verdict is Undecided and says so. Different waits
//! alone are never a violation.
//!
//! Assumption: statements do not depend on the order of rows, on time or on chance; if the text says that they may, the
//! verdict is Undecided. Blind spot: what both sides get wrong in the same way; reads after the first wait.

mod sides;
mod twins;

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_model::{
    Case, Covers, Expected, Judgement, Level, Run, RunError, Runner, TargetInfo, Verdict,
};

use super::{ALL, Needs, Oracle, Sees, Unjudged};
use crate::evidence::replay::{Form, replay};
use crate::evidence::{Evidence, level_of};
use crate::laboratory::Laboratory;
use sides::{Parting, parting};

/// The name of a violation: the same case gives a different result on tables that are stored differently.
pub const TWIN: &str = "different result on a twin schema";
/// … on the second target.
pub const SECOND: &str = "different result on the second target";
/// What allows a difference: both sides keep their claims.
pub const BOTH: &str = "allowed-on-both-sides";

/// The number of differences that are reported.
const TOLD_MAX: usize = 5;

/// Compares a run with the same case elsewhere.
pub struct Differential;

impl Oracle for Differential {
    fn name(&self) -> &'static str {
        "differential"
    }

    fn about(&self) -> &'static str {
        "the same case must give the same result on a second target (--against), or on tables stored differently"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// It makes two to ten further runs of every case, so only on request.
    fn is_optional(&self) -> bool {
        true
    }

    fn prepare(&self, run: &Run, has_second_target: bool) -> Vec<Case> {
        if has_second_target {
            return Vec::new();
        }
        let twins = twins::twins(&run.case, run.target.product.dialect());
        twins.into_iter().map(|twin| twin.case).collect()
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let others = self.others(evidence, laboratory)?;
        if others.is_empty() {
            let reason =
                "there is nothing to compare with: no second target, and no twin of its tables";
            return Err(reason.to_owned().into());
        }
        let mut worst = Judgement::new(self.name(), Verdict::Pass);
        for other in &others {
            let judgement = other.judge(evidence, laboratory)?;
            if rank(&judgement.verdict) > rank(&worst.verdict) {
                worst = judgement;
            }
        }
        Ok(worst)
    }

    fn sees(&self) -> &'static [Sees] {
        const EVERYWHERE: Sees = Sees {
            sabotages: &[
                "dirty-read",
                "row-missed",
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
        const SERIALIZABLE: Sees = Sees {
            sabotages: &["non-repeatable-read", "phantom", "stale-snapshot", "own-write-invisible"],
            at: Some(Level::Serializable),
        };
        &[EVERYWHERE, SERIALIZABLE]
    }

    fn covers(&self, _: &Claims, _: &TargetInfo, _: Level) -> Option<Covers> {
        Some(Covers::WritesAndReads)
    }
}

impl Differential {
    /// The same case where it should give the same result.
    fn others(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Vec<Other>, Unjudged> {
        let run = evidence.run;
        match laboratory.run_elsewhere(&run.case) {
            Some(Ok(run)) => return Ok(vec![Other { side: Side::Second, run }]),
            Some(Err(error)) if error.is_refusal() => {
                return Err(format!("the second target refuses the case: {error}").into());
            }
            Some(Err(error)) => return Err(error.into()),
            None => {}
        }
        let twins = twins::twins(&run.case, run.target.product.dialect());
        let runs = evidence.prepared(self.name()).iter().cloned();
        let other = |(twin, run): (twins::Twin, Option<Run>)| {
            Some(Other { side: Side::Twin(twin.change), run: run? })
        };
        Ok(twins.into_iter().zip(runs).filter_map(other).collect())
    }
}

/// Where the other run was made.
enum Side {
    /// On the second target.
    Second,
    /// On the same target, on tables that differ in this way.
    Twin(String),
}

/// A run that is compared.
struct Other {
    side: Side,
    run: Run,
}

impl Other {
    /// With the schedule; and if there is no violation, one transaction after the other.
    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let together = match parting(evidence.run, &self.run) {
            Parting::Nowhere => self.judgement(Verdict::Pass),
            Parting::Incomparable(reason, found) => {
                let (here, there) = self.claimed(evidence, laboratory)?;
                let judged = self.by_claims(&found, here, there);
                match judged.verdict {
                    Verdict::Violation { .. } => judged,
                    _ => self.judgement(Verdict::Undecided { reason }),
                }
            }
            Parting::Plainly(found) => self.plainly(&found, evidence, laboratory)?,
            Parting::AfterWaits(found) => {
                let (here, there) = self.claimed(evidence, laboratory)?;
                self.by_claims(&found, here, there)
            }
        };
        match self.serially(evidence, laboratory)? {
            // A release may change what a statement does: that is not about isolation, and no claim speaks of it.
            Some(serial) if matches!(self.side, Side::Second) => {
                let because = told(&serial.expected[0].differences);
                let reason = format!("the two targets differ without any concurrency: {because}");
                Ok(self.judgement(Verdict::Undecided { reason }))
            }
            Some(serial) if rank(&serial.verdict) > rank(&together.verdict) => Ok(serial),
            _ => Ok(together),
        }
    }

    /// Everything before the first difference was the same, and nothing had waited. Two targets may still order
    /// transactions differently, each within its claims, where these speak of reads.
    fn plainly(
        &self,
        found: &[String],
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        if matches!(self.side, Side::Second) && claims_order_reads(evidence.run, &self.run) {
            let (here, there) = self.claimed(evidence, laboratory)?;
            let is_broken = |verdict: &Verdict| matches!(verdict, Verdict::Violation { .. });
            if !is_broken(&here) && !is_broken(&there) {
                return Ok(self.by_claims(found, here, there));
            }
        }
        let because = vec![
            format!("{}: {}", self.title(), told(found)),
            "everything before the first difference was the same, and nothing had waited"
                .to_owned(),
        ];
        Ok(self.violation(because, &self.run, found))
    }

    /// The committed transactions one after the other, here and there. There are no conflicts, so every difference
    /// counts.
    fn serially(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Judgement>, Unjudged> {
        let Ok(transactions) = evidence.transactions() else { return Ok(None) };
        let committed: Vec<_> = transactions.iter().filter(|one| one.committed).collect();
        let case = replay(evidence.run, &committed, Form::Transactions, true).case;
        if case.steps.is_empty() {
            return Ok(None);
        }
        let here = laboratory.run(&case)?;
        let there = self.run(&Case { setup: self.run.case.setup.clone(), ..case }, laboratory)?;
        Ok(match parting(&here, &there) {
            Parting::Plainly(found) | Parting::AfterWaits(found) => {
                let because = vec![format!(
                    "{}, one transaction after the other: {}",
                    self.title(),
                    told(&found)
                )];
                Some(self.violation(because, &there, &found))
            }
            Parting::Nowhere | Parting::Incomparable(..) => None,
        })
    }

    fn run(&self, case: &Case, laboratory: &mut Laboratory<'_>) -> Result<Run, RunError> {
        match self.side {
            Side::Second => Elsewhere(laboratory).run(case, None),
            Side::Twin(_) => laboratory.run(case),
        }
    }

    /// What the claims of each side say about its run.
    fn claimed(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(Verdict, Verdict), Unjudged> {
        let here = verdict(evidence, laboratory)?;
        let claims = Claims::for_target(&self.run.target);
        let elsewhere = Evidence::new(&self.run, claims, BTreeMap::new());
        let there = match self.side {
            Side::Twin(_) => verdict(&elsewhere, laboratory)?,
            Side::Second => {
                let level = self.run.level;
                let mut runner = Elsewhere(laboratory);
                verdict(&elsewhere, &mut Laboratory::new(&mut runner, level))?
            }
        };
        Ok((here, there))
    }

    /// The verdict on two runs that differ, by what the claims say about each.
    fn by_claims(&self, found: &[String], here: Verdict, there: Verdict) -> Judgement {
        let mut because = vec![format!("{}: {}", self.title(), told(found))];
        match (here, there) {
            (Verdict::Violation { because: why, .. }, _) => {
                because.extend(why);
                self.violation(because, &self.run, found)
            }
            // A finding is about the target that is hunted on; the other one has claims and known issues of its own.
            (_, Verdict::Violation { .. }) if matches!(self.side, Side::Second) => {
                let reason = "it is the second target that breaks its claims: exchange the two to \
                              hunt there";
                self.judgement(Verdict::Undecided { reason: reason.to_owned() })
            }
            (_, Verdict::Violation { because: why, .. }) => {
                because.extend(why.into_iter().map(|why| format!("there: {why}")));
                self.violation(because, &self.run, found)
            }
            (Verdict::Undecided { reason }, _) | (_, Verdict::Undecided { reason }) => {
                let reason = format!("the runs differ, and {reason}");
                self.judgement(Verdict::Undecided { reason })
            }
            (here, there) => {
                because.push("both runs keep their claims".to_owned());
                let documented = [here, there].into_iter().filter_map(|verdict| match verdict {
                    Verdict::Allowed { because, .. } => Some(because),
                    _ => None,
                });
                because.extend(documented.flatten());
                self.judgement(Verdict::Allowed { exception: BOTH.to_owned(), because })
            }
        }
    }

    /// Where the other run was made, in words.
    fn title(&self) -> String {
        match &self.side {
            Side::Second => format!("on {}", self.run.target),
            Side::Twin(change) => format!("on the same tables {change}"),
        }
    }

    fn judgement(&self, verdict: Verdict) -> Judgement {
        Judgement::new(Differential.name(), verdict)
    }

    fn violation(&self, because: Vec<String>, run: &Run, found: &[String]) -> Judgement {
        let anomaly = match self.side {
            Side::Second => SECOND,
            Side::Twin(_) => TWIN,
        };
        let expected = Expected {
            title: self.title(),
            final_state: run.final_state.clone(),
            differences: found.to_vec(),
        };
        let verdict = Verdict::Violation { anomaly: anomaly.to_owned(), because };
        Judgement { expected: vec![expected], ..self.judgement(verdict) }
    }
}

/// Runs cases on the second target.
struct Elsewhere<'l, 'r>(&'l mut Laboratory<'r>);

impl Runner for Elsewhere<'_, '_> {
    fn run(&mut self, case: &Case, _: Option<Level>) -> Result<Run, RunError> {
        self.0.run_elsewhere(case).expect("it has run there before")
    }
}

/// Whether both sides' claims name the orders of transactions that may explain what is read.
fn claims_order_reads(here: &Run, there: &Run) -> bool {
    [here, there].into_iter().all(|run| {
        let covers = |level| ALL[0].covers(Claims::for_target(&run.target), &run.target, level);
        level_of(run).and_then(covers) == Some(Covers::WritesAndReads)
    })
}

/// What the claims say about a run: the first violation, else the first oracle's verdict, which judges it as a whole.
fn verdict(evidence: &Evidence<'_>, laboratory: &mut Laboratory<'_>) -> Result<Verdict, RunError> {
    let mut first = Verdict::Pass;
    for (at, oracle) in ALL.iter().filter(|oracle| !oracle.is_optional()).enumerate() {
        let verdict = oracle.judgement(evidence, laboratory)?.verdict;
        match verdict {
            Verdict::Violation { .. } => return Ok(verdict),
            _ if at == 0 => first = verdict,
            _ => {}
        }
    }
    Ok(first)
}

/// The first differences in words.
fn told(found: &[String]) -> String {
    let shown: Vec<&str> = found.iter().take(TOLD_MAX).map(String::as_str).collect();
    shown.join("; ")
}

/// The worse, the higher.
const fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Allowed { .. } => 1,
        Verdict::Undecided { .. } => 2,
        Verdict::Violation { .. } => 3,
    }
}
