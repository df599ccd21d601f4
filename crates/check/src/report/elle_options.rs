//! Elle's options, as Elle writes them, in JSON.
//!
//! `consistency-models`, `anomalies`, `wfr-keys?`, `sequential-keys?`, `linearizable-keys?` and
//! `transaction-order` (from the index of a completion to its position). Absent models mean strict
//! serializable; `null` means none.

use super::ElleOptions;
use crate::elle::Sources;
use crate::lattice;
use crate::model::History;
use serde_json::Value;

/// Why options could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ElleOptionsError {
    /// Not JSON, or not an object.
    #[error("expected a JSON object with Elle's options, for example {{\"wfr-keys?\":true}}")]
    Shape,
    /// An option that does not exist.
    #[error("expected one of Elle's options, found {0:?}")]
    Option(String),
    /// A level or anomaly that does not exist.
    #[error("expected a level or anomaly that Elle knows, found {0:?}")]
    Name(String),
}

impl ElleOptions {
    /// Reads the options for a history.
    pub fn parse(text: &str, history: &History) -> Result<ElleOptions, ElleOptionsError> {
        let value: Value = serde_json::from_str(text).map_err(|_| ElleOptionsError::Shape)?;
        let Value::Object(entries) = value else { return Err(ElleOptionsError::Shape) };
        let mut options =
            ElleOptions { models: vec!["strong-serializable"], ..ElleOptions::default() };
        for (name, value) in &entries {
            let flag = value.as_bool().unwrap_or(false);
            match name.trim_start_matches(':') {
                "consistency-models" => options.models = names(value, lattice::canonical)?,
                "anomalies" => options.anomalies = names(value, lattice::anomaly)?,
                "wfr-keys?" => options.sources.wfr_keys = flag,
                "sequential-keys?" => options.sources.sequential_keys = flag,
                "linearizable-keys?" => options.sources.linearizable_keys = flag,
                "transaction-order" => transaction_order(value, history, &mut options.sources),
                other => return Err(ElleOptionsError::Option(other.to_owned())),
            }
        }
        Ok(options)
    }
}

fn names(
    value: &Value,
    find: fn(&str) -> Option<&'static str>,
) -> Result<Vec<&'static str>, ElleOptionsError> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err(ElleOptionsError::Shape),
    };
    list.iter()
        .map(|name| {
            let name = name.as_str().unwrap_or("").trim_start_matches(':');
            find(name).ok_or_else(|| ElleOptionsError::Name(name.to_owned()))
        })
        .collect()
}

fn transaction_order(value: &Value, history: &History, sources: &mut Sources) {
    let Value::Object(entries) = value else { return };
    let places =
        history.txns.iter().map(|txn| entries.get(&txn.label.to_string()).and_then(Value::as_i64));
    sources.txn_order = Some(places.collect());
}
