//! The texts of a hunt: first line, live line, remarks.

use std::time::Duration;

use anchorite_hunt::{Ended, Stop, Tally};
use anchorite_model::{FindingLine, HuntSummary, Level};
use anchorite_report::hunt_summary::{
    Found, by_oracle_told, disagreements_told, grouped, many, verdicts_told,
};
use anchorite_store::{Campaign, Past};

/// What runs where, for how long and by how many workers, with the seed.
pub fn first_line(
    campaign: &Campaign,
    (time, jobs): (Option<Duration>, usize),
    past: &Past<Tally>,
) -> String {
    let place = |target: &anchorite_store::CampaignTarget| {
        let name = |level: &Option<Level>| level.map_or("its default level", Level::name);
        let levels: Vec<&str> = target.levels.iter().map(name).collect();
        format!("{} at {}", target.target, levels.join(", "))
    };
    let places: Vec<String> = campaign.targets.iter().map(place).collect();
    let budget = match (campaign.cases, time) {
        (Some(count), Some(time)) => format!("{} or {}", cases(count), span(time)),
        (Some(count), None) => cases(count),
        (None, time) => span(time.unwrap_or_default()),
    };
    let workers = many(jobs as u64, "worker", "workers");
    let mut line = format!(
        "Hunting for broken isolation on {}: {budget}, {workers}, seed {}",
        places.join("; "),
        campaign.seed
    );
    let done: u64 = past.progress.iter().map(|entry| entry.to - entry.from).sum();
    if done > 0 {
        line += &format!(", resuming after {}", cases(done));
    }
    line + "\n"
}

/// The live line: what matters most comes first, and a part that does not fit completely is left out. If not even the
/// verdicts fit, the number of cases is dropped, because they add up to it.
pub fn live(summary: &HuntSummary, time: Option<Duration>, width: Option<usize>) -> String {
    let fits = |line: &str| width.is_none_or(|width| line.chars().count() <= width);
    let elapsed = clock(Duration::from_millis(summary.elapsed_ms));
    let of = time.map(|time| format!(" of {}", clock(time))).unwrap_or_default();
    let found = Found::of(summary).in_short();
    let verdicts = verdicts_told(&summary.verdicts);
    let disagreements = disagreements_told(summary).map(|told| format!(", {told}"));
    let verdicts = verdicts + &disagreements.unwrap_or_default();
    let line = format!("{elapsed}{of}: {}; {found}; {verdicts}", cases(summary.cases));
    let line = if fits(&line) { line } else { format!("{elapsed}{of}: {found}; {verdicts}") };
    details(summary).into_iter().fold(line, |line, part| {
        let longer = format!("{line}; {part}");
        if fits(&longer) { longer } else { line }
    })
}

/// What the line shows if there is room.
fn details(summary: &HuntSummary) -> Vec<String> {
    let aborts: u64 = summary.aborts.values().sum();
    let by_class: Vec<String> =
        summary.aborts.iter().map(|(class, count)| format!("{} {count}", class.name())).collect();
    let by_class =
        if by_class.is_empty() { String::new() } else { format!(" ({})", by_class.join(", ")) };
    let by_oracle = (summary.by_oracle.len() > 1).then(|| by_oracle_told(summary));
    let rate = format!("{:.0}/s", summary.cases_per_second());
    let others = [
        format!(
            "{} blocked, {}, {}",
            grouped(summary.blocked),
            many(summary.deadlocks, "deadlock", "deadlocks"),
            many(summary.conflict_shapes, "conflict shape", "conflict shapes")
        ),
        format!(
            "{}, {}{by_class}",
            many(summary.commits, "commit", "commits"),
            many(aborts, "abort", "aborts")
        ),
    ];
    std::iter::once(rate).chain(by_oracle).chain(others).collect()
}

fn cases(count: u64) -> String {
    many(count, "case", "cases")
}

/// A finding that appears for the first time.
pub fn found(finding: &FindingLine) -> String {
    let level = finding.level.map_or("the default level", Level::name);
    format!(
        "found on {} at {level}: {} ({}, {}): {}",
        finding.target,
        if finding.title.is_empty() { &finding.signature.anomaly } else { &finding.title },
        finding.signature.oracle,
        many(finding.statements, "statement", "statements"),
        finding.file
    )
}

