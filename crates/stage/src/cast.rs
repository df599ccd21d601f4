//! The cast: sessions opened, levels read back, set-up done; then the schedule, step by step.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anchorite_model::sql::StatementKind;
use anchorite_model::{
    BlockingKnowledge, Case, Ending, Event, Level, Outcome, Run, SessionIndex, SessionInfo,
};
use anchorite_target::{ConnectionId, Schema, SessionOptions, Target, Watcher, execute};

use crate::player::Player;
use crate::{Asking, RunOptions, StageError};

/// A case on its way through a target.
pub struct Stage<'a> {
    pub(crate) schema: &'a dyn Schema,
    pub(crate) options: &'a RunOptions,
    pub(crate) kinds: Vec<StatementKind>,
    pub(crate) players: Vec<Player>,
    /// `None`: the server cannot be asked.
    pub(crate) watcher: Option<Box<dyn Watcher>>,
    pub(crate) run: Run,
    pub(crate) started: Instant,
    /// When a transaction last ended: the waits of others may take a moment to follow.
    pub(crate) last_end: Option<Instant>,
    pub(crate) blocked_so_far: u64,
    /// The connections that somebody waits for, as of the last look.
    pub(crate) waited_for: HashSet<ConnectionId>,
    /// Keeps the server from interfering.
    _still: Box<dyn Send>,
}

impl<'a> Stage<'a> {
    /// Runs the set-up statements and opens the sessions.
    pub fn set_up(
        target: &dyn Target,
        schema: &'a dyn Schema,
        case: &Case,
        options: &'a RunOptions,
    ) -> Result<Self, StageError> {
        prepare(target, schema, case, options)?;
        let still = schema.hold_still()?;
        let mut players = Vec::new();
        let mut sessions = Vec::new();
        for (index, name) in case.sessions.iter().enumerate() {
            let level = options.level.or_else(|| case.level_of(index));
            let opened = schema.open(&session_options(name, level, options))?;
            players.push(Player::new(index, opened.session));
            let name = name.clone();
            sessions.push(SessionInfo { name, level, level_read_back: opened.level_read_back });
        }
        let (watcher, blocking) = ask_or_wait(schema, options);
        let level = options.level.or(case.header.level);
        let run = Run {
            case: case.clone(),
            target: target.info().clone(),
            level,
            sessions,
            blocking,
            events: Vec::new(),
            final_state: Vec::new(),
            checks: Vec::new(),
            notes: Vec::new(),
            ending: Ending::Complete,
        };
        let kinds = case.steps.iter().map(|step| StatementKind::of(&step.statement.sql)).collect();
        let started = Instant::now();
        Ok(Self {
            schema,
            options,
            kinds,
            players,
            watcher,
            run,
            started,
            last_end: None,
            blocked_so_far: 0,
            waited_for: HashSet::new(),
            _still: still,
        })
    }

    /// Submits the whole schedule.
    pub fn play(&mut self) -> Result<(), StageError> {
        for step in 0..self.kinds.len() {
            let session = self.run.case.steps[step].session;
            if self.players[session].pending.is_some() {
                self.players[session].queue.push_back(step);
            } else {
                self.perform(session, step)?;
            }
            self.perform_queued()?;
        }
        Ok(())
    }

    /// Sends one step, or skips it, and settles.
    fn perform(&mut self, session: SessionIndex, step: usize) -> Result<(), StageError> {
        let player = &mut self.players[session];
        if let Some(reason) = player.refuses(&self.kinds[step]) {
            self.record(step, Outcome::Skipped { reason: reason.to_owned() });
            return Ok(());
        }
        if self.waited_for.contains(&player.id) && !self.kinds[step].ends_transaction() {
            self.let_deadlock_checks_pass();
        }
        let player = &mut self.players[session];
        player.submit(Some(step), &self.run.case.steps[step].statement.sql);
        self.settle(Some(session))
    }

    /// Statements that queued behind a blocked one follow as soon as their session is free: one at a
    /// time, lowest step first, before the schedule goes on.
    pub(crate) fn perform_queued(&mut self) -> Result<(), StageError> {
        loop {
            let free = self.players.iter().filter(|player| player.pending.is_none());
            let next = free.filter_map(|player| Some((*player.queue.front()?, player.index))).min();
            let Some((step, session)) = next else { return Ok(()) };
            self.players[session].queue.pop_front();
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
        self.run.events.push(Event {
            n: step + 1,
            session: submitted.session,
            sql: submitted.statement.sql.clone(),
            outcome,
            at_us,
        });
    }

    /// Microseconds since the sessions were ready.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Whether somebody wants us to stop.
    pub(crate) fn check_interrupt(&self) -> Result<(), StageError> {
        if self.options.interrupt.load(Ordering::Relaxed) {
            return Err(StageError::Interrupted);
        }
        Ok(())
    }
}

fn session_options(name: &str, level: Option<Level>, options: &RunOptions) -> SessionOptions {
    SessionOptions { name: name.to_owned(), level, lock_wait: options.limits.lock_wait }
}

/// Runs the case's set-up by a session of its own.
fn prepare(
    target: &dyn Target,
    schema: &dyn Schema,
    case: &Case,
    options: &RunOptions,
) -> Result<(), StageError> {
    let mut opened = schema.open(&session_options("setup", None, options))?;
    for statement in &case.setup {
        execute(opened.session.as_mut(), &statement.sql, options.limits.housekeeping).map_err(
            |error| StageError::Setup {
                case: case.name.clone(),
                line: statement.line,
                target: target.info().to_string(),
                sql: statement.sql.clone(),
                error: Box::new(error),
            },
        )?;
    }
    Ok(())
}

/// The watcher, or why there is none.
fn ask_or_wait(
    schema: &dyn Schema,
    options: &RunOptions,
) -> (Option<Box<dyn Watcher>>, BlockingKnowledge) {
    let (silence, reason) = match options.asking {
        Asking::Silence(silence) => (silence, "asked for on the command line".to_owned()),
        Asking::Server => match schema.watcher() {
            Ok(watcher) => {
                let method = watcher.method();
                return (Some(watcher), BlockingKnowledge::Asked(method));
            }
            Err(error) => (options.limits.silence, error.to_string()),
        },
    };
    let silence_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
    (None, BlockingKnowledge::Timeout { silence_ms, reason })
}
