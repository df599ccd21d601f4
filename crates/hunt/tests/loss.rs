//! A server that goes away in the middle of a hunt, played by an SQLite that can die: what is told, what is a finding,
//! which case is accused, and how often somebody waits.

mod mortal;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anchorite_claims::Claims;
use anchorite_hunt::ending::End;
use anchorite_hunt::{Audience, Effort, Ended, HuntOptions, HuntTarget, Stop, Supervisor, hunt};
use anchorite_model::{Case, Ending, Finding, FindingLine, HuntSummary, Product};
use anchorite_stage::RunOptions;
use anchorite_store::{Campaign, CampaignTarget, Past, Store};

use mortal::{COMPLAINT, DEADLY, Doctor, Server, Story};

/// So many cases there are.
const CASES: u64 = 40;
/// The case that kills the server, in the stories in which one does.
const GUILTY: u64 = 17;

/// Two sessions that meet; one case may have a statement that kills the server.
fn case(number: u64, is_deadly: bool) -> Case {
    let remark = if is_deadly { DEADLY } else { "" };
    let text = format!(
        "/* setup */ CREATE TABLE t (a INTEGER PRIMARY KEY, b INT);\n\
         /* setup */ INSERT INTO t VALUES (1, {number}), (2, 0);\n\
         /* t1 */ BEGIN;\n/* t1 */ UPDATE t SET b = b + 1 WHERE a = 1;\n\
         /* t2 */ BEGIN;\n/* t2 */ SELECT {remark} * FROM t;\n/* t1 */ COMMIT;\n/* t2 */ COMMIT;\n"
    );
    Case::parse(&format!("case {number}"), &text).expect("a case")
}

#[derive(Default)]
struct Listener {
    said: std::sync::Mutex<Vec<String>>,
}

impl Audience for Listener {
    fn live(&self, _: &HuntSummary) {}

    fn say(&self, text: &str) {
        self.said.lock().expect("no panic").push(text.to_owned());
    }

    fn found(&self, _: &FindingLine) {}
}

/// What came of a story.
struct Outcome {
    ended: Ended,
    said: Vec<String>,
    crashes: Vec<serde_json::Value>,
    finding: Option<Finding>,
    took: Duration,
    /// How often somebody asked whether the server is back.
    asked: usize,
}

fn play(story: Story, is_ours: bool, time: Option<Duration>) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let server = Server::new(story);
    let target = server.target();
    let mut campaign = Campaign::new("0.0.0", 7);
    campaign.cases = Some(CASES);
    campaign.targets.push(CampaignTarget {
        on: "mortal".to_owned(),
        target: target.info().clone(),
        levels: vec![None],
        recipe: serde_json::Value::Null,
    });
    let store = Store::begin(&out, campaign, true).expect("a new campaign");
    let asked = Arc::new(AtomicUsize::new(0));
    let doctor = Doctor { server: Arc::clone(&server), is_ours, asked: Arc::clone(&asked) };
    let has_deadly = story.dies_of_case || story.only_complains;
    let hunt_target = HuntTarget {
        against: None,
        on: "mortal".to_owned(),
        supervisor: Supervisor::new(target, Box::new(doctor)),
        levels: vec![None],
        claims: Claims::for_product(Product::named("sqlite")),
        cases: Box::new(move |number| case(number, has_deadly && number == GUILTY)),
    };
    let interrupt = Arc::new(AtomicBool::new(false));
    server.tell_when_it_dies(Arc::clone(&interrupt));
    let run = RunOptions { interrupt, ..RunOptions::default() };
    let options = HuntOptions {
        jobs: 4,
        block: 5,
        time,
        oracles: Vec::new(),
        effort: Effort::default(),
        known: Vec::new(),
        run,
        running: None,
    };
    let past = Past { progress: Vec::new(), suspects: Vec::new() };
    let (listener, begun) = (Listener::default(), Instant::now());
    let ended = hunt(&[hunt_target], &options, store, past, &listener);
    let took = begun.elapsed();
    let finding = ended.summary.findings.first().map(|line| {
        let file = Path::new(&line.file).with_file_name("finding.json");
        let text = std::fs::read_to_string(file).expect("a finding");
        serde_json::from_str(&text).expect("a finding")
    });
    let crashes = std::fs::read_dir(out.join("crashes")).expect("a folder").map(|entry| {
        let file = entry.expect("an entry").path().join("crash.json");
        let text = std::fs::read_to_string(file).expect("a record");
        serde_json::from_str(&text).expect("a document")
    });
    let crashes = crashes.collect();
    let said = listener.said.into_inner().expect("no panic");
    let asked = asked.load(Ordering::SeqCst);
    Outcome { ended, said, crashes, finding, took, asked }
}

fn because(finding: &Finding) -> String {
    serde_json::to_string(&finding.judgements).expect("a text")
}

