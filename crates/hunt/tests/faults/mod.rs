//! Faults that are planted in the record of a run, as if the server had done it.

use anchorite_model::{Answer, Event, Outcome, Run, StatementKind, Value};

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A row of the final state is missing.
    RowLost,
    /// A row of the final state is there twice.
    RowDoubled,
    /// A number in the final state is another one.
    ValueChanged,
    /// A write counts one row more than it changed.
    CountChanged,
    /// What failed in a session is answered as if it had succeeded.
    ErrorHidden,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::RowLost,
        Self::RowDoubled,
        Self::ValueChanged,
        Self::CountChanged,
        Self::ErrorHidden,
    ];

    /// The run with this fault; `None` where there is nothing to spoil.
    pub fn plant(self, run: &Run) -> Option<Run> {
        let mut faulty = run.clone();
        let mut tables = faulty.final_state.iter_mut().map(|(_, rows)| &mut rows.rows);
        let rows = tables.find(|rows| !rows.is_empty());
        match self {
            Self::RowLost => drop(rows?.pop()),
            Self::RowDoubled => {
                let rows = rows?;
                let last = rows.last().cloned()?;
                rows.push(last);
            }
            Self::ValueChanged => {
                let mut values = rows?.iter_mut().flatten();
                let number = values.find_map(|value| match value {
                    Value::Int(number) => Some(number),
                    _ => None,
                });
                *number? += 1000;
            }
            Self::CountChanged => *count_of_a_write(&mut faulty)? += 1,
            Self::ErrorHidden => hide_errors(&mut faulty)?,
        }
        Some(faulty)
    }
}

fn count_of_a_write(run: &mut Run) -> Option<&mut u64> {
    run.events.iter_mut().find_map(|event| match &mut event.outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer)
            if StatementKind::of(&event.sql).writes() =>
        {
            answer.affected.as_mut()
        }
        _ => None,
    })
}

/// Everything that failed in a session succeeds; one of whose statements each was sent, so that the record is whole.
fn hide_errors(run: &mut Run) -> Option<()> {
    let is_error = |outcome: &Outcome| matches!(outcome, Outcome::Error(_));
    let is_sent = |outcome: &Outcome| !matches!(outcome, Outcome::Skipped { .. });
    let session = (0..run.case.sessions.len()).find(|session| {
        let mut own = run.events.iter().filter(|event| event.session == *session);
        own.clone().any(|event| is_error(&event.outcome))
            && own.all(|event| is_sent(&event.outcome))
    })?;
    let is_wait = |event: &&Event| matches!(event.outcome, Outcome::Blocked { .. });
    let waited: Vec<usize> = run.events.iter().filter(is_wait).map(|event| event.n).collect();
    for event in run.events.iter_mut().filter(|event| event.session == session) {
        let kind = StatementKind::of(&event.sql);
        let affected = kind.writes().then_some(1);
        let answer = Answer { affected, ..Answer::default() };
        match &mut event.outcome {
            outcome @ Outcome::Error(_) if waited.contains(&event.n) => {
                *outcome = Outcome::Resumed(answer);
            }
            outcome @ Outcome::Error(_) => *outcome = Outcome::Ok(answer),
            // PostgreSQL's COMMIT of a transaction that has failed.
            Outcome::Ok(answer) => answer.tag = None,
            Outcome::Resumed(_) | Outcome::Blocked { .. } | Outcome::Skipped { .. } => {}
        }
    }
    Some(())
}
