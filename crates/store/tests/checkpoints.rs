//! A campaign that has lasted for ever: its journal stays short, and a long one of an earlier release is read without
//! being held in memory. kill -9 at any moment of that loses nothing and counts nothing twice.

#![allow(clippy::print_stdout, reason = "the children talk to their parent")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anchorite_model::{Product, TargetInfo};
use anchorite_store::{Campaign, CampaignTarget, Past, Progress, Ranges, Store};

/// Tells the child where to write.
const WRITE: &str = "ANCHORITE_TEST_CHECKPOINT_FOLDER";
/// Tells the other child what to read.
const READ: &str = "ANCHORITE_TEST_LONG_FOLDER";
/// So often the child is killed.
const KILLS: u64 = 20;
/// As many lines as a campaign of some hours wrote.
const LONG: u64 = 300_000;
/// The lines after which a journal is shortened; so many are there before the child writes its first one.
const NEARLY: u64 = 998;
/// What reading a long journal may take, in kilobytes.
const MEMORY_MAX: u64 = 20_000;
/// What is left of it, in bytes.
const SHORT: u64 = 2_000;
/// As many cases as the folder of the first release has.
const DONE: u64 = 392;

fn campaign() -> Campaign {
    let mut campaign = Campaign::new("0.0.0", 7);
    let target = TargetInfo {
        product: Product::named("sqlite"),
        version: "3".to_owned(),
        variant: String::new(),
    };
    campaign.targets.push(CampaignTarget {
        on: "sqlite".to_owned(),
        target,
        levels: vec![None],
        recipe: serde_json::Value::Null,
    });
    campaign
}

fn line(number: u64, session: u32) -> Progress<u64> {
    Progress { place: 0, from: number, to: number + 1, at_ms: number, session, counts: 1 }
}

/// Adds lines to a journal as an earlier release would have.
fn prolong(folder: &Path, numbers: std::ops::Range<u64>, session: u32) {
    let file = fs::File::options().append(true).open(folder.join("progress")).expect("a journal");
    let mut file = std::io::BufWriter::new(file);
    for number in numbers {
        let text = serde_json::to_string(&line(number, session)).expect("a line");
        writeln!(file, "{text}").expect("written");
    }
    file.flush().expect("written");
}

/// How many cases are done, and how many were counted.
fn sums(past: &Past<u64>) -> (u64, u64) {
    let mut done = Ranges::default();
    past.progress.iter().for_each(|entry| done.add(entry.from..entry.to));
    assert!(done.iter().count() <= 1, "there are gaps: {done:?}");
    (done.count(), past.progress.iter().map(|entry| entry.counts).sum())
}

/// Not a test by itself: notes one case after another, until it is killed.
#[test]
fn child_that_writes() {
    let Some(folder) = std::env::var_os(WRITE) else { return };
    let (mut store, past) = Store::resume::<u64>(Path::new(&folder)).expect("a campaign");
    let mut out = std::io::stdout().lock();
    for number in sums(&past).0.. {
        store.progress(&line(number, 1)).expect("progress");
        writeln!(out, "done {number}").and_then(|()| out.flush()).expect("the parent listens");
    }
}

#[test]
fn a_journal_can_be_shortened_under_kill_9() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    drop(Store::begin(&folder, campaign(), true).expect("a new campaign"));
    let mut shortened = 0;
    for kill in 0..KILLS {
        let (store, past) = Store::resume::<u64>(&folder).expect("it opens");
        let (done, counted) = sums(&past);
        assert_eq!(done, counted, "kill {kill}");
        drop(store);
        let text = fs::read_to_string(folder.join("progress")).expect("a journal");
        let lines = text.lines().count() as u64 - 1;
        prolong(&folder, done..done + NEARLY.saturating_sub(lines), 0);
        let us = std::env::current_exe().expect("our own path");
        let mut child = Command::new(us)
            .args(["--exact", "child_that_writes", "--nocapture"])
            .env(WRITE, &folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the child starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let number = |line: String| line.strip_prefix("done ")?.parse::<u64>().ok();
        // Most of the time in the middle of writing the short journal, or just before or after.
        let wanted = 1 + usize::try_from(kill % 5).expect("small");
        let heard: Vec<u64> =
            said.by_ref().map_while(Result::ok).filter_map(number).take(wanted).collect();
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let last = heard.into_iter().chain(said.map_while(Result::ok).filter_map(number)).last();
        let last = last.expect("the child has written");
        let (store, past) = Store::resume::<u64>(&folder).expect("the folder opens after a kill");
        let (done, counted) = sums(&past);
        assert!(done > last, "kill {kill}: {done} done, and {last} was acknowledged");
        assert_eq!(done, counted, "kill {kill}: nothing counts twice");
        drop(store);
        let text = fs::read_to_string(folder.join("progress")).expect("a journal");
        shortened += u64::from(text.lines().count() < 900);
    }
    assert!(shortened > KILLS / 4, "the journal was shortened {shortened} times");
}

