//! kill -9 at any moment: what was acknowledged is there, and nothing half-written is in the way.
//!
//! The test starts itself as a child that writes progress, suspects, findings and crashes and says after
//! each what it has done; the parent kills it after a number of such lines, most of the time in the middle of
//! the next write, and opens the folder again. No clock is involved.

#![allow(clippy::print_stdout, reason = "the children talk to their parent")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anchorite_model::{
    BlockingKnowledge, Case, Confirmed, Ending, Finding, Judgement, Origin, Product, Rank, Rows,
    Run, Signature, TargetInfo, Value, Verdict,
};
use anchorite_store::{
    Campaign, CampaignTarget, Crash, Past, Progress, Ranges, RunningCase, Spot, Store, Suspect,
};

/// Tells the child where to write, and the number of its life.
const FOLDER: &str = "ANCHORITE_TEST_KILLED_FOLDER";
/// Tells the other child where to write.
const FULL: &str = "ANCHORITE_TEST_FULL_FOLDER";
/// So often the child is killed.
const KILLS: u64 = 20;

fn campaign() -> Campaign {
    let mut campaign = Campaign::new("0.0.0", 7);
    campaign.targets.push(CampaignTarget {
        on: "sqlite".to_owned(),
        target: target(),
        levels: vec![None],
        recipe: serde_json::Value::Null,
    });
    campaign
}

fn target() -> TargetInfo {
    TargetInfo {
        product: Product::named("sqlite"),
        version: "3".to_owned(),
        variant: String::new(),
    }
}

fn case() -> Case {
    let text = "/* setup */ CREATE TABLE t (a INT);\n\n/* t1 */ BEGIN;\n/* t1 */ COMMIT;\n";
    Case::parse("case", text).expect("a case")
}

fn signature() -> Signature {
    Signature {
        oracle: "final-state".to_owned(),
        anomaly: "lost-update".to_owned(),
        exception: None,
        rank: Rank::Broken,
    }
}

fn finding(fingerprint: String) -> Finding {
    let verdict = Verdict::broken("lost-update", Vec::new());
    // Values that JSON has no number for must survive, too.
    let odd =
        vec![Value::Int(i128::from(u64::MAX)), Value::Float(0.1), Value::Float(f64::INFINITY)];
    let rows = Rows { columns: vec!["a".to_owned()], rows: vec![odd] };
    let run = Run {
        case: case(),
        target: target(),
        level: None,
        sessions: Vec::new(),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("the test".to_owned()),
        events: Vec::new(),
        final_state: vec![("t".to_owned(), rows)],
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    };
    Finding {
        options: Vec::new(),
        fingerprint,
        title: String::new(),
        on: String::new(),
        signature: signature(),
        witnesses: Vec::new(),
        alike: Vec::new(),
        covers: Vec::new(),
        cause: None,
        known: None,
        unreported: false,
        origin: Origin::Generated { seed: 7, number: 1 },
        original: case(),
        before: Vec::new(),
        run,
        judgements: vec![Judgement::new("final-state", verdict)],
        confirmed: Confirmed { shown: 3, runs: 3 },
        contrast: Vec::new(),
        claim: Vec::new(),
    }
}

fn suspect(number: u64) -> Suspect {
    let spot = Spot { place: 0, number };
    Suspect::new((spot, "sqlite 3".to_owned(), None), 7, signature(), case(), "# seen\n".to_owned())
}

fn crash(running: Vec<RunningCase>) -> Crash {
    Crash {
        schema: Crash::SCHEMA,
        target: "sqlite 3".to_owned(),
        at: 0,
        seed: 7,
        noticed: String::new(),
        said: Vec::new(),
        reason: String::new(),
        stopped: false,
        afterwards: String::new(),
        tried: String::new(),
        running,
        log: Some("bye\n".to_owned()),
    }
}

