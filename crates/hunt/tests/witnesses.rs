//! A campaign with two oracles on one planted case: where they disagree, both are counted and the report shows both;
//! where they see the same, there is one finding with two witnesses.
//!
//! The second oracle is made for the test: one that passes everything, or one that sees what final-state sees and has
//! another word for it.

mod in_process;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anchorite_claims::Claims;
use anchorite_drivers::sabotage::{Sabotage, sabotaged};
use anchorite_drivers::{Target, open};
use anchorite_hunt::{
    Effort, Examiner, HuntOptions, HuntTarget, Investigation, Recorded, Stop, Supervisor,
    Suspicion, hunt, investigate,
};
use anchorite_judge::oracles::{self, Needs, Oracle, Unjudged};
use anchorite_judge::{Evidence, Laboratory};
use anchorite_model::{
    Case, Covers, Finding, FindingLine, HuntSummary, Judgement, Level, Origin, Product, Rank,
    Signature, TargetInfo, Verdict, VerdictCounts,
};
use anchorite_report::{Glyphs, Style, TextOptions, hunt as report};
use anchorite_stage::{FreshTables, RunOptions};
use anchorite_store::{Campaign, CampaignTarget, Past, Store};

use in_process::{InProcess, Nobody};

/// The oracle that finds the planted fault.
const FIRST: &str = "final-state";

/// Passes every run, and says that it has looked at everything.
struct Trusting;

impl Oracle for Trusting {
    fn name(&self) -> &'static str {
        "trusting"
    }

    fn about(&self) -> &'static str {
        "nothing"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn judge(&self, _: &Evidence<'_>, _: &mut Laboratory<'_>) -> Result<Judgement, Unjudged> {
        Ok(Judgement::new(self.name(), Verdict::Pass))
    }

    fn covers(&self, _: &Claims, _: &TargetInfo, _: Level) -> Option<Covers> {
        Some(Covers::WritesAndReads)
    }
}

/// Sees what final-state sees, and calls it by another name.
struct Second;

impl Oracle for Second {
    fn name(&self) -> &'static str {
        "second"
    }

    fn about(&self) -> &'static str {
        "the same as final-state"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let first = oracles::named(FIRST).expect("it is registered");
        let mut judgement = first.judge(evidence, laboratory)?;
        judgement.oracle = self.name().to_owned();
        if let Verdict::Violation { anomaly, .. } = &mut judgement.verdict {
            *anomaly = "second thoughts".to_owned();
        }
        Ok(judgement)
    }

    fn covers(&self, claims: &Claims, target: &TargetInfo, level: Level) -> Option<Covers> {
        oracles::named(FIRST).expect("it is registered").covers(claims, target, level)
    }
}

fn planted() -> Case {
    let text = include_str!("../../../cases/sabotage/commit-lost.case");
    Case::parse("commit-lost", text).expect("a case")
}

fn target() -> Arc<dyn Target> {
    static SQLITE: OnceLock<Box<dyn Target>> = OnceLock::new();
    let sqlite = SQLITE.get_or_init(|| open("sqlite").expect("SQLite is built in"));
    Arc::new(sabotaged(sqlite.as_ref(), Sabotage::CommitLost))
}

/// A single case whose COMMIT is lost, judged by final-state and another oracle. A sabotaged target must be used by one
/// thread at a time: there is one worker, and nothing left for it to do when the investigator begins.
fn hunted(folder: &Path, other: &'static dyn Oracle) -> HuntSummary {
    let (planted, target) = (planted(), target());
    let mut campaign = Campaign::new("0.0.0", 7);
    campaign.cases = Some(1);
    campaign.targets.push(CampaignTarget {
        on: "sqlite".to_owned(),
        target: target.info().clone(),
        levels: vec![None],
        recipe: serde_json::Value::Null,
    });
    let hunt_target = HuntTarget {
        against: None,
        on: "sqlite".to_owned(),
        supervisor: Supervisor::new(target, Box::new(InProcess)),
        levels: vec![None],
        claims: Claims::for_product(Product::named("sqlite")),
        cases: Box::new(move |_| planted.clone()),
    };
    let options = HuntOptions {
        jobs: 1,
        block: 1,
        time: None,
        oracles: vec![oracles::named(FIRST).expect("it is registered"), other],
        effort: Effort::default(),
        known: Vec::new(),
        run: RunOptions::default(),
        running: None,
    };
    let store = Store::begin(folder, campaign, true).expect("a new campaign");
    let past = Past { progress: Vec::new(), suspects: Vec::new() };
    let ended = hunt(&[hunt_target], &options, store, past, &Nobody);
    assert!(matches!(ended.stop, Stop::Done), "{:?}", ended.stop);
    ended.summary
}