/// Why a hunt without conflicts proves nothing.
pub fn nothing_conflicted(tally: &Tally) -> String {
    format!(
        "suspicious: in {} cases with several sessions nobody ever waited, aborted or conflicted. Isolation was \
         not tested. Do all sessions reach the same tables? Is the storage engine transactional?",
        tally.concurrent
    )
}

/// What the summary leaves out, a sentence each.
pub fn remarks(ended: &Ended) -> Vec<String> {
    let tally = &ended.tally;
    let folder = ended.summary.folder.as_deref().unwrap_or("DIR");
    let rejection = ended.rejection.as_deref().unwrap_or_default();
    let suspected = many(ended.suspects, "suspected violation waits", "suspected violations wait");
    let counted = [
        (
            ended.suspects,
            format!("{suspected} to be examined: anchorite hunt --out {folder} --resume"),
        ),
        (
            ended.uninvestigated,
            many(
                ended.uninvestigated,
                "further violation like these was only counted",
                "further violations like these were only counted",
            ),
        ),
        (
            tally.rejected,
            format!(
                "{} refused by the target; the first: {rejection}",
                many(tally.rejected, "case was", "cases were")
            ),
        ),
        (
            tally.lost_connections,
            format!(
                "{} a connection was lost although the server was up; those cases were run again",
                many(tally.lost_connections, "time", "times")
            ),
        ),
        (
            tally.hung,
            format!(
                "{} abandoned because nothing moved any more",
                many(tally.hung, "case was", "cases were")
            ),
        ),
    ];
    counted.into_iter().filter(|(count, _)| *count > 0).map(|(_, told)| told).collect()
}

/// How to resume a hunt that was interrupted or ran out of disk space.
pub fn how_to_resume(ended: &Ended) -> Option<String> {
    match (&ended.stop, &ended.summary.folder) {
        (Stop::Interrupted | Stop::Store(_), Some(folder)) => {
            Some(format!("to continue: anchorite hunt --out {folder} --resume"))
        }
        (Stop::Interrupted, None) => {
            Some("nothing was kept; with --out DIR a hunt can be resumed".to_owned())
        }
        _ => None,
    }
}

/// `1:05`, `1:00:05`: the shortest form of a time.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// `90 s`, `10 min`, `1 h 5 min`.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::VerdictCounts;

    #[test]
    fn a_hundred_columns_show_the_verdicts() {
        let verdicts = VerdictCounts {
            pass: 123_400,
            violation: 12,
            undocumented: 0,
            allowed: 30,
            undecided: 14,
        };
        let summary = HuntSummary {
            cases: 123_456,
            elapsed_ms: 90_000,
            blocked: 40_000,
            verdicts,
            ..HuntSummary::default()
        };
        let time = Some(Duration::from_secs(600));
        let line = live(&summary, time, Some(98));
        let expected = "1:30 of 10:00: 0 new, 0 known, 0 waiting; 123,400 pass, 12 violation, 30 allowed, \
                        14 undecided";
        assert_eq!(line, expected);
        let line = live(&summary, time, Some(120));
        assert!(line.contains(": 123,456 cases; ") && line.ends_with("; 1372/s"), "{line}");
        let all = live(&summary, time, None);
        assert!(all.contains("1372/s; 40,000 blocked, 0 deadlocks") && all.ends_with("0 aborts"));
    }

    #[test]
    fn each_oracle_and_disagreements_are_told() {
        let counts = |pass, violation| VerdictCounts { pass, violation, ..Default::default() };
        let by_oracle =
            [("damage".to_owned(), counts(9, 0)), ("final-state".to_owned(), counts(7, 2))];
        let summary = HuntSummary {
            cases: 9,
            verdicts: counts(7, 2),
            by_oracle: by_oracle.into(),
            disagreements: 1,
            ..HuntSummary::default()
        };
        let line = live(&summary, None, None);
        for part in [
            "; 7 pass, 2 violation, 0 allowed, 0 undecided, 1 disagreement between oracles;",
            "; damage 9 pass; final-state 7 pass, 2 violation;",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn one_is_not_many() {
        let summary = HuntSummary { cases: 1, deadlocks: 1, commits: 1, ..HuntSummary::default() };
        let line = live(&summary, None, None);
        for part in ["1 case;", "1 deadlock,", "1 commit,", "0 aborts", "0 conflict shapes"] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
}
