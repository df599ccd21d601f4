//! The end of a case: what is open is rolled back, then another session reads the final state.

use std::time::{Duration, Instant};

use anchorite_drivers::{
    Reply, Schema, Session, SessionOptions, Watcher, execute, heed, read_table, wait_for_interrupt,
};
use anchorite_model::{DbError, Ending, ErrorClass, Event, Outcome, Rows, Run, SessionIndex};

use crate::case_session::CaseSession;
use crate::limits::ENDINGS_PER_SESSION;
use crate::looking::give_up;
use crate::open_sessions::Stage;
use crate::{Limits, StageError};

/// How long a prepared transaction may still belong to its session after that was closed.
const DETACHING: Duration = Duration::from_millis(500);
/// And is asked for this often meanwhile.
const DETACHING_PAUSE: Duration = Duration::from_millis(25);

/// The state when the last transaction has ended.
pub struct Remains {
    /// The record, without the final state.
    pub run: Run,
    /// The sessions.
    pub case_sessions: Vec<CaseSession>,
    /// `None`: the server could not be asked, or not any more.
    pub watcher: Option<Box<dyn Watcher>>,
    /// A deadlock's victim was left to chance.
    pub is_by_chance: bool,
}

impl Stage<'_> {
    /// Runs the schedule and ends whatever is still open then. Whatever happens, nothing outlives the sessions.
    pub fn perform_all(mut self) -> Result<Remains, StageError> {
        if let Err(error) = self.play().and_then(|()| self.end_all()) {
            self.abandon();
            return Err(error);
        }
        Ok(self.finish())
    }

    fn end_all(&mut self) -> Result<(), StageError> {
        self.roll_back_open()?;
        self.cancel_stuck()?;
        self.roll_back_open()
    }

    fn finish(mut self) -> Remains {
        self.skip_unsent();
        if self.case_sessions.iter().any(|case_session| case_session.lost) && !self.alive() {
            self.run.ending = Ending::TargetLost("the server closed all connections".to_owned());
        }
        let is_deadlock = |error: &DbError| error.class == ErrorClass::Deadlock;
        let is_victim =
            |event: &Event| matches!(&event.outcome, Outcome::Error(error) if is_deadlock(error));
        let is_by_chance = self.has_hurried && self.run.events.iter().any(is_victim);
        let Self { run, case_sessions, watcher, .. } = self;
        Remains { run, case_sessions, watcher, is_by_chance }
    }

    /// Ends what idle sessions have open, one at a time; each may release others, whose queued statements follow. Then
    /// ends what is prepared and owned by no session, which may release further ones.
    fn roll_back_open(&mut self) -> Result<(), StageError> {
        loop {
            while let Some(session) = self.next_to_roll_back() {
                self.roll_back(session)?;
                self.perform_queued()?;
            }
            let prepared = self.branches.take_detached();
            if prepared.is_empty() {
                return Ok(());
            }
            self.roll_back_prepared(&prepared);
            self.settle(None)?;
            self.perform_queued()?;
        }
    }

    fn next_to_roll_back(&self) -> Option<SessionIndex> {
        let open = |case_session: &&CaseSession| {
            let is_open = case_session.maybe_in_transaction()
                || self.branches.next_command(case_session.index).is_some();
            case_session.idle() && case_session.queue.is_empty() && is_open
        };
        self.case_sessions.iter().find(open).map(|case_session| case_session.index)
    }

    /// Sends an idle session the next statement that ends what it has open.
    fn roll_back(&mut self, session: SessionIndex) -> Result<(), StageError> {
        let name = self.run.sessions[session].name.clone();
        if self.case_sessions[session].endings == ENDINGS_PER_SESSION {
            self.case_sessions[session].close();
            self.branches.lose(session);
            self.run.notes.push(format!(
                "{name} was still in a transaction that could not be rolled back: its connection was closed"
            ));
            return Ok(());
        }
        self.case_sessions[session].endings += 1;
        let command = self.branches.next_command(session);
        self.case_sessions[session].submit(None, command.as_deref().unwrap_or("ROLLBACK"));
        self.settle(Some(session))?;
        let is_done = self.own_succeeded.take().unwrap_or_default();
        if command.is_some() {
            self.branches.commanded(session, is_done);
        }
        let note = match command {
            Some(command) => command.strip_prefix("XA ROLLBACK ").map(|id| {
                format!("{name} had the XA transaction {id} open: rolled back at the end")
            }),
            None => Some(format!("{name} was still in a transaction: rolled back")),
        };
        self.run.notes.extend(note.filter(|_| is_done));
        Ok(())
    }

    /// Rolls back prepared transactions that no session of the case owns any more.
    fn roll_back_prepared(&mut self, prepared: &[(String, String)]) {
        let limits = &self.options.limits;
        let mut opened = self.schema.open(&own_session("ender", limits));
        for (id, sql) in prepared {
            let outcome = match &mut opened {
                Ok(opened) => insist(opened.session.as_mut(), sql, limits),
                Err(error) => Err(DbError::connection_lost(error.to_string())),
            };
            self.run.notes.push(match outcome {
                Ok(_) => format!("the transaction {id} was left prepared: rolled back at the end"),
                Err(error) => format!(
                    "the transaction {id} was left prepared and could not be rolled back: {}",
                    error.message
                ),
            });
        }
        self.last_end = Some(Instant::now());
    }

    /// Leaves nothing behind when the run cannot continue: open transactions end with their connections, but not what
    /// waits for a lock elsewhere or is prepared.
    pub(crate) fn abandon(&mut self) {
        let _unheeded = heed(None);
        for case_session in self.case_sessions.iter_mut().filter(|case_session| !case_session.lost)
        {
            if case_session.pending.is_some() {
                case_session.session.cancel();
                continue;
            }
            for _ in 0..ENDINGS_PER_SESSION {
                let Some(command) = self.branches.next_command(case_session.index) else { break };
                let reply =
                    execute(case_session.session.as_mut(), &command, self.options.limits.cancel);
                self.branches.commanded(case_session.index, reply.is_ok());
            }
        }
        let prepared = self.branches.take_detached();
        if !prepared.is_empty() {
            self.roll_back_prepared(&prepared);
        }
    }

    /// Cancels statements that no session of the case can release any more.
    fn cancel_stuck(&mut self) -> Result<(), StageError> {
        for index in 0..self.case_sessions.len() {
            let case_session = &mut self.case_sessions[index];
            let Some(pending) = case_session.pending.as_mut() else { continue };
            pending.cancelled = Some(Instant::now());
            case_session.session.cancel();
            let name = self.run.sessions[index].name.clone();
            self.run.notes.push(format!("{name} was still blocked at the end: cancelled"));
            self.wait_for_cancelled(index)?;
            self.perform_queued()?;
        }
        Ok(())
    }

    fn wait_for_cancelled(&mut self, index: SessionIndex) -> Result<(), StageError> {
        let limit = self.options.limits.cancel;
        let begun = Instant::now();
        // A cancelled waiter is shown as waiting until its error is on the way, so settling alone would
        // call it blocked again.
        while self.case_sessions[index].pending.is_some() {
            self.settle(None)?;
            if self.case_sessions[index].pending.is_some() && begun.elapsed() > limit {
                let name = &self.run.sessions[index].name;
                give_up(&mut self.case_sessions[index], name, &mut self.run.notes);
                self.branches.lose(index);
            }
        }
        Ok(())
    }

    fn skip_unsent(&mut self) {
        for index in 0..self.case_sessions.len() {
            while let Some(step) = self.case_sessions[index].queue.pop_front() {
                let reason = "the session was blocked until the end".to_owned();
                self.record(step, Outcome::Skipped { reason });
            }
        }
    }

    pub(crate) fn alive(&self) -> bool {
        self.schema.open(&own_session("alive", &self.options.limits)).is_ok()
    }
}

