//! Sessions opened, levels read back, set-up done; then the schedule, step by step.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anchorite_drivers::{
    ConnectionId, OpenedSession, Schema, Session, SessionOptions, Target, Watcher, execute,
};
use anchorite_model::sql::{StatementKind, TwoPhase};
use anchorite_model::{
    BlockingKnowledge, Case, Ending, Event, Level, Outcome, Run, SessionIndex, SessionInfo,
    Statement, Step, TargetInfo,
};

use crate::branches::Branches;
use crate::case_session::CaseSession;
use crate::{Asking, RunOptions, StageError};

/// The connections of a case: its sessions in the case's order, and the watcher that knows who waits for whom.
pub struct OpenSessions {
    pub(crate) sessions: Vec<OpenedSession>,
    pub(crate) watching: Watching,
}

/// How waits are detected.
pub struct Watching {
    /// `None`: the server cannot be asked.
    pub(crate) watcher: Option<Box<dyn Watcher>>,
    pub(crate) knowledge: BlockingKnowledge,
}

impl OpenSessions {
    /// Opens everything anew.
    pub fn open(
        schema: &dyn Schema,
        case: &Case,
        options: &RunOptions,
    ) -> Result<Self, StageError> {
        let sessions = case.sessions.iter().enumerate().map(|(index, name)| {
            schema.open(&session_options(name, level_of(case, index, options), options))
        });
        let sessions = sessions.collect::<Result<_, _>>()?;
        Ok(Self { sessions, watching: Watching::begin(schema, options) })
    }

    /// The server's settings as the first session has them.
    pub fn settings(&mut self, schema: &dyn Schema, options: &RunOptions) -> Vec<(String, String)> {
        let limit = options.limits.housekeeping;
        let first = self.sessions.first_mut();
        first.map_or_else(Vec::new, |first| schema.settings(first.session.as_mut(), limit))
    }
}

impl Watching {
    /// The watcher, or why there is none.
    pub fn begin(schema: &dyn Schema, options: &RunOptions) -> Self {
        let (silence, reason) = match options.asking {
            Asking::Silence(silence) => (silence, "asked for on the command line".to_owned()),
            Asking::Server => match schema.watcher() {
                Ok(watcher) => {
                    let knowledge = BlockingKnowledge::Asked(watcher.method());
                    return Self { watcher: Some(watcher), knowledge };
                }
                Err(error) => (options.limits.silence, error.to_string()),
            },
        };
        let silence_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
        Self { watcher: None, knowledge: BlockingKnowledge::Timeout { silence_ms, reason } }
    }
}

/// A case that is running on a target.
pub struct Stage<'a> {
    pub(crate) schema: &'a dyn Schema,
    pub(crate) options: &'a RunOptions,
    pub(crate) kinds: Vec<StatementKind>,
    /// The role of each step in two-phase commit.
    pub(crate) commands: Vec<Option<TwoPhase>>,
    /// The transactions of two-phase commit that are open.
    pub(crate) branches: Branches,
    /// Whether the last statement that did not belong to the case succeeded.
    pub(crate) own_succeeded: Option<bool>,
    pub(crate) case_sessions: Vec<CaseSession>,
    /// `None`: the server cannot be asked.
    pub(crate) watcher: Option<Box<dyn Watcher>>,
    pub(crate) run: Run,
    pub(crate) started: Instant,
    /// The last moment of the run ([`Event::sent`]).
    moment: usize,
    /// When each step was sent.
    sent: Vec<Option<usize>>,
    /// When a transaction last ended: the waits of others may take a moment to end.
    pub(crate) last_end: Option<Instant>,
    pub(crate) blocked_so_far: u64,
    /// The connections that others wait for, as of the last look.
    pub(crate) waited_for: HashSet<ConnectionId>,
    /// No statement of the case can end a wait except by ending a transaction or by an error.
    pub(crate) leaves_only_rows: bool,
    /// Do not wait for the server's deadlock timers before a statement that may close a cycle.
    pub(crate) hurries: bool,
    /// Such a statement was sent early: the choice of a deadlock's victim was left to chance.
    pub(crate) has_hurried: bool,
    /// How long the server took when it was last asked who waits.
    pub(crate) look_took: Duration,
    /// The connections that were neither answered nor shown as waiting by the last look.
    pub(crate) moving: Vec<ConnectionId>,
    /// Settling is left off after this time, to be continued: somebody types the next statement. `None`: never.
    pub(crate) patience: Option<Duration>,
    /// When settling began that was left off.
    pub(crate) unsettled_since: Option<Instant>,
}

