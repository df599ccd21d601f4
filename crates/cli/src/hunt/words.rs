//! What a hunt says: first line, live line, summary.

use std::time::Duration;

use anchorite_hunt::{Ended, HuntOptions, Tally};
use anchorite_model::{FindingLine, HuntSummary, Level};
use anchorite_report::hunt::Found;
use anchorite_store::{Campaign, Past};

/// What is done where, with the seed.
pub fn first_line(campaign: &Campaign, options: &HuntOptions, past: &Past<Tally>) -> String {
    let place = |target: &anchorite_store::CampaignTarget| {
        let name = |level: &Option<Level>| level.map_or("its default level", Level::name);
        let levels: Vec<&str> = target.levels.iter().map(name).collect();
        format!("{} at {}", target.target, levels.join(", "))
    };
    let places: Vec<String> = campaign.targets.iter().map(place).collect();
    let budget = match (campaign.cases, options.time) {
        (Some(cases), Some(time)) => format!("{cases} cases or {}", span(time)),
        (Some(cases), None) => format!("{cases} cases"),
        (None, time) => span(time.unwrap_or_default()),
    };
    let workers = if options.jobs == 1 { "worker" } else { "workers" };
    let mut line = format!(
        "Hunting for broken isolation on {}: {budget}, {} {workers}, seed {}",
        places.join("; "),
        options.jobs,
        campaign.seed
    );
    let done: u64 = past.progress.iter().map(|entry| entry.to - entry.from).sum();
    if done > 0 {
        line += &format!(", going on after {done} cases");
    }
    line + "\n"
}

/// The line that changes.
pub fn live(summary: &HuntSummary, time: Option<Duration>) -> String {
    let elapsed = Duration::from_millis(summary.elapsed_ms);
    let of = time.map(|time| format!(" of {}", span(time))).unwrap_or_default();
    let aborts: u64 = summary.aborts.values().sum();
    let by_class: Vec<String> =
        summary.aborts.iter().map(|(class, count)| format!("{} {count}", class.name())).collect();
    let by_class =
        if by_class.is_empty() { String::new() } else { format!(" ({})", by_class.join(", ")) };
    let verdicts = &summary.verdicts;
    format!(
        "{}{of}: {} cases, {:.0}/s, {} commits, {aborts} aborts{by_class}, {} blocked, {} deadlocks, \
         {} conflict shapes; {} pass, {} violation, {} allowed, {} undecided; {}",
        span(elapsed),
        summary.cases,
        summary.cases_per_second(),
        summary.commits,
        summary.blocked,
        summary.deadlocks,
        summary.conflict_shapes,
        verdicts.pass,
        verdicts.violation,
        verdicts.allowed,
        verdicts.undecided,
        Found::of(summary).in_short(),
    )
}

/// A finding for the first time.
pub fn found(finding: &FindingLine) -> String {
    let level = finding.level.map_or("the default level", Level::name);
    format!(
        "found {} ({}) on {} at {level}, {} statements: {}",
        finding.signature.anomaly,
        finding.signature.oracle,
        finding.target,
        finding.statements,
        finding.file
    )
}

/// Why a hunt in which nobody met nobody says nothing.
pub fn nothing_conflicted(tally: &Tally) -> String {
    format!(
        "suspicious: {} cases with several sessions, and nobody ever waited, aborted or conflicted. Isolation was \
         not put to the test. Do all sessions reach the same tables? Is the storage engine a transactional one?",
        tally.concurrent
    )
}

/// What the summary has no place for, a sentence each.
pub fn asides(ended: &Ended) -> Vec<String> {
    let tally = &ended.tally;
    let folder = ended.summary.folder.as_deref().unwrap_or("DIR");
    let rejection = ended.rejection.as_deref().unwrap_or_default();
    let counted = [
        (
            ended.suspects,
            format!(
                "suspected violations wait to be looked at: anchorite hunt --out {folder} --resume"
            ),
        ),
        (ended.uninvestigated, "further violations like these were only counted".to_owned()),
        (tally.rejected, format!("cases were refused by the target; the first one: {rejection}")),
        (
            tally.lost_connections,
            "times a connection was lost although the server lives; those cases were run again"
                .to_owned(),
        ),
        (tally.hung, "cases were given up because nothing moved any more".to_owned()),
    ];
    let told = counted.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{count} {what}")).collect()
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
