//! Makes the faults of a run, and looks at all rows after each of them.
//!
//! Idea: a fault hits whatever is running. Then the line is shut ([`crate::log`]); when no transaction is open any
//! more, and the server has none of the connections that were given up, all rows are read. At that moment every
//! transaction of unknown outcome is either there or not, and nothing that was answered may be missing
//! ([`crate::ledger`]).
//!
//! Assumption: a transaction whose connection the server no longer lists has ended there. Blind spot: what a second
//! fault would do before the server has recovered from the first.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anchorite_drivers::{
    Blow, Schema, SessionOptions, Striker, Target, execute, has_blows, heed, wait_for_interrupt,
};
use anchorite_model::{Level, TargetInfo};

use crate::crew::{LOCK_WAIT, Shared, lock};
use crate::faults::{Fault, Planned, Schedule};
use crate::log::Look;
use crate::options::StressError;
use crate::record::final_state;
use crate::session::STATEMENT_LIMIT;

/// From a fault until all transactions have ended that it hit: each of them may wait twice for a limit of its own.
const QUIET: Duration = Duration::from_secs(120);

/// For a connection that was given up to end.
const GONE: Duration = Duration::from_secs(30);

/// The disk is full until somebody notices, or so many transactions have begun: most writes need no further room.
const FULL_FOR: u64 = 1_000;

/// And if they do not, because all of them wait for room, it lasts so long.
const FULL_LIMIT: Duration = Duration::from_secs(5);

/// Between two questions whether it has.
const PAUSE: Duration = Duration::from_millis(5);

/// A server that was started for the run.
pub trait OwnServer {
    /// Kills it, as the end of its machine would, and leaves its data.
    fn kill(&mut self) -> Result<(), String>;

    /// Starts it on the data that it left, reachable as before.
    fn start_again(&mut self) -> Result<(), String>;

    /// Stops its processes until the value is dropped.
    fn pause(&mut self) -> Result<Box<dyn Send>, String>;

    /// Leaves no room on the disk with its data until the value is dropped.
    fn fill_disk(&mut self) -> Result<Box<dyn Send>, String> {
        Err("it has no disk of its own".to_owned())
    }

    /// Waits until it answers after trouble with its disk; starts it if that has ended it.
    fn revive(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Keeps its data as they are, for [`OwnServer::lose_power`].
    fn take_image(&mut self) -> Result<(), String> {
        Err("its data cannot be copied".to_owned())
    }

    /// Kills it, and leaves the data as they were when they were kept.
    fn lose_power(&mut self) -> Result<(), String> {
        Err("its data cannot be copied".to_owned())
    }
}

/// Who makes the faults.
pub(crate) struct Trouble<'r, 's> {
    shared: &'r Shared<'r>,
    info: TargetInfo,
    /// At which all rows are read.
    level: Option<Level>,
    server: Option<&'s mut (dyn OwnServer + 's)>,
    striker: Option<Striker>,
    schedule: Schedule,
    next: Option<Planned>,
}

