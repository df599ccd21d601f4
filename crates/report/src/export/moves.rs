//! What to do, in which order, to make the same thing happen again.
//!
//! Idea: a run's events, turned from "what happened" into "what to do": a statement is sent; one that blocked is left
//! waiting; at the point where it resumed, its answer is fetched. Statements that the stage delayed, because their
//! session was blocked, are placed where they were actually sent. What the stage rolled back at the end is rolled back
//! by the script, because others may have waited for it.
//!
//! Assumption: the stage's notes say which sessions it rolled back or cancelled (`… was still in a
//! transaction`, `… was still blocked`).

use std::collections::BTreeSet;

use anchorite_model::{Blocker, Outcome, Run, SessionIndex};

use super::Script;
use crate::entries::{Item, answer_items, error_items};
use crate::result::session_name;
use crate::tuples::tuples;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move<'a> {
    /// A statement is sent.
    Send {
        n: usize,
        session: SessionIndex,
        sql: &'a str,
        /// Whether it then waits.
        wait: Wait<'a>,
        /// What it answers at once.
        outcome: Option<&'a Outcome>,
    },
    /// A statement that waited is answered.
    Return { n: usize, session: SessionIndex, sql: &'a str, outcome: Option<&'a Outcome> },
    /// A statement that nothing releases is cancelled; its answer follows.
    Cancel { session: SessionIndex },
    /// A transaction that the case leaves open is rolled back.
    RollBack { session: SessionIndex },
}

/// Whether a statement waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait<'a> {
    /// It was answered at once.
    No,
    /// It waited for these.
    For(&'a [Blocker]),
    /// Not known.
    Unknown,
}

/// The plan of a script.
pub(super) fn plan<'a>(script: &Script<'a>) -> Vec<Move<'a>> {
    match script.run {
        Some(run) => Planner::new(run).plan(),
        None => submitted(script),
    }
}

/// Nothing is known: in submission order, each answer fetched before its session's next statement.
fn submitted<'a>(script: &Script<'a>) -> Vec<Move<'a>> {
    let mut moves = Vec::new();
    let mut outstanding: Vec<Option<(usize, &str)>> = vec![None; script.case.sessions.len()];
    let answer = |session: usize, (n, sql)| Move::Return { n, session, sql, outcome: None };
    for (i, step) in script.case.steps.iter().enumerate() {
        let (n, session, sql) = (i + 1, step.session, step.statement.sql.as_str());
        moves.extend(outstanding[session].take().map(|sent| answer(session, sent)));
        moves.push(Move::Send { n, session, sql, wait: Wait::Unknown, outcome: None });
        outstanding[session] = Some((n, sql));
    }
    let last = outstanding.into_iter().enumerate();
    moves.extend(last.filter_map(|(session, sent)| sent.map(|sent| answer(session, sent))));
    moves
}

struct Planner<'a> {
    run: &'a Run,
    moves: Vec<Move<'a>>,
    /// Sessions that are rolled back at the end, and have not been yet.
    open: Vec<SessionIndex>,
    /// Sessions that are cancelled at the end, and have not been yet.
    stuck: Vec<SessionIndex>,
}

impl<'a> Planner<'a> {
    fn new(run: &'a Run) -> Self {
        let noted = |what: &str| -> Vec<SessionIndex> {
            let by_name = |name: &String| format!("{name} was still {what}");
            let names = run.case.sessions.iter().enumerate();
            let told = |begin: &String| run.notes.iter().any(|note| note.starts_with(begin));
            names.filter(|(_, name)| told(&by_name(name))).map(|(session, _)| session).collect()
        };
        let (open, stuck) = (noted("in a transaction"), noted("blocked"));
        Self { run, moves: Vec::new(), open, stuck }
    }

    fn plan(mut self) -> Vec<Move<'a>> {
        let mut sent = BTreeSet::new();
        for (i, event) in self.run.events.iter().enumerate() {
            let (n, session, sql) = (event.n, event.session, event.sql.as_str());
            match &event.outcome {
                Outcome::Skipped { .. } => {}
                Outcome::Blocked { by, .. } => {
                    if sent.insert(n) {
                        self.moves.push(Move::Send {
                            n,
                            session,
                            sql,
                            wait: Wait::For(by),
                            outcome: None,
                        });
                    }
                }
                outcome if sent.insert(n) => {
                    let outcome = Some(outcome);
                    self.moves.push(Move::Send { n, session, sql, wait: Wait::No, outcome });
                }
                outcome => {
                    self.set_free(i);
                    self.moves.push(Move::Return { n, session, sql, outcome: Some(outcome) });
                }
            }
        }
        self.moves.extend(self.open.into_iter().map(|session| Move::RollBack { session }));
        self.moves
    }

    /// What had to happen before the statement of this event was answered, if no statement did it.
    fn set_free(&mut self, at: usize) {
        let event = &self.run.events[at];
        let later = |session: SessionIndex| {
            self.run.events[at..].iter().any(|other| other.session == session)
        };
        if matches!(event.outcome, Outcome::Error(_)) {
            let last = self.run.events[at + 1..].iter().all(|other| other.session != event.session);
            if last && self.stuck.contains(&event.session) {
                self.stuck.retain(|session| *session != event.session);
                self.moves.push(Move::Cancel { session: event.session });
            }
            return;
        }
        let before = self.run.events[..at].iter().rev().find(|other| other.n == event.n);
        let Some(Outcome::Blocked { by, .. }) = before.map(|event| &event.outcome) else { return };
        let blockers: Vec<SessionIndex> = by
            .iter()
            .filter_map(|blocker| match blocker {
                Blocker::Session(session) => Some(*session),
                Blocker::Outside(_) | Blocker::Prepared(_) => None,
            })
            .filter(|session| self.open.contains(session) && !later(*session))
            .collect();
        self.open.retain(|session| !blockers.contains(session));
        self.moves.extend(blockers.into_iter().map(|session| Move::RollBack { session }));
    }
}

/// Whom a statement waits for, in words: ` for t1 and t3`; empty if the server does not say.
pub(super) fn waits_for(script: &Script<'_>, by: &[Blocker]) -> String {
    let name = |blocker: &Blocker| match (blocker, script.run) {
        (Blocker::Session(session), Some(run)) => session_name(run, *session),
        (Blocker::Prepared(id), _) if !id.is_empty() => format!("the prepared transaction {id}"),
        _ => "a connection outside this case".to_owned(),
    };
    let names: Vec<String> = by.iter().map(name).collect();
    if names.is_empty() { String::new() } else { format!(" for {}", names.join(", ")) }
}

/// What a statement answered, in a line.
pub(super) fn told(sql: &str, outcome: &Outcome) -> String {
    let mut items = Vec::new();
    match outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => {
            answer_items(sql, answer, false, &mut items);
        }
        Outcome::Error(error) => error_items(error, false, &mut items),
        Outcome::Blocked { .. } | Outcome::Skipped { .. } => {}
    }
    let line = |item: &Item<'_>| match item {
        Item::Remark(_, text) => text.clone(),
        Item::Rows(rows) => tuples(rows, &|text| text.to_owned()),
    };
    items.iter().map(line).collect::<Vec<_>>().join("; ")
}
