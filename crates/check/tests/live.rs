//! The judge of running histories against the judge of whole ones, and how much it keeps.

use anchorite_check::graph::cycles::PATTERNS;
use anchorite_check::lattice::implied_by;
use anchorite_check::live::{Found, Live, Options, Read, Transaction, Version, Write};
use anchorite_check::model::{Atom, HistoryBuilder, OpKind, Outcome};
use anchorite_check::report::{self, judge};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What happens, in order of time.
#[derive(Clone, Debug)]
enum Event {
    Begin(u64),
    End(Transaction),
}

/// A run with many sessions at once: what happened, and of each row its final chain of versions.
struct Run {
    events: Vec<Event>,
    begins: Vec<u64>,
    chains: Vec<Vec<Version>>,
}

/// A transaction that is running.
struct Running {
    number: u64,
    doomed: bool,
    /// How many operations are left.
    left: u32,
    /// Whether it mostly does nothing, so that it is open for long.
    slow: bool,
    reads: Vec<Read>,
    writes: Vec<Write>,
    /// How long the chain of each row was when it began.
    snapshot: Vec<usize>,
}

/// Choices that a run is made of, one after the other.
struct Choices<'c> {
    given: &'c [u32],
    at: usize,
}

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let choice = self.given[self.at % self.given.len()];
        let mixed =
            u64::from(choice).wrapping_add(self.at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.at += 1;
        (mixed >> 33) as usize % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// How a run goes wrong: percentages of reads.
#[derive(Clone, Copy, Debug)]
struct Faults {
    /// From the snapshot, as a store with snapshots would do it.
    snapshot: usize,
    /// Of any version of the row, however old.
    any: usize,
    /// Of the last version even if it is not committed; writes, too, wait for nobody.
    dirty: usize,
}

const ROWS: usize = 4;

impl Run {
    fn new(choices: &[u32], sessions: usize, transactions: u64, faults: Faults) -> Run {
        let mut choices = Choices { given: choices, at: 0 };
        let mut run =
            Run { events: Vec::new(), begins: vec![0], chains: vec![vec![Version::INITIAL]; ROWS] };
        let mut running: Vec<Option<Running>> = (0..sessions).map(|_| None).collect();
        let mut number = 0;
        while number < transactions || running.iter().any(Option::is_some) {
            let session = choices.below(sessions);
            let Some(mut one) = running[session].take() else {
                if number < transactions {
                    number += 1;
                    running[session] = Some(run.begin(number, &mut choices));
                }
                continue;
            };
            if one.slow && choices.chance(80) {
                running[session] = Some(one);
            } else if one.left > 0 {
                one.left -= 1;
                let open: Vec<&Running> = running.iter().flatten().collect();
                run.work(&mut one, &open, &mut choices, faults);
                running[session] = Some(one);
            } else {
                run.end(session, one);
            }
        }
        run
    }

    fn now(&self) -> u64 {
        self.events.len() as u64 + 1
    }

    fn begin(&mut self, number: u64, choices: &mut Choices<'_>) -> Running {
        self.begins.push(self.now());
        self.events.push(Event::Begin(number));
        Running {
            number,
            doomed: choices.chance(8),
            left: 1 + choices.below(4) as u32,
            slow: choices.chance(30),
            reads: Vec::new(),
            writes: Vec::new(),
            snapshot: self.chains.iter().map(Vec::len).collect(),
        }
    }

    fn work(
        &mut self,
        one: &mut Running,
        open: &[&Running],
        choices: &mut Choices<'_>,
        faults: Faults,
    ) {
        let row = choices.below(ROWS);
        let chain = &mut self.chains[row];
        let writer = |version: &Version| open.iter().find(|other| other.number == version.txn);
        let last = chain[chain.len() - 1];
        let is_own = |version: &Version| version.txn == one.number;
        let wrote = one.writes.iter().any(|write| write.row == row as u64);
        let read = one.reads.iter().any(|read| read.row == row as u64);
        if one.writes.len() < 2 && !wrote && choices.chance(50) {
            let blocked = writer(&last).is_some_and(|other| other.doomed || one.doomed);
            if !blocked && (writer(&last).is_none() || choices.chance(faults.dirty)) {
                one.writes.push(Write { row: row as u64, write: 0, replaced: last });
                chain.push(Version { txn: one.number, write: 0 });
            }
            return;
        }
        if wrote || read {
            return;
        }
        let committed = chain.iter().rposition(|version| writer(version).is_none());
        let mut at = committed.unwrap_or(0);
        if choices.chance(faults.snapshot) {
            at = at.min(one.snapshot[row].min(chain.len()) - 1);
        } else if choices.chance(faults.any) {
            at = choices.below(chain.len());
        } else if choices.chance(faults.dirty) {
            at = chain.len() - 1;
        }
        if !is_own(&chain[at]) {
            one.reads.push(Read { row: row as u64, version: chain[at] });
        }
    }

    fn end(&mut self, session: usize, one: Running) {
        let outcome = if one.doomed { Outcome::Aborted } else { Outcome::Committed };
        if one.doomed {
            for chain in &mut self.chains {
                chain.retain(|version| version.txn != one.number);
            }
        }
        let Running { number, reads, writes, .. } = one;
        let (session, ended) = (session as u32, self.now());
        self.events.push(Event::End(Transaction {
            number,
            session,
            ended,
            outcome,
            reads,
            writes,
        }));
    }

    fn live(&self, keep: u64) -> Vec<Found> {
        let mut live = Live::new(Options { real_time: true, session: false, keep });
        let mut found = Vec::new();
        for event in &self.events {
            match event {
                Event::Begin(number) => live.begin(*number, self.begins[*number as usize]),
                Event::End(transaction) => found.extend(live.end(transaction.clone())),
            }
            found.extend(live.sweep());
        }
        found.extend(live.finish());
        found
    }

    fn whole(&self) -> BTreeSet<&'static str> {
        let mut builder = HistoryBuilder::new();
        let int = |number: u64| Atom::int(number as i64).unwrap();
        for event in &self.events {
            let Event::End(transaction) = event else { continue };
            let Transaction { number, session, ended, outcome, reads, writes } = transaction;
            let session = builder.session(int(u64::from(*session)));
            let times = (self.begins[*number as usize], *ended);
            builder.begin(session, *number as i64, *outcome, times);
            for Read { row, version } in reads {
                let key = builder.key(int(*row));
                let value = if version.txn == 0 { Atom::NIL } else { int(version.txn) };
                builder.push(OpKind::Read, key, value).unwrap();
            }
            for write in writes {
                let key = builder.key(int(write.row));
                builder.push(OpKind::Write, key, int(*number)).unwrap();
                let chain = &self.chains[write.row as usize];
                if let Some(place) = chain.iter().position(|version| version.txn == *number) {
                    builder.version_number(place as u64);
                }
            }
        }
        let strict = anchorite_check::names::level("strict-serializable").unwrap();
        let options = report::Options {
            levels: vec![strict],
            all_levels: true,
            ..report::Options::default()
        };
        let report = judge(&builder.finish(), &options);
        let all = report.anomalies.iter().chain(&report.others).map(|anomaly| anomaly.name);
        closure(all)
    }
}