#[test]
fn what_another_oracle_said_in_an_earlier_release_is_found_again() {
    let case = planted();
    let target = target();
    let claims = Claims::for_product(Product::named("sqlite"));
    let oracles = [oracles::named(FIRST).expect("it is registered")];
    let examiner = Examiner { claims, oracles: &oracles, strict: false };
    let mut fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let now = examiner.examine(&mut fresh, &case, None).expect("it runs").signatures.remove(0);
    let mut fast = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    for (anomaly, is_found) in [(now.anomaly.as_str(), true), ("something else", false)] {
        let (oracle, anomaly) = ("all-in-one".to_owned(), anomaly.to_owned());
        let suspect = Suspicion {
            against: None,
            case: &case,
            level: None,
            signature: Some(Signature { oracle, anomaly, exception: None, rank: Rank::Broken }),
            origin: Origin::File("commit-lost.case".to_owned()),
            on: "sqlite",
        };
        let (fast, fresh) = (&mut fast, &mut fresh);
        let outcome =
            investigate(&examiner, fast, fresh, &suspect, &Effort::default(), Recorded::default());
        match outcome.expect("it runs") {
            Investigation::Confirmed { finding, .. } => {
                assert!(is_found, "{:?}", finding.signature);
                assert_eq!(finding.signature, now);
            }
            other => assert!(!is_found, "{other:?}"),
        }
    }
}

fn said(pass: u64, violation: u64) -> VerdictCounts {
    VerdictCounts { pass, violation, ..VerdictCounts::default() }
}

/// A file beside the finding's reduced case.
fn beside(line: &FindingLine, name: &str) -> String {
    let path = Path::new(&line.file).with_file_name(name);
    std::fs::read_to_string(path).expect("a file of the finding")
}

#[test]
fn two_opinions_on_one_case_are_both_shown_and_counted() {
    let temporary = tempfile::tempdir().expect("a folder");
    let summary = hunted(&temporary.path().join("findings"), &Trusting);
    assert_eq!(summary.verdicts, said(0, 1), "the worst verdict counts");
    assert_eq!(summary.by_oracle[FIRST], said(0, 1));
    assert_eq!(summary.by_oracle["trusting"], said(1, 0));
    assert_eq!(summary.disagreements, 1);
    let [line] = summary.findings.as_slice() else { panic!("{:?}", summary.findings) };
    assert_eq!(line.witnesses, [FIRST]);
    for name in ["report.md", "report.html"] {
        let told = beside(line, name);
        assert!(told.contains("final-state and trusting disagree"), "{told}");
        assert!(told.contains("trusting: pass"), "{told}");
    }
    let options = TextOptions { width: 200, style: Style::Plain, glyphs: Glyphs::Unicode };
    let text = report::text(&summary, &options);
    assert!(text.contains("1 disagreement between oracles"), "{text}");
    assert!(text.contains("final-state 1 violation; trusting 1 pass"), "{text}");
    assert!(report::json(&summary, "0").contains("\"disagreements\":1"));
    assert!(report::junit(&summary).contains("name=\"disagreements\" value=\"1\""));
}

#[test]
fn what_two_oracles_see_is_one_finding_with_two_witnesses() {
    let temporary = tempfile::tempdir().expect("a folder");
    let summary = hunted(&temporary.path().join("findings"), &Second);
    assert_eq!(summary.verdicts, said(0, 1), "a case counts once");
    for oracle in [FIRST, "second"] {
        assert_eq!(summary.by_oracle[oracle], said(0, 1), "{oracle}");
    }
    assert_eq!(summary.disagreements, 0);
    let [line] = summary.findings.as_slice() else { panic!("{:?}", summary.findings) };
    let mut witnesses = line.witnesses.clone();
    assert_eq!(witnesses[0], line.signature.oracle, "whoever was looked into first");
    witnesses.sort();
    assert_eq!(witnesses, [FIRST, "second"]);
    assert_eq!(line.hits, 1, "both suspects of a case are one hit");
    assert_eq!((summary.confirmed, summary.waiting, summary.only_counted()), (2, 0, 0));
    let finding: Finding = serde_json::from_str(&beside(line, "finding.json")).expect("a finding");
    assert_eq!(finding.witnesses, line.witnesses);
    assert!(report::json(&summary, "0").contains("\"witnesses\":["));
}
