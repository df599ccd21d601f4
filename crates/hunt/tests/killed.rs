//! kill -9 of a hunt that finds something, again and again: nothing found is lost, and after the last resume every
//! case has been done once and every suspect looked at.
//!
//! The test starts itself as a child that hunts on a sabotaged SQLite and says each finding after it was kept. The
//! parent kills it at different moments of its progress, which it reads from the journal. No clock decides.

#![allow(clippy::print_stdout, reason = "the child talks to its parent")]

mod in_process;
mod until;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anchorite_claims::Claims;
use anchorite_drivers::sabotage::{Sabotage, sabotaged};
use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, case};
use anchorite_hunt::{Audience, Effort, HuntOptions, HuntTarget, Stop, Supervisor, Tally, hunt};
use anchorite_judge::oracles;
use anchorite_model::{FindingLine, HuntSummary, Product};
use anchorite_stage::RunOptions;
use anchorite_store::{Campaign, CampaignTarget, Past, Ranges, Store};

use in_process::InProcess;

/// Tells the child where to write.
const FOLDER: &str = "ANCHORITE_TEST_HUNT_FOLDER";
/// So many cases there are.
const CASES: u64 = 120;
/// So many of them belong together.
const BLOCK: u64 = 4;
/// So often the child is killed.
const KILLS: usize = 20;
/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(120);

struct Parent;

impl Audience for Parent {
    fn live(&self, _: &HuntSummary) {}

    fn say(&self, _: &str) {}

    fn found(&self, finding: &FindingLine) {
        let mut out = std::io::stdout().lock();
        let said = writeln!(out, "found {}", finding.fingerprint).and_then(|()| out.flush());
        said.expect("the parent listens");
    }
}

fn target() -> Arc<dyn Target> {
    static SQLITE: OnceLock<Box<dyn Target>> = OnceLock::new();
    let sqlite = SQLITE.get_or_init(|| open("sqlite").expect("SQLite is built in"));
    Arc::new(sabotaged(sqlite.as_ref(), Sabotage::CommitLost))
}

fn campaign() -> Campaign {
    let mut campaign = Campaign::new("0.0.0", 7);
    campaign.cases = Some(CASES);
    campaign.targets.push(CampaignTarget {
        on: "sqlite".to_owned(),
        target: target().info().clone(),
        levels: vec![None],
        recipe: serde_json::Value::Null,
    });
    campaign
}

/// Begins or goes on, to the end.
fn hunt_in(folder: &Path) -> HuntSummary {
    let (store, past) = match Store::resume::<Tally>(folder) {
        Ok(resumed) => resumed,
        Err(_) => {
            let store = Store::begin(folder, campaign(), true).expect("a new campaign");
            (store, Past { progress: Vec::new(), suspects: Vec::new() })
        }
    };
    let recipe = Recipe::new(Product::named("sqlite"));
    let hunt_target = HuntTarget {
        against: None,
        on: "sqlite".to_owned(),
        supervisor: Supervisor::new(target(), Box::new(InProcess)),
        levels: vec![None],
        claims: Claims::for_product(Product::named("sqlite")),
        cases: Box::new(move |number| case(&recipe, 7, number)),
    };
    // Little effort: this is about what is kept, not about how small it becomes.
    let effort = Effort { confirmations: 1, questions: 3, contrasts: 0, ..Effort::default() };
    let options = HuntOptions {
        jobs: 2,
        block: BLOCK,
        time: None,
        oracles: oracles::ALL.to_vec(),
        effort,
        known: Vec::new(),
        run: RunOptions::default(),
        running: None,
    };
    let ended = hunt(&[hunt_target], &options, store, past, &Parent);
    assert!(matches!(ended.stop, Stop::Done), "{:?}", ended.stop);
    ended.summary
}

/// Not a test by itself: the child.
#[test]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        hunt_in(Path::new(&folder));
    }
}

/// What the child says goes into a file, where it can be seen at once and outlives the child.
fn start(folder: &Path, told: &Path) -> Child {
    let told = File::create(told).expect("a file");
    let us = std::env::current_exe().expect("our own path");
    let mut command = Command::new(us);
    command.args(["--exact", "child", "--nocapture"]).env(FOLDER, folder);
    command.stdout(told).stderr(Stdio::null()).spawn().expect("the child starts")
}

fn lines(file: &Path) -> usize {
    std::fs::read(file).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

/// Different moments for different kills: while the folder is opened, after a block, with suspects waiting,
/// after an investigation.
fn is_time_for(kill: usize, folder: &Path, told: &Path, progress: usize) -> bool {
    match kill % 4 {
        0 => true,
        1 => lines(&folder.join("progress")) > progress,
        2 => std::fs::read_dir(folder.join("suspects")).map_or(0, Iterator::count) > 0,
        _ => !fingerprints(told).is_empty(),
    }
}

/// The findings that the child has told whole.
fn fingerprints(told: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(told).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let found = whole.filter_map(|line| line.split_once("found "));
    found.map(|(_, fingerprint)| fingerprint.to_owned()).collect()
}

/// Goes on until every suspect has been looked at: each time a hunt examines what is left for a limited time.
fn to_the_end(folder: &Path) -> HuntSummary {
    let suspects = folder.join("suspects");
    let left = || std::fs::read_dir(&suspects).map_or(0, Iterator::count);
    let mut before = usize::MAX;
    loop {
        let ended = hunt_in(folder);
        if left() == 0 || left() >= before {
            return ended;
        }
        before = left();
    }
}

#[test]
fn a_hunt_that_is_killed_again_and_again_loses_nothing() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("killed");
    let told = temporary.path().join("told");
    let mut found = BTreeSet::new();
    for kill in 0..KILLS {
        let progress = lines(&folder.join("progress"));
        let mut child = start(&folder, &told);
        let what = format!("it is time for kill {kill}");
        until::is_written(&what, temporary.path(), child.id(), LIMIT, || {
            is_time_for(kill, &folder, &told, progress)
        });
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        found.extend(fingerprints(&told));
        if folder.join("campaign.json").exists() {
            let (store, _) =
                Store::resume::<Tally>(&folder).expect("the folder opens after a kill");
            let kept: BTreeSet<String> =
                store.findings().into_iter().map(|finding| finding.fingerprint).collect();
            assert!(found.is_subset(&kept), "kill {kill}: {found:?} were told, {kept:?} are there");
        }
    }
    let ended = to_the_end(&folder);
    let kept: BTreeSet<String> = ended.findings.into_iter().map(|line| line.fingerprint).collect();
    assert!(!found.is_empty() && found.is_subset(&kept), "{found:?} were told, {kept:?} are there");
    let (store, past) = Store::resume::<Tally>(&folder).expect("the folder opens");
    let mut done = Ranges::default();
    past.progress.iter().for_each(|entry| done.add(entry.from..entry.to));
    assert!(done.iter().eq(std::iter::once(0..CASES)), "{done:?}");
    let counted: u64 = past.progress.iter().map(|entry| entry.to - entry.from).sum();
    assert_eq!((counted, ended.cases), (CASES, CASES), "no case counts twice");
    assert_eq!(store.suspects(), 0, "everything suspect was looked at");
}
