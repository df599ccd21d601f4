//! Our databases that are still on a server, and how they are dropped.

use std::time::Duration;

use super::Server;
use crate::mark::{Kind, Marked, PREFIX};
use crate::mysql_control::{CONTROL_LIMIT, rows, text};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, TargetError};

/// How long dropping waits for the metadata locks of sessions that are just ending.
const DROP_LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long dropping may take altogether.
const DROP_LIMIT: Duration = Duration::from_secs(30);

/// All databases that carry our mark.
pub(super) fn list(server: &Server) -> Result<Vec<Marked>, TargetError> {
    let mut control = Connection::open(&server.endpoint)?;
    let sql = format!("SHOW DATABASES LIKE '{}%'", PREFIX.replace('_', "\\_"));
    let answer = control.query(&sql, CONTROL_LIMIT).map_err(|e| server.cannot_prepare(e))?;
    let names = rows(&answer, 0).iter().filter_map(|row| text(row.first()?)).collect::<Vec<_>>();
    Ok(names.iter().filter_map(|name| Marked::of_name(Kind::Database, name)).collect())
}

/// Drops one, with the connections that still use it.
pub(super) fn remove(server: &Server, name: &str) -> Result<(), TargetError> {
    let mut control = Connection::open(&server.endpoint)?;
    let sql = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{name}'");
    let users = control.query(&sql, CONTROL_LIMIT).map_err(|e| server.cannot_prepare(e))?;
    let users = rows(&users, 0).iter().filter_map(|row| text(row.first()?)?.parse().ok());
    drop_database(server, &mut control, name, users).map_err(|error| {
        let prepared = prepared(&mut control);
        server.cannot_prepare(format!("DROP DATABASE {name}: {error}{prepared}"))
    })
}

/// Ends these connections, then drops the database.
pub(super) fn drop_database(
    server: &Server,
    control: &mut Connection,
    name: &str,
    users: impl IntoIterator<Item = ConnectionId>,
) -> Result<(), WireError> {
    for id in users {
        let _ = control.query(&server.kill(id, false), CONTROL_LIMIT);
    }
    let limit = format!("SET SESSION lock_wait_timeout = {}", DROP_LOCK_WAIT.as_secs());
    let _ = control.query(&limit, CONTROL_LIMIT);
    control.query(&format!("DROP DATABASE IF EXISTS {name}"), DROP_LIMIT).map(drop)
}

/// What may block a database from being dropped. The server does not say which database a prepared transaction belongs
/// to, so we must not end it.
fn prepared(control: &mut Connection) -> String {
    match control.query("XA RECOVER", CONTROL_LIMIT) {
        Ok(answer) if !rows(&answer, 0).is_empty() => {
            let count = rows(&answer, 0).len();
            let example = rows(&answer, 0)[0].last().and_then(text).unwrap_or_default();
            format!(
                "; XA RECOVER lists {count} prepared, such as '{example}': XA ROLLBACK ends one"
            )
        }
        _ => String::new(),
    }
}