/// Not a test by itself: opens a folder and says what that took.
#[test]
fn child_that_reads() {
    let Some(folder) = std::env::var_os(READ) else { return };
    let highest = || {
        let status = fs::read_to_string("/proc/self/status").expect("a status");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number")
    };
    let before = highest();
    let (_store, past) = Store::resume::<u64>(Path::new(&folder)).expect("it opens");
    assert_eq!(sums(&past), (LONG, LONG));
    let earlier: u64 = past.progress.iter().map(|entry| entry.at_ms).max().expect("a time");
    assert_eq!(earlier, LONG - 1);
    println!("took {}", highest() - before);
}

#[test]
fn a_campaign_of_very_many_lines_resumes_in_little_memory() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    drop(Store::begin(&folder, campaign(), true).expect("a new campaign"));
    prolong(&folder, 0..LONG, 0);
    let us = std::env::current_exe().expect("our own path");
    let output = Command::new(us)
        .args(["--exact", "child_that_reads", "--nocapture"])
        .env(READ, &folder)
        .output()
        .expect("the child starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let took = said.lines().find_map(|line| line.strip_prefix("took ")?.parse::<u64>().ok());
    let took = took.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)));
    assert!(took < MEMORY_MAX, "it took {took} kB");
    let left = fs::metadata(folder.join("progress")).expect("a journal").len();
    assert!(left < SHORT, "{left} bytes are left");
}

#[test]
fn a_long_campaign_writes_a_short_journal() {
    let temporary = tempfile::tempdir().expect("a folder");
    for at_once in [true, false] {
        let folder = temporary.path().join(format!("findings-{at_once}"));
        let mut store = Store::begin(&folder, campaign(), at_once).expect("a new campaign");
        for number in 0..3_500 {
            store.progress(&line(number, 0)).expect("progress");
        }
        let lines = fs::read_to_string(folder.join("progress")).map(|text| text.lines().count());
        assert_eq!(lines.is_ok(), at_once);
        assert!(lines.unwrap_or_default() < 1_100, "it is shortened now and then");
    }
}

#[test]
fn a_folder_of_the_first_release_opens() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    for part in ["suspects", "findings", "flaky", "crashes"] {
        fs::create_dir_all(folder.join(part)).expect("a folder");
    }
    for (name, text) in [
        ("campaign.json", include_str!("first_release/campaign.json")),
        ("progress", include_str!("first_release/progress")),
        ("outcomes", include_str!("first_release/outcomes")),
        ("findings/crash-aa64ee1b55c5/finding.json", include_str!("first_release/crash.json")),
        (
            "findings/delete-update-63125a5c/finding.json",
            include_str!("first_release/finding.json"),
        ),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    let (store, past) = Store::resume::<Tolerant>(&folder).expect("it opens");
    assert_eq!((store.campaign().seed, store.crashes(), store.stops()), (3105, 1, 0));
    let hits: Vec<u64> = store.findings().iter().map(|line| line.hits).collect();
    assert_eq!(hits, [1, 3]);
    let done: u64 = past.progress.iter().map(|entry| entry.to - entry.from).sum();
    let cases: u64 = past.progress.iter().map(|entry| entry.counts.cases).sum();
    assert_eq!((done, cases), (DONE, DONE));
}

/// The part of the counts that this test looks at.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Tolerant {
    cases: u64,
}

impl anchorite_store::Counts for Tolerant {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
    }
}
