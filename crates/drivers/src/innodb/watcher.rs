//! The watcher of MariaDB and MySQL 5.x: InnoDB's status, and the process list for connections that it does not
//! explain.

use std::time::{Duration, Instant};

use super::{STATUS_COLUMN, Status, row_waits};
use crate::endpoint::Endpoint;
use crate::mysql_control::{CONTROL_LIMIT, StateWatch, cannot_ask, rows, text, waiting_states};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, TargetError, Wait, Watcher};

const ROW_LOCKS: &str = "SHOW ENGINE INNODB STATUS";
const STATES: &str = "SHOW PROCESSLIST";
/// How long a connection may be missing from a truncated status.
const UNSEEN_LIMIT: Duration = Duration::from_secs(2);

pub(crate) struct StatusWatcher {
    connection: Connection,
    endpoint: String,
    states: StateWatch,
    unseen_since: Option<Instant>,
}

impl StatusWatcher {
    /// Connects and asks once, so that missing privileges are noticed here.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self, String> {
        let open = || -> Result<_, Box<dyn std::error::Error>> {
            let mut connection = Connection::open(endpoint)?;
            let states = StateWatch::new(&mut connection)?;
            let endpoint = endpoint.to_string();
            let mut watcher = Self { connection, endpoint, states, unseen_since: None };
            watcher.look(&[])?;
            Ok(watcher)
        };
        open().map_err(|error| format!("SHOW ENGINE INNODB STATUS: {error}"))
    }

    fn look(&mut self, outstanding: &[ConnectionId]) -> Result<Vec<Wait>, WireError> {
        let answer = self.connection.query(ROW_LOCKS, CONTROL_LIMIT)?;
        let status = rows(&answer, 0).first().and_then(|row| text(row.get(STATUS_COLUMN)?));
        let status = Status::parse(&status.unwrap_or_default());
        let waits = row_waits(&status).into_iter().map(|wait| Wait {
            waiter: wait.waiter,
            blockers: wait.blockers,
            kind: wait.kind.to_owned(),
        });
        let mut waits: Vec<_> = waits.filter(|wait| outstanding.contains(&wait.waiter)).collect();
        let is_unexplained = |waits: &[Wait], id| waits.iter().all(|wait| wait.waiter != id);
        if !outstanding.iter().any(|id| is_unexplained(&waits, *id)) {
            return Ok(waits);
        }
        let answer = self.connection.query(STATES, CONTROL_LIMIT)?;
        let states = waiting_states(rows(&answer, 0));
        waits.extend(self.states.waits(&mut self.connection, outstanding, states)?);
        let is_unseen = |id: &ConnectionId| status.may_omit(*id) && is_unexplained(&waits, *id);
        self.check_unseen(outstanding.iter().any(is_unseen))?;
        Ok(waits)
    }

    /// Gives up if a connection stays invisible: it may be waiting and would never be found.
    fn check_unseen(&mut self, is_unseen: bool) -> Result<(), WireError> {
        if !is_unseen {
            self.unseen_since = None;
            return Ok(());
        }
        let since = self.unseen_since.get_or_insert_with(Instant::now);
        if since.elapsed() < UNSEEN_LIMIT {
            return Ok(());
        }
        Err(WireError::Lost(
            "InnoDB's status exceeds 1 MB and omits transactions; \
             it is shorter with innodb_status_output_locks=OFF"
                .to_owned(),
        ))
    }
}

impl Watcher for StatusWatcher {
    fn method(&self) -> String {
        format!("SHOW ENGINE INNODB STATUS, {}", self.states.method())
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        self.look(outstanding).map_err(|error| cannot_ask(&self.endpoint, &error))
    }

    fn waits_last(&self) -> bool {
        true
    }
}
