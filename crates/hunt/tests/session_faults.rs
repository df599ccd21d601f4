//! Faults that live in sessions: rehearsals do not inherit them, what needs used tables is found with the cases before
//! it, and what never comes again is told.

mod in_process;
mod stale;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_hunt::{Effort, Ended, Examiner, HuntOptions, HuntTarget, Supervisor, hunt};
use anchorite_judge::oracles;
use anchorite_model::{Case, Finding, FindingLine, Level, Run, RunError, Verdict};
use anchorite_report::{Glyphs, Style, TextOptions, hunt as report};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner};
use anchorite_store::{Campaign, CampaignTarget, Past, Store};

use in_process::{InProcess, Nobody};
use stale::{Notices, Stale};

/// t1 sees that b was written, after a was, and does not see that a was written.
const CASE: &str = "\
/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);
/* setup */ INSERT INTO t VALUES (1, 0), (2, 0);
/* t1 */ SELECT v FROM t WHERE id = 1;
/* t2 */ UPDATE t SET v = 1 WHERE id = 1;
/* t2 */ UPDATE t SET v = (SELECT v FROM t WHERE id = 1) WHERE id = 2;
/* t1 */ BEGIN;
/* t1 */ SELECT v FROM t WHERE id = 2;
/* t1 */ SELECT v FROM t WHERE id = 1;
/* t1 */ COMMIT;
";

/// Rehearses in sessions like those of the run.
struct LikeTheRun<R>(R);

impl<R: Runner> Runner for LikeTheRun<R> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.0.run(case, level)
    }
}

fn verdict(runner: &mut dyn Runner, target: &dyn Target) -> Verdict {
    verdict_on(&Case::parse("stale", CASE).expect("a valid case"), runner, target)
}

fn verdict_on(case: &Case, runner: &mut dyn Runner, target: &dyn Target) -> Verdict {
    let oracles = [oracles::named("final-state").expect("there is one")];
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: &oracles, strict: false };
    let examined = examiner.examine(runner, case, Some(Level::Serializable)).expect("it runs");
    examined.judgements[0].verdict.clone()
}

#[test]
fn a_fault_that_lives_in_a_session_does_not_repeat_itself_in_rehearsals() {
    let options = RunOptions::default;
    let stale = Stale::new(Notices::ItsOwn);
    let fresh = || FreshTables { target: &stale, options: options() };
    let arena = || Arena::new(&stale, options()).expect("an arena");
    for found in [verdict(&mut fresh(), &stale), verdict(&mut arena(), &stale)] {
        assert!(matches!(found, Verdict::Violation { .. }), "{found:?}");
    }
    for missed in
        [verdict(&mut LikeTheRun(fresh()), &stale), verdict(&mut LikeTheRun(arena()), &stale)]
    {
        assert_eq!(missed, Verdict::Pass, "the fault explains itself");
    }
    let honest = open("sqlite").expect("it is built in");
    let between_cases = Stale::new(Notices::ThoseOfCases);
    for target in [honest.as_ref(), &between_cases] {
        let mut fresh = FreshTables { target, options: options() };
        assert_eq!(verdict(&mut fresh, target), Verdict::Pass);
    }
}

/// So many cases there are.
const CASES: u64 = 40;

/// Two sessions that read; the rows are others in each case.
fn reading(number: u64) -> Case {
    let text = format!(
        "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
         /* setup */ INSERT INTO t VALUES (1, {number}), (2, {number});\n\
         /* t1 */ BEGIN;\n/* t1 */ SELECT v FROM t WHERE id = 1;\n\
         /* t2 */ BEGIN;\n/* t2 */ SELECT v FROM t WHERE id = 2;\n\
         /* t1 */ COMMIT;\n/* t2 */ COMMIT;\n"
    );
    Case::parse(&format!("case {number}"), &text).expect("a case")
}

