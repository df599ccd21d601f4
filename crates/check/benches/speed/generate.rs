//! Seeded histories: serial executions, so that every level holds, spread over sessions.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

/// What operations do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Blind writes and reads, plume text.
    Blind,
    /// Every write follows a read of the same key: the version order can be derived.
    Update,
    /// Appends and reads of lists, Elle EDN.
    Lists,
    /// Blind writes that carry version numbers, anchorite JSON Lines.
    Versions,
}

/// One input and how it is measured.
#[derive(Clone, Debug)]
pub struct HistoryPlan {
    pub style: Style,
    /// Session after session, with numbers that say nothing about the order; else in order of execution.
    pub by_session: bool,
    pub ops: usize,
    pub sessions: usize,
    pub txn_len: usize,
    pub keys: usize,
    pub levels: &'static [&'static str],
    pub threads: &'static [usize],
    pub repeat: usize,
}

impl HistoryPlan {
    pub fn name(&self) -> String {
        let order = if self.by_session { "bysession" } else { "" };
        let HistoryPlan { style, ops, sessions, keys, .. } = self;
        format!("{style:?}{order}-{ops}ops-{sessions}s-{keys}keys").to_lowercase()
    }
}

/// Measurements that belong together.
pub struct Group {
    pub name: &'static str,
    pub title: &'static str,
    pub plans: Vec<HistoryPlan>,
}

/// Operations of the histories that show how time grows.
const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const WEAK: &[&str] = &["read-committed", "read-atomic", "causal"];
const STRONG: &[&str] = &["serializable", "snapshot-isolation"];

fn blind(ops: usize, levels: &'static [&'static str]) -> HistoryPlan {
    HistoryPlan {
        style: Style::Blind,
        by_session: false,
        ops,
        sessions: 20,
        txn_len: 8,
        keys: (ops / 20).max(10),
        levels,
        threads: &[1],
        repeat: 3,
    }
}

fn strong(style: Style, by_session: bool) -> HistoryPlan {
    HistoryPlan { style, by_session, txn_len: 2, keys: 50_000, ..blind(2_000_000, STRONG) }
}

fn open(txns: usize, keys: usize) -> HistoryPlan {
    HistoryPlan { by_session: true, keys, repeat: 1, ..blind(txns * 8, STRONG) }
}

pub fn groups() -> Vec<Group> {
    let million = blind(1_000_000, WEAK);
    vec![
        Group {
            name: "weak",
            title: "One million operations, in order of execution and session by session",
            plans: vec![million.clone(), HistoryPlan { by_session: true, ..million.clone() }],
        },
        Group {
            name: "hot",
            title: "Hot keys: 1,000 keys",
            plans: vec![HistoryPlan { keys: 1_000, ..million.clone() }],
        },
        Group {
            name: "sessions",
            title: "100 sessions",
            plans: vec![HistoryPlan { sessions: 100, ..million.clone() }],
        },
        Group {
            name: "strong",
            title: "Known version order, one million transactions",
            plans: [Style::Update, Style::Lists, Style::Versions]
                .into_iter()
                .flat_map(|style| [false, true].map(|by_session| strong(style, by_session)))
                .collect(),
        },
        Group {
            name: "growth",
            title: "Growth",
            plans: [false, true]
                .into_iter()
                .flat_map(|by_session| {
                    SIZES.map(|ops| HistoryPlan { by_session, ..blind(ops, WEAK) })
                })
                .collect(),
        },
        Group {
            name: "open",
            title: "Unknown version order: blind writes, session by session",
            plans: vec![
                open(1_000, 400),
                open(10_000, 4_000),
                open(10_000, 1_000),
                open(30_000, 12_000),
            ],
        },
        Group {
            name: "threads",
            title: "One and two threads",
            plans: vec![HistoryPlan { threads: &[1, 2], ..blind(4_000_000, WEAK) }],
        },
    ]
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize * limit) >> 32
    }
}

/// Values are unique and do not follow their keys, so that no hash is helped by accident.
fn scrambled(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24 | 1
}

struct Store {
    current: Vec<u64>,
    lists: Vec<Vec<u64>>,
    versions: Vec<u64>,
    written: u64,
}

/// Writes the history that a plan describes.
pub fn write(plan: &HistoryPlan, seed: u64, path: &Path) {
    let mut random = Random(seed ^ plan.ops as u64 | 1);
    let mut store = Store {
        current: vec![0; plan.keys],
        lists: vec![Vec::new(); plan.keys],
        versions: vec![0; plan.keys],
        written: 0,
    };
    let mut sessions: Vec<String> = vec![String::new(); plan.sessions];
    let by_session = plan.by_session;
    let file = std::fs::File::create(path).expect("the input can be written");
    let mut out = BufWriter::new(file);
    let mut numbers = vec![0_usize; plan.sessions];
    for txn in 0..plan.ops / plan.txn_len {
        let session = random.below(plan.sessions);
        numbers[session] += 1;
        let label = if by_session { numbers[session] } else { txn };
        let text = transaction(plan, &mut random, &mut store, session, label);
        if by_session {
            sessions[session].push_str(&text);
        } else {
            out.write_all(text.as_bytes()).expect("the input can be written");
        }
    }
    for text in sessions {
        out.write_all(text.as_bytes()).expect("the input can be written");
    }
    out.flush().expect("the input can be written");
}

fn transaction(
    plan: &HistoryPlan,
    random: &mut Random,
    store: &mut Store,
    session: usize,
    label: usize,
) -> String {
    let mut text = String::new();
    let mut used = HashSet::new();
    let mut steps: Vec<String> = Vec::new();
    let update = plan.style == Style::Update;
    for _ in 0..plan.txn_len / if update { 2 } else { 1 } {
        let mut key = random.below(plan.keys);
        while !used.insert(key) {
            key = random.below(plan.keys);
        }
        let write = update || random.below(2) == 0;
        match plan.style {
            Style::Lists => steps.push(list_step(store, key, write)),
            Style::Versions => steps.push(version_step(store, key, write)),
            _ => {
                if !write || update {
                    let _ = writeln!(text, "r({key},{},{session},{label})", store.current[key]);
                }
                if write {
                    let value = next(store, key);
                    let _ = writeln!(text, "w({key},{value},{session},{label})");
                }
            }
        }
    }
    match plan.style {
        Style::Lists => {
            let _ = writeln!(
                text,
                "{{:process {session}, :type :ok, :f :txn, :value [{}], :index {label}}}",
                steps.join(" ")
            );
        }
        Style::Versions => {
            let ops = steps.join(",");
            let _ = writeln!(text, "{{\"session\":{session},\"txn\":{label},\"ops\":[{ops}]}}");
        }
        _ => {}
    }
    text
}

fn list_step(store: &mut Store, key: usize, write: bool) -> String {
    if write {
        let value = next(store, key);
        store.lists[key].push(value);
        return format!("[:append {key} {value}]");
    }
    let items: Vec<String> = store.lists[key].iter().map(u64::to_string).collect();
    format!("[:r {key} [{}]]", items.join(" "))
}

fn version_step(store: &mut Store, key: usize, write: bool) -> String {
    if write {
        let value = next(store, key);
        store.versions[key] += 1;
        return format!("{{\"w\":{key},\"v\":{value},\"n\":{}}}", store.versions[key]);
    }
    let value = store.current[key];
    let value = if value == 0 { "null".to_owned() } else { value.to_string() };
    format!("{{\"r\":{key},\"v\":{value}}}")
}

fn next(store: &mut Store, key: usize) -> u64 {
    store.written += 1;
    let value = scrambled(store.written);
    store.current[key] = value;
    value
}
