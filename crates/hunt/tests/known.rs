//! Every known issue is what its file says: where its case is a finding, it is one for one of its causes, and is gone
//! after its edits.
//!
//! Runs with the servers that `ANCHORITE_TEST_URLS` names; entries about none of them are listed, and so are those
//! whose case shows nothing: a vendor may have mended the issue in a release that is newer than the entry.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_hunt::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};
use anchorite_judge::oracles;
use anchorite_model::{Cause, Finding, Level, Origin};
use anchorite_reduce::known::{self, KnownIssue, Status};
use anchorite_stage::{Arena, FreshTables, RunOptions};

/// The levels at which an entry says that a target has its issue.
fn levels(target: &dyn Target, issue: &KnownIssue) -> Vec<Level> {
    let all = target.levels().iter().copied();
    all.filter(|level| issue.is_about(target.info(), Some(*level))).collect()
}

/// What the case of an issue is at a level; why not, if it is no finding.
fn finding(target: &dyn Target, issue: &KnownIssue, level: Level) -> Result<Finding, String> {
    let claims = Claims::for_target(target.info());
    let all = oracles::ALL.iter().copied().filter(|oracle| !oracle.is_optional());
    let all: Vec<_> = all.collect();
    // What the vendor means to be so may be an exception, which is shown only on request.
    let strict = issue.status == Status::Intended;
    let examiner = Examiner { claims, oracles: &all, strict };
    let options = RunOptions::default();
    let mut fast = Arena::new(target, options.clone()).map_err(|error| error.to_string())?;
    let mut fresh = FreshTables { target, options };
    let suspect = Suspicion {
        case: &issue.case,
        level: Some(level),
        signature: None,
        origin: Origin::File(issue.name.clone()),
        on: "",
        against: None,
    };
    let effort = Effort { confirmations: 1, contrasts: 0, ..Effort::default() };
    let recorded = Recorded { known: known::built_in(), found: &[] };
    match investigate(&examiner, &mut fast, &mut fresh, &suspect, &effort, recorded) {
        Ok(Investigation::Confirmed { finding, .. }) => Ok(*finding),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

/// What is wrong with an entry on a target.
fn complaint(target: &dyn Target, issue: &KnownIssue) -> Option<String> {
    let place = format!("{} on {}", issue.name, target.info());
    let mut seen = Vec::new();
    for level in levels(target, issue) {
        match finding(target, issue, level) {
            Ok(finding) => {
                let cause = finding.cause.as_ref().map(Cause::name);
                let known = finding.known.clone();
                println!("{place} at {level}: {} {cause:?} {known:?}", finding.fingerprint);
                if known.as_deref() == Some(issue.name.as_str()) {
                    return None;
                }
                seen.push(format!("at {level}: {} is {known:?}", finding.fingerprint));
            }
            Err(why) => println!("{place} at {level}: nothing is shown: {why}"),
        }
    }
    (!seen.is_empty()).then(|| format!("{place}: {}", seen.join("; ")))
}

#[test]
fn every_entry_is_what_its_case_shows() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let open = |url| open(url).unwrap_or_else(|error| panic!("{error}"));
    let targets: Vec<Box<dyn Target>> = urls.split_whitespace().map(open).collect();
    let mut complaints = Vec::new();
    for issue in known::built_in() {
        let all = targets.iter().map(AsRef::as_ref);
        let affected: Vec<&dyn Target> =
            all.filter(|target| !levels(*target, issue).is_empty()).collect();
        if affected.is_empty() {
            println!("skipped: ANCHORITE_TEST_URLS names no server that has {}", issue.name);
        }
        complaints.extend(affected.into_iter().filter_map(|target| complaint(target, issue)));
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
