//! The same case elsewhere: how its run differs, and what the claims of both sides say about that.
//!
//! Idea: the order of the questions. Where do the two runs diverge (`sides`)? If claims can tell, do both runs keep
//! theirs? And do the transactions give the same one after the other, without any concurrency?
//!
//! Assumption: the claims of the second target are those of its product and version.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_model::sql::StatementKind;
use anchorite_model::{Case, Covers, Expected, Judgement, Level, Run, RunError, Runner, Verdict};

use super::sides::{Parting, parting};
use super::{BOTH, Differential, SECOND, TWIN, rank};
use crate::evidence::difference::Difference;
use crate::evidence::replay::{Form, replay};
use crate::evidence::{Evidence, level_of};
use crate::laboratory::Laboratory;
use crate::oracles::{ALL, Oracle as _, Unjudged};

/// The number of differences that are reported.
const TOLD_MAX: usize = 5;

/// Where the other run was made.
pub(super) enum Side {
    /// On the second target.
    Second,
    /// On the same target, on tables that differ in this way.
    Twin(String),
}

/// A run that is compared.
pub(super) struct Other {
    /// Where.
    pub side: Side,
    /// The run.
    pub run: Run,
}

impl Other {
    /// With the schedule; and if there is no violation, one transaction after the other.
    pub(super) fn judge(
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
            Some(_) if matches!(self.side, Side::Second) => {
                let reason = "the two targets differ without any concurrency".to_owned();
                Ok(self.judgement(Verdict::Undecided { reason }))
            }
            Some(serial) if rank(&serial.verdict) > rank(&together.verdict) => Ok(serial),
            _ => Ok(together),
        }
    }

    /// Everything before the first difference was the same, and nothing had waited. Two targets may still order
    /// transactions differently, each within its claims, where these speak of reads: those of committed transactions,
    /// and only if somebody else had written before.
    fn plainly(
        &self,
        found: &[Difference],
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let first = first_if_a_read(found).filter(|n| others_wrote_before(*n, evidence.run));
        let is_ordered =
            matches!(self.side, Side::Second) && claims_order_reads(evidence.run, &self.run);
        if let Some(n) = first.filter(|_| is_ordered) {
            if !is_committed(n, evidence) {
                let reason = "what a transaction read that did not commit differs, and no order of \
                              the transactions has to explain it";
                return Ok(self.judgement(Verdict::Undecided { reason: reason.to_owned() }));
            }
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
    fn by_claims(&self, found: &[Difference], here: Verdict, there: Verdict) -> Judgement {
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

    fn violation(&self, because: Vec<String>, run: &Run, found: &[Difference]) -> Judgement {
        let anomaly = match self.side {
            Side::Second => SECOND,
            Side::Twin(_) => TWIN,
        };
        let expected = Expected {
            title: self.title(),
            final_state: run.final_state.clone(),
            differences: found.iter().map(ToString::to_string).collect(),
        };
        let verdict = Verdict::broken(anomaly, because);
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

/// The first statement that was answered differently, if it only read.
fn first_if_a_read(found: &[Difference]) -> Option<usize> {
    let statements = found.iter().filter_map(|one| match one {
        Difference::Statement { n, .. } => Some((*n, one.is_of_reads())),
        _ => None,
    });
    statements.min().filter(|(_, is_of_reads)| *is_of_reads).map(|(n, _)| n)
}

/// Whether a session other than that of statement `n` had sent a write before it.
fn others_wrote_before(n: usize, run: &Run) -> bool {
    let steps = &run.case.steps;
    let reader = steps[n - 1].session;
    let wrote = |sql: &str| StatementKind::of(sql).writes();
    steps[..n - 1].iter().any(|step| step.session != reader && wrote(&step.statement.sql))
}

/// Whether the transaction of statement `n` committed.
fn is_committed(n: usize, evidence: &Evidence<'_>) -> bool {
    let mut transactions = evidence.transactions().into_iter().flatten();
    transactions.any(|one| one.committed && one.statements.iter().any(|statement| statement.n == n))
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
fn told(found: &[Difference]) -> String {
    let shown: Vec<String> = found.iter().take(TOLD_MAX).map(ToString::to_string).collect();
    shown.join("; ")
}
