//! Fingerprints as data: groups of cases that are one cause. Within a group all share one fingerprint, between
//! groups none.
//!
//! A case says in `-- waits: STEP SESSION` lines who waited for whom in its run, and in `-- fails: STEP` lines what
//! broke a constraint.

use std::collections::BTreeMap;

use anchorite_model::{
    Answer, Blocker, BlockingKnowledge, Case, DbError, Ending, ErrorClass, Event, Level, Outcome,
    Product, Rank, Run, SessionInfo, Signature, TargetInfo,
};
use anchorite_reduce::known::{self, Sighting};
use anchorite_reduce::{Shape, fingerprint};

/// The anomaly that most of them show.
const WRITES: &str = "write-serializability (tx-WSS)";
const GROUPS: &str = include_str!("fingerprints.txt");

fn run(case: Case, product: Product, level: Level) -> Run {
    let mut events = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let n = index + 1;
        let waits = case.header.other.iter().filter(|(key, _)| key == "waits");
        let by: Vec<Blocker> = waits
            .filter_map(|(_, value)| value.split_once(' '))
            .filter(|(step, _)| step.parse() == Ok(n))
            .filter_map(|(_, name)| case.sessions.iter().position(|session| session == name))
            .map(Blocker::Session)
            .collect();
        let mut happens = |outcome| {
            let sql = step.statement.sql.clone();
            events.push(Event {
                n,
                session: step.session,
                sql,
                outcome,
                at_us: 0,
                sent: None,
                answered: None,
            });
        };
        let fails = ("fails".to_owned(), n.to_string());
        if case.header.other.contains(&fails) {
            let class = ErrorClass::Constraint;
            happens(Outcome::Error(DbError { class, ..DbError::default() }));
        } else if by.is_empty() {
            happens(Outcome::Ok(Answer::default()));
        } else {
            happens(Outcome::Blocked { by, wait: String::new() });
            happens(Outcome::Resumed(Answer::default()));
        }
    }
    let sessions = case.sessions.iter().map(|name| SessionInfo {
        name: name.clone(),
        level: Some(level),
        level_read_back: level.name().to_owned(),
    });
    Run {
        sessions: sessions.collect(),
        target: TargetInfo { product, version: "10.11.19".to_owned(), variant: String::new() },
        level: Some(level),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("a test".to_owned()),
        events,
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
        case,
    }
}

fn signature(anomaly: &str) -> Signature {
    Signature {
        oracle: "final-state".to_owned(),
        anomaly: anomaly.to_owned(),
        exception: None,
        rank: Rank::Broken,
    }
}

/// Each group's name, product and level, with its cases.
fn groups() -> Vec<(String, Product, Level, Vec<Case>)> {
    let mut groups = Vec::new();
    for group in GROUPS.split("==== ").skip(1) {
        let (title, cases) = group.split_once('\n').expect("a group has a title line");
        let (name, place) = title.split_once(" @ ").expect("NAME @ PRODUCT LEVEL");
        let (product, level) = place.split_once(' ').expect("PRODUCT LEVEL");
        let cases = cases.split("----\n").map(|text| Case::parse(name, text).expect(text));
        let product = product.parse().expect("a product");
        let level = level.trim().parse().expect("a level");
        groups.push((name.to_owned(), product, level, cases.collect()));
    }
    groups
}

#[test]
fn one_cause_has_one_fingerprint() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut shapes = String::new();
    for (name, product, level, cases) in groups() {
        let with_reads = level > Level::ReadCommitted;
        let shape = |case: &Case| Shape::of(&run(case.clone(), product, level), with_reads);
        let first = shape(&cases[0]);
        for case in &cases {
            assert_eq!(shape(case), first, "{name}\n{case}");
        }
        let print = fingerprint(&first, &signature("tx-WSS"), Some(level));
        shapes += &format!("{name}\n  {print}\n  {first}\n");
        if let Some(other) = seen.insert(print, name.clone()) {
            panic!("{name} and {other} have the same fingerprint: {first}");
        }
    }
    insta::assert_snapshot!(shapes);
}

