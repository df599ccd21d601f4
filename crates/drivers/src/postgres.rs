//! PostgreSQL.
//!
//! Who waits for whom is queried with `pg_blocking_pids` and, for waits that it does not know (a deferrable transaction
//! that waits for a safe snapshot), `pg_isolation_test_session_is_blocked`, the function that PostgreSQL's own
//! isolationtester uses. Both read the lock tables themselves, so a lock that was just granted is never shown as
//! waiting, unlike `pg_stat_activity`.
//!
//! Blind spot: two waiters on one row may overtake each other after a commit; the run records the order
//! in which they really answered.

use std::path::Path;
use std::time::Duration;

use anchorite_model::{DbError, Level, Product, TargetInfo, Value};

use crate::away::reach;
use crate::endpoint::Endpoint;
use crate::mark::{Mark, Marked};
use crate::pg_common::{dial, dial_first, opened, quoted, values};
use crate::pg_marked;
use crate::pg_session::PgSession;
use crate::pg_wire::PgConnection;
use crate::socket::{Identity, come_closer};
use crate::{
    ConnectionId, OpenedSession, Schema, Session, SessionOptions, Target, TargetError, Upkeep,
    Wait, Watcher, execute, heed, settings,
};

/// Longest time for a statement of our own (creating schemas, reading settings).
const HOUSEKEEPING_LIMIT: Duration = Duration::from_secs(30);

/// A waiter looks for a deadlock once, after this time instead of one second.
const DEADLOCK_TIMEOUT: &str = "1ms";

/// How late the server's timer may fire.
const TIMER_SLACK: Duration = Duration::from_millis(5);

/// Well below the share of a page (8 kB) at which the server begins to prune it in the middle of a case.
const WORN_AFTER_BYTES: usize = 5_000;

/// The driver's name in descriptors, and the product that it is written for.
const POSTGRES: &str = "postgres";

/// The question for a session's level where the descriptor has none.
pub const LEVEL: &str = "SHOW transaction_isolation";

/// Who waits for whom: all connections of the case, and those with an unanswered statement.
const WAITS: &str = "SELECT p, pg_blocking_pids(p) || pg_safe_snapshot_blocking_pids(p), \
                     pg_isolation_test_session_is_blocked(p, $1) FROM unnest($2::int[]) p";

/// A PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    endpoint: Endpoint,
    info: TargetInfo,
    levels: Vec<Level>,
    is_cockroach: bool,
}

impl Postgres {
    /// Connects once to learn the version. Missing parts of the URL get PostgreSQL's usual values.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, TargetError> {
        let (mut endpoint, connection) = dial_first(endpoint)?;
        let is_cockroach = connection.is_cockroach;
        let version = connection.server_version.clone();
        let product = endpoint.product().filter(|product| product.descriptor().driver == POSTGRES);
        let product = product.unwrap_or_else(|| Product::named(POSTGRES));
        let levels = product.descriptor().levels.level.iter().map(|level| level.name).collect();
        let info = TargetInfo { product, version, variant: String::new() };
        if !is_cockroach {
            let port = endpoint.port.unwrap_or_default();
            endpoint = come_closer(
                &endpoint,
                port,
                || introduce(connection),
                |nearer| introduce(dial(nearer, &[]).ok()?),
            );
        }
        Ok(Self { endpoint, info, levels, is_cockroach })
    }

    /// Whether it is CockroachDB that answers here, whatever the URL says.
    pub fn is_cockroach(&self) -> bool {
        self.is_cockroach
    }

    /// Where the server is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// What the server says about itself, given the privileges.
fn introduce(connection: PgConnection) -> Option<Identity> {
    let mut session = PgSession::new(connection);
    let question = "SELECT current_setting('port'), current_setting('unix_socket_directories'), \
                    pg_postmaster_start_time()::text";
    let answer = execute(&mut session, question, HOUSEKEEPING_LIMIT).ok()?;
    let [Value::Text(port), Value::Text(folders), Value::Text(started)] =
        &answer.results.first()?.rows.first()?[..]
    else {
        return None;
    };
    let file = format!(".s.PGSQL.{port}");
    let sockets = folders.split(',').map(|folder| Path::new(folder.trim()).join(&file)).collect();
    Some(Identity { port: port.parse().ok()?, sockets, identity: started.clone() })
}