/// The names with all that they imply, of those that both judges know.
fn closure(names: impl Iterator<Item = &'static str>) -> BTreeSet<&'static str> {
    let known = |name: &&'static str| {
        *name == "G1a"
            || PATTERNS.iter().any(|one| one.name == *name && !name.ends_with("-process"))
    };
    let implied = names.filter(known).flat_map(implied_by);
    implied.into_iter().filter(known).collect()
}

fn names(found: &[Found]) -> BTreeSet<&'static str> {
    closure(found.iter().map(|one| one.name))
}

fn compare(run: &Run) -> Result<(), TestCaseError> {
    let whole = run.whole();
    let kept = names(&run.live(u64::MAX / 2));
    prop_assert_eq!(&kept, &whole, "nothing dropped: {:?}", run.events);
    let found = run.live(0);
    let dropped = names(&found);
    prop_assert!(dropped.is_subset(&whole), "{:?} {:?}", dropped, whole);
    // A read of what had been replaced before the reader began is named by real time alone.
    let settled = found.iter().any(|one| one.name.starts_with("G-single") && one.steps.len() == 1);
    for name in &whole {
        let excused = settled && !name.starts_with("G0") && !name.starts_with("G1");
        prop_assert!(dropped.contains(name) || excused, "{}: {:?}", name, run.events);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 700,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn as_the_whole_history_judge(
        choices in prop::collection::vec(any::<u32>(), 1..300),
        sessions in 2_usize..5,
        transactions in prop_oneof![9 => 3_u64..9, 1 => 9_u64..80],
        snapshot in prop::sample::select(vec![0_usize, 50, 100]),
        any in prop::sample::select(vec![0_usize, 2, 20]),
        dirty in prop::sample::select(vec![0_usize, 0, 20]),
    ) {
        compare(&Run::new(&choices, sessions, transactions, Faults { snapshot, any, dirty }))?;
    }
}

/// A run in which everybody is fresh, with one transaction at a distance that closes a cycle.
fn planted(distance: u64, long: bool) -> Vec<Found> {
    let mut live = Live::new(Options { real_time: true, session: false, keep: 0 });
    let mut clock = 0;
    let mut now = || {
        clock += 1;
        clock
    };
    let read = |row: u64, txn: u64| Read { row, version: Version { txn, write: 0 } };
    let write = |row: u64, txn: u64| Write { row, write: 0, replaced: Version { txn, write: 0 } };
    let end = |number, ended, reads, writes| Transaction {
        number,
        session: 0,
        ended,
        outcome: Outcome::Committed,
        reads,
        writes,
    };
    let mut found = Vec::new();
    let odd = distance + 10;
    if long {
        live.begin(odd, now());
    }
    // A chain: each transaction reads what the one before wrote, and replaces row 0 or 1.
    for number in 1..=distance {
        live.begin(number, now());
        let before = number - 1;
        let writes = vec![write(number % 2, number.saturating_sub(2)), write(2, before)];
        found.extend(live.end(end(number, now(), vec![read(2, before)], writes)));
    }
    if !long {
        live.begin(odd, now());
    }
    // It misses the first write, but sees the last one.
    let reads = vec![read(1, 0), read(2, distance)];
    found.extend(live.end(end(odd, now(), reads, Vec::new())));
    found
}

#[test]
fn cycles_at_all_distances() {
    for distance in [1, 2, 3, 10, 100, 1_000] {
        for long in [false, true] {
            let found = planted(distance, long);
            let closed = names(&found);
            assert!(closed.contains("G-single-item-realtime"), "{distance} {long}: {found:?}");
            // While the reader is open nothing that it may see is dropped.
            assert!(!long || closed.contains("G-single-item"), "{distance}: {found:?}");
            assert!(found.iter().all(|one| one.transactions().contains(&(distance + 10))));
        }
    }
}

#[test]
fn what_is_kept_is_bounded_by_what_is_open() {
    for (sessions, skewed) in [(2_u64, false), (8, false), (8, true), (32, true)] {
        let mut live = Live::new(Options { real_time: true, session: true, keep: 0 });
        let (mut clock, mut most, mut most_versions, mut count) = (0, 0, 0, 0);
        let mut newest = vec![0_u64; 64];
        let begin = |live: &mut Live, number: u64, clock: &mut u64| {
            *clock += 1;
            live.begin(number, *clock);
        };
        (1..=sessions).for_each(|number| begin(&mut live, number, &mut clock));
        for number in 1..20_000 {
            let (row, other) = ((number % 64) as usize, ((number + 1) % 64) as usize);
            let version = |row: usize| Version { txn: newest[row], write: 0 };
            // With skew it read the row that the next one wrote, and that one wrote the row that it read.
            let seen = if skewed { row ^ 1 } else { other };
            let reads = vec![Read { row: seen as u64, version: version(seen) }];
            let writes = vec![Write { row: row as u64, write: 0, replaced: version(row) }];
            newest[row] = number;
            clock += 1;
            let (session, outcome) = ((number % sessions) as u32, Outcome::Committed);
            let ended = Transaction { number, session, ended: clock, outcome, reads, writes };
            count += live.end(ended).len();
            begin(&mut live, number + sessions, &mut clock);
            most = most.max(live.kept());
            most_versions = most_versions.max(live.kept_versions());
        }
        let bound = 32 + 4 * sessions as usize;
        assert!(most <= bound, "{sessions} sessions: {most} transactions");
        assert!(most_versions <= 4 * bound, "{sessions} sessions: {most_versions} versions");
        assert!(skewed || count == 0, "{count} anomalies");
    }
}

#[test]
fn what_single_reads_show() {
    let mut live = Live::new(Options::default());
    for number in 1..=8 {
        live.begin(number, number);
    }
    let row = 5;
    let version = |txn, write| Version { txn, write };
    let end = |number: u64, outcome, reads: Vec<Version>, writes: Vec<Write>| Transaction {
        number,
        session: number as u32,
        ended: 100 + number,
        outcome,
        reads: reads.into_iter().map(|version| Read { row, version }).collect(),
        writes,
    };
    let write = |write, replaced| Write { row, write, replaced };
    let twice = vec![write(0, Version::INITIAL), write(1, version(1, 0))];
    let told = |found: Vec<Found>| -> Vec<(&'static str, Vec<u64>)> {
        found.iter().map(|one| (one.name, one.transactions())).collect()
    };
    use Outcome::{Aborted, Committed, Unknown};
    // Before and after the writer has ended.
    assert_eq!(told(live.end(end(2, Committed, vec![version(1, 0)], vec![]))), []);
    assert_eq!(told(live.end(end(1, Committed, vec![], twice))), [("G1b", vec![1, 2])]);
    let late = live.end(end(3, Committed, vec![version(1, 0)], vec![]));
    assert_eq!(told(late), [("G1b", vec![1, 3])]);
    assert_eq!(told(live.end(end(4, Committed, vec![version(5, 0)], vec![]))), []);
    let undone = end(5, Aborted, vec![], vec![write(0, version(1, 1))]);
    assert_eq!(told(live.end(undone)), [("G1a", vec![4, 5])]);
    // Nobody knows how 6 ended until 7 reads from it.
    let doubtful = end(6, Unknown, vec![Version::INITIAL], vec![write(0, version(1, 1))]);
    assert_eq!(told(live.end(doubtful)), []);
    let reader = live.end(end(7, Committed, vec![version(6, 0)], vec![]));
    assert_eq!(told(reader), [("G-single-item", vec![1, 6])]);
    let thin = end(8, Committed, vec![version(77, 0)], vec![]);
    assert_eq!(told(live.end(thin)), []);
    assert_eq!(told(live.finish()), [("thin-air-read", vec![8, 77])]);
}

#[test]
fn what_an_unsettled_transaction_reaches_is_kept() {
    let mut live = Live::new(Options::default());
    let (a, b) = (1, 2);
    let read = |row, version| Read { row, version };
    let write = |row| Write { row, write: 0, replaced: Version::INITIAL };
    let end = |number, ended, reads, writes| Transaction {
        number,
        session: number as u32,
        ended,
        outcome: Outcome::Committed,
        reads,
        writes,
    };
    live.begin(1, 1);
    live.begin(2, 2);
    assert_eq!(live.end(end(2, 3, vec![], vec![write(a)])), []);
    live.begin(3, 4);
    // The first one missed the second one's write, which had ended before the third one began.
    assert_eq!(live.end(end(1, 5, vec![read(a, Version::INITIAL)], vec![write(b)])), []);
    assert_eq!(live.sweep(), []);
    assert_eq!(live.kept(), 2);
    let reads = vec![read(a, Version { txn: 2, write: 0 }), read(b, Version::INITIAL)];
    let found = live.end(end(3, 6, reads, vec![]));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name, found[0].transactions()), ("G2-item", vec![1, 2, 3]));
    live.sweep();
    assert_eq!(live.kept(), 0);
    assert_eq!(
        (live.newest(a), live.newest(b)),
        (Version { txn: 2, write: 0 }, Version { txn: 1, write: 0 })
    );
}
