//! A hunt as JSON: a contract with scripts. Field names are fixed; further ones may be added.

use anchorite_model::{FindingLine, HuntPlace, HuntSummary, Level, VerdictCounts};
use serde_json::{Map, Value as Json, json};

use crate::hunt_summary::Found;
use crate::json::{cause, target};

/// The summary as one JSON document with a line end. `version` is Anchorite's own.
pub fn json(summary: &HuntSummary, version: &str) -> String {
    let by_oracle: Map<String, Json> =
        summary.by_oracle.iter().map(|(oracle, said)| (oracle.clone(), counts(said))).collect();
    let found = Found::of(summary);
    let aborts: Map<String, Json> =
        summary.aborts.iter().map(|(class, n)| (class.name().to_owned(), json!(n))).collect();
    let document = json!({
        "anchorite": version,
        "seed": summary.seed,
        "seconds": summary.elapsed_ms as f64 / 1000.0,
        "cases": summary.cases,
        "cases_per_second": (summary.cases_per_second() * 10.0).round() / 10.0,
        "statements": summary.statements,
        "blocked": summary.blocked,
        "deadlocks": summary.deadlocks,
        "verdicts": counts(&summary.verdicts),
        "by_oracle": by_oracle,
        "disagreements": summary.disagreements,
        "findings": summary.findings.iter().map(finding).collect::<Json>(),
        "targets": summary.places.iter().map(place).collect::<Json>(),
        "commits": summary.commits,
        "aborts": aborts,
        "conflict_shapes": summary.conflict_shapes,
        "allowed_by": summary.allowed_by,
        "undecided_because": summary.undecided_because,
        "unexplained": summary.unexplained().0,
        "undecided_of_unexplained": summary.unexplained().1,
        "flaky": summary.flaky,
        "known_gone": summary.known_gone,
        "known_gone_because": summary.known_gone_because,
        "servers_lost": summary.servers_lost,
        "servers_stopped": summary.servers_stopped,
        "barren_kinds": summary.barren_kinds,
        "folder": summary.folder,
        "stopped": summary.stopped,
        "new": found.new,
        "new_by_rank": {
            "broken": found.new - found.undocumented, "undocumented": found.undocumented,
        },
        "known": found.known,
        "waiting": found.waiting,
        "only_counted": summary.only_counted(),
    });
    format!("{document}\n")
}

fn counts(counts: &VerdictCounts) -> Json {
    let VerdictCounts { pass, violation, undocumented, allowed, undecided } = counts;
    json!({
        "pass": pass, "violation": violation, "undocumented": undocumented, "allowed": allowed,
        "undecided": undecided,
    })
}

fn finding(line: &FindingLine) -> Json {
    let own = std::slice::from_ref(&line.signature.oracle);
    let witnesses = if line.witnesses.is_empty() { own } else { &line.witnesses };
    json!({
        "fingerprint": line.fingerprint,
        "oracle": line.signature.oracle,
        "anomaly": line.signature.anomaly,
        "exception": line.signature.exception,
        "rank": line.signature.rank.name(),
        "level": level(line.level),
        "witnesses": witnesses,
        "target": target(&line.target),
        "statements": line.statements,
        "hits": line.hits,
        "levels": line.levels,
        "cause": line.cause.as_ref().map(cause),
        "known": line.known.as_ref().filter(|_| !line.unreported),
        "unreported": line.known.as_ref().filter(|_| line.unreported),
        "seen_at": line.seen_at,
        "file": line.file,
        "title": line.title,
    })
}

fn place(place: &HuntPlace) -> Json {
    let mut object = match target(&place.target) {
        Json::Object(object) => object,
        _ => Map::new(),
    };
    object.insert("on".into(), json!(place.on));
    object.insert("levels".into(), place.levels.iter().map(|l| json!(level(*l))).collect());
    Json::Object(object)
}

fn level(level: Option<Level>) -> &'static str {
    level.map_or("default", Level::name)
}