impl Target for Postgres {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn levels(&self) -> &[Level] {
        &self.levels
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        // A connection that is abandoned in the middle of this would leave a schema behind.
        let _unheeded = heed(None);
        let mut admin = PgSession::new(dial(&self.endpoint, &[])?);
        let name = Mark::next().to_string();
        let schema = PgSchema {
            endpoint: self.endpoint.clone(),
            info: self.info.clone(),
            levels: self.levels.clone(),
            name,
        };
        let create = format!("CREATE SCHEMA {}", schema.name);
        execute(&mut admin, &create, HOUSEKEEPING_LIMIT).map_err(|error| {
            TargetError::cannot_create(&self.info, "CREATE SCHEMA", error.message)
        })?;
        Ok(Box::new(schema))
    }

    fn marked(&self) -> Result<Vec<Marked>, TargetError> {
        pg_marked::list(&self.endpoint, &self.info)
    }

    fn remove_marked(&self, marked: &Marked) -> Result<(), TargetError> {
        pg_marked::remove(&self.endpoint, &self.info, marked)
    }

    fn uptime(&self) -> Option<Duration> {
        pg_marked::seconds_since(&self.endpoint, "pg_postmaster_start_time()")
    }
}

struct PgSchema {
    endpoint: Endpoint,
    info: TargetInfo,
    levels: Vec<Level>,
    name: String,
}

impl PgSchema {
    fn cannot_prepare(&self, error: &DbError) -> TargetError {
        TargetError::Prepare { target: self.info.to_string(), reason: error.message.clone() }
    }

    fn set(&self, session: &mut dyn Session, sql: &str) -> Result<(), TargetError> {
        let answer = execute(session, sql, HOUSEKEEPING_LIMIT);
        answer.map(drop).map_err(|error| self.cannot_prepare(&error))
    }
}

impl Schema for PgSchema {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let application = format!("anchorite/{}", options.name);
        let connection = dial(&self.endpoint, &[("application_name", &application)])?;
        let mut session = PgSession::of(connection, self.info.product);
        let descriptor = self.info.product.descriptor();
        let limit_ms = options.lock_wait.as_millis().to_string();
        let prepare = descriptor.session.prepare.iter();
        let prepare = prepare.map(|sql| format!("; {}", sql.replace("{milliseconds}", &limit_ms)));
        let prepare: String = prepare.collect();
        self.set(&mut session, &format!("SET search_path TO {}{prepare}", self.name))?;
        shorten_deadlock_timeout(&mut session);
        if let Some(level) = options.level {
            if !self.levels.contains(&level) {
                return Err(TargetError::unsupported(&self.info, level, &self.levels));
            }
            for sql in descriptor.levels.set(level) {
                self.set(&mut session, sql)?;
            }
        }
        let question = descriptor.levels.read_back.first().map_or(LEVEL, String::as_str);
        let level_read_back =
            read_back(&mut session, question).map_err(|error| self.cannot_prepare(&error))?;
        opened(session, &self.info, options.level, level_read_back)
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        Ok(Box::new(watch(&self.endpoint, &self.info.to_string())?))
    }

    fn upkeep(&self) -> Upkeep {
        let name = &self.name;
        Upkeep {
            enter: Some(format!("SET search_path TO {name}")),
            clear: vec![format!("DROP SCHEMA {name} CASCADE"), format!("CREATE SCHEMA {name}")],
            worn_after: Some(WORN_AFTER_BYTES),
            ..Upkeep::default()
        }
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        let sql = format!(
            "SELECT relname FROM pg_class WHERE relnamespace = '{}'::regnamespace \
             AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname COLLATE \"C\"",
            self.name
        );
        values(session, &sql, limit)
    }

    fn settings(&self, session: &mut dyn Session, limit: Duration) -> Vec<(String, String)> {
        settings::read(self.info.product, session, limit)
    }

    fn quote(&self, name: &str) -> String {
        quoted(name)
    }
}

impl Drop for PgSchema {
    fn drop(&mut self) {
        let _unheeded = heed(None);
        if let Some(connection) = reach(&self.endpoint, |endpoint| dial(endpoint, &[])) {
            let _ = pg_marked::drop_schema(&mut PgSession::new(connection), &self.name);
        }
    }
}

/// The single value that a statement answers with, as text.
pub fn read_back(session: &mut dyn Session, sql: &str) -> Result<String, DbError> {
    Ok(values(session, sql, HOUSEKEEPING_LIMIT)?.into_iter().next().unwrap_or_default())
}

