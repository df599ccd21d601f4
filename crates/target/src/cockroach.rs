//! CockroachDB, on the PostgreSQL protocol.
//!
//! Levels: the server accepts every level and silently runs serializable where it has no other, so the
//! level is read back *inside* a transaction, and only levels that come back as asked are offered.
//!
//! Who waits: from v22.1 on `crdb_internal.cluster_locks` tells waiters and holders of each key. Before,
//! only the number of waiting transactions is known (a metric of the node); together with the number of
//! outstanding statements it decides as long as one case runs at a time, and the run says that the
//! blockers are unknown.
//!
//! Blind spot: a retry error (40001) may come at any statement; which of them were deadlocks is not told.

use std::time::Duration;

use anchorite_model::{DbError, Level, Product, TargetInfo, Value};

use crate::endpoint::Endpoint;
use crate::mark::{Mark, Marked};
use crate::pg_marked;
use crate::pg_session::PgSession;
use crate::postgres::{dial, read_back};
use crate::{
    ConnectionId, OpenedSession, Schema, Session, SessionOptions, Target, TargetError, Upkeep,
    Wait, Watcher, execute, settings,
};

/// Longest time for a statement of our own; dropping a database is slow here.
const HOUSEKEEPING_LIMIT: Duration = Duration::from_secs(60);

/// A waiter is woken some milliseconds after the holder's end, and the views lag behind that.
const GRANT_DELAY: Duration = Duration::from_millis(100);

/// A CockroachDB node.
#[derive(Debug)]
pub struct Cockroach {
    endpoint: Endpoint,
    info: TargetInfo,
    levels: Vec<Level>,
    has_cluster_locks: bool,
}

impl Cockroach {
    /// Connects once to learn version and levels. Missing parts of the URL get the usual values.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, TargetError> {
        let mut endpoint = endpoint.clone();
        endpoint.fill_in();
        let connection = dial(&endpoint, &[])?;
        endpoint.tls.settle(connection.is_encrypted());
        let mut session = PgSession::new(connection);
        let refused = |error: DbError| TargetError::Connect {
            endpoint: endpoint.to_string(),
            reason: error.message,
        };
        let version = read_back(&mut session, "SELECT version()").map_err(refused)?;
        let version = version.split_whitespace().find(|word| word.starts_with('v'));
        let version = version.unwrap_or("unknown version").to_owned();
        let levels = levels_of(&mut session);
        let has_cluster_locks =
            read_back(&mut session, "SELECT count(*) FROM crdb_internal.cluster_locks").is_ok();
        let info = TargetInfo { product: Product::Cockroach, version, variant: String::new() };
        Ok(Self { endpoint, info, levels, has_cluster_locks })
    }
}

/// Makes a throw-away server tell sooner that a statement waits: a waiter announces itself after these
/// delays instead of 10 and 100 ms. Settings of the whole cluster, so never on somebody else's server.
pub fn hurry_waiters(endpoint: &Endpoint) -> Result<(), TargetError> {
    let target = Cockroach::connect(endpoint)?;
    let mut session = PgSession::new(dial(&target.endpoint, &[])?);
    for (delay, value) in [("coordinator_liveness", "1ms"), ("deadlock_detection", "5ms")] {
        let sql = format!("SET CLUSTER SETTING kv.lock_table.{delay}_push_delay = '{value}'");
        // A version without the setting is as fast as it is.
        let _ = execute(&mut session, &sql, HOUSEKEEPING_LIMIT);
    }
    Ok(())
}

/// The levels that the server runs when asked for them.
fn levels_of(session: &mut PgSession) -> Vec<Level> {
    let runs = |level: &Level| {
        set_and_read_back(session, *level).is_ok_and(|told| told.parse() == Ok(*level))
    };
    Level::ALL.into_iter().filter(runs).collect()
}

fn set_and_read_back(session: &mut dyn Session, level: Level) -> Result<String, DbError> {
    let set = format!("SET default_transaction_isolation = '{level}'");
    execute(session, &set, HOUSEKEEPING_LIMIT)?;
    level_inside(session)
}

/// Outside of a transaction the variable shows what was asked for, not what will run.
fn level_inside(session: &mut dyn Session) -> Result<String, DbError> {
    execute(session, "BEGIN", HOUSEKEEPING_LIMIT)?;
    let told = read_back(session, "SHOW transaction_isolation");
    execute(session, "ROLLBACK", HOUSEKEEPING_LIMIT)?;
    told
}

