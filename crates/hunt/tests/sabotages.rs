//! Every sabotage does what it says: one hand-written case each (`cases/sabotage/`), whose `shows` lines
//! must be true where it acts and false without it.
//!
//! Where it acts is measured, too: the `acts` lines of a case name products (SQLite's variants as
//! `sqlite-wal`) and levels. A sabotage that acts elsewhere, or no longer acts there, fails the test.

use std::path::Path;

use anchorite_drivers::sabotage::{Sabotage, sabotaged};
use anchorite_drivers::{Target, open};
use anchorite_judge::{Condition, shows};
use anchorite_model::{Case, Level, Outcome, Run};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner};

fn cases() -> Vec<(Sabotage, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/sabotage");
    let read = |sabotage: Sabotage| {
        let file = folder.join(format!("{sabotage}.case"));
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (sabotage, Case::parse(sabotage.name(), &text).expect("a valid case"))
    };
    Sabotage::ALL.into_iter().map(read).collect()
}

#[expect(clippy::print_stdout, reason = "a test says what it skips")]
fn targets() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("only SQLite: ANCHORITE_TEST_URLS names no server");
    }
    let embedded = ["sqlite", "sqlite:wal", "sqlite:shared-cache"];
    let open = |name| open(name).unwrap_or_else(|error| panic!("{error}"));
    embedded.into_iter().chain(urls.split_whitespace()).map(open).collect()
}

/// `mariadb`, `sqlite-wal`.
fn name_of(target: &dyn Target) -> String {
    let info = target.info();
    match info.variant.as_str() {
        "wal" | "shared-cache" => format!("{}-{}", info.product, info.variant),
        _ => info.product.to_string(),
    }
}

/// Kept tables and sessions: the sabotage has to cope with them, and they are quick.
fn arena(target: &dyn Target) -> Arena<'_> {
    Arena::new(target, RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(runner: &mut dyn Runner, case: &Case, level: Level) -> Run {
    let run = runner.run(case, Some(level));
    run.unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn holds(conditions: &[Condition], run: &Run) -> bool {
    conditions.iter().all(|condition| condition.is_true_of(run))
}

/// The levels of the line `acts: mariadb rc rr`, or of `acts: mariadb@11.8 rc` for that version.
fn expected<'c>(case: &'c Case, target: &dyn Target) -> Vec<&'c str> {
    let name = name_of(target);
    let lines = case.header.other.iter().filter(|(key, _)| key == "acts");
    let mut levels = Vec::new();
    for (place, at) in lines.filter_map(|(_, line)| line.split_once(' ')) {
        let (product, version) = place.split_once('@').unwrap_or((place, ""));
        // A line for this version stands behind the one for all.
        if product == name && target.info().version.starts_with(version) {
            levels = at.split_whitespace().collect();
        }
    }
    levels
}

#[test]
fn each_sabotage_acts_where_its_case_says() {
    let mut complaints = Vec::new();
    for target in targets() {
        let mut honest_runner = arena(target.as_ref());
        for (sabotage, case) in cases() {
            let faulty = sabotaged(target.as_ref(), sabotage);
            let mut faulty_runner = arena(&faulty);
            let conditions = shows(&case).expect("valid conditions");
            assert!(!conditions.is_empty(), "{sabotage} shows nothing");
            let wanted = expected(&case, target.as_ref());
            let mut acts = Vec::new();
            for level in target.levels() {
                let honest = holds(&conditions, &run(&mut honest_runner, &case, *level));
                let shown = holds(&conditions, &run(&mut faulty_runner, &case, *level));
                acts.extend((!honest && shown).then_some(level.short()));
            }
            if acts != wanted {
                complaints.push(format!(
                    "{sabotage} on {}: acts at {acts:?}, its case says {wanted:?}",
                    target.info()
                ));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// What happened, without the times.
fn outcomes(run: &Run) -> Vec<(usize, Outcome)> {
    run.events.iter().map(|event| (event.n, event.outcome.clone())).collect()
}

/// One transaction after the other: nothing overlaps, so nothing may happen.
#[test]
fn a_serial_run_is_honest() {
    for target in targets() {
        let mut honest_runner = arena(target.as_ref());
        for (sabotage, mut case) in cases() {
            let faulty = sabotaged(target.as_ref(), sabotage);
            let mut faulty_runner = arena(&faulty);
            case.steps.sort_by_key(|step| step.session);
            for level in target.levels() {
                let honest = run(&mut honest_runner, &case, *level);
                let shown = run(&mut faulty_runner, &case, *level);
                assert_eq!(outcomes(&honest), outcomes(&shown), "{sabotage} {}", target.info());
                assert_eq!(honest.final_state, shown.final_state, "{sabotage}");
            }
        }
    }
}

/// The sabotage of a case does not depend on the cases before it, nor on how tables are made.
#[test]
fn kept_sessions_are_sabotaged_like_new_ones() {
    for variant in ["sqlite", "sqlite:wal"] {
        let target = open(variant).expect("SQLite is built in");
        for (sabotage, _) in cases() {
            let faulty = sabotaged(target.as_ref(), sabotage);
            let mut kept = arena(&faulty);
            for (_, case) in cases() {
                let level = Level::Serializable;
                let faulty = sabotaged(target.as_ref(), sabotage);
                let options = RunOptions::default();
                let new = run(&mut FreshTables { target: &faulty, options }, &case, level);
                let kept = run(&mut kept, &case, level);
                assert_eq!(outcomes(&kept), outcomes(&new), "{sabotage} on {}", case.name);
                assert_eq!(kept.final_state, new.final_state, "{sabotage} on {}", case.name);
            }
        }
    }
}