/// What a campaign does, from the first case that is not done yet, until it is killed.
fn write_until_killed(folder: &Path) {
    let (mut store, past) = match Store::resume::<u64>(folder) {
        Ok(resumed) => resumed,
        Err(_) => {
            let store = Store::begin(folder, campaign(), true).expect("a new campaign");
            (store, Past { progress: Vec::new(), suspects: Vec::new() })
        }
    };
    let mut out = std::io::stdout().lock();
    let mut say = |what: &str, number: u64| {
        writeln!(out, "{what} {number}").and_then(|()| out.flush()).expect("the parent listens");
    };
    let settle = |store: &mut Store, waiting: &Suspect, say: &mut dyn FnMut(&str, u64)| {
        let number = waiting.spot.number;
        match number % 5 {
            0 => store.flaky(waiting).expect("kept apart"),
            _ => {
                let found = finding(format!("f{}", number % 7));
                let pages = |_: &Finding| vec![("report.md".to_owned(), "# found\n".to_owned())];
                store.confirmed(waiting, &found, &pages).expect("a finding");
                say("found", number);
            }
        }
    };
    for waiting in &past.suspects {
        settle(&mut store, waiting, &mut say);
    }
    let first = past.progress.last().map_or(0, |entry| entry.to);
    for number in first.. {
        let suspect = suspect(number);
        if !store.knows(suspect.spot, &suspect.signature.oracle) {
            store.suspect(&suspect).expect("a suspect");
            say("suspect", number);
            settle(&mut store, &suspect, &mut say);
        }
        if number % 11 == 0 {
            let running = vec![RunningCase { spot: suspect.spot, level: None, case: case() }];
            let crash = crash(running);
            let found = finding("crash-1".to_owned());
            store.crash(&crash, Some(&found), &|_| Vec::new()).expect("a crash");
            say("crash", number);
        }
        let (from, to, session) = (number, number + 1, 0);
        let progress = Progress { place: 0, from, to, at_ms: 0, session, counts: 1_u64 };
        store.progress(&progress).expect("progress");
        say("done", number);
    }
}

/// Not a test by itself: the child.
#[test]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write_until_killed(Path::new(&folder));
    }
}

