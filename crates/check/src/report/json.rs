//! The report as JSON.

use super::Report;
use crate::levels::LevelVerdict;
use crate::model::History;
use crate::names::Family;
use crate::witness::{Anomaly, kind_name};
use serde_json::{Map, Value, json};

fn verdict(verdict: &LevelVerdict) -> Value {
    match verdict {
        LevelVerdict::Holds => Value::Bool(true),
        LevelVerdict::Fails => Value::Bool(false),
        LevelVerdict::Unknown(_) => Value::String("unknown".to_owned()),
    }
}

fn table(levels: &[(&'static str, LevelVerdict)]) -> Value {
    let entries = levels.iter().map(|(name, found)| ((*name).to_owned(), verdict(found)));
    Value::Object(entries.collect::<Map<String, Value>>())
}

fn reasons(report: &Report) -> Value {
    let mut reasons = Map::new();
    let families = [("levels", &report.levels), ("axiomatic", &report.axiomatic)];
    for (family, levels) in families {
        for (name, found) in levels {
            if let LevelVerdict::Unknown(why) = found {
                reasons.insert(format!("{family}.{name}"), Value::String(why.clone()));
            }
        }
    }
    Value::Object(reasons)
}

fn anomaly(history: &History, anomaly: &Anomaly) -> Value {
    let label = |txn: &u32| history.txns[*txn as usize].label;
    let mut entry = json!({
        "name": anomaly.name,
        "because": anomaly.because,
        "transactions": anomaly.transactions.iter().map(label).collect::<Vec<i64>>(),
    });
    if !anomaly.also.is_empty() {
        entry["also"] = json!(anomaly.also);
    }
    if !anomaly.steps.is_empty() {
        let steps = anomaly.steps.iter().map(|step| {
            json!({"from": label(&step.from), "to": label(&step.to), "type": kind_name(step.kind),
                   "because": step.because})
        });
        entry["steps"] = Value::Array(steps.collect());
    }
    entry
}

/// One entry of `results`.
pub fn result(history: &History, report: &Report, file: &str, input: &str) -> Value {
    let mut entry = json!({
        "file": file,
        "input": input,
        "transactions": report.transactions,
        "operations": report.operations,
        "level": report.asked,
        "valid": verdict(&report.valid),
        "family": report.asked.iter().map(|name| Family::of(name).name()).collect::<Vec<_>>(),
    });
    if let LevelVerdict::Unknown(why) = &report.valid {
        entry["reason"] = Value::String(why.clone());
    }
    entry["levels"] = table(&report.levels);
    entry["axiomatic"] = table(&report.axiomatic);
    let all = |found: &[Anomaly]| found.iter().map(|one| anomaly(history, one)).collect::<Value>();
    entry["anomalies"] = all(&report.anomalies);
    entry["not"] = json!(report.not);
    if !report.others.is_empty() {
        entry["other_anomalies"] = all(&report.others);
    }
    let reasons = reasons(report);
    if reasons.as_object().is_some_and(|reasons| !reasons.is_empty()) {
        entry["unknown_because"] = reasons;
    }
    entry
}
