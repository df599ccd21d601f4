//! The lattice of levels and anomalies, with Elle's names.
//!
//! Source: the definitions of Adya (1999) as Elle arranges them: which anomaly implies which, which level rules out
//! which anomaly, which level is weaker than which. Our addition: reads of values that nobody wrote count as aborted
//! reads. Everything else (all that a level rules out, all that an anomaly rules out) is the closure of these three
//! tables.

use std::collections::BTreeSet;

/// A level and the weaker levels that it implies.
const MODELS: &[(&str, &[&str])] = &[
    ("1SR", &[]),
    ("PRAM", &["monotonic-reads", "monotonic-writes", "read-your-writes"]),
    ("causal", &["PRAM", "writes-follow-reads"]),
    ("causal-cerone", &["read-atomic"]),
    ("consistent-view", &["cursor-stability", "monotonic-view"]),
    ("cursor-stability", &["read-committed"]),
    ("forward-consistent-view", &["consistent-view"]),
    ("linearizable", &["sequential"]),
    ("monotonic-atomic-view", &["read-committed"]),
    ("monotonic-reads", &[]),
    ("monotonic-snapshot-read", &["read-committed"]),
    ("monotonic-view", &["read-committed"]),
    ("monotonic-writes", &[]),
    ("parallel-snapshot-isolation", &["causal-cerone", "update-atomic"]),
    ("prefix", &["causal-cerone"]),
    ("read-atomic", &["monotonic-atomic-view"]),
    ("read-committed", &["read-uncommitted"]),
    ("read-uncommitted", &[]),
    ("read-your-writes", &[]),
    ("repeatable-read", &["cursor-stability", "monotonic-atomic-view"]),
    ("sequential", &["causal"]),
    (
        "serializable",
        &["repeatable-read", "snapshot-isolation", "update-serializable", "view-serializable"],
    ),
    ("session-serializable", &["1SR"]),
    (
        "snapshot-isolation",
        &[
            "forward-consistent-view",
            "monotonic-atomic-view",
            "monotonic-snapshot-read",
            "parallel-snapshot-isolation",
            "prefix",
        ],
    ),
    ("strong-read-committed", &["strong-read-uncommitted", "strong-session-read-committed"]),
    ("strong-read-uncommitted", &["strong-session-read-uncommitted"]),
    (
        "strong-serializable",
        &[
            "linearizable",
            "serializable",
            "session-serializable",
            "snapshot-isolation",
            "strong-session-serializable",
            "strong-snapshot-isolation",
        ],
    ),
    ("strong-session-read-committed", &["read-committed", "strong-session-read-uncommitted"]),
    ("strong-session-read-uncommitted", &["read-uncommitted"]),
    ("strong-session-serializable", &["serializable", "strong-session-snapshot-isolation"]),
    ("strong-session-snapshot-isolation", &["snapshot-isolation", "strong-session-read-committed"]),
    ("strong-snapshot-isolation", &["strong-read-committed", "strong-session-snapshot-isolation"]),
    ("update-atomic", &["read-atomic"]),
    ("update-serializable", &["forward-consistent-view"]),
    ("view-serializable", &[]),
    ("writes-follow-reads", &[]),
];

/// An anomaly and those that it implies.
const IMPLIED: &[(&str, &[&str])] = &[
    ("G-nonadjacent", &["G2", "G-nonadjacent-process"]),
    ("G-nonadjacent-item", &["G-nonadjacent", "G2-item", "G-nonadjacent-item-process"]),
    (
        "G-nonadjacent-item-process",
        &["G-nonadjacent-process", "G2-item-process", "G-nonadjacent-item-realtime"],
    ),
    ("G-nonadjacent-item-realtime", &["G2-item-realtime", "G-nonadjacent-realtime"]),
    ("G-nonadjacent-process", &["G2-process", "G-nonadjacent-realtime"]),
    ("G-nonadjacent-realtime", &["G2-realtime"]),
    ("G-single", &["G-nonadjacent", "GSIb", "G-single-process"]),
    ("G-single-item", &["G-single", "G-single-item-process", "G-nonadjacent-item"]),
    (
        "G-single-item-process",
        &["G-single-process", "G-single-item-realtime", "G-nonadjacent-item-process"],
    ),
    ("G-single-item-realtime", &["G-single-realtime", "G-nonadjacent-item-realtime"]),
    ("G-single-process", &["G-nonadjacent-process", "G-single-realtime"]),
    ("G-single-realtime", &["G-nonadjacent-realtime"]),
    ("G0", &["G1c", "G0-process"]),
    ("G0-process", &["G1c-process", "G0-realtime"]),
    ("G0-realtime", &["G1c-realtime"]),
    ("G1", &["G1-process"]),
    ("G1-process", &["G1-realtime"]),
    ("G1a", &["G1"]),
    ("G1b", &["G1"]),
    ("G1c", &["G1", "G1c-process"]),
    ("G1c-process", &["G1c-realtime", "G1-process"]),
    ("G1c-realtime", &["G1-realtime"]),
    ("G2", &["G2-process"]),
    ("G2-item", &["G2", "G2-item-process"]),
    ("G2-item-process", &["G2-process", "G2-item-realtime"]),
    ("G2-item-realtime", &["G2-realtime"]),
    ("G2-process", &["G2-realtime"]),
    ("GSIa", &["GSI"]),
    ("GSIb", &["GSI"]),
    ("dirty-update", &["G1a"]),
    ("future-read", &["G1c"]),
    ("incompatible-order", &["G1a"]),
    ("lost-update", &["write-skew", "G2-item"]),
    ("thin-air-read", &["G1a"]),
    ("write-skew", &["G2"]),
];

