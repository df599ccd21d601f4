//! Suspects and findings of several oracles: a suspect per case and oracle, one finding per cause.

use std::fs;
use std::path::Path;

use anchorite_model::{Case, Finding, Rank, Signature};
use anchorite_store::{Campaign, Conclusion, Filed, Page, Spot, Store, Suspect};

fn finding(oracle: &str, fingerprint: &str, alike: &[&str]) -> Finding {
    let text = include_str!("first_release/finding.json");
    let mut finding: Finding = serde_json::from_str(text).expect("a finding");
    assert!(finding.witnesses.is_empty() && finding.alike.is_empty() && finding.covers.is_empty());
    finding.known = None;
    finding.signature.oracle = oracle.to_owned();
    finding.witnesses = vec![oracle.to_owned()];
    finding.fingerprint = fingerprint.to_owned();
    finding.alike = alike.iter().map(|name| (*name).to_owned()).collect();
    finding
}

fn suspect(number: u64, oracle: &str) -> Suspect {
    let signature = Signature {
        oracle: oracle.to_owned(),
        anomaly: "lost update".to_owned(),
        exception: None,
        rank: Rank::Broken,
    };
    let case = Case::parse("case", "/* t1 */ SELECT 1;\n").expect("a case");
    let spot = Spot { place: 0, number };
    Suspect::new((spot, "sqlite 3".to_owned(), None), 7, signature, case, "# seen\n".to_owned())
}

fn pages(finding: &Finding) -> Vec<Page> {
    vec![("report.md".to_owned(), finding.seen_by().join(" and "))]
}

fn begin(folder: &Path) -> Store {
    Store::begin(folder, Campaign::new("0.0.0", 7), true).expect("a new campaign")
}

/// Keeps a suspect and settles it.
fn confirm(store: &mut Store, suspect: &Suspect, finding: &Finding) -> Filed {
    store.suspect(suspect).expect("kept");
    store.confirmed(suspect, finding, &pages).expect("filed")
}

#[test]
fn a_case_is_suspect_to_each_oracle_by_itself() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let mut store = begin(&folder);
    let (first, second) = (suspect(1, "final-state"), suspect(1, "damage"));
    store.suspect(&first).expect("kept");
    assert!(store.knows(first.spot, "final-state") && !store.knows(first.spot, "damage"));
    store.suspect(&second).expect("kept");
    assert_eq!(store.suspects(), 2);
    store.confirmed(&first, &finding("final-state", "f1", &[]), &pages).expect("filed");
    drop(store);
    let (mut store, past) = Store::resume::<u64>(&folder).expect("it opens");
    assert_eq!(past.suspects, std::slice::from_ref(&second), "the other oracle's is settled");
    store.flaky(&second).expect("kept apart");
    assert!(folder.join("flaky/0-1-damage.case").exists());
    assert_eq!(store.count(|conclusion| *conclusion == Conclusion::Flaky), 1);
    drop(store);
    let (store, past) = Store::resume::<u64>(&folder).expect("it opens");
    assert!(past.suspects.is_empty() && store.suspects() == 0);
    assert!(store.knows(first.spot, "damage") && !store.knows(first.spot, "views"));
}

