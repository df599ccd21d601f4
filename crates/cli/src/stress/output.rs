//! What `anchorite stress` prints as its result.

use std::fmt::Write;

use anchorite_drivers::sabotage::Sabotage;
use anchorite_model::TargetInfo;
use anchorite_stress::{Finding, Ran, Standing, Tally, Workload};
use serde_json::{Value, json};

/// Statements of a transaction that are shown.
const STATEMENTS_SHOWN: usize = 12;

/// What was run.
pub struct About<'a> {
    /// Where.
    pub info: &'a TargetInfo,
    /// The seed.
    pub seed: u64,
    /// The workloads.
    pub workloads: &'a [Workload],
    /// How many sessions.
    pub sessions: usize,
    /// What was planted, and how often it has acted.
    pub planted: Option<(Sabotage, u64)>,
}

/// Transactions per second.
pub fn rate(ran: &Ran) -> f64 {
    let seconds = ran.took.as_secs_f64();
    if seconds > 0.0 { (ran.committed as f64 / seconds * 10.0).round() / 10.0 } else { 0.0 }
}

/// The names of workloads.
pub fn names(workloads: &[Workload]) -> Vec<&'static str> {
    workloads.iter().map(|workload| workload.name()).collect()
}

/// Everything that was seen, the worst first.
pub fn anomalies(ran: &Ran) -> impl Iterator<Item = (Standing, &'static str, &Tally)> {
    ran.counts.anomalies.iter().rev().map(|((standing, name), tally)| (*standing, *name, tally))
}

fn faults(ran: &Ran) -> Vec<(&'static str, u64)> {
    ran.counts.faults.iter().map(|(fault, count)| (fault.name(), *count)).collect()
}

/// One JSON document.
pub fn json(about: &About<'_>, ran: &Ran) -> String {
    let counts = &ran.counts;
    let of = |standing: Standing| counts.by_standing.get(&standing).copied().unwrap_or(0);
    let aborts: serde_json::Map<String, Value> = counts
        .aborts
        .iter()
        .map(|(class, count)| (class.name().to_owned(), json!(count)))
        .collect();
    let kinds: Vec<Value> = anomalies(ran)
        .map(|(standing, name, tally)| {
            let first = tally.findings.first().map(|finding| &finding.weighed);
            json!({
                "name": name, "explained": first.map(|one| one.explained),
                "shape": first.map(|one| one.shape), "verdict": standing.name(), "count": tally.count,
                "page": first.and_then(|one| one.page.as_deref()),
                "because": tally.findings.first().map(|finding| &finding.because),
            })
        })
        .collect();
    let violations = anomalies(ran).filter(|kind| kind.0 == Standing::Violation);
    let findings: Vec<Value> =
        violations.flat_map(|kind| &kind.2.findings).map(finding_json).collect();
    let document = json!({
        "anchorite": env!("CARGO_PKG_VERSION"),
        "target": {"product": about.info.product.name(), "version": about.info.version},
        "level": ran.level.map(|level| level.name()),
        "level_read_back": ran.level_read_back,
        "seed": about.seed, "workloads": names(about.workloads), "sessions": about.sessions,
        "seconds": ran.took.as_secs_f64(),
        "transactions": ran.committed,
        "transactions_per_second": rate(ran),
        "rolled_back": counts.rolled_back, "unknown": counts.unknown,
        "aborts": aborts,
        "faults": faults(ran).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "unknown_resolved": {"gone": counts.resolved[0], "there": counts.resolved[1]},
        "verdicts": {
            "pass": counts.pass, "violation": of(Standing::Violation),
            "allowed": of(Standing::Allowed), "undecided": of(Standing::Undecided),
        },
        "anomalies": kinds,
        "findings": findings,
        "sabotage": about.planted.map(|(what, acts)| json!({"name": what.name(), "acts": acts})),
        "target_lost": ran.lost.as_ref().map(|error| &error.message),
    });
    format!("{document:#}\n")
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "anomaly": finding.weighed.name, "shape": finding.weighed.shape,
        "page": finding.weighed.page, "because": finding.because,
        "transactions": finding.transactions,
        "repeated": finding.repeated, "case": finding.case,
    })
}

/// For people.
pub fn text(about: &About<'_>, ran: &Ran) -> String {
    let mut out = String::new();
    let counts = &ran.counts;
    let _ = writeln!(
        out,
        "{} at {}: {} sessions, {}, seed {}",
        about.info,
        ran.level_read_back,
        about.sessions,
        names(about.workloads).join(", "),
        about.seed
    );
    let _ = writeln!(
        out,
        "{} transactions committed in {:.1} s, {} per second",
        ran.committed,
        ran.took.as_secs_f64(),
        rate(ran)
    );
    let aborts: Vec<String> =
        counts.aborts.iter().map(|(class, count)| format!("{count} {}", class.name())).collect();
    if !aborts.is_empty() {
        let _ = writeln!(out, "aborted: {}", aborts.join(", "));
    }
    let faults: Vec<String> =
        faults(ran).into_iter().map(|(name, count)| format!("{count} {name}")).collect();
    if !faults.is_empty() {
        let [gone, there] = counts.resolved;
        let _ = writeln!(
            out,
            "faults: {}; after each of them all rows were read; {} commits were not answered: {there} of them were \
             there, {gone} were not",
            faults.join(", "),
            counts.unknown
        );
    }
    if let Some((what, acts)) = about.planted {
        let _ = writeln!(out, "planted: {what} ({}), {acts} times", what.sentence());
    }
    if let Some(error) = &ran.lost {
        let _ = writeln!(out, "ended early, because the target was lost: {}", error.message);
    }
    let of = |standing: Standing| counts.by_standing.get(&standing).copied().unwrap_or(0);
    let _ = writeln!(
        out,
        "verdicts: {} pass, {} violation, {} allowed, {} undecided",
        counts.pass,
        of(Standing::Violation),
        of(Standing::Allowed),
        of(Standing::Undecided)
    );
    for (standing, _, tally) in anomalies(ran) {
        let Some(first) = tally.findings.first() else { continue };
        kind(&mut out, standing, tally, first);
    }
    out
}

fn kind(out: &mut String, standing: Standing, tally: &Tally, first: &Finding) {
    let weighed = &first.weighed;
    let _ = writeln!(
        out,
        "\n{} × {} ({}): {}",
        tally.count,
        weighed.name,
        weighed.explained,
        standing.name()
    );
    match (&weighed.page, standing) {
        (Some(page), Standing::Allowed) => drop(writeln!(out, "  documented: {page}")),
        (Some(page), Standing::Violation) => drop(writeln!(out, "  promised: {page}")),
        (Some(page), Standing::Undecided) => drop(writeln!(out, "  not said on {page}")),
        (None, _) => {}
    }
    for sentence in &first.because {
        let _ = writeln!(out, "  {sentence}");
    }
    if let Some(repeated) = &first.repeated {
        let _ = writeln!(out, "  {repeated}");
    }
    if standing == Standing::Violation {
        for told in &first.transactions {
            let session =
                told.session.map_or(String::new(), |session| format!(" (session {})", session + 1));
            let _ = writeln!(out, "  T{}{session}:", told.txn);
            for sql in told.sql.iter().take(STATEMENTS_SHOWN) {
                let _ = writeln!(out, "    {sql};");
            }
        }
    }
}
