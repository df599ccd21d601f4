//! What was found at full speed is tried again statement by statement; `--out` takes what that gives.
//!
//! Idea: the transactions of a witness become cases ([`Slice`]). If one of them shows the same anomaly, it is
//! confirmed, reduced and reported like the finding of a hunt; if the oracles do not see it, the case itself is the
//! report. If no case shows it, the witness is: a race that needs real concurrency.

use std::path::Path;

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_hunt::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};
use anchorite_model::{Case, Origin};
use anchorite_report::finding::page_of_one;
use anchorite_stage::{Arena, FreshTables, Limits, RunOptions, Runner};
use anchorite_stress::{Finding, Ran, Recipe, Slice, Standing};
use anyhow::Context;

use crate::oracles;

/// Orders of statements that are tried for one finding.
const ORDERS_MAX: usize = 40;

/// Findings that are tried.
const FINDINGS_MAX: usize = 6;

/// Where, and how.
pub struct Repeat<'a> {
    /// The target.
    pub target: &'a dyn Target,
    /// As `--on` named it, without a password.
    pub on: &'a str,
    /// How cases are run, at the level of the run.
    pub options: RunOptions,
    /// Where files go.
    pub out: Option<&'a Path>,
}

impl Repeat<'_> {
    /// Tries everything that the level forbids.
    pub fn all(&self, ran: &mut Ran) -> anyhow::Result<()> {
        let recipe = ran.recipe.clone();
        let kinds = ran.counts.anomalies.iter_mut();
        let forbidden = kinds.filter(|(kind, _)| kind.0 == Standing::Violation);
        let findings = forbidden.flat_map(|(_, tally)| &mut tally.findings);
        for (finding, number) in findings.take(FINDINGS_MAX).zip(1..) {
            finding.repeated = Some(self.one(&recipe, finding, number)?);
            if let (Some(folder), Some(case)) = (self.out, &finding.case) {
                write(&folder.join(format!("finding-{number}.case")), case)?;
            }
        }
        Ok(())
    }

    fn one(&self, recipe: &Recipe, finding: &mut Finding, number: usize) -> anyhow::Result<String> {
        let slice = match Slice::of(recipe, finding) {
            Ok(slice) => slice,
            Err(reason) => return Ok(format!("not repeated statement by statement: {reason}")),
        };
        let wanted = (finding.weighed.standing, finding.weighed.name);
        let mut fresh = FreshTables { target: self.target, options: self.options.clone() };
        let mut tried = 0;
        for case in slice.cases(ORDERS_MAX) {
            tried += 1;
            // A case that cannot be run shows nothing; the next one may.
            let Ok(run) = fresh.run(&case, self.options.level) else { continue };
            let counts = slice.counts(&run);
            if counts.is_some_and(|counts| counts.anomalies.contains_key(&wanted)) {
                return self.confirm(case, finding, number);
            }
        }
        let orders = if tried == 1 { "order" } else { "orders" };
        Ok(format!(
            "not shown statement by statement, in {tried} {orders}: it needs real concurrency"
        ))
    }

    /// A case that shows it: what the oracles make of it.
    fn confirm(&self, case: Case, finding: &mut Finding, number: usize) -> anyhow::Result<String> {
        finding.case = Some(case.to_text());
        let oracles = oracles::chosen(&[], false);
        let claims = Claims::for_target(self.target.info());
        let examiner = Examiner { claims, oracles: &oracles, strict: false };
        let mut fast = Arena::new(self.target, self.options.clone())?;
        let mut fresh = FreshTables { target: self.target, options: self.options.clone() };
        let suspect = Suspicion {
            case: &case,
            level: self.options.level,
            signature: None,
            origin: Origin::File(case.name.clone()),
            on: self.on,
            against: None,
        };
        let effort = Effort::default();
        let recorded = Recorded::default();
        let outcome = investigate(&examiner, &mut fast, &mut fresh, &suspect, &effort, recorded)?;
        let Investigation::Confirmed { finding: confirmed, .. } = outcome else {
            return Ok("shown statement by statement, by the versions of the rows alone".to_owned());
        };
        finding.case = Some(confirmed.reduced_case().to_text());
        if let Some(folder) = self.out {
            let page = page_of_one(&confirmed, env!("CARGO_PKG_VERSION"));
            write(&folder.join(format!("finding-{number}.html")), &page)?;
        }
        Ok(format!("shown statement by statement, confirmed and reduced: {}", confirmed.title))
    }
}

