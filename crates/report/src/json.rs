//! Runs as JSON: a contract with scripts.
//!
//! Idea: one document with every fact of the run and nothing truncated. The field names are fixed; more may be added. A
//! field that does not apply is left out (`rows` of an UPDATE); a list that applies but is empty is present
//! (`blocked_by` of a statement whose blocker the server does not name).
//!
//! - A blocked statement has two events with the same `n`: `blocked`, then `resumed` or `error`.
//! - `rows` and `columns` are the first result set; the others, if any, follow in `more_results`.
//!   An error may have some too: those that arrived before it.
//! - NULL is null; integers up to 2^53 and floats are numbers; larger integers and decimals are
//!   strings, so that no reader rounds them; NaN and the infinities are strings; bytes are `{"hex":
//!   "…"}`.
//! - `level` is `default` where none was asked for and `mixed` where the sessions have their own.

use anchorite_judge::{Agreement, Comparison, Observed, Remark};
use anchorite_model::{
    Answer, BlockingKnowledge, Cause, DbError, Ending, Event, Level, Notice, Outcome, Rows, Run,
    TargetInfo, Value, Verdict,
};
use serde_json::{Map, Value as Json, json};

use crate::result::{blocker_name, level_label, session_name};
use crate::table::float;
use crate::{RunFailure, RunResult, Runs};

/// Up to this value every integer is exact in a reader that knows only 64-bit floats.
const SAFE_INTEGER_MAX: u128 = 1 << 53;

/// The results as one JSON document with a line end. `version` is Anchorite's own.
pub fn json<'a>(runs: impl Into<Runs<'a>>, version: &str) -> String {
    let runs = runs.into();
    let results: Vec<Json> = runs.results.iter().map(result).collect();
    let mut document = Map::new();
    document.insert("anchorite".into(), json!(version));
    document.insert("results".into(), json!(results));
    if !runs.failures.is_empty() {
        document.insert("failures".into(), runs.failures.iter().map(failure).collect());
    }
    if let Some(elapsed) = runs.elapsed {
        document.insert("seconds".into(), json!(elapsed.as_secs_f64()));
    }
    format!("{}\n", Json::Object(document))
}

fn failure(failure: &RunFailure) -> Json {
    json!({
        "case": failure.case,
        "target": target(&failure.target),
        "level": failure.level.map_or("default", Level::name),
        "message": failure.message,
    })
}

fn result(result: &RunResult) -> Json {
    let run = &result.run;
    let mut object = Map::new();
    object.insert("case".into(), json!(run.case.name));
    insert_some(&mut object, "title", run.case.header.title.as_deref());
    object.insert("target".into(), target(&run.target));
    object.insert("level".into(), json!(level_label(run)));
    object.insert("sessions".into(), sessions(run));
    object.insert("blocking".into(), blocking(&run.blocking));
    object.insert("events".into(), run.events.iter().map(|e| event(run, e)).collect());
    let tables = run.final_state.iter().map(|(name, rows)| (name.clone(), table(rows)));
    object.insert("final_state".into(), Json::Object(tables.collect()));
    object.insert("checks".into(), run.checks.iter().map(|(sql, a)| check(sql, a)).collect());
    object.insert("notes".into(), json!(run.notes));
    object.insert("ending".into(), ending(&run.ending));
    if !run.settings.is_empty() {
        let settings = run.settings.iter().map(|(name, value)| (name.clone(), json!(value)));
        object.insert("settings".into(), Json::Object(settings.collect()));
    }
    let verdicts = result.verdicts.iter().map(|(oracle, given)| verdict(result, oracle, given));
    object.insert("verdicts".into(), verdicts.collect());
    object.insert("observed".into(), result.observed.iter().map(observed).collect());
    if let Some(agreement) = result.compared.agreement() {
        object.insert("expectation".into(), expectation(&result.compared, agreement));
    }
    Json::Object(object)
}

fn observed(observed: &Observed) -> Json {
    json!({
        "anomaly": observed.anomaly.name(),
        "explained": observed.anomaly.explained(),
        "claimed": observed.promise.name(),
        "claim_url": observed.url,
        "because": observed.because,
    })
}

/// The run compared with what the header of the case says about its place.
fn expectation(compared: &Comparison, agreement: Agreement) -> Json {
    let remark = |remark: &Remark| json!({"agreement": remark.agreement.name(), "sentence": remark.sentence});
    json!({
        "agreement": agreement.name(),
        "announced": compared.announced,
        "remarks": compared.remarks.iter().map(remark).collect::<Json>(),
    })
}

/// Product, version and, where there is one, variant.
pub(crate) fn target(target: &TargetInfo) -> Json {
    let mut object = Map::new();
    object.insert("product".into(), json!(target.product.name()));
    object.insert("version".into(), json!(target.version));
    if !target.variant.is_empty() {
        object.insert("variant".into(), json!(target.variant));
    }
    Json::Object(object)
}

/// A cause as data, with its name and its sentence.
pub(crate) fn cause(cause: &Cause) -> Json {
    let mut told = json!(cause);
    told["name"] = json!(cause.name());
    told["sentence"] = json!(cause.to_string());
    told
}

fn sessions(run: &Run) -> Json {
    run.sessions
        .iter()
        .map(|session| {
            json!({
                "name": session.name,
                "level": session.level.map_or("default", Level::name),
                "level_read_back": session.level_read_back,
            })
        })
        .collect()
}

