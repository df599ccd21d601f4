//! The end of a case: what is open is rolled back, then a fresh session reads the final state.

use std::time::Instant;

use anchorite_model::{DbError, Ending, ErrorClass, Outcome, Run, SessionIndex};
use anchorite_target::{OpenedSession, SessionOptions, execute, read_table};

use crate::StageError;
use crate::cast::Stage;

impl Stage<'_> {
    /// Ends whatever is still going on and completes the run.
    pub fn finish(mut self) -> Result<Run, StageError> {
        self.roll_back_open()?;
        self.cancel_stuck()?;
        self.roll_back_open()?;
        self.skip_unsent();
        if self.players.iter().any(|player| player.lost) && !self.alive() {
            self.run.ending = Ending::TargetLost("the server closed all connections".to_owned());
            return Ok(self.run);
        }
        // Session-wide locks must not stand in the way of the reader.
        self.players.clear();
        self.watcher = None;
        self.read_final_state();
        Ok(self.run)
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
        let open = |player: &&crate::player::Player| {
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
            if begun.elapsed() > limit {
                self.players[index].lost = true;
                self.players[index].pending = None;
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
        self.schema.open(&self.own_session("alive")).is_ok()
    }

    fn own_session(&self, name: &str) -> SessionOptions {
        let lock_wait = self.options.limits.housekeeping;
        SessionOptions { name: name.to_owned(), level: None, lock_wait }
    }

    fn read_final_state(&mut self) {
        let limit = self.options.limits.housekeeping;
        let OpenedSession { mut session, .. } = match self.schema.open(&self.own_session("reader"))
        {
            Ok(opened) => opened,
            Err(error) => {
                self.run.ending = Ending::TargetLost(error.to_string());
                return;
            }
        };
        let tables = self.schema.tables(session.as_mut(), limit).unwrap_or_else(|error| {
            self.miss("the list of tables", &error);
            Vec::new()
        });
        for table in tables {
            match read_table(session.as_mut(), &self.schema.quote(&table), limit) {
                Ok(mut rows) => {
                    // A table is a multiset: sorted, two equal states look equal.
                    rows.rows.sort();
                    self.run.final_state.push((table, rows));
                }
                Err(error) => self.miss(&format!("table {table}"), &error),
            }
        }
        for statement in self.run.case.check.clone() {
            let reply = execute(session.as_mut(), &statement.sql, limit);
            self.run.checks.push((statement.sql, reply));
        }
        for statement in self.run.case.teardown.clone() {
            if let Err(error) = execute(session.as_mut(), &statement.sql, limit) {
                self.run
                    .notes
                    .push(format!("teardown failed: {}: {}", error.message, statement.sql));
            }
        }
    }

    fn miss(&mut self, what: &str, error: &DbError) {
        if error.class == ErrorClass::ConnectionLost {
            self.run.ending = Ending::TargetLost(error.message.clone());
        }
        self.run.notes.push(format!("final state: {what} could not be read: {}", error.message));
    }
}
