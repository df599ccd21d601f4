//! Our schemas and databases that are still on a server with the PostgreSQL protocol, and how they are dropped.
//!
//! A prepared transaction of a case outlives its session and holds its locks, so a schema in whose tables one holds
//! locks cannot be dropped. The locks show which transactions those are; they are ours, because nothing else uses the
//! schema. Blind spot: schemas in a database other than the URL's are not seen.

use std::time::Duration;

use anchorite_model::{DbError, TargetInfo, Value};

use crate::endpoint::Endpoint;
use crate::mark::{Kind, Marked};
use crate::pg_common::dial;
use crate::pg_session::PgSession;
use crate::{Session, TargetError, execute};

/// Longest time for one statement here; dropping a database is slow on CockroachDB.
const LIMIT: Duration = Duration::from_secs(60);

/// The names, what they are, and comments that may contain a mark.
const POSTGRES: &str = "SELECT 'schema', nspname, '' FROM pg_namespace \
     WHERE nspname LIKE 'anchorite\\_%' UNION ALL \
     SELECT 'database', datname, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database \
     WHERE datname LIKE 'anchorite\\_%' OR shobj_description(oid, 'pg_database') LIKE 'anchorite\\_%'";
const COCKROACH: &str =
    "SELECT 'database', datname, '' FROM pg_database WHERE datname LIKE 'anchorite%'";

/// Whether the databases are the schemas.
fn is_cockroach(info: &TargetInfo) -> bool {
    info.product.descriptor().driver == "cockroach"
}

/// All schemas and databases that carry our mark.
pub(crate) fn list(endpoint: &Endpoint, info: &TargetInfo) -> Result<Vec<Marked>, TargetError> {
    let mut session = PgSession::new(dial(endpoint, &[])?);
    let sql = if is_cockroach(info) { COCKROACH } else { POSTGRES };
    let found = texts(&mut session, sql).map_err(|error| cannot(info, &error))?;
    let read = |row: &Vec<String>| {
        let [kind, name, comment] = &row[..] else { return None };
        let kind = if kind == "schema" { Kind::Schema } else { Kind::Database };
        Marked::of_name(kind, name).or_else(|| Marked::of_mark(kind, name, comment))
    };
    Ok(found.iter().filter_map(read).collect())
}

/// Drops one.
pub(crate) fn remove(
    endpoint: &Endpoint,
    info: &TargetInfo,
    marked: &Marked,
) -> Result<(), TargetError> {
    let mut session = PgSession::new(dial(endpoint, &[])?);
    let done = match marked.kind {
        Kind::Schema => drop_schema(&mut session, &marked.name),
        _ if is_cockroach(info) => drop_cascading(&mut session, &marked.name),
        _ => drop_database(&mut session, &marked.name),
    };
    done.map_err(|error| cannot(info, &error))
}

/// Drops a schema, and ends the prepared transactions that hold locks in it.
pub(crate) fn drop_schema(session: &mut PgSession, name: &str) -> Result<(), DbError> {
    let prepared = format!(
        "SELECT DISTINCT quote_literal(p.gid) FROM pg_prepared_xacts p \
         JOIN pg_locks own ON own.transactionid = p.transaction AND own.mode = 'ExclusiveLock' \
         JOIN pg_locks l ON l.virtualtransaction = own.virtualtransaction \
         JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE p.database = current_database() AND own.pid IS NULL AND l.pid IS NULL \
         AND n.nspname = '{name}'"
    );
    // Without the privilege to see them we can still try to drop the schema.
    for gid in texts(session, &prepared).unwrap_or_default().into_iter().flatten() {
        execute(session, &format!("ROLLBACK PREPARED {gid}"), LIMIT)?;
    }
    // A session that is still in a transaction must not keep us waiting for ever.
    let sql = format!(
        "SET client_min_messages = error; SET lock_timeout = '10s'; \
         DROP SCHEMA IF EXISTS {name} CASCADE"
    );
    execute(session, &sql, LIMIT).map(drop)
}

/// Ends every prepared transaction of the session's database, which cannot be dropped before.
pub(crate) fn roll_back_prepared(session: &mut PgSession) {
    let prepared = "SELECT quote_literal(gid) FROM pg_prepared_xacts \
                    WHERE database = current_database()";
    for gid in texts(session, prepared).unwrap_or_default().into_iter().flatten() {
        let _ = execute(session, &format!("ROLLBACK PREPARED {gid}"), LIMIT);
    }
}

/// Drops a database of PostgreSQL.
pub(crate) fn drop_database(session: &mut PgSession, name: &str) -> Result<(), DbError> {
    let drop_with = |force| format!("DROP DATABASE IF EXISTS {name}{force}");
    // WITH (FORCE) exists since version 13.
    if execute(session, &drop_with(" WITH (FORCE)"), LIMIT).is_err() {
        execute(session, &drop_with(""), LIMIT)?;
    }
    Ok(())
}

/// Drops a database of CockroachDB.
pub(crate) fn drop_cascading(session: &mut PgSession, name: &str) -> Result<(), DbError> {
    execute(session, &format!("DROP DATABASE IF EXISTS {name} CASCADE"), LIMIT).map(drop)
}

/// How long ago a moment was by the server's clock.
pub(crate) fn seconds_since(endpoint: &Endpoint, moment: &str) -> Option<Duration> {
    let mut session = PgSession::new(dial(endpoint, &[]).ok()?);
    let sql = format!("SELECT extract(epoch FROM now() - {moment})::float8::text");
    let answer = texts(&mut session, &sql).ok()?;
    Duration::try_from_secs_f64(answer.first()?.first()?.parse().ok()?).ok()
}

fn texts(session: &mut dyn Session, sql: &str) -> Result<Vec<Vec<String>>, DbError> {
    let answer = execute(session, sql, LIMIT)?;
    let text = |value: Value| match value {
        Value::Text(text) => text,
        other => other.to_string(),
    };
    let rows = answer.results.into_iter().flat_map(|result| result.rows);
    Ok(rows.map(|row| row.into_iter().map(text).collect()).collect())
}

fn cannot(info: &TargetInfo, error: &DbError) -> TargetError {
    TargetError::Prepare { target: info.to_string(), reason: error.message.clone() }
}
