//! Short words for making runs.

use anchorite_model::{
    Answer, Blocker, BlockingKnowledge, Case, DbError, Ending, ErrorClass, Event, Notice, Outcome,
    Product, Rows, Run, SessionInfo, Statement, Step, TargetInfo, Value,
};

/// The time between two events of a sample.
const EVENT_US: u64 = 250;

/// A run of nothing yet, its sessions at the target's default level.
pub fn run(name: &str, product: Product, version: &str, sessions: &[&str]) -> Run {
    Run {
        case: Case { name: name.to_owned(), sessions: lines(sessions), ..Case::default() },
        target: TargetInfo { product, version: version.to_owned(), variant: String::new() },
        level: None,
        sessions: sessions
            .iter()
            .map(|name| SessionInfo {
                name: (*name).to_owned(),
                level: None,
                level_read_back: String::new(),
            })
            .collect(),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked(String::new()),
        events: Vec::new(),
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    }
}

/// Fills in the events, and the schedule that belongs to them. An empty statement repeats the one
/// that had the same number before.
pub fn in_order(run: &mut Run, events: Vec<(usize, usize, &str, Outcome)>) {
    for (n, session, sql, outcome) in events {
        let earlier = run.events.iter().find(|event| event.n == n);
        let sql = match earlier {
            Some(event) => event.sql.clone(),
            None => sql.to_owned(),
        };
        let at_us = run.events.len() as u64 * EVENT_US;
        let (sent, answered) = (None, None);
        run.events.push(Event { n, session, sql, outcome, at_us, sent, answered });
        Event::number(&mut run.events);
    }
    let mut steps: Vec<&Event> = run.events.iter().collect();
    steps.sort_by_key(|event| event.n);
    steps.dedup_by_key(|event| event.n);
    run.case.steps = steps
        .iter()
        .map(|event| Step {
            session: event.session,
            statement: Statement { sql: event.sql.clone(), line: 0 },
        })
        .collect();
}

pub fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

pub fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> Rows {
    Rows { columns: lines(columns), rows }
}

pub fn answer(results: Vec<Rows>) -> Answer {
    Answer { results, ..Answer::default() }
}

pub fn ok() -> Outcome {
    affected(0)
}

pub fn affected(count: u64) -> Outcome {
    Outcome::Ok(Answer { affected: Some(count), ..Answer::default() })
}

pub fn returned(results: Vec<Rows>) -> Outcome {
    Outcome::Ok(answer(results))
}

pub fn tagged(tag: &str) -> Outcome {
    Outcome::Ok(Answer { tag: Some(tag.to_owned()), ..Answer::default() })
}

pub fn resumed(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Ok(answer) => Outcome::Resumed(answer),
        other => other,
    }
}

pub fn with_rows(outcome: Outcome, results: Vec<Rows>) -> Outcome {
    match outcome {
        Outcome::Ok(answer) => Outcome::Ok(Answer { results, ..answer }),
        other => other,
    }
}

pub fn with_notices(outcome: Outcome, notices: Vec<Notice>) -> Outcome {
    match outcome {
        Outcome::Ok(answer) => Outcome::Ok(Answer { notices, ..answer }),
        other => other,
    }
}

pub fn notice(severity: &str, message: &str) -> Notice {
    Notice { severity: severity.to_owned(), message: message.to_owned() }
}

pub fn blocked(by: &[usize], wait: &str) -> Outcome {
    blocked_by(by.iter().map(|session| Blocker::Session(*session)).collect(), wait)
}

pub fn blocked_by(by: Vec<Blocker>, wait: &str) -> Outcome {
    Outcome::Blocked { by, wait: wait.to_owned() }
}

pub fn skipped(reason: &str) -> Outcome {
    Outcome::Skipped { reason: reason.to_owned() }
}

pub fn error(class: ErrorClass, code: &str, message: &str, gone: bool) -> Outcome {
    Outcome::Error(db_error(class, code, message, gone))
}

pub fn db_error(class: ErrorClass, code: &str, message: &str, gone: bool) -> DbError {
    DbError {
        class,
        code: code.to_owned(),
        message: message.to_owned(),
        transaction_gone: gone,
        ..DbError::default()
    }
}

pub fn still_open(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Error(error) => Outcome::Error(DbError { in_transaction: Some(true), ..error }),
        other => other,
    }
}
