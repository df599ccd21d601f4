//! Runs that are told in a text.

use anchorite_model::{
    Answer, Blocker, BlockingKnowledge, Case, DbError, Ending, ErrorClass, Event, Level, Outcome,
    Product, Rows, Run, SessionInfo, TargetInfo, Value,
};

/// A run of this product at this level. Behind `->` is what is answered: a count, rows, `waits`, `fails`, `taken` (the
/// error of a key that is taken), or nothing; a waiting statement is named again when it is answered. A line `t = …`
/// says what a table ends with.
pub fn run(target: &str, level: Level, text: &str) -> Run {
    let mut case_text = String::new();
    let mut events: Vec<(String, String, String)> = Vec::new();
    let mut final_state = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (who, rest) = line.split_once(' ').expect("a session or a table");
        if let Some(rows) = rest.strip_prefix("= ") {
            final_state.push((who.to_owned(), rows_of(rows)));
            continue;
        }
        let (sql, answer) = rest.split_once(" -> ").unwrap_or((rest, ""));
        let waits = |event: &&(String, String, String)| event.0 == who && event.2 == "waits";
        let is_waiting = events.iter().rev().find(|event| event.0 == who).filter(waits).is_some();
        if who != "setup" {
            events.push((who.to_owned(), sql.to_owned(), answer.to_owned()));
        }
        if !is_waiting {
            case_text += &format!("/* {who} */ {sql};\n");
        }
    }
    let case = Case::parse("planted", &case_text).expect("a case");
    let (product, version) = target.split_once(' ').expect("a product and a version");
    let session = |name: &String| SessionInfo {
        name: name.clone(),
        level: Some(level),
        level_read_back: level.to_string(),
    };
    Run {
        sessions: case.sessions.iter().map(session).collect(),
        target: TargetInfo {
            product: Product::named(product),
            version: version.to_owned(),
            variant: String::new(),
        },
        level: Some(level),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("nobody".to_owned()),
        events: numbered(&case, &events),
        case,
        final_state: final_state
            .into_iter()
            .map(|(name, rows)| {
                let width = rows.first().map_or(2, Vec::len);
                let columns = ["a", "b", "c"][..width].iter().map(ToString::to_string).collect();
                (name, Rows { columns, rows })
            })
            .collect(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    }
}

fn numbered(case: &Case, told: &[(String, String, String)]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut count = 0;
    for (who, sql, answer) in told {
        let session = case.sessions.iter().position(|name| name == who).expect("a session");
        let last = events.iter().rev().find(|event| event.session == session);
        let waiting = last.filter(|event| matches!(event.outcome, Outcome::Blocked { .. }));
        let resumed = waiting.map(|event| event.n);
        count += usize::from(resumed.is_none());
        let outcome = match (answer.as_str(), resumed) {
            ("waits", _) => Outcome::Blocked { by: vec![Blocker::Session(0)], wait: String::new() },
            ("fails", _) => Outcome::Error(serialization_failure()),
            ("taken", _) => Outcome::Error(key_taken()),
            (answer, None) => Outcome::Ok(answer_of(answer)),
            (answer, Some(_)) => Outcome::Resumed(answer_of(answer)),
        };
        let (n, sql) = (resumed.unwrap_or(count), sql.clone());
        events.push(Event { n, session, sql, outcome, at_us: 0, sent: None, answered: None });
    }
    Event::number(&mut events);
    events
}

/// The error of a statement that could not be serialized, after which the session has to say ROLLBACK.
fn serialization_failure() -> DbError {
    DbError {
        class: ErrorClass::Serialization,
        code: "40001".to_owned(),
        transaction_gone: true,
        in_transaction: Some(true),
        ..DbError::connection_lost("could not serialize access")
    }
}

/// SQLite's error of a primary key that is taken.
fn key_taken() -> DbError {
    DbError {
        class: ErrorClass::Constraint,
        code: "1555".to_owned(),
        transaction_gone: false,
        in_transaction: Some(true),
        ..DbError::connection_lost("UNIQUE constraint failed")
    }
}

fn answer_of(text: &str) -> Answer {
    match text.parse() {
        Ok(count) => Answer { affected: Some(count), ..Answer::default() },
        Err(_) if text.is_empty() => Answer::default(),
        Err(_) => {
            let (count, rows) = text.split_once(": ").unwrap_or(("", text));
            let columns = vec!["a".to_owned(), "b".to_owned()];
            let results = vec![Rows { columns, rows: rows_of(rows) }];
            Answer { results, affected: count.parse().ok(), ..Answer::default() }
        }
    }
}

/// `(1, 2), (3, 4)`; `-` = none.
fn rows_of(text: &str) -> Vec<Vec<Value>> {
    let rows =
        text.trim_start_matches("-").split(')').map(|row| row.trim_start_matches([',', ' ', '(']));
    let cell = |cell: &str| Value::Int(cell.trim().parse().expect("a number"));
    rows.filter(|row| !row.is_empty()).map(|row| row.split(',').map(cell).collect()).collect()
}