/// A level and the anomalies that it rules out itself.
const PROSCRIBED: &[(&str, &[&str])] = &[
    ("causal-cerone", &["internal", "G1a"]),
    ("consistent-view", &["G1", "G-single"]),
    ("cursor-stability", &["G1", "G-cursor", "lost-update"]),
    ("forward-consistent-view", &["G1", "G-SIb"]),
    ("monotonic-snapshot-read", &["G1", "G-MSR"]),
    ("monotonic-view", &["G1", "G-monotonic"]),
    ("parallel-snapshot-isolation", &["internal", "G1a"]),
    ("prefix", &["internal", "G1a"]),
    ("read-atomic", &["internal", "G1a", "future-read"]),
    ("read-committed", &["G1", "PL-2-cycle-exists"]),
    ("read-uncommitted", &["G0", "duplicate-elements", "cyclic-versions", "PL-1-cycle-exists"]),
    ("repeatable-read", &["G1", "G2-item", "PL-2.99-cycle-exists", "lost-update"]),
    ("serializable", &["G1", "G2", "predicate-read-miss", "PL-3-cycle-exists", "internal"]),
    ("snapshot-isolation", &["internal", "G1", "G-SI", "G-nonadjacent", "PL-SI-cycle-exists"]),
    ("strong-read-committed", &["strong-PL-2-cycle-exists", "G1c-realtime"]),
    ("strong-read-uncommitted", &["strong-PL-1-cycle-exists", "G0-realtime"]),
    ("strong-serializable", &["G1", "G1c-realtime", "G2-realtime", "PL-SS-cycle-exists"]),
    ("strong-session-read-committed", &["strong-session-PL-2-cycle-exists", "G1c-process"]),
    ("strong-session-read-uncommitted", &["strong-session-PL-1-cycle-exists", "G0-process"]),
    (
        "strong-session-serializable",
        &["G1-process", "G2-process", "strong-session-serializable-cycle-exists"],
    ),
    (
        "strong-session-snapshot-isolation",
        &[
            "internal",
            "G1-process",
            "G-nonadjacent-process",
            "strong-session-snapshot-isolation-cycle-exists",
        ],
    ),
    (
        "strong-snapshot-isolation",
        &[
            "internal",
            "G1-realtime",
            "G-nonadjacent-realtime",
            "strong-snapshot-isolation-cycle-exists",
        ],
    ),
    ("update-atomic", &["lost-update"]),
    ("update-serializable", &["G1", "G-update"]),
];

/// Other names of levels.
const ALIASES: &[(&str, &str)] = &[
    ("PL-1", "read-uncommitted"),
    ("PL-2", "read-committed"),
    ("PL-2+", "consistent-view"),
    ("PL-2.99", "repeatable-read"),
    ("PL-2L", "monotonic-view"),
    ("PL-3", "serializable"),
    ("PL-3U", "update-serializable"),
    ("PL-CS", "cursor-stability"),
    ("PL-FCV", "forward-consistent-view"),
    ("PL-MSR", "monotonic-snapshot-read"),
    ("PL-SI", "snapshot-isolation"),
    ("PL-SS", "strong-serializable"),
    ("conflict-serializable", "serializable"),
    ("strict-serializable", "strong-serializable"),
    ("strong-PL-1", "strong-read-uncommitted"),
    ("strong-PL-2", "strong-read-committed"),
    ("strong-session-PL-1", "strong-session-read-uncommitted"),
    ("strong-session-PL-2", "strong-session-read-committed"),
];

