//! Every case of the repository parses, and so do its conditions; the probe's can be satisfied.

mod common;

use std::collections::BTreeSet;

use anchorite_claims::{Anomaly, Claims, Subject};
use anchorite_judge::header::condition::RowFact;
use anchorite_judge::{
    BugLines, Condition, Fact, Measurements, ProductLevels, StepFact, Versions, expect, observe,
    probe, probe_cases, shows,
};
use anchorite_model::{Case, ErrorClass, Level, Product, Rows, Run};
use common::{block, cases_folder, change_answer, error, quiet_run, read_cases, set_outcome};

#[test]
fn every_case_says_when_it_shows_in_words_that_fit() {
    let cases = read_cases(&cases_folder(""));
    assert!(cases.len() >= 70, "{}", cases.len());
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "a case's name is its identity");
    for case in &cases {
        let conditions = shows(case).unwrap_or_else(|error| panic!("{error}"));
        assert!(!conditions.is_empty(), "{}: when does it show?", case.name);
        assert!(case.header.title.is_some(), "{}: no title", case.name);
        Measurements::of(case).unwrap_or_else(|error| panic!("{error}"));
        expect::expectations(case).unwrap_or_else(|error| panic!("{error}"));
        BugLines::of(case).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_case_is_measured_only_at_its_targets() {
    for case in read_cases(&cases_folder("")) {
        let measured = Measurements::of(&case).expect("a readable header");
        let seen = measured.seen.iter().flat_map(|seen| &seen.places);
        for place in measured.manifests.iter().chain(&measured.absent).chain(seen) {
            let fits = case.header.targets.contains(&place.product);
            assert!(fits, "{}: {} is not among its targets", case.name, place.product);
        }
    }
}

/// A bug belongs to the releases that it was seen on; only kinds of waits are the same everywhere, as documented.
#[test]
fn bugs_are_measured_on_releases_and_each_place_has_one_answer() {
    for case in read_cases(&cases_folder("bugs")) {
        let measured = Measurements::of(&case).expect("a readable header");
        let seen = measured.seen.iter().flat_map(|seen| &seen.places);
        for place in measured.manifests.iter().chain(&measured.absent).chain(seen) {
            let is_measured = matches!(&place.versions, Versions::Measured(releases)
                if releases.iter().all(|release| release.is_release(place.product)));
            assert!(is_measured, "{}: {place:?} names no release", case.name);
        }
        for (shows, absent) in
            measured.manifests.iter().flat_map(|m| measured.absent.iter().map(move |a| (m, a)))
        {
            let (Versions::Measured(there), Versions::Measured(gone)) =
                (&shows.versions, &absent.versions)
            else {
                unreachable!("all are measured");
            };
            let same_release = there.iter().any(|version| gone.contains(version));
            let levels =
                |place: &ProductLevels| place.levels.clone().unwrap_or(Level::ALL.to_vec());
            let same_level = levels(shows).iter().any(|level| levels(absent).contains(level));
            let twice = shows.product == absent.product && same_release && same_level;
            assert!(!twice, "{}: {shows:?} and {absent:?}", case.name);
        }
    }
}

#[test]
fn the_probe_has_a_main_case_for_each_anomaly_and_runs_everywhere() {
    let cases = read_cases(&cases_folder("probe"));
    for anomaly in Anomaly::ALL {
        let main = cases.iter().filter(|case| probe::is_main(case) && case.name == anomaly.name());
        assert_eq!(main.count(), 1, "{anomaly}");
    }
    for case in &cases {
        let anomaly = probe::anomaly(case).unwrap_or_else(|error| panic!("{error}"));
        assert!(case.name.starts_with(anomaly.name()), "{}: {anomaly}", case.name);
        assert!(case.header.targets.is_empty() && case.header.level.is_none(), "{}", case.name);
    }
}

#[test]
fn the_built_in_probe_is_the_folder_in_the_order_of_the_table() {
    let built_in = probe_cases();
    let anomalies: Vec<Anomaly> = built_in.iter().flat_map(probe::anomaly).collect();
    assert!(anomalies.is_sorted());
    let mut sorted = built_in;
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut folder = read_cases(&cases_folder("probe"));
    folder.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(sorted, folder);
}

#[test]
fn the_claims_speak_only_of_cases_that_exist() {
    let cases = read_cases(&cases_folder("probe"));
    for product in Product::all() {
        let levels = &Claims::for_product(product).levels;
        for subject in levels.iter().flat_map(|level| &level.claims).flat_map(|c| &c.subjects) {
            if let Subject::Case(name) = subject {
                assert!(cases.iter().any(|case| case.name == *name), "{product}: {name}");
            }
        }
    }
}

#[test]
fn every_condition_can_be_satisfied() {
    for case in read_cases(&cases_folder("")) {
        let conditions = shows(&case).expect("readable conditions");
        let run = satisfying(&case, &conditions);
        for condition in &conditions {
            assert!(condition.is_true_of(&run), "{}: {condition}", case.name);
        }
        let quiet = quiet_run(&case);
        assert!(!conditions.iter().all(|condition| condition.is_true_of(&quiet)), "{}", case.name);
    }
}

#[test]
fn a_satisfied_probe_case_is_observed_as_possible_and_a_quiet_one_as_prevented() {
    for case in read_cases(&cases_folder("probe")) {
        let conditions = shows(&case).expect("readable conditions");
        let shown = observe(&case, &satisfying(&case, &conditions)).expect("an observation");
        assert!(shown.possible && shown.how.name() == "shown", "{}: {shown:?}", case.name);
        let quiet = observe(&case, &quiet_run(&case)).expect("an observation");
        assert!(!quiet.possible && quiet.how.name() == "snapshot", "{}: {quiet:?}", case.name);
    }
}

/// A run made so that the first alternative of each line is true.
fn satisfying(case: &Case, conditions: &[Condition]) -> Run {
    let mut run = quiet_run(case);
    for fact in conditions.iter().flat_map(|condition| &condition.alternatives[0]) {
        satisfy(&mut run, fact);
    }
    run
}

fn satisfy(run: &mut Run, fact: &Fact) {
    match fact {
        Fact::Step(n, StepFact::Rows(fact)) => {
            change_answer(run, *n, |answer| answer.results[0].rows = wanted(fact));
        }
        Fact::Step(n, StepFact::Mentions(parts)) => {
            let text = anchorite_model::Value::Text(parts.replace('%', " between "));
            change_answer(run, *n, |answer| answer.results[0].rows = vec![vec![text]]);
        }
        Fact::Step(n, StepFact::Affects(count)) => {
            change_answer(run, *n, |answer| answer.affected = Some(*count));
        }
        Fact::Step(n, StepFact::Fails(class)) => {
            set_outcome(run, *n, error(class.unwrap_or(ErrorClass::Other), true));
        }
        Fact::Step(n, StepFact::Blocked(by)) => {
            let index = |name| run.case.sessions.iter().position(|session| session == name);
            let by: Vec<usize> = by.iter().filter_map(index).collect();
            block(run, *n, &by);
        }
        Fact::AnyFails(class) => {
            let last = run.events.len();
            let class = class.unwrap_or(ErrorClass::Other);
            let victim = run.events[last - 1].n;
            set_outcome(run, victim, error(class, true));
        }
        Fact::Final(table, fact) => {
            let rows = Rows { columns: Vec::new(), rows: wanted(fact) };
            run.final_state.push((table.clone(), rows));
        }
        Fact::Step(_, StepFact::Succeeds | StepFact::NotBlocked | StepFact::Skipped)
        | Fact::Committed(_)
        | Fact::RolledBack(_) => {}
    }
}

fn wanted(fact: &RowFact) -> Vec<Vec<anchorite_model::Value>> {
    match fact {
        RowFact::Exactly(rows) | RowFact::Contains(rows) => rows.clone(),
        RowFact::Lacks(_) => Vec::new(),
    }
}
