//! The end of a case: what is open is rolled back, then another session reads the final state.

use std::time::{Duration, Instant};

use anchorite_model::{DbError, Ending, ErrorClass, Event, Outcome, Rows, Run, SessionIndex};
use anchorite_target::{Schema, Session, SessionOptions, Watcher, execute, read_table};

use crate::cast::Stage;
use crate::looking::give_up;
use crate::player::Player;
use crate::{Limits, StageError};

/// What is left when the last transaction has ended.
pub struct Remains {
    /// The record, without the final state.
    pub run: Run,
    /// The sessions.
    pub players: Vec<Player>,
    /// `None`: the server could not be asked, or not any more.
    pub watcher: Option<Box<dyn Watcher>>,
    /// A deadlock's victim was left to chance.
    pub is_by_chance: bool,
}

impl Stage<'_> {
    /// Ends whatever is still going on.
    pub fn finish(mut self) -> Result<Remains, StageError> {
        self.roll_back_open()?;
        self.cancel_stuck()?;
        self.roll_back_open()?;
        self.skip_unsent();
        if self.players.iter().any(|player| player.lost) && !self.alive() {
            self.run.ending = Ending::TargetLost("the server closed all connections".to_owned());
        }
        let is_deadlock = |error: &DbError| error.class == ErrorClass::Deadlock;
        let is_victim =
            |event: &Event| matches!(&event.outcome, Outcome::Error(error) if is_deadlock(error));
        let is_by_chance = self.has_hurried && self.run.events.iter().any(is_victim);
        let Self { run, players, watcher, .. } = self;
        Ok(Remains { run, players, watcher, is_by_chance })
    }

    /// Rolls back idle sessions one at a time; each may set others free, whose queued statements follow.
    fn roll_back_open(&mut self) -> Result<(), StageError> {
        while let Some(session) = self.next_to_roll_back() {
            let name = self.run.sessions[session].name.clone();
            self.run.notes.push(format!("{name} was still in a transaction: rolled back"));
            self.players[session].submit(None, "ROLLBACK");
            self.settle(Some(session))?;
            self.perform_queued()?;
        }
        Ok(())
    }

    fn next_to_roll_back(&self) -> Option<SessionIndex> {
        let open = |player: &&Player| {
            player.idle() && player.queue.is_empty() && player.maybe_in_transaction()
        };
        self.players.iter().find(open).map(|player| player.index)
    }

    /// Statements that nobody of the case can set free any more are cancelled.
    fn cancel_stuck(&mut self) -> Result<(), StageError> {
        for index in 0..self.players.len() {
            let player = &mut self.players[index];
            let Some(pending) = player.pending.as_mut() else { continue };
            pending.cancelled = Some(Instant::now());
            player.session.cancel();
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
        while self.players[index].pending.is_some() {
            self.settle(None)?;
            if self.players[index].pending.is_some() && begun.elapsed() > limit {
                let name = &self.run.sessions[index].name;
                give_up(&mut self.players[index], name, &mut self.run.notes);
            }
        }
        Ok(())
    }

    fn skip_unsent(&mut self) {
        for index in 0..self.players.len() {
            while let Some(step) = self.players[index].queue.pop_front() {
                let reason = "the session was blocked until the end".to_owned();
                self.record(step, Outcome::Skipped { reason });
            }
        }
    }

    fn alive(&self) -> bool {
        self.schema.open(&own_session("alive", &self.options.limits)).is_ok()
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
