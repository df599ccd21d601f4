//! What a model did, as the run of a case.

use anchorite_model::{
    Blocker, BlockingKnowledge, Case, Ending, Event, Outcome, Rows, Run, SessionInfo, Value,
};

use crate::schedule::Model;
use crate::statement::Values;

/// The run with these events, which began and ended with these rows.
pub fn record(model: &Model, initial: &[Values], mut events: Vec<Event>, left: &[Values]) -> Run {
    let case = case(initial, &events);
    let number = |name: &String| name[1..].parse::<usize>().expect("a number") - 1;
    let order: Vec<usize> = case.sessions.iter().map(number).collect();
    let place = |session: &mut usize| {
        *session = order.iter().position(|known| known == session).expect("it has steps");
    };
    for event in &mut events {
        place(&mut event.session);
        if let Outcome::Blocked { by, .. } = &mut event.outcome {
            for blocker in by {
                if let Blocker::Session(session) = blocker {
                    place(session);
                }
            }
        }
    }
    let level = model.level;
    let session = |name: &String| SessionInfo {
        name: name.clone(),
        level: Some(level),
        level_read_back: level.to_string(),
    };
    Run {
        sessions: case.sessions.iter().map(session).collect(),
        case,
        target: model.target(),
        level: Some(level),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("the model".to_owned()),
        events,
        final_state: vec![("t".to_owned(), rows(left))],
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    }
}

fn case(initial: &[Values], events: &[Event]) -> Case {
    let mut steps: Vec<&Event> = events.iter().collect();
    steps.sort_by_key(|event| event.n);
    steps.dedup_by_key(|event| event.n);
    let create = "/* setup */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n".to_owned();
    let fill =
        initial.iter().map(|[a, b]| format!("/* setup */ INSERT INTO t VALUES ({a}, {b});\n"));
    let steps = steps.iter().map(|event| format!("/* t{} */ {};\n", event.session + 1, event.sql));
    let text: String = std::iter::once(create).chain(fill).chain(steps).collect();
    Case::parse("model", &text).expect("a case")
}

/// Rows of the table.
pub fn rows(values: &[Values]) -> Rows {
    let columns = vec!["a".to_owned(), "b".to_owned()];
    Rows { columns, rows: values.iter().map(|row| row.map(Value::Int).to_vec()).collect() }
}
