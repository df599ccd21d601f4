//! Runs a PostgreSQL isolation spec by the rules of PostgreSQL's isolationtester, and prints what it
//! prints, byte for byte.
//!
//! The rules: after each step is launched it is completed or found blocked, then every step that was waiting is tried
//! again; a session's next step waits for its previous one; markers delay the report of a completion. The difference is
//! the pace: isolationtester looks every 10 ms, we look as soon as nothing has arrived for a moment. Because that is
//! early, a step counts as blocked only when the whole situation is stable ([`crate::decide`]); after 10 ms without
//! stability isolationtester's own simple rule decides.
//!
//! Source: the README and the observable behaviour of PostgreSQL 15's `src/test/isolation`.

mod print;
mod spec_run;
mod spec_session;

use std::collections::HashSet;

use anchorite_drivers::pg_isolation::IsolationDatabase;
use anchorite_model::spec::Spec;

use crate::{RunOptions, StageError};
use spec_run::SpecRun;
use spec_session::SpecSession;

/// What a spec printed, and whether it ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The text, as isolationtester would have printed it.
    pub text: String,
    /// Why the spec could not be run to its end, if so; the text says it too.
    pub failure: Option<String>,
}

/// Runs every permutation of a spec.
pub fn run_spec(
    database: &IsolationDatabase,
    spec: &Spec,
    options: &RunOptions,
) -> Result<Transcript, StageError> {
    let name = |session: &str| format!("isolation/{}/{session}", spec.name);
    // A server forks a process for each connection: several at once take little longer than one.
    let (control, spec_sessions) = std::thread::scope(|scope| {
        let control = scope.spawn(|| database.control(&name("control connection")));
        let spec_sessions: Vec<_> = spec
            .sessions
            .iter()
            .map(|session| (session, scope.spawn(|| database.open(&name(&session.name)))))
            .collect();
        let spec_sessions = spec_sessions.into_iter().map(|(session, opening)| {
            Ok(SpecSession::new(&session.name, opening.join().expect("opening does not panic")?))
        });
        let spec_sessions = spec_sessions.collect::<Result<Vec<_>, StageError>>()?;
        let control = control.join().expect("opening does not panic")?;
        Ok::<_, StageError>((control, spec_sessions))
    })?;
    let mut spec_run = SpecRun::new(spec, control, spec_sessions, options, opening(spec));
    for permutation in spec.all_permutations() {
        match spec_run.permutation(&permutation) {
            Ok(()) => {}
            Err(Stop::Failed(message)) => {
                spec_run.out += &format!("{message}\n");
                return Ok(Transcript { text: spec_run.out, failure: Some(message) });
            }
            Err(Stop::Error(error)) => return Err(error),
        }
    }
    Ok(Transcript { text: spec_run.out, failure: None })
}

/// The first lines: steps that no permutation uses, then the number of sessions.
fn opening(spec: &Spec) -> String {
    let permutations = spec.all_permutations();
    let used: HashSet<&str> =
        permutations.iter().flatten().map(|step| spec.step(step.step).name.as_str()).collect();
    let steps = spec.sessions.iter().flat_map(|session| &session.steps);
    let mut unused: Vec<&str> =
        steps.map(|step| step.name.as_str()).filter(|name| !used.contains(name)).collect();
    unused.sort_unstable();
    let mut text = String::new();
    for name in unused {
        text += &format!("unused step name: {name}\n");
    }
    text + &format!("Parsed test spec with {} sessions\n", spec.sessions.len())
}

/// Why a permutation did not reach its end.
enum Stop {
    Failed(String),
    Error(StageError),
}

impl From<StageError> for Stop {
    fn from(error: StageError) -> Self {
        Self::Error(error)
    }
}