#[test]
fn the_case_that_crashes_the_server_again_is_the_one() {
    let story = Story { dies_of_case: true, end: End::Signal(11), ..Story::default() };
    let outcome = play(story, true, None);
    assert!(matches!(outcome.ended.stop, Stop::Done), "{:?}", outcome.ended.stop);
    let finding = outcome.finding.expect("a finding");
    assert_eq!(finding.original, case(GUILTY, true), "{:?}", outcome.said);
    assert_eq!((finding.confirmed.shown, finding.confirmed.runs), (3, 3));
    assert!(!finding.run.events.is_empty());
    assert!(because(&finding).contains("in 3 of 3 runs"), "{}", because(&finding));
    assert_eq!(outcome.ended.summary.findings[0].hits, 1, "it is not run again by its worker");
    assert_eq!((outcome.crashes.len(), outcome.ended.summary.cases), (1, CASES - 1));
    assert_eq!(outcome.ended.tally.lost_connections, 0);
}

#[test]
fn a_line_in_the_log_of_a_server_that_lives_on_is_a_finding() {
    let story = Story { only_complains: true, ..Story::default() };
    let outcome = play(story, true, None);
    assert!(matches!(outcome.ended.stop, Stop::Done), "{:?}", outcome.ended.stop);
    let finding = outcome.finding.expect("a finding");
    assert_eq!(finding.signature.anomaly, "server-log");
    assert!(because(&finding).contains(COMPLAINT), "{}", because(&finding));
    assert_eq!(outcome.ended.summary.findings.len(), 1, "once");
    assert_eq!((outcome.crashes.len(), outcome.ended.summary.cases), (0, CASES));
}

#[test]
fn where_no_case_does_it_again_nobody_is_accused() {
    let story = Story { dies_after: Some(60), end: End::Signal(6), ..Story::default() };
    let outcome = play(story, true, None);
    assert!(matches!(outcome.ended.stop, Stop::Done), "{:?}", outcome.ended.stop);
    let finding = outcome.finding.expect("a finding");
    assert_eq!((finding.confirmed.shown, finding.confirmed.runs), (0, 1));
    assert!(because(&finding).contains("none crashed it again"), "{}", because(&finding));
    assert_eq!(finding.run.ending, Ending::Complete, "the run on the fresh server is shown");
    assert!(!finding.run.events.is_empty());
    assert_eq!((outcome.crashes.len(), outcome.ended.summary.servers_lost), (1, 1));
}

#[test]
fn a_server_that_is_stopped_from_outside_is_no_finding() {
    for end in [End::Signal(15), End::Signal(9), End::Code(0)] {
        let story = Story { dies_after: Some(60), end, ..Story::default() };
        let outcome = play(story, true, None);
        assert!(matches!(outcome.ended.stop, Stop::Done), "{:?}", outcome.ended.stop);
        assert!(outcome.finding.is_none() && outcome.ended.summary.findings.is_empty(), "{end:?}");
        assert_eq!(outcome.ended.summary.cases, CASES, "{end:?}: every case was run");
        assert_eq!(outcome.crashes.len(), 1, "{end:?}");
        assert_eq!(outcome.crashes[0]["stopped"], true, "{end:?}");
        assert_eq!(outcome.ended.summary.servers_stopped, 1, "{end:?}");
        assert_eq!(outcome.ended.tally.lost_connections, 0, "{end:?}");
    }
}

#[test]
fn when_the_whole_job_is_stopped_our_own_signal_may_come_later() {
    let story =
        Story { dies_after: Some(60), end: End::Signal(15), interrupts: true, ..Story::default() };
    let outcome = play(story, true, None);
    assert!(matches!(outcome.ended.stop, Stop::Interrupted), "{:?}", outcome.ended.stop);
    assert!(outcome.crashes.is_empty(), "{:?}", outcome.crashes);
}

#[test]
fn somebody_elses_server_that_stays_away_is_waited_for_once_and_not_longer_than_the_hunt() {
    let story = Story { dies_after: Some(60), stays_away: true, ..Story::default() };
    let outcome = play(story, false, Some(Duration::from_secs(2)));
    let Stop::Gone(gone) = &outcome.ended.stop else { panic!("{:?}", outcome.ended.stop) };
    let told = gone.to_string();
    assert!(told.contains("went away at") && told.contains("was not back after 10 s"), "{told}");
    assert!(outcome.took < Duration::from_secs(20), "{:?}", outcome.took);
    assert_eq!((outcome.crashes.len(), outcome.said.len()), (1, 1), "{:?}", outcome.said);
    assert_eq!(outcome.ended.tally.lost_connections, 0);
    // Ten times a second, by one of the threads.
    assert!(outcome.asked <= 101, "{}", outcome.asked);
}

#[test]
fn somebody_elses_server_that_comes_back_is_not_called_alive() {
    let story = Story { dies_after: Some(60), ..Story::default() };
    let outcome = play(story, false, None);
    assert!(matches!(outcome.ended.stop, Stop::Done), "{:?}", outcome.ended.stop);
    assert_eq!(outcome.ended.summary.cases, CASES);
    assert_eq!(outcome.ended.tally.lost_connections, 0);
    assert!(outcome.said[0].contains("it came back by itself after"), "{:?}", outcome.said);
    assert_eq!(outcome.crashes.len(), 1);
}
