//! The table as JSON: a contract with scripts.
//!
//! One object per case, level and target. `how` says how it was prevented, or is `shown` if it was not; `because` is
//! the sentence that decided. A case that could not run has null as `observed` and `how`, and the reason in `not_run`.
//! `graph` lists the anomalies that the dependency graph of an instrumented run names; null, with the reason in
//! `no_graph`, where there is none. `claim_url` and `claim_says` are left out if there is no claim.

use anchorite_judge::traced::cycles::Sighting;
use serde_json::{Map, Value as Json, json};

use super::{CaseProbe, LevelProbe, Probe};
use crate::json::target;

/// The probes as one JSON document with a line end. `version` is Anchorite's own.
pub fn json(probes: &[Probe], version: &str) -> String {
    let results: Vec<Json> = probes
        .iter()
        .flat_map(|probe| probe.cases().map(move |(level, case)| result(probe, level, case)))
        .collect();
    format!("{}\n", json!({"anchorite": version, "results": results}))
}

fn result(probe: &Probe, level: &LevelProbe, case: &CaseProbe) -> Json {
    let mut object = Map::new();
    let mut add = |key: &str, value: Json| drop(object.insert(key.to_owned(), value));
    add("target", target(&probe.target));
    add("level", json!(level.name()));
    add("default", json!(level.is_default));
    add("level_read_back", json!(level.read_back));
    add("anomaly", json!(case.anomaly.name()));
    add("case", json!(case.name));
    add("main", json!(case.is_main()));
    add("claimed", json!(case.documented.promise.name()));
    match &case.outcome {
        Ok(seen) => {
            add("observed", json!(if seen.possible { "possible" } else { "prevented" }));
            add("how", json!(seen.how.name()));
            add("because", json!(seen.because));
        }
        Err(reason) => {
            add("observed", Json::Null);
            add("how", Json::Null);
            add("not_run", json!(reason));
        }
    }
    match &case.graph {
        Ok(found) => {
            let one = |seen: &Sighting| {
                let (name, because) = (seen.anomaly.name(), &seen.because);
                json!({"name": name, "shape": seen.shape, "because": because})
            };
            add("graph", found.iter().map(one).collect());
        }
        Err(reason) => {
            add("graph", Json::Null);
            add("no_graph", json!(reason));
        }
    }
    add("contradiction", json!(case.contradicts()));
    if let Some(claim) = case.documented.claim {
        add("claim_url", json!(claim.url));
        add("claim_says", json!(claim.says));
    }
    Json::Object(object)
}