impl<'a> Stage<'a> {
    /// Ready for the first statement.
    pub fn new(
        target: &TargetInfo,
        schema: &'a dyn Schema,
        case: &Case,
        options: &'a RunOptions,
        open_sessions: OpenSessions,
    ) -> Self {
        let mut case_sessions = Vec::new();
        let mut levels_read_back = Vec::new();
        for (index, opened) in open_sessions.sessions.into_iter().enumerate() {
            case_sessions.push(CaseSession::new(index, opened.session));
            levels_read_back.push(opened.level_read_back);
        }
        let knowledge = open_sessions.watching.knowledge;
        let run = blank_record(target, case, options, levels_read_back, knowledge);
        let kinds = case.steps.iter().map(|step| StatementKind::of(&step.statement.sql));
        let kinds: Vec<StatementKind> = kinds.collect();
        let steps = kinds.iter().zip(&case.steps);
        let commands = steps.map(|(kind, step)| command(kind, &step.statement.sql)).collect();
        Self {
            schema,
            options,
            moment: 0,
            sent: vec![None; kinds.len()],
            kinds,
            commands,
            branches: Branches::default(),
            own_succeeded: None,
            case_sessions,
            watcher: open_sessions.watching.watcher,
            run,
            started: Instant::now(),
            last_end: None,
            blocked_so_far: 0,
            waited_for: HashSet::new(),
            leaves_only_rows: false,
            hurries: false,
            has_hurried: false,
            look_took: Duration::ZERO,
            moving: Vec::new(),
            patience: None,
            unsettled_since: None,
        }
    }

    /// Adds a statement at the end of the schedule.
    pub(crate) fn append(&mut self, session: SessionIndex, sql: &str) -> usize {
        let kind = StatementKind::of(sql);
        self.commands.push(command(&kind, sql));
        self.kinds.push(kind);
        self.sent.push(None);
        let statement = Statement { sql: sql.to_owned(), line: 0 };
        self.run.case.steps.push(Step { session, statement });
        self.kinds.len() - 1
    }

    /// Submits the whole schedule.
    pub(crate) fn play(&mut self) -> Result<(), StageError> {
        (0..self.kinds.len()).try_for_each(|step| self.play_step(step))
    }

    /// Submits one step, or queues it, and then whatever was queued and is due.
    pub(crate) fn play_step(&mut self, step: usize) -> Result<(), StageError> {
        let session = self.run.case.steps[step].session;
        if self.case_sessions[session].pending.is_some() {
            self.case_sessions[session].queue.push_back(step);
        } else {
            self.perform(session, step)?;
        }
        self.perform_queued()
    }

    /// Sends one step, or skips it, and settles.
    fn perform(&mut self, session: SessionIndex, step: usize) -> Result<(), StageError> {
        let case_session = &mut self.case_sessions[session];
        if let Some(reason) = case_session.refuses(&self.kinds[step]) {
            self.record(step, Outcome::Skipped { reason: reason.to_owned() });
            return Ok(());
        }
        if self.waited_for.contains(&case_session.id) && !self.kinds[step].ends_transaction() {
            if self.hurries {
                self.has_hurried = true;
            } else {
                self.let_deadlock_checks_pass();
            }
        }
        self.sent[step] = Some(self.next_moment());
        let case_session = &mut self.case_sessions[session];
        case_session.submit(Some(step), &self.run.case.steps[step].statement.sql);
        self.settle(Some(session))
    }

