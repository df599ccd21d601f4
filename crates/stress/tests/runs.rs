//! Whole runs on real engines: no false alarm at any level, and the same judgement as that of the whole history.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::time::Duration;

use anchorite_check::levels::LevelVerdict;
use anchorite_check::report::{self, judge};
use anchorite_check::{input, names};
use anchorite_drivers::{Target, open};
use anchorite_model::Level;
use anchorite_stress::{Options, Ran, Standing, Workload, run};

fn targets() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let all = ["sqlite", "sqlite:wal", "sqlite:shared-cache"].into_iter();
    all.chain(urls.split_whitespace()).map(|url| open(url).expect("a target")).collect()
}

fn options(level: Option<Level>, workloads: &[Workload], transactions: u64) -> Options {
    Options {
        level,
        sessions: 6,
        workloads: workloads.to_vec(),
        seed: 7,
        time: Duration::from_secs(60),
        transactions,
        ..Options::default()
    }
}

/// A run with its history.
fn recorded(target: &dyn Target, options: &Options) -> (Ran, Vec<u8>) {
    let mut history = Vec::new();
    let ran = run(target, options, Some(&mut history), &mut |_| {});
    (ran.unwrap_or_else(|error| panic!("{}: {error}", target.info())), history)
}

fn verdict(history: &[u8], level: &str) -> LevelVerdict {
    let (_, history) = input::read(history, None).expect("our own format");
    let levels = vec![names::level(level).expect("a level")];
    let options = report::Options { levels, all_levels: true, ..report::Options::default() };
    judge(&history, &options).valid
}

/// What was found while it ran, and what the whole history shows afterwards.
fn compare(ran: &Ran, history: &[u8], about: &str) {
    let shapes = ran.counts.anomalies.values().flat_map(|tally| &tally.findings);
    let shapes: Vec<&str> = shapes.map(|finding| finding.weighed.shape).collect();
    let is_timed = |shape: &&&str| shape.ends_with("-realtime");
    let by_data = shapes.iter().filter(|shape| !is_timed(shape)).count();
    if by_data > 0 {
        assert_eq!(verdict(history, "serializable"), LevelVerdict::Fails, "{about}: {shapes:?}");
    }
    if shapes.is_empty() {
        let whole = verdict(history, "strict-serializable");
        assert!(whole != LevelVerdict::Fails, "{about}: only the whole history shows it");
    }
}

#[test]
fn no_false_alarm_and_the_same_judgement_afterwards() {
    for target in targets() {
        for level in target.levels() {
            let pairs = [Workload::WriteSkew, Workload::Predicate];
            let is_strict = *level == Level::Serializable;
            for workloads in
                [&Workload::ALL[..], &pairs].into_iter().take(1 + usize::from(is_strict))
            {
                let about = format!("{} at {level}: {workloads:?}", target.info());
                let options = options(Some(*level), workloads, 100);
                let (ran, history) = recorded(target.as_ref(), &options);
                assert!(ran.committed > 10, "{about}: {ran:?}");
                let broken: Vec<_> = ran.counts.anomalies.iter().collect();
                let broken = broken.iter().filter(|kind| kind.0.0 == Standing::Violation);
                assert_eq!(broken.count(), 0, "{about}: {:#?}", ran.counts.anomalies);
                if is_strict {
                    assert!(ran.counts.anomalies.is_empty(), "{about}: {:#?}", ran.counts);
                }
                compare(&ran, &history, &about);
                let counts = &ran.counts;
                let judged = counts.pass + counts.by_standing.values().sum::<u64>();
                let others = counts.aborts.keys().filter(|class| !class.is_of_others());
                assert_eq!(others.count(), 0, "{about}: {:?}", counts.aborts);
                assert_eq!(judged, counts.committed, "{about}: every transaction has one verdict");
            }
        }
    }
}

#[test]
fn what_a_level_allows_is_found_and_its_page_named() {
    for target in targets() {
        let Some(level) = target.levels().iter().find(|level| **level == Level::ReadCommitted)
        else {
            continue;
        };
        let workloads = [Workload::WriteSkew, Workload::Predicate];
        let options = options(Some(*level), &workloads, 2_000);
        let (ran, history) = recorded(target.as_ref(), &options);
        let about = format!("{}: {:#?}", target.info(), ran.counts.anomalies);
        assert!(!ran.counts.anomalies.is_empty(), "{about}");
        for ((standing, _), tally) in &ran.counts.anomalies {
            assert_ne!(*standing, Standing::Violation, "{about}");
            let pages = tally.findings.iter().map(|finding| finding.weighed.page.as_deref());
            assert!(pages.into_iter().all(|page| page.is_some_and(|url| url.starts_with("https"))));
        }
        compare(&ran, &history, &about);
    }
}

#[test]
fn the_load_alone_is_the_same_load() {
    let target = open("sqlite:wal").expect("built in");
    let options = Options { is_judged: false, ..options(None, &[Workload::Register], 100) };
    let ran = run(target.as_ref(), &options, None, &mut |_| {}).expect("a run");
    assert!(ran.committed > 20 && ran.counts.committed == 0, "{ran:?}");
}
