//! What a reduced case looks like without everything accidental, and its hash.
//!
//! Idea: two findings with one cause should get one name, two causes two. The signal is who is involved: the kinds of
//! statements in each session, in the session's own order; whether a key moves; by which kind of index a statement
//! finds its rows; who waits for whom; errors; the family of engines; oracle, anomaly, exception and level. Everything
//! else is noise: names, literals, which plain column, how many rows, comparison operators, how statements of different
//! sessions are interleaved beyond the waits, repetitions of a statement, whether a single statement has a BEGIN around
//! it, and reads without locks where reads are not judged.
//!
//! The path by which a statement finds its rows is signal for the one that waits. The one that it waits for holds
//! its locks either way, so there it is noise; and where a key moves, all of it that moves no key is (`noise`).
//!
//! Blind spots: relations between literals (a value that is written twice) are not seen. A statement that could not
//! be parsed counts by its first words only.

mod noise;
mod words;

use std::collections::BTreeSet;
use std::fmt;

use anchorite_model::{Blocker, Case, Event, Level, Outcome, Product, Rank, Run, Signature};

use crate::draft::Draft;
use anchorite_sql::schema;
use words::{Words, kind_name};

/// The normalised shape of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// For people: `innodb; t1: UPDATE moves primary key; t2: DELETE by scan, waits for t1`.
    text: String,
    /// The kinds of statements in it, for the readable part of a fingerprint.
    kinds: BTreeSet<&'static str>,
    /// Whose bugs it may be: products that share an engine share them.
    family: &'static str,
}

impl Shape {
    /// The shape of the case of a run. Reads without locks count if `with_reads` says so.
    pub fn of(run: &Run, with_reads: bool) -> Self {
        Self::new(&run.case, run.target.product, &run.events, with_reads)
    }

    /// The shape of a case that was not run: as if nothing waited.
    pub fn of_case(case: &Case, product: Product, with_reads: bool) -> Self {
        Self::new(case, product, &[], with_reads)
    }

    fn new(case: &Case, product: Product, events: &[Event], with_reads: bool) -> Self {
        let draft = Draft::of(case, product.dialect());
        let tables = schema::tables(&draft.setup);
        let somebody_waits =
            events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }));
        let mut sessions: Vec<Vec<Item>> = vec![Vec::new(); draft.sessions.len()];
        for (at, line) in draft.lines.iter().enumerate() {
            let outcome = StatementOutcome::of(events.iter().filter(|event| event.n == at + 1));
            let Some(mut words) = Words::of(line, &tables, with_reads) else { continue };
            if somebody_waits && outcome.waits_for.is_none() {
                words.forget_path();
            }
            let kind = kind_name(&line.parsed.kind()).unwrap_or_default();
            let item = Item { words, kind, outcome };
            if sessions[line.session].last() != Some(&item) {
                sessions[line.session].push(item);
            }
        }
        noise::drop_mere_locks(&mut sessions);
        let kinds: BTreeSet<&str> = sessions.iter().flatten().map(|item| item.kind).collect();
        let family = product.descriptor().engine.as_str();
        Self { text: format!("{family}; {}", canonical(&sessions)), kinds, family }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The name of a finding: the kinds of statements in it, and a hash of its shape, signature and level. Where the