/// Opens a connection to ask who waits for whom, and asks once to see whether it may.
fn watch(endpoint: &Endpoint, target: &str) -> Result<PgWatcher, TargetError> {
    let connection = dial(endpoint, &[("application_name", "anchorite")])?;
    let mut watcher = PgWatcher::over(connection, target);
    watcher.ask(&format!("PREPARE anchorite_waits (int[], int[]) AS {WAITS}"))?;
    watcher.is_prepared = true;
    watcher.waits(&[watcher.session.id()], &[])?;
    shorten_deadlock_timeout(&mut watcher.session);
    let rows =
        watcher.ask("SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout'")?;
    if let Some(Value::Int(timeout_ms)) = rows.into_iter().flatten().next() {
        let timeout = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or_default());
        watcher.deadlock_check = timeout + TIMER_SLACK;
    }
    Ok(watcher)
}

/// Only a superuser may do this; without it a deadlock is just reported later.
fn shorten_deadlock_timeout(session: &mut PgSession) {
    let sql = format!("SET deadlock_timeout = '{DEADLOCK_TIMEOUT}'");
    let _ = execute(session, &sql, HOUSEKEEPING_LIMIT);
}

/// Asks who waits for whom, over a connection that is otherwise free.
pub struct PgWatcher {
    session: PgSession,
    target: String,
    deadlock_check: Duration,
    /// The query is planned once: that costs more than running it.
    is_prepared: bool,
}

impl PgWatcher {
    /// Asks over this connection, which may be used for other work in between.
    pub fn over(connection: PgConnection, target: &str) -> Self {
        let session = PgSession::new(connection);
        let target = target.to_owned();
        Self { session, target, deadlock_check: Duration::ZERO, is_prepared: false }
    }

    /// The connection, for other work in between.
    pub fn connection(&mut self) -> &mut PgConnection {
        self.session.connection()
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, TargetError> {
        let answer = execute(&mut self.session, sql, HOUSEKEEPING_LIMIT).map_err(|error| {
            TargetError::Prepare { target: self.target.clone(), reason: error.message }
        })?;
        Ok(answer.results.into_iter().flat_map(|result| result.rows).collect())
    }
}

impl Watcher for PgWatcher {
    fn method(&self) -> String {
        "pg_blocking_pids, pg_isolation_test_session_is_blocked".to_owned()
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        let [all, outstanding] = [all, outstanding].map(|ids| format!("'{{{}}}'", join(ids)));
        let question = if self.is_prepared {
            format!("EXECUTE anchorite_waits ({all}, {outstanding})")
        } else {
            WAITS.replace("$1", &all).replace("$2", &outstanding)
        };
        let waits = waits_of(&self.ask(&question)?);
        // The functions run one after the other: a wait that began between two of them has no blockers yet.
        if waits.iter().any(|wait| wait.blockers.as_ref().is_some_and(Vec::is_empty)) {
            return Ok(waits_of(&self.ask(&question)?));
        }
        Ok(waits)
    }

    fn deadlock_check(&self) -> Duration {
        self.deadlock_check
    }

    fn waits_last(&self) -> bool {
        true
    }

    fn describe(&mut self, waiter: ConnectionId) -> String {
        let sql = format!(
            "SELECT coalesce((SELECT locktype || ' lock' FROM pg_locks \
             WHERE pid = {waiter} AND NOT granted LIMIT 1), wait_event) \
             FROM pg_stat_get_activity({waiter})"
        );
        let rows = self.ask(&sql).unwrap_or_default();
        match rows.into_iter().flatten().next() {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        }
    }
}

fn join(ids: &[ConnectionId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn waits_of(rows: &[Vec<Value>]) -> Vec<Wait> {
    rows.iter().filter_map(|row| wait_of(row)).collect()
}

/// A row of (pid, blockers as `{1,2}`, is blocked), if it shows a wait.
fn wait_of(row: &[Value]) -> Option<Wait> {
    let [Value::Int(pid), Value::Text(blockers), Value::Bool(blocked)] = row else {
        return None;
    };
    let mut blockers: Vec<ConnectionId> =
        blockers.trim_matches(['{', '}']).split(',').filter_map(|pid| pid.parse().ok()).collect();
    blockers.sort_unstable();
    blockers.dedup();
    (*blocked || !blockers.is_empty()).then(|| Wait {
        waiter: ConnectionId::try_from(*pid).unwrap_or_default(),
        blockers: Some(blockers),
        kind: String::new(),
    })
}