impl Target for Cockroach {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn levels(&self) -> &[Level] {
        &self.levels
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        let mut admin = PgSession::new(dial(&self.endpoint, &[])?);
        let name = Mark::next().to_string();
        let create = format!("CREATE DATABASE {name}");
        execute(&mut admin, &create, HOUSEKEEPING_LIMIT).map_err(|error| TargetError::Prepare {
            target: self.info.to_string(),
            reason: error.message,
        })?;
        Ok(Box::new(CockroachSchema {
            admin: self.endpoint.clone(),
            endpoint: Endpoint { database: name, ..self.endpoint.clone() },
            info: self.info.clone(),
            levels: self.levels.clone(),
            has_cluster_locks: self.has_cluster_locks,
        }))
    }

    fn marked(&self) -> Result<Vec<Marked>, TargetError> {
        pg_marked::list(&self.endpoint, &self.info)
    }

    fn remove_marked(&self, marked: &Marked) -> Result<(), TargetError> {
        pg_marked::remove(&self.endpoint, &self.info, marked)
    }

    fn uptime(&self) -> Option<Duration> {
        let own = "(SELECT min(started_at) FROM crdb_internal.kv_node_status \
                   WHERE node_id = crdb_internal.node_id())";
        pg_marked::seconds_since(&self.endpoint, own)
    }
}

struct CockroachSchema {
    admin: Endpoint,
    endpoint: Endpoint,
    info: TargetInfo,
    levels: Vec<Level>,
    has_cluster_locks: bool,
}

impl CockroachSchema {
    fn cannot_prepare(&self, error: DbError) -> TargetError {
        TargetError::Prepare { target: self.info.to_string(), reason: error.message }
    }
}

impl Schema for CockroachSchema {
    fn name(&self) -> &str {
        &self.endpoint.database
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let application = format!("anchorite/{}", options.name);
        let mut session =
            PgSession::new(dial(&self.endpoint, &[("application_name", &application)])?);
        let id = read_back(&mut session, "SHOW session_id").map_err(|e| self.cannot_prepare(e))?;
        session.identify(connection_id(&id));
        let told = match options.level {
            Some(level) => set_and_read_back(&mut session, level),
            None => level_inside(&mut session),
        };
        let level_read_back = told.map_err(|error| self.cannot_prepare(error))?;
        if let Some(asked) = options.level
            && level_read_back.parse() != Ok(asked)
        {
            // Known not to be had, as opposed to a level that was there when we connected.
            if !self.levels.contains(&asked) {
                return Err(TargetError::unsupported(&self.info, asked, &self.levels));
            }
            let target = self.info.to_string();
            return Err(TargetError::LevelMismatch { target, asked, read_back: level_read_back });
        }
        Ok(OpenedSession { session: Box::new(session), level_read_back })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        let session = PgSession::new(dial(&self.admin, &[("application_name", "anchorite")])?);
        let asking = if self.has_cluster_locks {
            Asking::ClusterLocks { database: self.endpoint.database.clone() }
        } else {
            Asking::WaitingCount
        };
        let mut watcher = CockroachWatcher { session, target: self.info.to_string(), asking };
        watcher.waits(&[], &[])?;
        Ok(Box::new(watcher))
    }

    fn upkeep(&self) -> Upkeep {
        Upkeep::default()
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        let sql = "SELECT table_name FROM information_schema.tables \
                   WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name";
        let answer = execute(session, sql, limit)?;
        let rows = answer.results.into_iter().flat_map(|result| result.rows);
        Ok(rows.flatten().map(|name| name.to_string()).collect())
    }