/// The name that the tables use for a level, if there is such a level.
pub fn canonical(model: &str) -> Option<&'static str> {
    let model = ALIASES.iter().find(|(alias, _)| *alias == model).map_or(model, |alias| alias.1);
    MODELS.iter().map(|entry| entry.0).find(|name| *name == model)
}

fn row<'t>(table: &'t [(&'static str, &'static [&'static str])], name: &str) -> &'t [&'static str] {
    table.iter().find(|entry| entry.0 == name).map_or(&[], |entry| entry.1)
}

/// Everything that follows from a start along a table.
fn closure(
    table: &[(&'static str, &'static [&'static str])],
    start: &[&'static str],
) -> BTreeSet<&'static str> {
    let mut all: BTreeSet<&'static str> = start.iter().copied().collect();
    let mut queue: Vec<&'static str> = start.to_vec();
    while let Some(name) = queue.pop() {
        for next in row(table, name) {
            if all.insert(next) {
                queue.push(next);
            }
        }
    }
    all
}

/// All levels that a level implies, itself included.
pub fn weaker(model: &'static str) -> BTreeSet<&'static str> {
    closure(MODELS, &[model])
}

/// The anomaly and all that it implies.
pub fn implied_by(anomaly: &'static str) -> BTreeSet<&'static str> {
    closure(IMPLIED, &[anomaly])
}

/// All anomalies that imply one of these, themselves included.
pub fn implying(anomalies: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let mut all = anomalies.clone();
    for (name, _) in IMPLIED {
        if implied_by(name).iter().any(|implied| anomalies.contains(implied)) {
            all.insert(name);
        }
    }
    all
}

/// Every anomaly that a level rules out, by canonical name.
pub fn prohibited_by(model: &'static str) -> BTreeSet<&'static str> {
    let mut direct = BTreeSet::new();
    for weaker in closure(MODELS, &[model]) {
        direct.extend(row(PROSCRIBED, weaker).iter().copied());
    }
    implying(&direct)
}

/// The static name of an anomaly that the tables know.
pub fn anomaly(name: &str) -> Option<&'static str> {
    let implied = IMPLIED.iter().flat_map(|(name, more)| std::iter::once(name).chain(*more));
    let proscribed = PROSCRIBED.iter().flat_map(|(_, more)| more.iter());
    implied.chain(proscribed).copied().find(|known| *known == name)
}

/// All levels that these anomalies make impossible.
pub fn impossible(anomalies: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    MODELS
        .iter()
        .map(|entry| entry.0)
        .filter(|model| prohibited_by(model).iter().any(|name| anomalies.contains(name)))
        .collect()
}

/// The weakest levels that these anomalies make impossible: Elle's `not`.
pub fn boundary(anomalies: &BTreeSet<&'static str>) -> Vec<&'static str> {
    let impossible = impossible(anomalies);
    impossible
        .iter()
        .copied()
        .filter(|model| {
            !closure(MODELS, &[model])
                .iter()
                .any(|weaker| weaker != model && impossible.contains(weaker))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not(name: &'static str) -> Vec<&'static str> {
        boundary(&BTreeSet::from([name]))
    }

    #[test]
    fn anomalies_rule_out_what_the_field_says() {
        assert_eq!(not("G0"), ["read-uncommitted"]);
        assert_eq!(not("G1a"), ["read-committed"]);
        assert_eq!(not("thin-air-read"), ["read-committed"]);
        assert_eq!(not("internal"), ["read-atomic"]);
        assert_eq!(not("lost-update"), ["cursor-stability", "update-atomic"]);
        assert_eq!(not("G-single"), ["consistent-view"]);
        assert_eq!(not("G-single-item"), ["consistent-view", "repeatable-read"]);
        assert_eq!(not("G-nonadjacent-item"), ["repeatable-read", "snapshot-isolation"]);
        assert_eq!(not("G2-item"), ["repeatable-read"]);
        assert_eq!(not("G2-process"), ["strong-session-serializable"]);
        assert_eq!(not("G-single-item-realtime"), ["strong-snapshot-isolation"]);
    }

    #[test]
    fn every_name_in_the_tables_is_a_model() {
        for (model, weaker) in MODELS {
            assert_eq!(canonical(model), Some(*model));
            assert!(weaker.iter().all(|name| canonical(name) == Some(name)), "{model}");
        }
        assert!(PROSCRIBED.iter().all(|(model, _)| canonical(model) == Some(model)));
        assert_eq!(canonical("strict-serializable"), Some("strong-serializable"));
    }
}
