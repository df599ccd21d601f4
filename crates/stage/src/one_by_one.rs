//! Sessions that take one statement at a time, as somebody types them.
//!
//! Idea: what is typed is a case whose end is not known yet. Each statement becomes its next step, and everything that
//! settles a case settles it: who is blocked is asked of the server, statements of a blocked session queue, and what
//! happened is in the same [`Run`]. Only patience differs: a statement that runs for long is left running, and looked
//! at again.
//!
//! Blind spot: nothing keeps the server's background work still meanwhile, as is done for a case; a wait may then end
//! although no session ended it.

use std::time::{Duration, Instant};

use anchorite_drivers::{Reply, Schema, Session, Wait, execute};
use anchorite_model::{Blocker, Case, Run, SessionIndex, SessionInfo, Statement, TargetInfo};

use crate::case_session::CaseSession;
use crate::looking::give_up;
use crate::open_sessions::{OpenSessions, Stage, session_options};
use crate::{RunOptions, StageError};

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Nothing, outside a transaction.
    Idle,
    /// Nothing, inside a transaction.
    InTransaction,
    /// Its statement runs.
    Running,
    /// Its statement waits.
    Blocked,
    /// Its connection is gone.
    Lost,
}

/// A statement that waits, as the server says at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Whose it is.
    pub session: SessionIndex,
    /// For whom; empty where the server does not say.
    pub by: Vec<Blocker>,
    /// For what, in the server's words; empty where it does not say.
    pub wait: String,
}

/// Open sessions in a schema of their own. What they have open ends with this value.
pub struct OneByOne<'a> {
    stage: Stage<'a>,
    /// For the set-up, which no session of the case runs.
    preparing: Option<Box<dyn Session>>,
}

impl<'a> OneByOne<'a> {
    /// Opens sessions with these names. Settling is left off after `patience`.
    pub fn open(
        target: &TargetInfo,
        schema: &'a dyn Schema,
        names: &[String],
        options: &'a RunOptions,
        patience: Option<Duration>,
    ) -> Result<Self, StageError> {
        let case = Case { name: "typed".to_owned(), sessions: names.to_vec(), ..Case::default() };
        let mut sessions = OpenSessions::open(schema, &case, options)?;
        let settings = sessions.settings(schema, options);
        let mut stage = Stage::new(target, schema, &case, options, sessions);
        stage.run.settings = settings;
        stage.patience = patience;
        Ok(Self { stage, preparing: None })
    }

    /// Opens a further session and returns its index.
    pub fn add(&mut self, name: &str) -> Result<SessionIndex, StageError> {
        let Stage { schema, options, .. } = self.stage;
        let opened = schema.open(&session_options(name, options.level, options))?;
        let index = self.stage.case_sessions.len();
        self.stage.case_sessions.push(CaseSession::new(index, opened.session));
        self.stage.run.case.sessions.push(name.to_owned());
        let level_read_back = opened.level_read_back;
        self.stage.run.sessions.push(SessionInfo {
            name: name.to_owned(),
            level: options.level,
            level_read_back,
        });
        Ok(index)
    }

    /// What happened so far; without a final state.
    pub const fn run(&self) -> &Run {
        &self.stage.run
    }

    /// Runs a statement of the set-up, which becomes part of the case if it succeeds.
    pub fn set_up(&mut self, sql: &str) -> Result<Reply, StageError> {
        let Stage { schema, options, .. } = self.stage;
        if self.preparing.is_none() {
            self.preparing = Some(schema.open(&session_options("setup", None, options))?.session);
        }
        let session = self.preparing.as_mut().expect("it was opened above");
        let reply = execute(session.as_mut(), sql, options.limits.housekeeping);
        if reply.is_ok() {
            self.stage.run.case.setup.push(Statement { sql: sql.to_owned(), line: 0 });
        }
        Ok(reply)
    }

    /// Submits the session's next statement. It queues behind one that is not answered: then false.
    pub fn submit(&mut self, session: SessionIndex, sql: &str) -> Result<bool, StageError> {
        let was_free = self.stage.case_sessions[session].pending.is_none();
        let step = self.stage.append(session, sql);
        self.stage.unsettled_since = None;
        self.stage.play_step(step)?;
        Ok(was_free)
    }

    /// Records what has happened since the last look.
    pub fn look_again(&mut self) -> Result<(), StageError> {
        if self.is_waiting() {
            self.stage.settle(None)?;
            self.stage.perform_queued()?;
        }
        Ok(())
    }

    /// Whether some statement is not answered yet.
    pub fn is_waiting(&self) -> bool {
        self.stage.pending().next().is_some()
    }

    /// Asks the server to cancel the session's statement, and waits until it has ended. False if there is none.
    pub fn cancel(&mut self, session: SessionIndex) -> Result<bool, StageError> {
        let Some(pending) = self.stage.case_sessions[session].pending.as_mut() else {
            return Ok(false);
        };
        let begun = Instant::now();
        pending.cancelled = Some(begun);
        self.stage.case_sessions[session].session.cancel();
        let limit = self.stage.options.limits.cancel;
        while self.stage.case_sessions[session].pending.is_some() {
            self.stage.settle(None)?;
            let is_open = self.stage.case_sessions[session].pending.is_some();
            if is_open && begun.elapsed() > limit {
                let Stage { case_sessions, run, branches, .. } = &mut self.stage;
                give_up(&mut case_sessions[session], &run.sessions[session].name, &mut run.notes);
                branches.lose(session);
            }
        }
        self.stage.perform_queued()?;
        Ok(true)
    }

    /// What the session is doing.
    pub fn state(&self, session: SessionIndex) -> SessionState {
        let session = &self.stage.case_sessions[session];
        match &session.pending {
            _ if session.lost => SessionState::Lost,
            Some(pending) if pending.blocked.is_some() => SessionState::Blocked,
            Some(_) => SessionState::Running,
            None if session.maybe_in_transaction() => SessionState::InTransaction,
            None => SessionState::Idle,
        }
    }

    /// The session's statement that is not answered yet.
    pub fn outstanding(&self, session: SessionIndex) -> Option<&str> {
        let step = self.stage.case_sessions[session].pending.as_ref()?.step?;
        Some(&self.stage.run.case.steps[step].statement.sql)
    }

    /// Asks the server who waits for whom; `None` if it cannot be asked.
    pub fn waits(&mut self) -> Option<Vec<Waiting>> {
        let outstanding = self.stage.ids(|case_session| case_session.pending.is_some());
        let waits = self.stage.ask(&outstanding)?;
        Some(waits.iter().filter_map(|wait| self.waiting(wait)).collect())
    }

    fn waiting(&mut self, wait: &Wait) -> Option<Waiting> {
        let is_it = |case_session: &CaseSession| case_session.id == wait.waiter;
        let session = self.stage.case_sessions.iter().position(is_it)?;
        let by = wait.blockers.iter().flatten().map(|id| self.stage.blocker(*id)).collect();
        Some(Waiting { session, by, wait: self.stage.kind_of(wait) })
    }

    /// Whether a connection is gone, and no new one can be opened.
    pub fn is_lost(&self) -> bool {
        self.stage.case_sessions.iter().any(|session| session.lost) && !self.stage.alive()
    }
}

impl Drop for OneByOne<'_> {
    fn drop(&mut self) {
        self.stage.abandon();
    }
}