    fn settings(&self, session: &mut dyn Session, limit: Duration) -> Vec<(String, String)> {
        settings::read(Product::Cockroach, session, limit)
    }

    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

impl Drop for CockroachSchema {
    fn drop(&mut self) {
        if let Ok(connection) = dial(&self.admin, &[]) {
            let name = &self.endpoint.database;
            let _ = pg_marked::drop_cascading(&mut PgSession::new(connection), name);
        }
    }
}

/// A session id is 32 hexadecimal digits: start time and node. The first half identifies it here.
fn connection_id(session_id: &str) -> ConnectionId {
    let digits = session_id.get(..16).unwrap_or(session_id);
    ConnectionId::from_str_radix(digits, 16).unwrap_or_default()
}

/// How this version can be asked.
enum Asking {
    ClusterLocks { database: String },
    WaitingCount,
}

struct CockroachWatcher {
    session: PgSession,
    target: String,
    asking: Asking,
}

impl CockroachWatcher {
    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, TargetError> {
        let answer = execute(&mut self.session, sql, HOUSEKEEPING_LIMIT).map_err(|error| {
            TargetError::Prepare { target: self.target.clone(), reason: error.message }
        })?;
        Ok(answer.results.into_iter().flat_map(|result| result.rows).collect())
    }
}

impl Watcher for CockroachWatcher {
    fn method(&self) -> String {
        match self.asking {
            Asking::ClusterLocks { .. } => "crdb_internal.cluster_locks".to_owned(),
            Asking::WaitingCount => {
                "number of waiting transactions (txnwaitqueue.pusher.waiting); by whom is unknown"
                    .to_owned()
            }
        }
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        match &self.asking {
            Asking::ClusterLocks { database } => {
                let sql = format!(
                    "SELECT t.session_id, l.lock_key_pretty, l.granted \
                     FROM crdb_internal.cluster_locks l \
                     JOIN crdb_internal.cluster_transactions t ON t.id = l.txn_id \
                     WHERE l.database_name = '{database}'"
                );
                let rows = self.ask(&sql)?;
                let locks: Vec<Lock> = rows.iter().filter_map(|row| Lock::read(row)).collect();
                Ok(waits_of(&locks, outstanding))
            }
            Asking::WaitingCount => {
                let rows = self.ask(
                    "SELECT value::INT FROM crdb_internal.node_metrics \
                     WHERE name = 'txnwaitqueue.pusher.waiting'",
                )?;
                let count = match rows.first().and_then(|row| row.first()) {
                    Some(Value::Int(count)) => usize::try_from(*count).unwrap_or_default(),
                    _ => 0,
                };
                // Fewer waiters than statements: somebody moves, and it is not told who.
                let waiting = if count < outstanding.len() { &[] } else { outstanding };
                Ok(waiting.iter().map(|id| lock_wait(*id, None)).collect())
            }
        }
    }

    fn grant_delay(&self) -> Duration {
        match self.asking {
            Asking::ClusterLocks { .. } => Duration::ZERO,
            Asking::WaitingCount => GRANT_DELAY,
        }
    }

    fn blockers_are_in_transactions(&self) -> bool {
        true
    }

    fn look_twice(&self) -> bool {
        matches!(self.asking, Asking::WaitingCount)
    }
}

fn lock_wait(waiter: ConnectionId, blockers: Option<Vec<ConnectionId>>) -> Wait {
    Wait { waiter, blockers, kind: "lock".to_owned() }
}

/// A row of the lock table: a session that holds a key or waits for it.
struct Lock<'r> {
    session: ConnectionId,
    key: &'r str,
    granted: bool,
}

impl<'r> Lock<'r> {
    fn read(row: &'r [Value]) -> Option<Self> {
        match row {
            [Value::Text(session), Value::Text(key), Value::Bool(granted)] => {
                Some(Self { session: connection_id(session), key, granted: *granted })
            }
            _ => None,
        }
    }
}

/// Waiters with the holders of the keys that they wait for. A key between two holders (just released,
/// not yet handed on) is nobody's: its waiters are left out, so the stage looks again.
fn waits_of(locks: &[Lock<'_>], outstanding: &[ConnectionId]) -> Vec<Wait> {
    let mut waits = Vec::new();
    for waiter in outstanding {
        let keys: Vec<&str> = locks
            .iter()
            .filter(|lock| lock.session == *waiter && !lock.granted)
            .map(|lock| lock.key)
            .collect();
        let mut holders: Vec<ConnectionId> = locks
            .iter()
            .filter(|lock| lock.granted && lock.session != *waiter && keys.contains(&lock.key))
            .map(|lock| lock.session)
            .collect();
        holders.sort_unstable();
        holders.dedup();
        if !holders.is_empty() {
            waits.push(lock_wait(*waiter, Some(holders)));
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_are_paired_with_the_holders_of_their_keys() {
        let lock = |session, key, granted| Lock { session, key, granted };
        let locks =
            [lock(1, "/a", true), lock(2, "/a", false), lock(3, "/a", false), lock(2, "/b", true)];
        let waits = waits_of(&locks, &[2, 3]);
        assert_eq!(waits, [lock_wait(2, Some(vec![1])), lock_wait(3, Some(vec![1]))]);
        assert_eq!(waits_of(&[lock(2, "/a", false)], &[2]), []);
    }

    #[test]
    fn session_ids_become_numbers() {
        assert_eq!(connection_id("16f6e0ac7e3b1a3a0000000000000001"), 0x16f6_e0ac_7e3b_1a3a);
    }
}
