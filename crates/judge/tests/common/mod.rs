//! What the tests share: the case files of the repository, and runs made by hand.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};

use anchorite_model::{
    Answer, Blocker, BlockingKnowledge, Case, DbError, Ending, ErrorClass, Event, Outcome, Product,
    Rows, Run, SessionInfo, TargetInfo, Value,
};

/// The folder `cases/` of the repository, or one below it.
pub fn cases_folder(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(below)
}

/// Every `.case` file below a folder, in name order.
pub fn read_cases(folder: &Path) -> Vec<Case> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        if path.is_dir() {
            cases.extend(read_cases(&path));
        } else if path.extension().is_some_and(|extension| extension == "case") {
            let text = fs::read_to_string(&path).expect("a readable file");
            let name = path.file_stem().expect("a name").to_string_lossy();
            cases.push(Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}")));
        }
    }
    cases
}

/// A run of the case in which every statement was answered at once, with a row that no case speaks of.
pub fn quiet_run(case: &Case) -> Run {
    let rows = Rows { columns: Vec::new(), rows: ints(&[&[-999]]) };
    let events = (1..).zip(&case.steps).map(|(n, step)| Event {
        n,
        session: step.session,
        sql: step.statement.sql.clone(),
        outcome: Outcome::Ok(Answer { results: vec![rows.clone()], ..Answer::default() }),
        at_us: 0,
        sent: Some(2 * n - 1),
        answered: Some(2 * n),
    });
    let session = |name: &String| SessionInfo {
        name: name.clone(),
        level: None,
        level_read_back: String::new(),
    };
    Run {
        case: case.clone(),
        target: TargetInfo {
            product: Product::named("sqlite"),
            version: "3.50.0".to_owned(),
            variant: String::new(),
        },
        level: None,
        sessions: case.sessions.iter().map(session).collect(),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("nobody".to_owned()),
        events: events.collect(),
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    }
}

/// Changes a step's answer, whether it has been blocked or not.
pub fn change_answer(run: &mut Run, n: usize, change: impl FnOnce(&mut Answer)) {
    let event = run.events.iter_mut().rev().find(|event| event.n == n).expect("the step");
    match &mut event.outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => change(answer),
        other => panic!("step {n} has no answer: {other:?}"),
    }
}

/// Replaces what became of a step.
pub fn set_outcome(run: &mut Run, n: usize, outcome: Outcome) {
    run.events.iter_mut().rev().find(|event| event.n == n).expect("the step").outcome = outcome;
}

/// Makes a step wait before it gets its answer.
pub fn block(run: &mut Run, n: usize, by: &[usize]) {
    let at = run.events.iter().position(|event| event.n == n).expect("the step");
    let event = &mut run.events[at];
    if let Outcome::Ok(answer) = &event.outcome {
        event.outcome = Outcome::Resumed(answer.clone());
    }
    let by = by.iter().map(|session| Blocker::Session(*session)).collect();
    let blocked = Event {
        outcome: Outcome::Blocked { by, wait: "row lock".to_owned() },
        answered: None,
        ..run.events[at].clone()
    };
    run.events.insert(at, blocked);
}

/// An error of this class.
pub fn error(class: ErrorClass, transaction_gone: bool) -> Outcome {
    Outcome::Error(DbError {
        class,
        code: "1".to_owned(),
        message: class.name().to_owned(),
        severity: String::new(),
        transaction_gone,
        in_transaction: None,
        results: Vec::new(),
        notices: Vec::new(),
    })
}

/// Rows of integers.
pub fn ints(rows: &[&[i128]]) -> Vec<Vec<Value>> {
    rows.iter().map(|row| row.iter().copied().map(Value::Int).collect()).collect()
}
