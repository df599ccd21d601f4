//! An engine that lives in the process of the hunt and crashes it: the hunt goes on, and the case is a finding.
//!
//! The test starts itself as a child that hunts on an SQLite whose driver aborts the process at a certain remark; a
//! second child of the same kind is the trial of a single case.

mod in_process;
#[allow(dead_code, reason = "each test uses a part of it")]
mod mortal;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anchorite_claims::Claims;
use anchorite_hunt::ending::End;
use anchorite_hunt::survivor::{Crashed, Trials, recover};
use anchorite_hunt::{Effort, Examiner, HuntOptions, HuntTarget, Stop, Supervisor, Tally, hunt};
use anchorite_model::{Case, Finding, HuntSummary, Level, Product};
use anchorite_servers::{Ended, run_to_end, start_over_on_crash};
use anchorite_stage::{FreshTables, RunOptions};
use anchorite_store::{Campaign, CampaignTarget, Past, Store, still_running};

use in_process::{InProcess, Nobody};
use mortal::{DEADLY, Server, Story};

/// Tells the child where to work.
const FOLDER: &str = "ANCHORITE_TEST_HUNT_FOLDER";
/// Tells the child to run only this case.
const TRIAL: &str = "ANCHORITE_TEST_TRIAL";
/// So many cases there are.
const CASES: u64 = 40;
/// The cases that crash the engine.
const GUILTY: [u64; 2] = [17, 31];
/// Longest trial.
const LIMIT: Duration = Duration::from_secs(60);

fn case(number: u64) -> Case {
    let remark = if GUILTY.contains(&number) { DEADLY } else { "" };
    let text = format!(
        "/* setup */ CREATE TABLE t (a INTEGER PRIMARY KEY, b INT);\n\
         /* setup */ INSERT INTO t VALUES (1, {number}), (2, 0);\n\
         /* t1 */ BEGIN;\n/* t1 */ UPDATE t SET b = b + 1 WHERE a = 1;\n\
         /* t2 */ BEGIN;\n/* t2 */ SELECT {remark} * FROM t;\n/* t1 */ COMMIT;\n/* t2 */ COMMIT;\n"
    );
    Case::parse(&format!("case {number}"), &text).expect("a case")
}

fn server() -> std::sync::Arc<Server> {
    Server::new(Story { dies_of_case: true, takes_us_along: true, ..Story::default() })
}

/// Runs each case in a child.
struct Children(PathBuf);

impl Trials for Children {
    fn crashes(&mut self, _: &str, case: &Case, _: Option<Level>) -> bool {
        let file = self.0.join("trial.case");
        fs::write(&file, case.to_text()).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("our own path"));
        command.args(["--exact", "child"]).env(TRIAL, file).stdout(Stdio::null());
        let ended = run_to_end(command, LIMIT).expect("it starts");
        assert!(matches!(ended, Some(Ended::Code(0) | Ended::Signal(6))), "{ended:?}");
        ended == Some(Ended::Signal(6))
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

fn try_one(file: &Path) {
    let text = fs::read_to_string(file).expect("a case");
    let case = Case::parse("trial", &text).expect("a case");
    let (server, claims) = (server(), Claims::for_product(Product::named("sqlite")));
    let target = server.target();
    let mut fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    // A reduction also asks for cases that cannot be set up.
    let _ = Examiner { claims, oracles: &[], strict: false }.examine(&mut fresh, &case, None);
}

fn campaign(server: &std::sync::Arc<Server>) -> Campaign {
    let mut campaign = Campaign::new("0.0.0", 7);
    campaign.cases = Some(CASES);
    campaign.targets.push(CampaignTarget {
        on: "mortal".to_owned(),
        target: server.target().info().clone(),
        levels: vec![None],
        recipe: serde_json::Value::Null,
    });
    campaign
}

/// Begins the hunt, or goes on after a crash.
fn hunt_in(folder: &Path) -> HuntSummary {
    let (left, out) = (folder.join("left"), folder.join("out"));
    let signal = fs::read(left.join("signal")).unwrap_or_default();
    if let Some(signal) = signal.first() {
        let running = still_running(&left).expect("the cases that were running");
        let crashed =
            Crashed { end: End::Signal(i32::from(*signal)), at: SystemTime::now(), running };
        let restored = Store::restore::<Tally>(&out, &left).expect("the campaign");
        let mut trials = Children(folder.to_owned());
        assert!(recover(restored, crashed, &mut trials, &Nobody).expect("it is recorded"));
        fs::remove_dir_all(&left).expect("it is there");
    }
    fs::create_dir_all(&left).expect("a folder");
    let server = server();
    let none = Past { progress: Vec::new(), suspects: Vec::new() };
    let (mut store, past) = Store::resume::<Tally>(&out).unwrap_or_else(|_| {
        (Store::begin(&out, campaign(&server), false).expect("a new campaign"), none)
    });
    store.keep_spare(&left).expect("it is written");
    let hunt_target = HuntTarget {
        against: None,
        on: "mortal".to_owned(),
        supervisor: Supervisor::new(server.target(), Box::new(InProcess)),
        levels: vec![None],
        claims: Claims::for_product(Product::named("sqlite")),
        cases: Box::new(case),
    };
    let options = HuntOptions {
        jobs: 3,
        block: 5,
        time: None,
        oracles: Vec::new(),
        effort: Effort::default(),
        known: Vec::new(),
        run: RunOptions::default(),
        running: Some(left.clone()),
    };
    let arguments: Vec<_> = std::env::args_os().collect();
    let told = File::create(left.join("signal")).expect("a file");
    let armed = start_over_on_crash(&arguments, told).expect("it is armed");
    let ended = hunt(&[hunt_target], &options, store, past, &Nobody);
    drop(armed);
    assert!(matches!(ended.stop, Stop::Done), "{:?}", ended.stop);
    ended.summary
}

/// Not a test by itself: the children.
#[test]
fn child() {
    if let Some(file) = std::env::var_os(TRIAL) {
        try_one(Path::new(&file));
    } else if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = PathBuf::from(folder);
        let summary = hunt_in(&folder);
        let text = serde_json::to_string(&summary).expect("a document");
        fs::write(folder.join("summary"), text).expect("written");
    }
}

#[test]
fn a_hunt_goes_on_after_its_engine_has_crashed_it_and_knows_the_case() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command.args(["--exact", "child"]).env(FOLDER, folder).stdout(Stdio::null());
    assert!(command.status().expect("it starts").success());
    let text = fs::read_to_string(folder.join("summary")).expect("it got to its end");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(summary["cases"], CASES - GUILTY.len() as u64, "{text}");
    assert_eq!(summary["servers_lost"], GUILTY.len(), "{text}");
    let findings = summary["findings"].as_array().expect("a list");
    assert_eq!((findings.len(), &findings[0]["hits"]), (1, &GUILTY.len().into()), "{text}");
    let file = findings[0]["file"].as_str().expect("a path");
    let text = fs::read_to_string(Path::new(file).with_file_name("finding.json")).expect("it");
    let finding: Finding = serde_json::from_str(&text).expect("a finding");
    assert!(GUILTY.map(case).contains(&finding.original), "{text}");
    assert_eq!((finding.confirmed.shown, finding.confirmed.runs), (3, 3));
    let kept: Vec<&str> =
        finding.run.case.steps.iter().map(|step| step.statement.sql.as_str()).collect();
    assert!(kept.len() == 1 && kept[0].contains(DEADLY), "it is reduced: {kept:?}");
}