#[test]
fn what_several_oracles_see_is_one_finding_that_stands_higher() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    let mut store = begin(&folder);
    let alone = finding("final-state", "a-alone", &["cause-1"]);
    let first = finding("final-state", "b-first", &["cause-2", "d-of-differential"]);
    assert!(confirm(&mut store, &suspect(1, "final-state"), &alone).is_new);
    assert!(confirm(&mut store, &suspect(2, "final-state"), &first).is_new);
    // The same case, another oracle, the same cause.
    let second = finding("differential", "c-second", &["cause-2"]);
    let filed = confirm(&mut store, &suspect(2, "differential"), &second);
    let to_first = |new_witnesses: &[&str]| Filed {
        fingerprint: "b-first".to_owned(),
        is_new: false,
        new_witnesses: new_witnesses.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(filed, to_first(&["differential"]));
    // Another case; by the name that differential gives to the first one's reduced run.
    let third = finding("differential", "d-of-differential", &["cause-3"]);
    let filed = confirm(&mut store, &suspect(3, "differential"), &third);
    assert_eq!(filed, to_first(&[]));
    // One oracle tells its own findings apart by their fingerprints.
    let other = finding("final-state", "e-other", &["cause-2"]);
    assert!(confirm(&mut store, &suspect(4, "final-state"), &other).is_new);
    // An anomaly that has got an oracle of its own since.
    let renamed = finding("constraint", "e-other", &[]);
    let filed = confirm(&mut store, &suspect(5, "constraint"), &renamed);
    assert_eq!((filed.is_new, filed.new_witnesses.len()), (false, 0), "no second witness");
    let check = |store: &Store| {
        let told: Vec<(String, u64, usize)> = store
            .findings()
            .into_iter()
            .map(|line| (line.fingerprint, line.hits, line.witnesses.len()))
            .collect();
        let line = |name: &str, hits, witnesses| (name.to_owned(), hits, witnesses);
        assert_eq!(told, [line("b-first", 2, 2), line("a-alone", 1, 1), line("e-other", 2, 1)]);
    };
    check(&store);
    drop(store);
    let (store, _) = Store::resume::<u64>(&folder).expect("it opens");
    check(&store);
    let read = |name: &str| fs::read_to_string(folder.join("findings/b-first").join(name));
    let written: Finding = serde_json::from_str(&read("finding.json").expect("it")).expect("it");
    assert_eq!(written.witnesses, ["final-state", "differential"]);
    assert_eq!(read("report.md").expect("a report"), "final-state and differential");
}

#[test]
fn findings_of_one_known_issue_are_one() {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut store = begin(&temporary.path().join("findings"));
    let known = |oracle: &str, fingerprint: &str, name: &str| Finding {
        known: Some(name.to_owned()),
        ..finding(oracle, fingerprint, &[])
    };
    for (number, oracle, fingerprint, name, is_new) in [
        (1, "final-state", "a", "MDEV-1", true),
        (2, "differential", "b", "MDEV-1", false),
        (3, "differential", "c", "MDEV-2", true),
    ] {
        let found = known(oracle, fingerprint, name);
        let filed = confirm(&mut store, &suspect(number, oracle), &found);
        assert_eq!(filed.is_new, is_new, "{fingerprint}");
    }
}

#[test]
fn suspects_and_outcomes_of_the_last_release_are_gone_on_with() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("findings");
    drop(begin(&folder));
    // As they were named and written before there was more than one oracle.
    for number in [5, 6] {
        let old = serde_json::to_string(&suspect(number, "final-state")).expect("a suspect");
        let name = |ending: &str| folder.join(format!("suspects/0-{number}.{ending}"));
        fs::write(name("json"), old).expect("written");
        fs::write(name("case"), "/* t1 */ SELECT 1;\n").expect("written");
        fs::write(name("md"), "# seen\n").expect("written");
    }
    let outcomes = folder.join("outcomes");
    let mut lines = fs::read_to_string(&outcomes).expect("a journal");
    lines += "{\"spot\":{\"place\":0,\"number\":5},\"fate\":\"flaky\"}\n";
    fs::write(&outcomes, lines).expect("written");
    let (mut store, past) = Store::resume::<u64>(&folder).expect("it opens");
    let waiting = suspect(6, "final-state");
    assert_eq!(past.suspects, std::slice::from_ref(&waiting), "5 is settled");
    assert!(store.knows(Spot { place: 0, number: 5 }, "damage"), "whoever suspected it");
    store.counted(&waiting).expect("settled");
    let left = fs::read_dir(folder.join("suspects")).expect("a folder").count();
    assert_eq!(left, 0, "no file is left, whatever its name was");
}