    /// Statements that queued behind a blocked one follow as soon as their session is free: one at a time, lowest step
    /// first, before the schedule continues.
    pub(crate) fn perform_queued(&mut self) -> Result<(), StageError> {
        loop {
            let free =
                self.case_sessions.iter().filter(|case_session| case_session.pending.is_none());
            let next = free
                .filter_map(|case_session| Some((*case_session.queue.front()?, case_session.index)))
                .min();
            let Some((step, session)) = next else { return Ok(()) };
            self.case_sessions[session].queue.pop_front();
            self.perform(session, step)?;
        }
    }

    /// Appends an event that happens now.
    pub(crate) fn record(&mut self, step: usize, outcome: Outcome) {
        self.record_at(step, outcome, self.now_us());
    }

    /// Appends an event that happened a moment ago.
    pub(crate) fn record_at(&mut self, step: usize, outcome: Outcome, at_us: u64) {
        let submitted = &self.run.case.steps[step];
        let mut event = Event {
            n: step + 1,
            session: submitted.session,
            sql: submitted.statement.sql.clone(),
            outcome,
            at_us,
            sent: self.sent[step],
            answered: None,
        };
        event.answered = event.is_answer().then(|| self.next_moment());
        self.run.events.push(event);
    }

    fn next_moment(&mut self) -> usize {
        self.moment += 1;
        self.moment
    }

    /// Microseconds since the sessions were ready.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// The role of a statement in two-phase commit.
fn command(kind: &StatementKind, sql: &str) -> Option<TwoPhase> {
    match kind {
        StatementKind::Other => TwoPhase::of(sql),
        _ => None,
    }
}

/// The record of a run in which nothing has happened yet.
pub(crate) fn blank_record(
    target: &TargetInfo,
    case: &Case,
    options: &RunOptions,
    levels_read_back: Vec<String>,
    blocking: BlockingKnowledge,
) -> Run {
    let sessions = case.sessions.iter().zip(levels_read_back).enumerate();
    let sessions = sessions.map(|(index, (name, level_read_back))| SessionInfo {
        name: name.clone(),
        level: level_of(case, index, options),
        level_read_back,
    });
    Run {
        case: case.clone(),
        target: target.clone(),
        level: options.level.or(case.header.level),
        sessions: sessions.collect(),
        settings: Vec::new(),
        blocking,
        events: Vec::new(),
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    }
}

/// The level that a session of the case is to run at.
pub(crate) fn level_of(case: &Case, session: SessionIndex, options: &RunOptions) -> Option<Level> {
    options.level.or_else(|| case.level_of(session))
}

/// How a session of the case is opened.
pub(crate) fn session_options(
    name: &str,
    level: Option<Level>,
    options: &RunOptions,
) -> SessionOptions {
    SessionOptions { name: name.to_owned(), level, lock_wait: options.limits.lock_wait }
}

/// Runs the case's set-up in a separate session.
pub(crate) fn prepare(
    target: &dyn Target,
    schema: &dyn Schema,
    case: &Case,
    options: &RunOptions,
) -> Result<(), StageError> {
    let mut opened = schema.open(&session_options("setup", None, options))?;
    set_up(opened.session.as_mut(), target.info(), case, options)
}

/// Runs the case's set-up, statement by statement.
pub(crate) fn set_up(
    session: &mut dyn Session,
    target: &TargetInfo,
    case: &Case,
    options: &RunOptions,
) -> Result<(), StageError> {
    for statement in &case.setup {
        execute(session, &statement.sql, options.limits.housekeeping).map_err(|error| {
            StageError::Setup {
                case: case.name.clone(),
                line: statement.line,
                target: target.to_string(),
                sql: statement.sql.clone(),
                error: Box::new(error),
            }
        })?;
    }
    Ok(())
}
