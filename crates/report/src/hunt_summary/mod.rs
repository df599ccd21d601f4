//! What a hunt did, in sentences and numbers that all forms share.

mod found;

use anchorite_model::{FRUITLESS_MAX, FindingLine, HuntPlace, HuntSummary, Level, VerdictCounts};

pub use found::Found;
pub(crate) use found::capital;

/// A share of undecided verdicts above this is reported: a hunt that cannot judge finds nothing.
const UNDECIDED_PERCENT_MAX: u64 = 5;

/// Where it hunted: `mariadb 10.11.18 at read committed, repeatable read`.
pub(crate) fn place_told(place: &HuntPlace) -> String {
    let level = |level: &Option<Level>| level.map_or("its default level", Level::name);
    let levels: Vec<&str> = place.levels.iter().map(level).collect();
    let at = if levels.is_empty() { String::new() } else { format!(" at {}", levels.join(", ")) };
    format!("{}{at}", place.target)
}

/// What was done, a sentence each.
pub(crate) fn told_in_sentences(summary: &HuntSummary) -> Vec<String> {
    let mut told = vec![format!(
        "{} with {} in {} ({} cases per second).",
        many(summary.cases, "case", "cases"),
        many(summary.statements, "statement", "statements"),
        duration(summary.elapsed_ms),
        grouped(summary.cases_per_second().round() as u64),
    )];
    told.push(format!(
        "{} had to wait for a lock; {}; {}.",
        many(summary.blocked, "statement", "statements"),
        many(summary.deadlocks, "deadlock", "deadlocks"),
        many(summary.conflict_shapes, "distinct shape of conflict", "distinct shapes of conflict"),
    ));
    let aborts: Vec<String> = summary
        .aborts
        .iter()
        .map(|(class, count)| format!("{} {}", grouped(*count), class.name()))
        .collect();
    let aborts = if aborts.is_empty() { "none".to_owned() } else { aborts.join(", ") };
    told.push(format!(
        "{} committed; aborted by an error: {aborts}.",
        many(summary.commits, "transaction", "transactions")
    ));
    told.push(format!("Verdicts: {}.", verdicts_told(&summary.verdicts)));
    if summary.by_oracle.len() > 1 {
        told.push(format!("By oracle: {}.", by_oracle_told(summary)));
    }
    told.extend(cautions(summary));
    told
}

/// `42,000 pass, 20 violation, 3,000 allowed, 100 undecided`.
pub fn verdicts_told(counts: &VerdictCounts) -> String {
    format!(
        "{} pass, {} violation{}, {} allowed, {} undecided",
        grouped(counts.pass),
        grouped(counts.violation),
        undocumented_told(counts.undocumented),
        grouped(counts.allowed),
        grouped(counts.undecided),
    )
}

/// ` (2 undocumented)`, behind a number that they are part of; empty if there are none.
pub(crate) fn undocumented_told(count: u64) -> String {
    if count == 0 { String::new() } else { format!(" ({} undocumented)", grouped(count)) }
}

/// `damage 5,000 pass; final-state 4,990 pass, 10 violation`: what is not zero.
pub fn by_oracle_told(summary: &HuntSummary) -> String {
    let told = summary.by_oracle.iter().map(|(oracle, counts)| {
        let told = verdicts_told(counts);
        let parts: Vec<&str> = told.split(", ").filter(|part| !part.starts_with("0 ")).collect();
        format!("{oracle} {}", parts.join(", "))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// `2 disagreements between oracles`.
pub fn disagreements_told(summary: &HuntSummary) -> Option<String> {
    let count = summary.disagreements;
    let told = || many(count, "disagreement between oracles", "disagreements between oracles");
    (count > 0).then(told)
}

/// The oracles that see a finding: `final-state and differential`.
pub(crate) fn seen_by(line: &FindingLine) -> String {
    match line.witnesses.is_empty() {
        true => line.signature.oracle.clone(),
        false => line.witnesses.join(" and "),
    }
}

/// What weakens the result.
fn cautions(summary: &HuntSummary) -> Vec<String> {
    let mut told = Vec::new();
    if summary.cases > 0 && summary.conflict_shapes == 0 && summary.blocked == 0 {
        told.push("No two transactions ever conflicted, so this hunt proves nothing.".to_owned());
    }
    let verdicts = summary.verdicts;
    if verdicts.undecided * 100 > verdicts.total() * UNDECIDED_PERCENT_MAX {
        let most = summary.undecided_because.iter().max_by_key(|(_, count)| **count);
        let why = most.map(|(reason, _)| format!(", mostly because {reason}")).unwrap_or_default();
        told.push(format!("More than {UNDECIDED_PERCENT_MAX} % could not be judged{why}."));
    }
    let (unexplained, undecided) = summary.unexplained();
    if undecided > 0 {
        let runs = many(unexplained, "run", "runs");
        let percent = (undecided * 100).div_ceil(unexplained);
        told.push(format!(
            "Of {runs} that no serial order explains, {} could not be judged ({percent} %).",
            grouped(undecided)
        ));
    }
    if let Some(disagreements) = disagreements_told(summary) {
        told.push(format!(
            "{disagreements}: one says violation where another one passes the same. Each is a mistake of Anchorite's \
             or a blind spot; the reports show both."
        ));
    }
    let counted = summary.only_counted();
    if counted > 0 {
        let count = many(counted, "violation was", "violations were");
        told.push(format!("{count} only counted, not examined."));
    }
    if summary.barren_kinds > 0 {
        let kinds = many(summary.barren_kinds, "kind of violation", "kinds of violations");
        told.push(format!(
            "{kinds} gave nothing new {FRUITLESS_MAX} times in a row; more were only counted."
        ));
    }
    if summary.flaky > 0 {
        let count = many(summary.flaky, "suspected violation", "suspected violations");
        told.push(format!("{count} did not recur every time, kept separately as flaky."));
    }
    if summary.servers_lost > 0 {
        let count = many(summary.servers_lost, "time", "times");
        told.push(format!("A server crashed or was lost {count}."));
    }
    if summary.servers_stopped > 0 {
        let count = many(summary.servers_stopped, "time", "times");
        told.push(format!("A server was stopped from outside {count}, which is not a finding."));
    }
    for known in &summary.known_gone {
        told.push(match summary.known_gone_because.get(known) {
            Some(measured) => format!("The known issue {known} did not show: {measured}."),
            None => format!("The known issue {known} no longer shows: see whether it is fixed."),
        });
    }
    told.extend(summary.stopped.iter().map(|why| format!("Ended early: {why}.")));
    told
}

/// `1 case`, `1,234 cases`.
pub fn many(count: u64, one: &str, more: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { more })
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `12.3 s`, `4 min 5 s`.
fn duration(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..120 => format!("{seconds}.{} s", ms % 1000 / 100),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_easy_to_read() {
        let numbers = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1_550, 61_000, 125_999].map(duration), ["1.5 s", "61.0 s", "2 min 5 s"]);
    }
}
