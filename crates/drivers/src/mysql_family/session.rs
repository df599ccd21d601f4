//! One session: opened at a level that was read back, then statements submitted and polled.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use super::Server;
use crate::endpoint::Endpoint;
use crate::mysql_control::CONTROL_LIMIT;
use crate::mysql_wire::Connection;
use crate::{ConnectionId, OpenedSession, Reply, Session, SessionOptions, TargetError};

/// The connections of a schema that may still be there when it is dropped.
pub(super) type OpenConnections = Arc<Mutex<BTreeSet<ConnectionId>>>;

pub(super) fn open(
    server: &Arc<Server>,
    schema: &str,
    open: &OpenConnections,
    options: &SessionOptions,
    connect: fn(&Endpoint) -> Result<Connection, TargetError>,
) -> Result<OpenedSession, TargetError> {
    if let Some(level) = options.level
        && !server.levels.contains(&level)
    {
        return Err(TargetError::unsupported(&server.info, level, &server.levels));
    }
    let mut connection = connect(&server.endpoint)?;
    let id = server.connection_id(&mut connection);
    let id = id.map_err(|error| server.cannot_prepare(error))?;
    let mut statements = vec![format!("USE {schema}")];
    statements.extend(server.settings(options.level, options.lock_wait));
    for sql in statements {
        let done = connection.query(&sql, CONTROL_LIMIT);
        done.map_err(|error| server.cannot_prepare(format!("{sql}: {error}")))?;
    }
    let read_back = server.read_back(&mut connection);
    let read_back = read_back.map_err(|error| server.cannot_prepare(error))?;
    if let Some(asked) = options.level
        && !read_back.levels.contains(&asked)
    {
        return Err(TargetError::LevelMismatch {
            target: server.info.to_string(),
            asked,
            read_back: read_back.words,
        });
    }
    open.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    let session = FamilySession {
        server: Arc::clone(server),
        connection,
        id,
        statements: VecDeque::new(),
        open: Arc::clone(open),
    };
    Ok(OpenedSession { session: Box::new(session), level_read_back: read_back.words })
}

struct FamilySession {
    server: Arc<Server>,
    connection: Connection,
    id: ConnectionId,
    /// Those that are not answered yet: what an error means can depend on the statement.
    statements: VecDeque<String>,
    open: OpenConnections,
}

impl Session for FamilySession {
    fn id(&self) -> ConnectionId {
        self.id
    }

    fn submit(&mut self, sql: &str) {
        self.submit_several(&[sql]);
    }

    fn submit_several(&mut self, statements: &[&str]) -> bool {
        self.statements = statements.iter().map(|&sql| sql.to_owned()).collect();
        self.connection.submit_several(statements);
        true
    }

    fn poll(&mut self) -> Option<Reply> {
        let reply = self.connection.poll()?;
        let sql = self.statements.pop_front().unwrap_or_default();
        let error = match reply {
            Ok(answer) => return Some(Ok(answer)),
            Err(error) => error,
        };
        let (mut error, roll_back) = self.server.errors.db_error(error, &sql);
        // Only alone: behind others that are on their way it would come too late.
        if roll_back && self.statements.is_empty() {
            let done = self.connection.query("ROLLBACK", CONTROL_LIMIT);
            error.transaction_gone = done.is_ok();
            error.in_transaction = done.ok().map(|_| false);
        }
        Some(Err(error))
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.connection.fd())
    }

    fn takes_several(&self) -> bool {
        self.connection.takes_several()
    }

    /// Asks on a separate connection, because this one is waiting. A failure shows up as a statement that continues.
    fn cancel(&mut self) {
        if self.connection.is_busy()
            && let Ok(mut other) = Connection::open(&self.server.endpoint)
        {
            let _ = other.query(&self.server.kill(self.id, true), CONTROL_LIMIT);
        }
    }
}

/// An idle session ends with its connection. One that is waiting for a lock would keep waiting, so it stays on the list
/// of those that are killed with the schema.
impl Drop for FamilySession {
    fn drop(&mut self) {
        if !self.connection.is_busy() {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        }
    }
}