fn blocking(blocking: &BlockingKnowledge) -> Json {
    match blocking {
        BlockingKnowledge::Asked(how) => json!({"asked": how}),
        BlockingKnowledge::Timeout { silence_ms, reason } => {
            json!({"timeout_ms": silence_ms, "reason": reason})
        }
    }
}

fn event(run: &Run, event: &Event) -> Json {
    let mut object = Map::new();
    object.insert("n".into(), json!(event.n));
    object.insert("session".into(), json!(session_name(run, event.session)));
    object.insert("sql".into(), json!(event.sql));
    let outcome = match &event.outcome {
        Outcome::Ok(_) => "ok",
        Outcome::Blocked { .. } => "blocked",
        Outcome::Resumed(_) => "resumed",
        Outcome::Error(_) => "error",
        Outcome::Skipped { .. } => "skipped",
    };
    object.insert("outcome".into(), json!(outcome));
    object.insert("at_us".into(), json!(event.at_us));
    insert_some(&mut object, "sent", event.sent);
    insert_some(&mut object, "answered", event.answered);
    match &event.outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => insert_answer(&mut object, answer),
        Outcome::Blocked { by, wait } => {
            let names = by.iter().map(|blocker| json!(blocker_name(run, blocker)));
            object.insert("blocked_by".into(), names.collect());
            insert_some(&mut object, "wait", Some(wait.as_str()).filter(|wait| !wait.is_empty()));
        }
        Outcome::Error(error) => insert_error(&mut object, error),
        Outcome::Skipped { reason } => drop(object.insert("reason".into(), json!(reason))),
    }
    Json::Object(object)
}

fn insert_answer(object: &mut Map<String, Json>, answer: &Answer) {
    insert_results(object, &answer.results);
    insert_some(object, "affected", answer.affected);
    insert_some(object, "tag", answer.tag.as_deref());
    insert_notices(object, &answer.notices);
    insert_some(object, "in_transaction", answer.in_transaction);
}

fn insert_results(object: &mut Map<String, Json>, results: &[Rows]) {
    if let Some((first, more)) = results.split_first() {
        object.insert("columns".into(), json!(first.columns));
        object.insert("rows".into(), cells(first));
        if !more.is_empty() {
            object.insert("more_results".into(), more.iter().map(table).collect());
        }
    }
}

fn insert_error(object: &mut Map<String, Json>, error: &DbError) {
    let mut inner = Map::new();
    inner.insert("class".into(), json!(error.class.name()));
    inner.insert("code".into(), json!(error.code));
    inner.insert("message".into(), json!(error.message));
    inner.insert("transaction_gone".into(), json!(error.transaction_gone));
    let severity = Some(error.severity.as_str()).filter(|severity| !severity.is_empty());
    insert_some(&mut inner, "severity", severity);
    object.insert("error".into(), Json::Object(inner));
    insert_results(object, &error.results);
    insert_notices(object, &error.notices);
    insert_some(object, "in_transaction", error.in_transaction);
}

fn insert_notices(object: &mut Map<String, Json>, notices: &[Notice]) {
    if !notices.is_empty() {
        let notice = |n: &Notice| json!({"severity": n.severity, "message": n.message});
        object.insert("notices".into(), notices.iter().map(notice).collect());
    }
}

fn insert_some(object: &mut Map<String, Json>, key: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value {
        object.insert(key.into(), value.into());
    }
}

fn check(sql: &str, answer: &Result<Answer, DbError>) -> Json {
    let mut object = Map::new();
    object.insert("sql".into(), json!(sql));
    object.insert("outcome".into(), json!(if answer.is_ok() { "ok" } else { "error" }));
    match answer {
        Ok(answer) => insert_answer(&mut object, answer),
        Err(error) => insert_error(&mut object, error),
    }
    Json::Object(object)
}

fn ending(ending: &Ending) -> Json {
    match ending {
        Ending::Complete => json!({"complete": true}),
        Ending::TargetLost(reason) => json!({"complete": false, "reason": reason}),
    }
}

fn verdict(result: &RunResult, oracle: &str, verdict: &Verdict) -> Json {
    let mut told = match verdict {
        Verdict::Pass => json!({"oracle": oracle, "verdict": "pass"}),
        Verdict::Violation { anomaly, rank, because } => json!({
            "oracle": oracle, "verdict": "violation", "anomaly": anomaly, "rank": rank.name(),
            "because": because,
        }),
        Verdict::Allowed { exception, because } => json!({
            "oracle": oracle, "verdict": "allowed", "exception": exception, "because": because,
        }),
        Verdict::Undecided { reason } => {
            json!({"oracle": oracle, "verdict": "undecided", "reason": reason})
        }
    };
    if let Some(covers) = result.covered_by(oracle) {
        told["covers"] = json!(covers.name());
    }
    if let Some(found) = result.cause_of(oracle) {
        told["cause"] = cause(found);
    }
    told
}

fn table(rows: &Rows) -> Json {
    json!({"columns": rows.columns, "rows": cells(rows)})
}

fn cells(rows: &Rows) -> Json {
    rows.rows.iter().map(|row| row.iter().map(cell).collect::<Json>()).collect()
}

fn cell(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => json!(b),
        Value::Int(i) if i.unsigned_abs() <= SAFE_INTEGER_MAX => json!(*i as i64),
        Value::Int(i) => json!(i.to_string()),
        Value::Float(x) if x.is_finite() => json!(x),
        Value::Float(x) => json!(float(*x)),
        Value::Decimal(text) | Value::Text(text) => json!(text),
        Value::Bytes(bytes) => {
            json!({"hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()})
        }
    }
}