/// Runs the child until it has said so many lines, kills it, and gives all that it said.
fn run_and_kill(folder: &Path, lines: u64) -> Vec<(String, u64)> {
    let us = std::env::current_exe().expect("our own path");
    let mut child = Command::new(us)
        .args(["--exact", "child", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the child starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut said = Vec::new();
    let read = |line: String| {
        let (what, number) = line.split_once(' ')?;
        Some((what.to_owned(), number.parse().ok()?))
    };
    while (said.len() as u64) < lines {
        let line = reader.next().expect("the child goes on until it is killed").expect("text");
        said.extend(read(line));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    // What it said before it died, it has done.
    said.extend(reader.map_while(Result::ok).filter_map(read));
    said
}

#[test]
fn whatever_was_acknowledged_survives_every_kill() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let mut promised = BTreeSet::new();
    let mut crashes = 0;
    for kill in 0..KILLS {
        for (what, number) in run_and_kill(&folder, 3 + kill * 7 % 13) {
            crashes += u64::from(what == "crash");
            promised.insert((what, number));
        }
        let (store, past) = Store::resume::<u64>(&folder).expect("the folder opens after a kill");
        let mut done = Ranges::default();
        past.progress.iter().for_each(|entry| done.add(entry.from..entry.to));
        let hits: u64 = store.findings().iter().map(|finding| finding.hits).sum();
        let of = |what: &str| promised.iter().filter(|(said, _)| said == what).count() as u64;
        assert!(hits >= of("found") + crashes, "kill {kill}: {hits} hits, {promised:?}");
        assert!(store.crashes() >= crashes, "kill {kill}");
        for (what, number) in &promised {
            let spot = Spot { place: 0, number: *number };
            match what.as_str() {
                "suspect" => assert!(
                    store.knows(spot, "final-state"),
                    "kill {kill}: suspect {number} is lost"
                ),
                "done" => assert!(done.next_missing(*number) > *number, "kill {kill}: {number}"),
                _ => {}
            }
        }
        assert!(done.iter().count() <= 1, "kill {kill}: there are gaps: {done:?}");
        assert_eq!(unfinished(&folder), Vec::<PathBuf>::new());
    }
    assert!(promised.len() as u64 > KILLS, "the child did something each time");
}

/// Not a test by itself: writes until the system refuses, under a limit that the parent has set.
#[test]
fn child_on_a_full_disk() {
    let Some(folder) = std::env::var_os(FULL) else { return };
    let folder = Path::new(&folder);
    let mut store = Store::begin(folder, campaign(), true).expect("a new campaign");
    for number in 0.. {
        let (from, to, session) = (number, number + 1, 0);
        let progress = Progress { place: 0, from, to, at_ms: 0, session, counts: 1_u64 };
        if let Err(error) = store.progress(&progress) {
            assert!(error.is_disk_full(), "{error}");
            println!("full {number}");
            return;
        }
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing_half_written() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let us = std::env::current_exe().expect("our own path");
    // The largest file is 16 blocks; without the signal, a write beyond that fails like one on a full disk.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact child_on_a_full_disk --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(us)
        .env(FULL, &folder)
        .output()
        .expect("the child starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let refused = said.lines().find_map(|line| line.strip_prefix("full "));
    let refused: u64 = refused.unwrap_or_else(|| panic!("{said}")).parse().expect("a number");
    let (_, past) = Store::resume::<u64>(&folder).expect("the folder opens");
    let done: u64 = past.progress.iter().map(|entry| entry.to - entry.from).sum();
    let counted: u64 = past.progress.iter().map(|entry| entry.counts).sum();
    assert_eq!((done, counted), (refused, refused));
    let bytes = std::fs::read(folder.join("progress")).expect("the journal");
    assert_eq!(bytes.last(), Some(&b'\n'), "the line that did not fit was taken back");
}

fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut found = Vec::new();
    for entry in entries {
        let is_ours = entry.file_name().to_string_lossy().starts_with(".unfinished");
        found.extend(is_ours.then(|| entry.path()));
        if entry.path().is_dir() {
            found.extend(unfinished(&entry.path()));
        }
    }
    found
}

#[test]
fn two_hunts_do_not_share_a_folder_and_strangers_are_refused() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let store = Store::begin(&folder, campaign(), true).expect("a new campaign");
    let error = Store::resume::<u64>(&folder).expect_err("it is in use").to_string();
    assert!(error.contains("in use by another hunt"), "{error}");
    let error = Store::begin(&folder, campaign(), true).expect_err("it exists").to_string();
    assert!(error.contains("--resume"), "{error}");
    drop(store);
    assert!(Store::resume::<u64>(&folder).is_ok());

    let foreign = temporary.path().join("foreign");
    std::fs::create_dir(&foreign).expect("a folder");
    std::fs::write(foreign.join("thesis.tex"), "years of work").expect("a file");
    let error = Store::begin(&foreign, campaign(), true).expect_err("not ours").to_string();
    assert!(error.contains("thesis.tex"), "{error}");
    let error = Store::resume::<u64>(&foreign).expect_err("no campaign").to_string();
    assert!(error.contains("no campaign to resume"), "{error}");
}

#[test]
fn a_bad_file_is_told_with_its_name_and_line() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    drop(Store::begin(&folder, campaign(), true).expect("a new campaign"));
    let bad = [
        ("campaign.json", "{\n  \"schema\": 1,\n  what?", "campaign.json:3:"),
        ("campaign.json", "{\"schema\": 2}", "expected schema 1, found 2"),
        ("campaign.json", "{\"name\": \"package\"}", "this is no file of Anchorite"),
        ("progress", "{\"schema\":1,\"journal\":\"progress\"}\n17\n", "progress:2:"),
        ("suspects/0-1.json", "{\"schema\": 1}", "0-1.json:1: missing field"),
    ];
    for (file, text, expected) in bad {
        let path = folder.join(file);
        let before = std::fs::read(&path).ok();
        std::fs::write(&path, text).expect("written");
        let error = Store::resume::<u64>(&folder).expect_err(file).to_string();
        assert!(error.contains(expected), "{error}");
        match before {
            Some(before) => std::fs::write(&path, before).expect("written"),
            None => std::fs::remove_file(&path).expect("removed"),
        }
    }
    assert!(Store::resume::<u64>(&folder).is_ok());
}

#[test]
fn a_hunt_that_finds_nothing_leaves_no_folder() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let mut store = Store::begin(&folder, campaign(), false).expect("a new campaign");
    let entry = |from, to| Progress { place: 0, from, to, at_ms: 1, session: 0, counts: 1_u64 };
    store.progress(&entry(0, 200)).expect("held in memory");
    assert!(!folder.exists() && store.folder().is_none());
    store.suspect(&suspect(200)).expect("now there is something to keep");
    store.progress(&entry(200, 400)).expect("appended");
    drop(store);
    let (_, past) = Store::resume::<u64>(&folder).expect("it can be resumed");
    assert_eq!((past.progress.len(), past.suspects.len()), (2, 1));
}

#[test]
fn what_never_shows_again_keeps_the_run_that_showed_it() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let mut store = Store::begin(&folder, campaign(), true).expect("a new campaign");
    let rare = suspect(7);
    store.suspect(&rare).expect("kept");
    store.flaky(&rare).expect("kept apart");
    let read = |name: &str| std::fs::read_to_string(folder.join("flaky").join(name));
    assert_eq!(read("0-7-final-state.case").expect("its case"), rare.case.to_text());
    assert_eq!(read("0-7-final-state.md").expect("its run"), rare.seen);
    let waiting = std::fs::read_dir(folder.join("suspects")).expect("a folder").count();
    assert_eq!((waiting, store.suspects()), (0, 0));
}
