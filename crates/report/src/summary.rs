//! The last line under several results.
//!
//! Idea: what ran, how much of it was interesting, and all four verdicts counted, so that the end of a long output is
//! enough.

use std::collections::BTreeSet;

use anchorite_judge::Agreement;
use anchorite_model::{Ending, ErrorClass, Outcome, Rank, Verdict};

use crate::hunt_summary::undocumented_told;
use crate::result::{counted, level_label};
use crate::{RunResult, Runs};

/// One sentence about all results.
pub(crate) fn summary(runs: &Runs<'_>) -> String {
    let results = runs.results;
    if results.is_empty() {
        return match runs.failures.len() {
            0 => "nothing was run".to_owned(),
            some => format!("nothing was run: {} failed", counted(some, "case", "cases")),
        };
    }
    let distinct = |key: &dyn Fn(&RunResult) -> String| {
        results.iter().map(key).collect::<BTreeSet<String>>().len()
    };
    let mut parts = vec![format!(
        "{} of {} on {} at {}",
        counted(results.len(), "run", "runs"),
        counted(distinct(&|result| result.run.case.name.clone()), "case", "cases"),
        counted(distinct(&|result| result.run.target.to_string()), "target", "targets"),
        counted(distinct(&|result| level_label(&result.run).to_owned()), "level", "levels"),
    )];
    parts.push(happened(results));
    parts.extend(judged(results));
    parts.extend(compared(results));
    if !runs.failures.is_empty() {
        parts.push(format!("{} not run", runs.failures.len()));
    }
    parts.extend(runs.elapsed.map(|elapsed| format!("{:.1} s", elapsed.as_secs_f64())));
    parts.join("; ")
}

/// How many runs agree with their cases.
fn compared(results: &[RunResult]) -> Option<String> {
    let count = |wanted: Agreement| {
        results.iter().filter(|result| result.compared.agreement() == Some(wanted)).count()
    };
    let parts = [
        (count(Agreement::AsExpected), "as expected"),
        (count(Agreement::Differs), "not as expected"),
        (count(Agreement::OtherVersion), "on releases that were not measured"),
    ];
    let told = parts.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn happened(results: &[RunResult]) -> String {
    let mut statements = 0;
    let mut blocked = BTreeSet::new();
    let mut errors = 0;
    let mut deadlocks = 0;
    for (i, result) in results.iter().enumerate() {
        let numbers: BTreeSet<usize> = result.run.events.iter().map(|event| event.n).collect();
        statements += numbers.len();
        for event in &result.run.events {
            match &event.outcome {
                Outcome::Blocked { .. } => drop(blocked.insert((i, event.n))),
                Outcome::Error(error) => {
                    errors += 1;
                    deadlocks += usize::from(error.class == ErrorClass::Deadlock);
                }
                _ => (),
            }
        }
    }
    let lost = results.iter().filter(|result| result.run.ending != Ending::Complete).count();
    let of_them = match deadlocks {
        0 => String::new(),
        some => format!(" ({})", counted(some, "deadlock", "deadlocks")),
    };
    let mut parts = vec![
        counted(statements, "statement", "statements"),
        format!("{} blocked", blocked.len()),
        counted(errors, "error", "errors") + &of_them,
    ];
    if lost > 0 {
        parts.push(format!("server lost in {}", counted(lost, "run", "runs")));
    }
    parts.join(", ")
}

fn judged(results: &[RunResult]) -> Option<String> {
    let verdicts: Vec<&Verdict> =
        results.iter().flat_map(|result| result.verdicts.iter().map(|(_, v)| v)).collect();
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|v| wanted(v)).count();
    let known = results.iter().filter(|result| result.compared.announced).count();
    let known = if known == 0 { String::new() } else { format!(" (announced in {known})") };
    let undocumented =
        count(|v| matches!(v, Verdict::Violation { rank: Rank::Undocumented, .. })) as u64;
    let undocumented = undocumented_told(undocumented);
    (!verdicts.is_empty()).then(|| {
        format!(
            "{} pass, {} violation{undocumented}{known}, {} allowed, {} undecided",
            count(|v| matches!(v, Verdict::Pass)),
            count(|v| matches!(v, Verdict::Violation { .. })),
            count(|v| matches!(v, Verdict::Allowed { .. })),
            count(|v| matches!(v, Verdict::Undecided { .. })),
        )
    })
}