/// A session that was closed a moment ago may still own what it prepared.
fn insist(session: &mut dyn Session, sql: &str, limits: &Limits) -> Reply {
    let begun = Instant::now();
    loop {
        let reply = execute(session, sql, limits.cancel);
        let is_lost = |error: &DbError| {
            error.class == ErrorClass::ConnectionLost || begun.elapsed() > DETACHING
        };
        if reply.as_ref().map_or_else(is_lost, |_| true) {
            return reply;
        }
        wait_for_interrupt(DETACHING_PAUSE);
    }
}

fn own_session(name: &str, limits: &Limits) -> SessionOptions {
    SessionOptions { name: name.to_owned(), level: None, lock_wait: limits.housekeeping }
}

/// Completes a run: a fresh session reads the tables, checks and tears down.
pub fn read_final_state(run: &mut Run, schema: &dyn Schema, limits: &Limits) {
    let limit = limits.housekeeping;
    let mut session = match schema.open(&own_session("reader", limits)) {
        Ok(opened) => opened.session,
        Err(error) => {
            run.ending = Ending::TargetLost(error.to_string());
            return;
        }
    };
    let tables = schema.tables(session.as_mut(), limit).unwrap_or_else(|error| {
        miss(run, "the list of tables", &error);
        Vec::new()
    });
    for table in tables {
        match read_table(session.as_mut(), &schema.quote(&table), limit) {
            Ok(rows) => note_table(run, table, rows),
            Err(error) => miss(run, &format!("table {table}"), &error),
        }
    }
    check_and_tear_down(run, session.as_mut(), limit);
}

/// Adds a table's contents to the run.
pub fn note_table(run: &mut Run, table: String, mut rows: Rows) {
    // A table is a multiset: sorted, two equal states look equal.
    rows.rows.sort();
    run.final_state.push((table, rows));
}

fn check_and_tear_down(run: &mut Run, session: &mut dyn Session, limit: Duration) {
    for statement in run.case.check.clone() {
        let reply = execute(session, &statement.sql, limit);
        run.checks.push((statement.sql, reply));
    }
    for statement in run.case.teardown.clone() {
        if let Err(error) = execute(session, &statement.sql, limit) {
            run.notes.push(format!("teardown failed: {}: {}", error.message, statement.sql));
        }
    }
}

fn miss(run: &mut Run, what: &str, error: &DbError) {
    if error.class == ErrorClass::ConnectionLost {
        run.ending = Ending::TargetLost(error.message.clone());
    }
    run.notes.push(format!("final state: {what} could not be read: {}", error.message));
}
