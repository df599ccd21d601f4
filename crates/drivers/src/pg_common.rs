//! What the drivers of the PostgreSQL protocol have in common.

use std::time::Duration;

use anchorite_model::{DbError, Level, TargetInfo};

use crate::endpoint::Endpoint;
use crate::pg_session::PgSession;
use crate::pg_wire::PgConnection;
use crate::{OpenedSession, Session, TargetError, execute};

/// Opens a connection; the error names the endpoint.
pub fn dial(endpoint: &Endpoint, parameters: &[(&str, &str)]) -> Result<PgConnection, TargetError> {
    PgConnection::open(endpoint, parameters).map_err(|refusal| refusal.at(endpoint))
}

/// Opens the first connection; the endpoint is completed with the usual values and with what was learnt.
pub fn dial_first(endpoint: &Endpoint) -> Result<(Endpoint, PgConnection), TargetError> {
    let mut endpoint = endpoint.clone();
    endpoint.fill_in();
    let connection = dial(&endpoint, &[])?;
    endpoint.tls.settle(connection.is_encrypted());
    Ok((endpoint, connection))
}

/// A session, unless it runs another level than the one that was asked for.
pub fn opened(
    session: PgSession,
    info: &TargetInfo,
    asked: Option<Level>,
    level_read_back: String,
) -> Result<OpenedSession, TargetError> {
    match asked {
        Some(asked) if level_read_back.parse() != Ok(asked) => {
            let target = info.to_string();
            Err(TargetError::LevelMismatch { target, asked, read_back: level_read_back })
        }
        _ => Ok(OpenedSession { session: Box::new(session), level_read_back }),
    }
}

/// All values that a query answers with, as text.
pub fn values(
    session: &mut dyn Session,
    sql: &str,
    limit: Duration,
) -> Result<Vec<String>, DbError> {
    let answer = execute(session, sql, limit)?;
    let rows = answer.results.into_iter().flat_map(|result| result.rows);
    Ok(rows.flatten().map(|value| value.to_string()).collect())
}

/// A name in double quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
