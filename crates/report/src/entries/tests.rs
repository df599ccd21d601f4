//! What is described where: sent, queued, wrong, counted.

use super::*;

#[test]
fn a_statement_stands_where_it_was_sent() {
    let event = |n, session, outcome, sent, answered| Event {
        n,
        session,
        sql: format!("statement {n}"),
        outcome,
        at_us: 0,
        sent: Some(sent),
        answered,
    };
    let waits = Outcome::Blocked { by: vec![Blocker::Session(1)], wait: String::new() };
    let ok = Outcome::Ok(Answer::default());
    let victim = Outcome::Error(DbError::default());
    let events = vec![
        event(1, 0, waits, 1, None),
        event(1, 0, victim, 1, Some(3)),
        event(2, 1, ok.clone(), 2, Some(4)),
        event(3, 1, ok, 5, Some(6)),
    ];
    let case = anchorite_model::Case {
        sessions: vec!["t1".to_owned(), "t2".to_owned()],
        ..anchorite_model::Case::default()
    };
    let run = run_of(case, events);
    let entries = describe(&run, None);
    let told: Vec<_> = entries.iter().map(|entry| (entry.n, entry.sql.is_some())).collect();
    assert_eq!(told, [(1, true), (2, true), (1, false), (2, false), (3, true)]);
}

#[test]
fn a_queued_statement_stands_in_its_turn_and_where_it_was_sent() {
    let waits = Outcome::Blocked { by: vec![Blocker::Session(0)], wait: String::new() };
    let ok = || Outcome::Ok(Answer { affected: Some(2), ..Answer::default() });
    let skipped = Outcome::Skipped { reason: "gone".to_owned() };
    let outcomes = [
        (1, 0, ok()),
        (2, 1, waits),
        (5, 0, ok()),
        (2, 1, Outcome::Resumed(Answer::default())),
        (3, 1, ok()),
        (4, 1, skipped),
    ];
    let event = |(n, session, outcome): (usize, usize, Outcome)| Event {
        n,
        session,
        sql: "UPDATE t SET a = 1".to_owned(),
        outcome,
        at_us: 0,
        sent: None,
        answered: None,
    };
    let mut events: Vec<Event> = outcomes.into_iter().map(event).collect();
    Event::number(&mut events);
    let run = run_of(anchorite_model::Case::default(), events);
    let blame = Blame { n: 3, said: "affected 2 instead of 0".to_owned() };
    let entries = describe(&run, Some(&blame));
    let told: Vec<_> = entries.iter().map(|entry| (entry.n, entry.sql.is_some())).collect();
    let turn = [(1, true), (2, true), (3, true), (4, true), (5, true)];
    assert_eq!(told, [&turn[..], &[(2, false), (3, false), (4, false)]].concat());
    let queued = |n| Item::Remark(Tone::Progress, format!("queued behind {n}"));
    assert_eq!((entries[2].kind, &entries[2].items), (EntryKind::Queued, &vec![queued(2)]));
    assert_eq!(entries[3].kind, EntryKind::Queued);
    let remark = |tone, text: &str| Item::Remark(tone, text.to_owned());
    let sent =
        [remark(Tone::Wrong, "sent: 2 rows affected"), remark(Tone::Wrong, "wrong: 0 expected")];
    assert_eq!((entries[6].is_wrong, &entries[6].items[..]), (true, &sent[..]));
    assert_eq!(entries[7].items, [remark(Tone::Progress, "skipped: gone")]);
}

fn run_of(case: anchorite_model::Case, events: Vec<Event>) -> Run {
    use anchorite_model::{BlockingKnowledge, Ending, Product, TargetInfo};
    let target = TargetInfo {
        product: Product::named("sqlite"),
        version: String::new(),
        variant: String::new(),
    };
    Run {
        case,
        target,
        level: None,
        sessions: Vec::new(),
        blocking: BlockingKnowledge::Asked(String::new()),
        events,
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        settings: Vec::new(),
        ending: Ending::Complete,
    }
}

#[test]
fn a_count_is_told_where_it_says_something() {
    let answer = |affected, rows: usize| Answer {
        affected: Some(affected),
        results: if rows == 0 {
            Vec::new()
        } else {
            vec![Rows { columns: vec!["c".to_owned()], rows: vec![Vec::new(); rows] }]
        },
        ..Answer::default()
    };
    let told = |sql, affected_rows, rows| affected(sql, &answer(affected_rows, rows));
    assert_eq!(told("BEGIN", 0, 0), None);
    assert_eq!(told("SELECT 1", 2, 2), None);
    assert_eq!(told("UPDATE t SET c = 1", 0, 0).as_deref(), Some("0 rows affected"));
    assert_eq!(told("DELETE FROM t RETURNING c", 1, 1).as_deref(), Some("1 row affected"));
    assert_eq!(told("CALL p()", 3, 0).as_deref(), Some("3 rows affected"));
}