#[test]
fn anomaly_and_level_are_part_of_it() {
    let (_, product, level, cases) = groups().remove(0);
    let shape = Shape::of(&run(cases[0].clone(), product, level), false);
    let print = |anomaly, level| fingerprint(&shape, &signature(anomaly), Some(level));
    assert_ne!(print("tx-WSS", level), print("stmt-WSS", level));
    assert_ne!(print("tx-WSS", Level::ReadCommitted), print("tx-WSS", Level::Serializable));
}

#[test]
fn what_final_state_said_first_keeps_its_names_under_an_oracle_of_its_own() {
    let groups = groups();
    let title = "DELETE of a parent leaves a child whose key moves";
    let (_, product, level, cases) = groups.iter().find(|group| group.0 == title).expect("a group");
    let run = run(cases[0].clone(), *product, *level);
    let shape = Shape::of(&run, false);
    let names = |oracle: &str, anomaly: &str| {
        let signature = Signature { oracle: oracle.to_owned(), ..signature(anomaly) };
        let fingerprint = fingerprint(&shape, &signature, Some(*level));
        let (target, level) = (&run.target, Some(*level));
        let (signature, shape) = (&signature, &shape);
        let seen = Sighting { target, level, signature, fingerprint: &fingerprint, shape };
        let issue = known::matching(known::built_in(), &seen).map(|issue| issue.name.clone());
        (fingerprint, issue)
    };
    let (then, issue) = names("final-state", "broken constraint");
    assert_eq!(issue.as_deref(), Some("MYSQL-ORPHAN"));
    assert_eq!(names("an oracle of its own", "broken constraint"), (then, issue));
    assert_ne!(names("differential", "other rows").0, names("final-state", "other rows").0);
}

#[test]
fn a_documented_mechanism_is_the_cause() {
    let groups = groups();
    let print = |group: usize, exception: &str| {
        let (_, product, level, cases) = &groups[group];
        let shape = Shape::of(&run(cases[0].clone(), *product, *level), false);
        let exception = Some(exception.to_owned());
        let signature = Signature { exception, ..signature("semi-consistent-read") };
        fingerprint(&shape, &signature, Some(Level::ReadCommitted))
    };
    assert_eq!(print(0, "semi-consistent-read"), print(2, "semi-consistent-read"));
    assert_ne!(print(0, "semi-consistent-read"), print(0, "no-gap-locks"));
    assert!(print(0, "semi-consistent-read").starts_with("semi-consistent-read-"));
}

#[test]
fn known_issues_are_recognised_where_they_are_said_to_be() {
    let groups = groups();
    let (_, product, level, cases) = &groups[0];
    let name = |product: Product, level: Level, case: &Case, anomaly: &str| {
        let run = run(case.clone(), product, level);
        let shape = Shape::of(&run, false);
        let signature = signature(anomaly);
        let print = fingerprint(&shape, &signature, Some(level));
        let sighting = Sighting {
            target: &run.target,
            level: Some(level),
            signature: &signature,
            fingerprint: &print,
            shape: &shape,
        };
        known::matching(known::built_in(), &sighting).map(|issue| issue.name.as_str())
    };
    for case in cases {
        assert_eq!(name(*product, *level, case, WRITES), Some("MDEV-27992"), "{case}");
        assert_eq!(name(*product, Level::Serializable, case, WRITES), None);
        assert_eq!(name(Product::named("postgres"), *level, case, WRITES), None);
    }
    for (group, product, level, cases) in &groups[3..] {
        let (anomaly, issue) = match group.as_str() {
            "DELETE by a moved index misses a row" => (WRITES, Some("INNODB-MOVED-ENTRY")),
            "DELETE by a unique key misses a row whose primary key moves" => {
                (WRITES, Some("MYSQL-MOVED-BEHIND"))
            }
            "DELETE of a parent leaves a child whose key moves" => {
                ("broken constraint", Some("MYSQL-ORPHAN"))
            }
            _ => (WRITES, None),
        };
        assert_eq!(name(*product, *level, &cases[0], anomaly), issue, "{group}");
    }
    let semi = groups.iter().find(|group| group.0 == "semi-consistent read").expect("a group");
    assert_eq!(name(semi.1, semi.2, &semi.3[0], "semi-consistent-read"), Some("MDEV-26643"));
}
