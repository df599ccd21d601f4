//! Tiny random histories: few transactions, few keys, every oddity that a recorder could produce.

use anchorite_check::model::{Atom, History, HistoryBuilder, OpKind, Outcome};

/// A small deterministic generator of numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Read where there is something from the start.
pub const NOTHING: i64 = -1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub key: usize,
    pub write: bool,
    /// 0 is the initial value, [`NOTHING`] a read that found nothing.
    pub value: i64,
}

#[derive(Clone, Debug)]
pub struct Tiny {
    pub session: usize,
    pub aborted: bool,
    /// Nobody knows how it ended: it counts if it was read from.
    pub unknown: bool,
    pub begin: u64,
    pub end: u64,
    pub steps: Vec<Step>,
}

impl Tiny {
    pub fn outcome(&self) -> Outcome {
        match (self.aborted, self.unknown) {
            (true, _) => Outcome::Aborted,
            (_, true) => Outcome::Unknown,
            _ => Outcome::Committed,
        }
    }

    pub fn wrote(&self, key: usize, value: i64) -> bool {
        self.steps.iter().any(|step| step.write && step.key == key && step.value == value)
    }
}

/// How wild the histories are.
#[derive(Clone, Copy)]
pub struct Shape {
    pub txns: usize,
    pub keys: usize,
    pub sessions: usize,
    pub steps: usize,
    /// Percentage of aborted transactions, thin-air reads and arbitrary own reads.
    pub odd: usize,
}

pub fn generate(random: &mut Random, shape: Shape) -> Vec<Tiny> {
    let count = 1 + random.below(shape.txns);
    let mut next_value = 1;
    let mut txns: Vec<Tiny> = Vec::new();
    for _ in 0..count {
        let steps = (0..1 + random.below(shape.steps))
            .map(|_| {
                let write = random.chance(50);
                let value = if write { next_value } else { 0 };
                next_value += i64::from(write);
                Step { key: random.below(shape.keys), write, value }
            })
            .collect();
        let session = random.below(shape.sessions);
        let aborted = random.chance(shape.odd / 4);
        let unknown = !aborted && random.chance(shape.odd / 4);
        txns.push(Tiny { session, aborted, unknown, begin: 0, end: 0, steps });
    }
    fill_reads(random, &mut txns, shape.odd);
    times(random, &mut txns);
    if random.chance(shape.odd) {
        shuffle_times(random, &mut txns);
    }
    txns
}

fn fill_reads(random: &mut Random, txns: &mut [Tiny], odd: usize) {
    let written: Vec<(usize, usize, i64)> = txns
        .iter()
        .enumerate()
        .flat_map(|(txn, tiny)| tiny.steps.iter().map(move |step| (txn, step)))
        .filter(|(_, step)| step.write)
        .map(|(txn, step)| (txn, step.key, step.value))
        .collect();
    for txn in 0..txns.len() {
        for at in 0..txns[txn].steps.len() {
            let step = txns[txn].steps[at];
            if step.write {
                continue;
            }
            let own = txns[txn].steps[..at].iter().rev().find(|s| s.write && s.key == step.key);
            let value = match own {
                Some(own) if !random.chance(odd / 4) => own.value,
                _ => {
                    let mut choices: Vec<i64> = written
                        .iter()
                        .filter(|(writer, key, value)| {
                            *key == step.key
                                && (random.chance(odd) || is_final(txns, *writer, *key, *value))
                                && (*writer != txn || random.chance(odd))
                        })
                        .map(|entry| entry.2)
                        .collect();
                    choices.push(0);
                    if random.chance(odd / 10) {
                        choices.push(999);
                    }
                    if random.chance(odd / 5) {
                        choices.push(NOTHING);
                    }
                    choices[random.below(choices.len())]
                }
            };
            txns[txn].steps[at].value = value;
        }
    }
}

fn is_final(txns: &[Tiny], writer: usize, key: usize, value: i64) -> bool {
    let last = txns[writer].steps.iter().rev().find(|step| step.write && step.key == key);
    last.is_some_and(|step| step.value == value)
}

/// Intervals that respect session order.
fn times(random: &mut Random, txns: &mut [Tiny]) {
    let mut clocks = [0_u64; 8];
    for (used, tiny) in (1..).zip(txns.iter_mut()) {
        let clock = &mut clocks[tiny.session];
        tiny.begin = *clock + 1 + random.below(6) as u64 * 16 + used;
        tiny.end = tiny.begin + 1 + random.below(6) as u64 * 16;
        *clock = tiny.end;
    }
}

/// Times that take no notice of sessions.
fn shuffle_times(random: &mut Random, txns: &mut [Tiny]) {
    for at in 1..txns.len() {
        let other = random.below(at + 1);
        let (a, b) = (txns[at].clone(), txns[other].clone());
        (txns[at].begin, txns[at].end) = (b.begin, b.end);
        (txns[other].begin, txns[other].end) = (a.begin, a.end);
    }
}

/// A random version order of every key: positions in `txns` of its committed writers.
pub fn version_orders(random: &mut Random, txns: &[Tiny], keys: usize) -> Vec<Vec<usize>> {
    (0..keys)
        .map(|key| {
            let mut writers: Vec<usize> = (0..txns.len())
                .filter(|txn| !txns[*txn].aborted)
                .filter(|txn| txns[*txn].steps.iter().any(|step| step.write && step.key == key))
                .collect();
            // Mostly as they come: a random order is nearly always a violation.
            for at in 1..writers.len() {
                if random.chance(25) {
                    writers.swap(at - 1, at);
                }
            }
            writers
        })
        .collect()
}

/// The same as a history of the library.
pub fn build(txns: &[Tiny]) -> History {
    build_with(txns, &[])
}

/// The same with version numbers.
pub fn build_with(txns: &[Tiny], orders: &[Vec<usize>]) -> History {
    let mut builder = HistoryBuilder::new();
    builder.set_initial(Atom::int(0).unwrap());
    for (label, tiny) in txns.iter().enumerate() {
        let session = builder.session(Atom::int(tiny.session as i64).unwrap());
        let outcome = tiny.outcome();
        builder.begin(session, label as i64, outcome, (tiny.begin, tiny.end));
        for step in &tiny.steps {
            let key = builder.key(Atom::int(step.key as i64).unwrap());
            let kind = if step.write { OpKind::Write } else { OpKind::Read };
            let value =
                if step.value == NOTHING { Atom::NIL } else { Atom::int(step.value).unwrap() };
            builder.push(kind, key, value).unwrap();
            let place =
                orders.get(step.key).and_then(|order| order.iter().position(|t| *t == label));
            if let (true, Some(place)) = (step.write, place) {
                builder.version_number(place as u64);
            }
        }
    }
    builder.finish()
}
