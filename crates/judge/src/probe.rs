//! The classic anomaly probe: was the anomaly possible, and if not, what prevented it?
//!
//! Idea and source: Martin Kleppmann's Hermitage, a set of hand-run scripts, one per anomaly of Adya and of Bailis.
//! Here each script is a case whose `-- shows:` lines say when the anomaly has happened. Assumption: the case's
//! schedule causes the anomaly wherever the level permits it. Blind spot: "prevented" refers to this one schedule; it
//! does not prove that no other one gets through.

use anchorite_claims::Anomaly;
use anchorite_model::{Case, DbError, Ending, ErrorClass, Outcome, Run};

use crate::header::lines::{ConditionError, shows, values};

/// How the anomaly happened or was prevented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// The anomaly happened.
    Shown,
    /// A deadlock's victim was rolled back.
    Deadlock,
    /// A statement or a commit was refused.
    Error,
    /// A statement waited until the other transaction had ended.
    Wait,
    /// Nobody waited and nothing failed: the reads saw a consistent state.
    Snapshot,
}

impl How {
    /// The word of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Deadlock => "deadlock",
            Self::Error => "error",
            Self::Wait => "wait",
            Self::Snapshot => "snapshot",
        }
    }
}

/// What a run of a probe case showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The anomaly that the case is about.
    pub anomaly: Anomaly,
    /// Whether it happened.
    pub possible: bool,
    /// How it happened or was prevented.
    pub how: How,
    /// The condition that failed, or the error that prevented it, or what was shown.
    pub because: String,
}

/// Why a run proves nothing about its anomaly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// The case's header cannot be read.
    #[error(transparent)]
    Case(#[from] ConditionError),
    /// The server went away in the middle.
    #[error("case {case}: the target was lost: {reason}")]
    Lost {
        /// The case's name.
        case: String,
        /// When it was lost.
        reason: String,
    },
    /// A statement failed for a reason that has nothing to do with isolation, so nothing was tested.
    #[error("case {case}: step {step} failed for another reason than isolation: {message}")]
    Unrelated {
        /// The case's name.
        case: String,
        /// The statement's number.
        step: usize,
        /// The server's words.
        message: String,
    },
}

/// The anomaly of a probe case: its `-- anomaly:` line.
pub fn anomaly(case: &Case) -> Result<Anomaly, ConditionError> {
    let text = values(case, "anomaly").next().ok_or_else(|| ConditionError::Missing {
        case: case.name.clone(),
        key: "anomaly".to_owned(),
    })?;
    text.parse().map_err(|error: anchorite_claims::UnknownAnomaly| ConditionError::Misfit {
        case: case.name.clone(),
        key: "anomaly".to_owned(),
        text: text.to_owned(),
        reason: error.to_string(),
    })
}

/// Whether this case fills its anomaly's cell in the table; the others are variants of it.
pub fn is_main(case: &Case) -> bool {
    anomaly(case).is_ok_and(|anomaly| anomaly.name() == case.name)
}

/// What the run shows about the case's anomaly.
pub fn observe(case: &Case, run: &Run) -> Result<Observation, ObserveError> {
    let anomaly = anomaly(case)?;
    let conditions = shows(case)?;
    if conditions.is_empty() {
        let key = "shows".to_owned();
        return Err(ConditionError::Missing { case: case.name.clone(), key }.into());
    }
    let incidental = incidental_waits(case)?;
    if let Ending::TargetLost(reason) = &run.ending {
        return Err(ObserveError::Lost { case: case.name.clone(), reason: reason.clone() });
    }
    let (how, because) = match conditions.iter().find(|condition| !condition.is_true_of(run)) {
        None => {
            let all: Vec<String> = conditions.iter().map(ToString::to_string).collect();
            (How::Shown, all.join("; "))
        }
        Some(failed) => prevention(case, run, &incidental, &failed.to_string())?,
    };
    Ok(Observation { anomaly, possible: how == How::Shown, how, because })
}

/// The steps whose waiting is part of the set-up and prevents nothing: `-- incidental-wait: step N`.
fn incidental_waits(case: &Case) -> Result<Vec<usize>, ConditionError> {
    values(case, "incidental-wait")
        .map(|text| {
            let number = text.trim().strip_prefix("step").and_then(|n| n.trim().parse().ok());
            number.filter(|n| (1..=case.steps.len()).contains(n)).ok_or_else(|| {
                ConditionError::Misfit {
                    case: case.name.clone(),
                    key: "incidental-wait".to_owned(),
                    text: text.to_owned(),
                    reason: format!("expected 'step N' with N up to {}", case.steps.len()),
                }
            })
        })
        .collect()
}

fn prevention(
    case: &Case,
    run: &Run,
    incidental: &[usize],
    failed: &str,
) -> Result<(How, String), ObserveError> {
    let errors = first_errors(run);
    let is_unrelated = |class| matches!(class, ErrorClass::Other | ErrorClass::ConnectionLost);
    if let Some((step, error)) = errors.iter().find(|(_, error)| is_unrelated(error.class)) {
        let message = error.message.clone();
        return Err(ObserveError::Unrelated { case: case.name.clone(), step: *step, message });
    }
    let deadlock = errors.iter().find(|(_, error)| error.class == ErrorClass::Deadlock);
    if let Some((n, error)) = deadlock.or_else(|| errors.first()) {
        let how = if deadlock.is_some() { How::Deadlock } else { How::Error };
        return Ok((how, format!("step {n} failed: {}", error.message)));
    }
    let waited = run.events.iter().find(|event| {
        matches!(event.outcome, Outcome::Blocked { .. }) && !incidental.contains(&event.n)
    });
    Ok(match waited {
        Some(event) => (How::Wait, format!("step {} waited, and not: {failed}", event.n)),
        None => (How::Snapshot, format!("not: {failed}")),
    })
}

/// The significant errors: not those that a session gets only because its transaction has already failed (PostgreSQL
/// refuses everything until the transaction's end).
fn first_errors(run: &Run) -> Vec<(usize, &DbError)> {
    let mut gone = vec![false; run.case.sessions.len()];
    let mut errors = Vec::new();
    for event in &run.events {
        match &event.outcome {
            Outcome::Error(error) if !gone[event.session] => {
                gone[event.session] = error.transaction_gone;
                errors.push((event.n, error));
            }
            Outcome::Ok(_) | Outcome::Resumed(_) => gone[event.session] = false,
            _ => {}
        }
    }
    errors
}