/// oracle names a documented mechanism, that is the cause, whatever the case looks like.
pub fn fingerprint(shape: &Shape, signature: &Signature, level: Option<Level>) -> String {
    let level = level.map_or("default", Level::name);
    let (oracle, Signature { anomaly, exception, .. }) = (first_said_by(signature), signature);
    let (kinds, text): (Vec<String>, &str) = match signature.mechanism() {
        Some(mechanism) => (vec![mechanism.to_owned()], shape.family),
        None => (shape.kinds.iter().map(|kind| kind.replace(' ', "-")).collect(), &shape.text),
    };
    let exception = exception.as_deref().unwrap_or_default();
    let hash = hash(&format!("{text}|{oracle}|{anomaly}|{exception}|{level}"));
    format!("{}-{:08x}", kinds.join("-"), (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// The oracle that said it first. One oracle said all of these before they had oracles of their own; fingerprints and
/// known issues that were written down then still hold.
fn first_said_by(signature: &Signature) -> &str {
    if has_changed_hands(signature) { "final-state" } else { &signature.oracle }
}

/// Whether the anomaly alone says which oracle is meant, under whichever name it was written down.
pub(crate) fn has_changed_hands(signature: &Signature) -> bool {
    const BY_FINAL_STATE: [&str; 4] =
        ["damaged data", "broken constraint", "lock not held", "key refused without cause"];
    BY_FINAL_STATE.contains(&signature.anomaly.as_str())
}

/// A fingerprint apart from the oracle and its word for what it saw: findings of several oracles may share it.
pub fn cause(shape: &Shape, exception: Option<&str>, level: Option<Level>) -> String {
    let (oracle, anomaly) = (String::new(), String::new());
    let exception = exception.map(str::to_owned);
    fingerprint(shape, &Signature { oracle, anomaly, exception, rank: Rank::Broken }, level)
}

/// FNV-1a: a fingerprint must be the same in every release, which the standard library's hash does not promise.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What became of a statement, as far as it is signal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct StatementOutcome {
    waits_for: Option<Vec<usize>>,
    fails: Option<&'static str>,
}

impl StatementOutcome {
    fn of<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let mut outcome = Self::default();
        for event in events {
            match &event.outcome {
                Outcome::Blocked { by, .. } => {
                    let sessions = by.iter().filter_map(|blocker| match blocker {
                        Blocker::Session(session) => Some(*session),
                        Blocker::Outside(_) | Blocker::Prepared(_) => None,
                    });
                    outcome.waits_for = Some(sessions.collect());
                }
                Outcome::Error(error) => outcome.fails = Some(error.class.name()),
                _ => {}
            }
        }
        outcome
    }
}

/// A statement of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    words: Words,
    kind: &'static str,
    outcome: StatementOutcome,
}

/// The sessions as one text, numbered so that it is the smallest of all numberings; so it does not depend on who
/// came first.
fn canonical(sessions: &[Vec<Item>]) -> String {
    const SESSIONS_TO_PERMUTE: usize = 6;
    let used: Vec<usize> = (0..sessions.len()).filter(|at| !sessions[*at].is_empty()).collect();
    let mut orders = vec![used.clone()];
    if used.len() <= SESSIONS_TO_PERMUTE {
        orders = permutations(&used);
    }
    let texts = orders.iter().map(|order| {
        let number = |session: &usize| order.iter().position(|other| other == session);
        let texts = order.iter().enumerate().map(|(at, session)| {
            let items = sessions[*session].iter().map(|item| item_text(item, number));
            format!("t{}: {}", at + 1, items.collect::<Vec<_>>().join(", then "))
        });
        texts.collect::<Vec<_>>().join("; ")
    });
    // Those who wait come after those whom they wait for: easier to read, and as good as any order.
    let waits_first = |text: &String| text.split("; ").position(|part| part.contains("waits for"));
    texts
        .max_by_key(|text| (waits_first(text), std::cmp::Reverse(text.clone())))
        .unwrap_or_default()
}

fn item_text(item: &Item, number: impl Fn(&usize) -> Option<usize>) -> String {
    let mut text = item.words.to_string();
    if let Some(waits_for) = &item.outcome.waits_for {
        let names: BTreeSet<usize> = waits_for.iter().filter_map(number).collect();
        let names: Vec<String> = names.iter().map(|number| format!("t{}", number + 1)).collect();
        text += " waits for ";
        text += if names.is_empty() { "somebody" } else { "" };
        text += &names.join(" and ");
    }
    if let Some(class) = item.outcome.fails {
        text += " fails with ";
        text += class;
    }
    text
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(at);
        all.extend(permutations(&rest).into_iter().map(|mut order| {
            order.insert(0, *first);
            order
        }));
    }
    all
}