/// How cases are run after a run.
pub fn options(ran: &Ran, interrupt: &std::sync::Arc<std::sync::atomic::AtomicBool>) -> RunOptions {
    RunOptions {
        level: ran.level,
        interrupt: std::sync::Arc::clone(interrupt),
        limits: Limits::hurried(),
        ..RunOptions::default()
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_drivers::open;
    use anchorite_drivers::sabotage::{Sabotage, sabotaged};
    use anchorite_model::Level;
    use anchorite_stress::judge::Told;
    use anchorite_stress::plan::{End, Look, Op};
    use anchorite_stress::text::Tongue;
    use anchorite_stress::workload::plan;
    use anchorite_stress::{Weighed, Workload};

    const SEED: u64 = 3;

    /// One that writes a row and rolls back, and one that reads that row.
    fn dirty() -> [u64; 2] {
        let of = |n: u64| plan(&[Workload::Register], SEED, n);
        let wrote = |n: u64| match (of(n).ops.first(), of(n).end) {
            (Some(Op::Write(row, _)), End::Rollback) => Some(*row),
            _ => None,
        };
        let writer = (1..200_000).find(|n| wrote(*n).is_some()).expect("there is one");
        let row = wrote(writer).expect("it writes");
        let is_reader = |n: &u64| {
            let plan = of(*n);
            let writes = plan.ops.iter().any(|op| matches!(op, Op::Write(..)));
            plan.ops.contains(&Op::Read(row, Look::Plain)) && !writes && plan.end == End::Commit
        };
        [writer, (1..200_000).find(is_reader).expect("there is one")]
    }

    #[test]
    fn a_race_that_a_case_shows_is_confirmed_and_reduced() {
        let honest = open("sqlite:shared-cache").expect("built in");
        // Its serializable sessions really read what is not committed.
        let target = sabotaged(honest.as_ref(), Sabotage::WriteSkew);
        let folder = tempfile::tempdir().expect("a folder");
        let tongue = Tongue::of(target.info().product);
        let recipe = Recipe { workloads: vec![Workload::Register], seed: SEED, tongue };
        let weighed = Weighed {
            name: "G1a",
            explained: "dirty read",
            shape: "G1a",
            standing: Standing::Violation,
            page: None,
        };
        let told = |txn| Told { txn, session: None, times: Some((1, 9)), sql: Vec::new() };
        let transactions = dirty().map(told).to_vec();
        let mut finding =
            Finding { weighed, because: Vec::new(), transactions, repeated: None, case: None };
        let repeat = |target| Repeat {
            target,
            on: "sqlite:shared-cache",
            options: RunOptions { level: Some(Level::Serializable), ..RunOptions::default() },
            out: Some(folder.path()),
        };
        let told = repeat(&target).one(&recipe, &mut finding, 1).expect("it can be run");
        assert!(told.starts_with("shown statement by statement, confirmed and reduced"), "{told}");
        let case = finding.case.clone().expect("a case");
        assert!(Case::parse("reduced", &case).is_ok(), "{case}");
        assert!(folder.path().join("finding-1.html").exists());
        // Without the fault no order shows it.
        let told = repeat(honest.as_ref()).one(&recipe, &mut finding, 2).expect("it can be run");
        assert!(told.starts_with("not shown statement by statement"), "{told}");
    }
}
