//! Keys that are vectors or maps, in JSON.
//!
//! Idea: the text of such a key is EDN, so it is read as EDN and told in JSON: keywords become strings, and so does a
//! key of a map that is no string. Blind spot: `:a` and `"a"` are the same in JSON, as they are for plain keys.

use crate::input::Source;
use crate::input::form::Form;
use crate::input::reader::{FormReader, Notation};
use crate::model::Symbols;
use serde_json::{Map, Value};

/// The value of an EDN text.
pub(super) fn json(edn: &str) -> Value {
    let mut symbols = Symbols::default();
    let mut source = Source::new(edn.as_bytes());
    let mut reader = FormReader::new(&mut source, Notation::Edn);
    // What this crate wrote itself can be read.
    let nodes = reader.form(&mut symbols).map(|form| form.nodes().to_vec());
    nodes.map_or_else(|_| Value::from(edn), |nodes| told(Form::new(&nodes), &symbols))
}

fn told(form: Form<'_>, symbols: &Symbols) -> Value {
    if let Some(entries) = form.entries() {
        let name = |key: Form<'_>| match told(key, symbols) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let entries = entries.map(|(key, value)| (name(key), told(value, symbols)));
        return Value::Object(entries.collect::<Map<String, Value>>());
    }
    if let Some(items) = form.items() {
        return Value::Array(items.map(|item| told(item, symbols)).collect());
    }
    match (form.int(), form.word(symbols)) {
        (Some(number), _) => Value::from(number),
        (None, Some(text)) => serde_json::from_str(text)
            .ok()
            .filter(Value::is_number)
            .unwrap_or_else(|| Value::from(text)),
        (None, None) => Value::Null,
    }
}
