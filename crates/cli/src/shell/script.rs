//! From what was typed to a case: pure.
//!
//! Idea: whoever experiments creates and fills tables first, in some session. In a case that is the set-up, and oracles
//! know what it means. So the statements before everything else that create tables or insert rows, outside
//! transactions, become the set-up; the rest is the schedule, in the order in which it was typed.
//!
//! Blind spot: a statement that was cancelled is in the case like any other, because a case cannot cancel one.

use anchorite_model::sql::StatementKind;
use anchorite_model::{Case, Outcome, Run, Step};

/// The case that was typed; what was never sent is left out. `None` if nothing is left.
pub fn typed_case(run: &Run) -> Option<Case> {
    let mut case = run.case.clone();
    let was_sent = |n: usize| {
        let mut events = run.events.iter().filter(|event| event.n == n);
        !events.any(|event| matches!(event.outcome, Outcome::Skipped { .. }))
    };
    let typed = std::mem::take(&mut case.steps).into_iter().enumerate();
    let mut steps: Vec<(usize, Step)> = typed.filter(|(at, _)| was_sent(at + 1)).collect();
    let opening = steps.iter().take_while(|(at, step)| is_of_set_up(run, at + 1, step)).count();
    if opening < steps.len() {
        case.setup.extend(steps.drain(..opening).map(|(_, step)| step.statement));
    }
    if steps.is_empty() {
        return None;
    }
    let mut sessions = Vec::new();
    for (_, mut step) in steps {
        let name = &run.case.sessions[step.session];
        let known = sessions.iter().position(|known| known == name);
        step.session = known.unwrap_or_else(|| {
            sessions.push(name.clone());
            sessions.len() - 1
        });
        case.steps.push(step);
    }
    case.sessions = sessions;
    let mut levels = run.sessions.iter().map(|session| session.effective_level());
    let first = levels.next().flatten();
    case.header.level = first.filter(|first| levels.all(|level| level == Some(*first)));
    case.header.title = Some(format!("typed on {}", run.target));
    Some(case)
}

/// Whether a statement that was typed before everything else can be part of the set-up: it succeeded, and nothing of
/// it stays in its session.
fn is_of_set_up(run: &Run, n: usize, step: &Step) -> bool {
    let sql = &step.statement.sql;
    let is_temporary = sql
        .split_whitespace()
        .take(3)
        .any(|word| word.eq_ignore_ascii_case("TEMPORARY") || word.eq_ignore_ascii_case("TEMP"));
    let prepares = matches!(StatementKind::of(sql), StatementKind::Ddl | StatementKind::Insert);
    let mut events = run.events.iter().filter(|event| event.n == n);
    let succeeded = events.any(|event| matches!(event.outcome, Outcome::Ok(_)));
    prepares && succeeded && !is_temporary
}

/// Where a run differs from what was seen while it was typed, in a sentence each; both have the same statements.
pub fn differences(typed: &Run, again: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let mut left: Vec<(&str, &str, String)> = outcomes(typed);
    for (session, sql, now) in outcomes(again) {
        let same = |(s, text, _): &(&str, &str, String)| *s == session && *text == sql;
        let Some(at) = left.iter().position(same) else { continue };
        let (_, _, before) = left.remove(at);
        if before != now {
            found
                .push(format!("{session}: {sql}: {before} when it was typed, {now} in the replay"));
        }
    }
    found
}

/// What became of each statement: its session, its text, and its last outcome in a few words.
fn outcomes(run: &Run) -> Vec<(&str, &str, String)> {
    let mut last: Vec<(usize, &str, &str, String)> = Vec::new();
    for event in &run.events {
        let told = match &event.outcome {
            Outcome::Ok(answer) | Outcome::Resumed(answer) => {
                let mut rows: Vec<String> = answer
                    .results
                    .iter()
                    .map(|rows| {
                        let mut rows = rows.rows.clone();
                        rows.sort();
                        format!("{rows:?}")
                    })
                    .collect();
                rows.extend(
                    answer
                        .affected
                        .filter(|count| *count > 0)
                        .map(|count| format!("{count} affected")),
                );
                match rows.is_empty() {
                    true => "ok".to_owned(),
                    false => format!("ok ({})", rows.join(", ")),
                }
            }
            Outcome::Blocked { .. } => "blocked".to_owned(),
            Outcome::Error(error) => format!("error {} ({})", error.class.name(), error.code),
            Outcome::Skipped { .. } => "skipped".to_owned(),
        };
        last.retain(|(n, ..)| *n != event.n);
        let session = run.sessions[event.session].name.as_str();
        last.push((event.n, session, &event.sql, told));
    }
    last.sort_by_key(|(n, ..)| *n);
    last.into_iter().map(|(_, session, sql, told)| (session, sql, told)).collect()
}

#[cfg(test)]
mod tests {
    use anchorite_stage::{RunOptions, run_case};

    use super::*;

    /// The run of a case on SQLite, as if it had been typed.
    fn typed(text: &str) -> Run {
        let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
        let case = Case::parse("typed", text).expect("a valid case");
        run_case(target.as_ref(), &case, &RunOptions::default()).expect("a run")
    }

    #[test]
    fn what_creates_and_fills_tables_first_is_the_set_up() {
        let run = typed(
            "/* t2 */ CREATE TABLE t (a INT);\n/* t2 */ INSERT INTO t VALUES (1);\n\
             /* t1 */ BEGIN;\n/* t1 */ INSERT INTO t VALUES (2);\n/* t1 */ COMMIT;\n",
        );
        let case = typed_case(&run).expect("something was typed");
        assert_eq!((case.setup.len(), case.steps.len()), (2, 3));
        assert_eq!(case.sessions, ["t1"]);
        let again = Case::parse("typed", &case.to_text()).expect("its text is a case");
        assert_eq!(again.header.level, case.header.level);
        assert_eq!(again.steps.len(), 3);
    }

    #[test]
    fn what_fails_or_stays_in_its_session_is_no_set_up() {
        for first in ["CREATE TEMP TABLE t (a INT)", "INSERT INTO nowhere VALUES (1)", "BEGIN"] {
            let run = typed(&format!("/* t1 */ {first};\n/* t1 */ SELECT 1;\n"));
            assert_eq!(typed_case(&run).expect("a case").setup, [], "{first}");
        }
        let only = typed("/* t1 */ CREATE TABLE t (a INT);\n");
        assert_eq!(typed_case(&only).expect("a case").steps.len(), 1);
    }

    #[test]
    fn a_replay_that_differs_is_told() {
        let first = typed("/* t1 */ SELECT 1;\n/* t2 */ SELECT 2;\n");
        assert_eq!(differences(&first, &first), [""; 0]);
        let mut second = first.clone();
        second.events[1].outcome = Outcome::Skipped { reason: String::new() };
        let told = differences(&first, &second);
        assert!(told.len() == 1 && told[0].starts_with("t2: SELECT 2: ok"), "{told:?}");
    }
}