impl<'r, 's> Trouble<'r, 's> {
    /// The faults of a run; an error if the target has not all of them. `forgets`: no disk is told to keep anything.
    pub(crate) fn new(
        shared: &'r Shared<'r>,
        target: &dyn Target,
        mut server: Option<&'s mut (dyn OwnServer + 's)>,
        forgets: bool,
    ) -> Result<Self, StressError> {
        let options = shared.options;
        let info = target.info().clone();
        let refused = options.faults.iter().find_map(|fault| {
            if fault.needs_server() && server.is_none() {
                Some(format!("{fault} needs a server that is started for the run"))
            } else if fault.needs_statement() && !has_blows(info.product) {
                Some(format!("{fault}: {} ends no connections by a statement", info.product))
            } else if *fault == Fault::LosePower && !forgets {
                let why = "what a disk keeps for it can only be told by the disk";
                Some(format!("{fault} needs a server that tells its disk to keep nothing (fsync = off): {why}"))
            } else if !options.is_judged {
                Some(format!("{fault} needs a run that is judged"))
            } else {
                None
            }
        });
        if let Some(reason) = refused {
            return Err(StressError::Fault(reason));
        }
        if let Some(server) = server.as_mut().filter(|_| options.faults.contains(&Fault::LosePower))
        {
            let gone = |reason| StressError::Gone { fault: Fault::LosePower, reason };
            server.take_image().map_err(gone)?;
        }
        let mut schedule = Schedule::new(&options.faults, options.fault_every, options.seed);
        let (level, next) = (level_of_looks(target), schedule.next());
        next.iter().for_each(|planned| shared.log.hold_at(planned.after));
        Ok(Self { shared, info, level, server, striker: None, schedule, next })
    }

    /// Waits for the next fault, at most for so long, and makes it.
    pub(crate) fn wait_and_strike(&mut self, limit: Duration) -> Result<(), StressError> {
        let log = &self.shared.log;
        let Some(planned) = self.next else {
            log.reaches(u64::MAX, limit);
            return Ok(());
        };
        if !log.reaches(planned.after, limit) || log.is_empty() {
            return Ok(());
        }
        log.release();
        let struck = self.strike(planned);
        self.next = self.schedule.next();
        self.next.iter().for_each(|planned| log.hold_at(planned.after));
        log.unshut();
        if self.shared.options.interrupt.load(Ordering::Relaxed) {
            return Ok(());
        }
        struck
    }

    fn strike(&mut self, planned: Planned) -> Result<(), StressError> {
        let fault = planned.fault;
        let gone = |reason: String| StressError::Gone { fault, reason };
        match fault {
            Fault::KillSession => self.hit(&planned, Blow::End)?,
            Fault::Cancel => self.hit(&planned, Blow::Cancel)?,
            Fault::Cut => self.cut(&planned),
            Fault::Pause => {
                let server = self.server.as_mut().ok_or_else(|| gone(String::new()))?;
                let paused = server.pause().map_err(gone)?;
                wait_for_interrupt(planned.length);
                drop(paused);
            }
            Fault::FillDisk => {
                let server = self.server.as_mut().ok_or_else(|| gone(String::new()))?;
                let log = &self.shared.log;
                // Filling takes a while, in which a short run would be over.
                log.shut();
                let full = server.fill_disk().map_err(gone)?;
                log.unshut();
                log.meets_trouble(log.begun() + FULL_FOR, FULL_LIMIT);
                drop(full);
            }
            Fault::KillServer | Fault::LosePower => {
                let server = self.server.as_mut().ok_or_else(|| gone(String::new()))?;
                match fault {
                    Fault::LosePower => server.lose_power().map_err(gone)?,
                    _ => server.kill().map_err(gone)?,
                }
                self.shared.log.shut();
                server.start_again().map_err(gone)?;
                self.striker = None;
            }
        }
        self.shared.log.shut();
        self.look(fault)
    }

    fn hit(&mut self, planned: &Planned, blow: Blow) -> Result<(), StressError> {
        let connections = &self.shared.connections;
        let chosen = usize::try_from(planned.session).unwrap_or(0) % connections.len();
        let id = connections[chosen].load(Ordering::SeqCst);
        if id == 0 {
            return Ok(());
        }
        if let Some(striker) = self.striker()?
            && !striker.strike(id, blow)
        {
            self.striker = None;
        }
        Ok(())
    }

    /// The next transaction to begin loses its connection.
    fn cut(&self, planned: &Planned) {
        let number = self.shared.log.begun() + 1;
        *lock(&self.shared.cut) = Some((number, planned.cut_at));
        self.shared.log.reaches(number, QUIET);
    }

    fn striker(&mut self) -> Result<Option<&mut Striker>, StressError> {
        if self.striker.is_none() {
            let schema = lock(&self.shared.schema);
            self.striker = Striker::open(schema.as_ref(), self.info.product)?;
        }
        Ok(self.striker.as_mut())
    }

    /// Reads all rows when nothing is open.
    fn look(&mut self, after: Fault) -> Result<(), StressError> {
        let gone = |reason: &str| StressError::Gone { fault: after, reason: reason.to_owned() };
        if !self.shared.log.is_quiet_within(QUIET) {
            return Err(gone("a statement was not answered"));
        }
        if let (Fault::FillDisk, Some(server)) = (after, &mut self.server) {
            server.revive().map_err(|reason| gone(&reason))?;
            self.striker = None;
        }
        let given_up = std::mem::take(&mut *lock(&self.shared.given_up));
        // A server that was started again has none of them, and uses their numbers for others.
        if !after.restarts() {
            for id in given_up {
                self.await_end(id)?;
            }
        }
        let (number, began) = self.shared.log.begin_look();
        let schema = lock(&self.shared.schema);
        let everything = self.shared.tongue.everything();
        let look = read_all(schema.as_ref(), self.level, &everything, number, Some(after))?;
        drop(schema);
        self.shared.log.look(began, Box::new(look));
        match (after, &mut self.server) {
            (Fault::LosePower, Some(server)) => server.take_image().map_err(|reason| gone(&reason)),
            _ => Ok(()),
        }
    }

    /// Waits until the server no longer has a connection.
    fn await_end(&mut self, id: u64) -> Result<(), StressError> {
        let begun = Instant::now();
        let mut is_struck = false;
        while let Some(striker) = self.striker()? {
            if striker.lists(id) == Some(false) {
                return Ok(());
            }
            if begun.elapsed() > GONE {
                let reason = format!("connection {id} does not end on the server");
                return Err(StressError::Gone { fault: Fault::Cut, reason });
            }
            if !std::mem::replace(&mut is_struck, true) {
                striker.strike(id, Blow::End);
            }
            wait_for_interrupt(PAUSE);
        }
        Ok(())
    }
}

/// All rows are read at a level that sees nothing uncommitted: the server may still be rolling back.
pub(crate) fn level_of_looks(target: &dyn Target) -> Option<Level> {
    let levels = target.levels();
    let wanted = Some(Level::RepeatableRead).filter(|level| levels.contains(level));
    wanted.or_else(|| levels.last().copied())
}

/// Reads everything in a session of its own.
pub(crate) fn read_all(
    schema: &dyn Schema,
    level: Option<Level>,
    sql: &str,
    number: u64,
    after: Option<Fault>,
) -> Result<Look, StressError> {
    let _unheeded = heed(None);
    let options = SessionOptions { name: "final".to_owned(), level, lock_wait: LOCK_WAIT };
    let mut session = schema.open(&options)?.session;
    let answer = execute(session.as_mut(), sql, STATEMENT_LIMIT);
    let answer = answer
        .map_err(|error| StressError::Statement { what: "cannot read the final state", error })?;
    let rows = answer.results.into_iter().next().unwrap_or_default();
    let (record, blunders) = final_state(number, rows);
    Ok(Look { record, blunders, after })
}