/// One worker runs all cases on one set of tables.
fn hunted(notices: Notices, out: &Path) -> Ended {
    let target: Arc<dyn Target> = Arc::new(Stale::new(notices));
    let levels = vec![Some(Level::Serializable)];
    let mut campaign = Campaign::new("0.0.0", 7);
    campaign.cases = Some(CASES);
    let (on, recipe) = ("sqlite".to_owned(), serde_json::Value::Null);
    let info = target.info().clone();
    let written = CampaignTarget { on, target: info.clone(), levels: levels.clone(), recipe };
    campaign.targets.push(written);
    let store = Store::begin(out, campaign, true).expect("a new campaign");
    let hunt_target = HuntTarget {
        against: None,
        on: "sqlite".to_owned(),
        supervisor: Supervisor::new(target, Box::new(InProcess)),
        levels,
        claims: Claims::for_target(&info),
        cases: Box::new(reading),
    };
    let options = HuntOptions {
        jobs: 1,
        block: CASES,
        time: None,
        oracles: vec![oracles::named("final-state").expect("there is one")],
        effort: Effort::default(),
        known: Vec::new(),
        run: RunOptions::default(),
        running: None,
    };
    let past = Past { progress: Vec::new(), suspects: Vec::new() };
    hunt(&[hunt_target], &options, store, past, &Nobody)
}

fn read_case(file: PathBuf) -> Case {
    let text = std::fs::read_to_string(&file).expect("a case");
    Case::parse("read", &text).expect("a valid case")
}

#[test]
fn what_needs_used_tables_is_found_with_the_case_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = hunted(Notices::ThoseOfCases, &folder.path().join("out")).summary;
    let [line] = &summary.findings[..] else { panic!("{:?}", summary.findings) };
    assert!(line.fingerprint.ends_with("-sequence"), "{line:?}");
    // Some rehearsals run in a session that is as stale as the one that is judged.
    assert!(line.hits > CASES / 2 && summary.flaky == 0, "{line:?}");
    let place = Path::new(&line.file).parent().expect("a folder");
    let [before, last] = ["before-1.case", "reduced.case"].map(|name| read_case(place.join(name)));
    assert!(!place.join("before-2.case").exists(), "one is enough");
    assert_eq!((before.steps.len(), last.steps.len()), (1, 1), "{before:?} {last:?}");
    let text = std::fs::read_to_string(place.join("finding.json")).expect("a finding");
    let finding: Finding = serde_json::from_str(&text).expect("a finding");
    assert_eq!((finding.confirmed.shown, finding.before.len()), (3, 1));
    let text = std::fs::read_to_string(place.join("report.md")).expect("a report");
    assert!(text.contains("anchorite run before-1.case reduced.case --same-tables --on sqlite"));

    let stale = Stale::new(Notices::ThoseOfCases);
    let mut arena = Arena::new(&stale, RunOptions::default()).expect("an arena");
    assert_eq!(verdict_on(&before, &mut arena, &stale), Verdict::Pass);
    let found = verdict_on(&last, &mut arena, &stale);
    assert!(matches!(found, Verdict::Violation { .. }), "{found:?}");
    let mut fresh = FreshTables { target: &stale, options: RunOptions::default() };
    assert_eq!(verdict_on(&last, &mut fresh, &stale), Verdict::Pass);
}

#[test]
fn what_never_comes_again_is_a_finding_if_there_is_much_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = hunted(Notices::ThoseOfCasesOnce, &folder.path().join("out")).summary;
    let violated = summary.verdicts.violation;
    assert!(violated > CASES / 2, "{violated}");
    let told = format!("{violated} of {CASES} cases violated, none repeatable");
    let new: Vec<&FindingLine> = summary.new_findings().collect();
    assert!(matches!(new[..], [line] if line.title == told && line.hits == violated), "{new:?}");
    assert!(Path::new(&new[0].file).is_dir(), "{new:?}");
    let options = TextOptions { width: 100, style: Style::Plain, glyphs: Glyphs::Ascii };
    let text = report::text(&summary, &options);
    assert!(text.contains(&told) && text.contains("1 new finding"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&report::json(&summary, "0.0.0")).expect("JSON");
    assert_eq!(json["findings"][0]["title"], told);
    let junit = report::junit(&summary);
    assert!(junit.contains("failures=\"1\"") && junit.contains(&told), "{junit}");
}
