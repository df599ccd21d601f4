//! CockroachDB, on the PostgreSQL protocol.
//!
//! Levels: the server accepts every level and silently runs serializable where it has no other, so the level is read
//! back *inside* a transaction, and only levels that are read back as requested are offered.
//!
//! * `watcher`: who waits, from two sources. `turns`: one case at a time, because one of them counts all waits.
//!
//! Blind spot: a retry error (40001) may occur at any statement; the server does not say which of them were deadlocks.

mod turns;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use anchorite_model::{DbError, Level, Product, TargetInfo};

use self::turns::Turns;
use self::watcher::CockroachWatcher;

use crate::away::reach;
use crate::endpoint::Endpoint;
use crate::mark::{Mark, Marked};
use crate::pg_common::{dial, dial_first, opened, quoted, values};
use crate::pg_marked;
use crate::pg_session::PgSession;
use crate::postgres::{LEVEL, read_back};
use crate::{
    ConnectionId, OpenedSession, Schema, Session, SessionOptions, Target, TargetError, Turn,
    Upkeep, Watcher, execute, heed, settings,
};

/// Longest time for a statement of our own; dropping a database is slow here.
const HOUSEKEEPING_LIMIT: Duration = Duration::from_secs(60);

/// The driver's name in descriptors, and the product that it is written for.
const COCKROACH: &str = "cockroach";

/// A CockroachDB node.
#[derive(Debug)]
pub struct Cockroach {
    endpoint: Endpoint,
    info: TargetInfo,
    levels: Vec<Level>,
    has_cluster_locks: bool,
    turns: Arc<Turns>,
}

impl Cockroach {
    /// Connects once to learn version and levels. Missing parts of the URL get the usual values.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, TargetError> {
        let (endpoint, connection) = dial_first(endpoint)?;
        let mut session = PgSession::new(connection);
        let refused = |error: DbError| TargetError::Connect {
            endpoint: endpoint.to_string(),
            reason: error.message,
        };
        let version = read_back(&mut session, "SELECT version()").map_err(refused)?;
        let version = version.split_whitespace().find(|word| word.starts_with('v'));
        let version = version.unwrap_or("unknown version").to_owned();
        let product = endpoint.product().filter(|product| product.descriptor().driver == COCKROACH);
        let product = product.unwrap_or_else(|| Product::named(COCKROACH));
        let levels = levels_of(&mut session, product);
        let has_cluster_locks =
            read_back(&mut session, "SELECT count(*) FROM crdb_internal.cluster_locks").is_ok();
        let info = TargetInfo { product, version, variant: String::new() };
        let turns = Turns::on(&endpoint);
        Ok(Self { endpoint, info, levels, has_cluster_locks, turns })
    }
}

/// Makes a throw-away server report waits sooner: a waiter announces itself after these delays instead of 10 and 100
/// ms. These are cluster settings, so never on an external server.
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
fn levels_of(session: &mut PgSession, product: Product) -> Vec<Level> {
    let runs = |level: &Level| {
        set_and_read_back(session, product, *level).is_ok_and(|told| told.parse() == Ok(*level))
    };
    product.descriptor().levels.level.iter().map(|level| level.name).filter(runs).collect()
}

fn set_and_read_back(
    session: &mut dyn Session,
    product: Product,
    level: Level,
) -> Result<String, DbError> {
    for sql in product.descriptor().levels.set(level) {
        execute(session, sql, HOUSEKEEPING_LIMIT)?;
    }
    level_told(session, product)
}

/// Outside a transaction the variable may show what was requested, not what will run.
fn level_told(session: &mut dyn Session, product: Product) -> Result<String, DbError> {
    let levels = &product.descriptor().levels;
    let question = levels.read_back.first().map_or(LEVEL, String::as_str);
    if !levels.read_back_inside {
        return read_back(session, question);
    }
    execute(session, "BEGIN", HOUSEKEEPING_LIMIT)?;
    let told = read_back(session, question);
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

    fn turn(&self) -> Option<Box<dyn Turn>> {
        Some(Box::new(self.turns.ask()))
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        // A connection that is abandoned in the middle of this would leave a schema behind.
        let _unheeded = heed(None);
        let mut admin = PgSession::new(dial(&self.endpoint, &[])?);
        let name = Mark::next().to_string();
        let create = format!("CREATE DATABASE {name}");
        // Before it exists: what was created in spite of an error is dropped with this.
        let schema = CockroachSchema {
            admin: self.endpoint.clone(),
            endpoint: Endpoint { database: name, ..self.endpoint.clone() },
            info: self.info.clone(),
            levels: self.levels.clone(),
            has_cluster_locks: self.has_cluster_locks,
        };
        let created = execute(&mut admin, &create, HOUSEKEEPING_LIMIT);
        created.map_err(|error| {
            TargetError::cannot_create(&self.info, "CREATE DATABASE", error.message)
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
        let product = self.info.product;
        let mut session =
            PgSession::of(dial(&self.endpoint, &[("application_name", &application)])?, product);
        let id = read_back(&mut session, "SHOW session_id").map_err(|e| self.cannot_prepare(e))?;
        session.identify(connection_id(&id));
        let told = match options.level {
            Some(level) => set_and_read_back(&mut session, product, level),
            None => level_told(&mut session, product),
        };
        let level_read_back = told.map_err(|error| self.cannot_prepare(error))?;
        if let Some(asked) = options.level
            && level_read_back.parse() != Ok(asked)
            // Known not to be available, as opposed to a level that was available when we connected.
            && !self.levels.contains(&asked)
        {
            return Err(TargetError::unsupported(&self.info, asked, &self.levels));
        }
        opened(session, &self.info, options.level, level_read_back)
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        let session = PgSession::new(dial(&self.admin, &[("application_name", "anchorite")])?);
        let database = self.has_cluster_locks.then(|| self.endpoint.database.clone());
        let mut watcher = CockroachWatcher::new(session, self.info.to_string(), database);
        watcher.waits(&[], &[])?;
        Ok(Box::new(watcher))
    }

    fn upkeep(&self) -> Upkeep {
        Upkeep::default()
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        let sql = "SELECT table_name FROM information_schema.tables \
                   WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name";
        values(session, sql, limit)
    }

    fn settings(&self, session: &mut dyn Session, limit: Duration) -> Vec<(String, String)> {
        settings::read(self.info.product, session, limit)
    }

    fn quote(&self, name: &str) -> String {
        quoted(name)
    }
}

impl Drop for CockroachSchema {
    fn drop(&mut self) {
        let _unheeded = heed(None);
        if let Some(connection) = reach(&self.admin, |endpoint| dial(endpoint, &[])) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_become_numbers() {
        assert_eq!(connection_id("16f6e0ac7e3b1a3a0000000000000001"), 0x16f6_e0ac_7e3b_1a3a);
    }
}
