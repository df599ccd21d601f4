//! The servers that speak the MySQL protocol: MySQL, MariaDB and TiDB.
//!
//! They share connecting, sessions, schemas and error numbers, which live here. What differs is a
//! `Dialect`, one file per product: its levels, how they are set and read back, and how it is asked who
//! waits for whom. The server's own version decides which product it is, whatever the URL says.

mod control;
mod errors;
mod marked;
mod metadata;
mod processlist;
mod schema;
mod session;
mod state_watch;

use std::sync::Arc;
use std::time::Duration;

use anchorite_model::{Level, Product, TargetInfo};

use crate::endpoint::Endpoint;
use crate::mariadb::Mariadb;
use crate::mark::Marked;
use crate::mysql::Mysql;
use crate::mysql_wire::{Connection, WireError};
use crate::socket::{Card, come_closer};
use crate::tidb::Tidb;
use crate::trace::SocketFile;
use crate::{ConnectionId, PurgeQuestion, Schema, Target, TargetError, Trace, Watcher};

pub(crate) use control::{first_text, rows, text, variable};
pub(crate) use errors::ErrorRules;
pub(crate) use processlist::waiting_states;
pub(crate) use state_watch::{StateWatch, Threads};

/// How long one statement of setting up, tidying up or watching may take.
pub(crate) const CONTROL_LIMIT: Duration = Duration::from_secs(10);

/// Connects to a `mysql://`, `mariadb://` or `tidb://` endpoint and finds out what answers there.
pub fn connect(endpoint: &Endpoint) -> Result<Box<dyn Target>, TargetError> {
    let mut endpoint = endpoint.clone();
    endpoint.fill_in();
    let mut connection = Connection::open(&endpoint)?;
    endpoint.tls.settle(connection.is_encrypted());
    let refused = |error: WireError| TargetError::Connect {
        endpoint: endpoint.to_string(),
        reason: error.to_string(),
    };
    let nearer = come_closer(
        &endpoint,
        endpoint.port.unwrap_or_default(),
        || introduce(&mut connection),
        |nearer| introduce(&mut Connection::open(nearer).ok()?),
    );
    let server = Server::recognise(&mut connection, &nearer).map_err(refused)?;
    let socket = SocketFile::of(&server.endpoint);
    Ok(Box::new(Family { server: Arc::new(server), socket }))
}

/// What the server says about itself.
fn introduce(connection: &mut Connection) -> Option<Card> {
    let question = "SELECT @@port, @@socket, @@hostname, @@datadir, @@version";
    let answer = connection.query(question, CONTROL_LIMIT).ok()?;
    let cells: Vec<String> = rows(&answer, 0).first()?.iter().filter_map(text).collect();
    let (port, socket) = (cells.first()?.parse().ok()?, cells.get(1)?);
    Some(Card { port, sockets: vec![socket.into()], identity: cells.join(" ") })
}

/// What one product does in its own way.
pub(crate) trait Dialect: Send + Sync {
    /// The levels that the server has, weakest first.
    fn levels(&self) -> &[Level];

    /// The statements that prepare a session.
    fn settings(&self, level: Option<Level>, lock_wait: Duration) -> Vec<String>;

    /// The level that a session runs at.
    fn read_back(&self, connection: &mut Connection) -> Result<ReadBack, WireError>;

    /// What the server calls this connection.
    fn connection_id(&self, connection: &mut Connection) -> Result<ConnectionId, WireError> {
        Ok(connection.greeted_id().into())
    }

    /// The statement that ends another connection, or only what it is executing.
    fn kill(&self, id: ConnectionId, only_statement: bool) -> String {
        format!("KILL {}{id}", if only_statement { "QUERY " } else { "" })
    }

    /// The statement after which a connection at repeatable read keeps the server from interfering, until its
    /// transaction ends.
    fn stillness(&self) -> Option<&str> {
        None
    }

    /// How to learn when deleted rows are not felt any more; `None` where they never are.
    fn purge(&self) -> Option<PurgeQuestion> {
        None
    }

    /// A connection to ask who waits for whom; the error says why the server cannot be asked.
    fn watcher(&self, endpoint: &Endpoint) -> Result<Box<dyn Watcher>, String>;
}

/// A level as the server tells it.
pub(crate) struct ReadBack {
    /// The levels that the session really runs at: more than one where they coincide.
    pub levels: Vec<Level>,
    /// The server's words, with what else decides about the isolation.
    pub words: String,
}

/// A recognised server.
pub(crate) struct Server {
    pub endpoint: Endpoint,
    pub info: TargetInfo,
    pub errors: ErrorRules,
    pub dialect: Box<dyn Dialect>,
}

impl Server {
    fn recognise(connection: &mut Connection, endpoint: &Endpoint) -> Result<Self, WireError> {
        let version = variable(connection, "version")?.unwrap_or_default();
        let comment = variable(connection, "version_comment")?.unwrap_or_default();
        let product = recognise_product(&version, &comment);
        let timeout = variable(connection, "innodb_rollback_on_timeout")?;
        let mut variant = String::new();
        let dialect: Box<dyn Dialect> = match product {
            Product::Mariadb => Box::new(Mariadb::recognise(connection)?),
            Product::Tidb => {
                let tidb = Tidb::recognise(connection)?;
                tidb.store().clone_into(&mut variant);
                Box::new(tidb)
            }
            _ => Box::new(Mysql::recognise(connection, &version)?),
        };
        Ok(Self {
            endpoint: endpoint.clone(),
            info: TargetInfo { product, version, variant },
            errors: ErrorRules {
                product,
                rollback_on_timeout: timeout.is_some_and(|value| value != "0" && value != "OFF"),
            },
            dialect,
        })
    }

    /// A failed preparation of this server.
    pub(crate) fn cannot_prepare(&self, reason: impl ToString) -> TargetError {
        TargetError::Prepare { target: self.info.to_string(), reason: reason.to_string() }
    }
}

/// The server could not be asked who waits for whom.
pub(crate) fn cannot_ask(endpoint: &str, error: &WireError) -> TargetError {
    TargetError::Prepare {
        target: endpoint.to_owned(),
        reason: format!("the server could not be asked who waits for whom: {error}"),
    }
}

fn recognise_product(version: &str, comment: &str) -> Product {
    let text = format!("{version} {comment}").to_lowercase();
    if text.contains("tidb") {
        Product::Tidb
    } else if text.contains("mariadb") {
        Product::Mariadb
    } else {
        Product::Mysql
    }
}

/// The target of any product of the family.
struct Family {
    server: Arc<Server>,
    socket: Option<SocketFile>,
}

impl Target for Family {
    fn info(&self) -> &TargetInfo {
        &self.server.info
    }

    fn levels(&self) -> &[Level] {
        self.server.dialect.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        schema::create(&self.server)
    }

    fn marked(&self) -> Result<Vec<Marked>, TargetError> {
        marked::list(&self.server)
    }

    fn remove_marked(&self, marked: &Marked) -> Result<(), TargetError> {
        marked::remove(&self.server, &marked.name)
    }

    fn uptime(&self) -> Option<Duration> {
        let mut connection = Connection::open(&self.server.endpoint).ok()?;
        let answer = connection.query("SHOW GLOBAL STATUS LIKE 'Uptime'", CONTROL_LIMIT).ok()?;
        let seconds = text(rows(&answer, 0).first()?.get(1)?)?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    fn trace(&self) -> Option<Trace> {
        self.socket.as_ref()?.trace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_what_it_is() {
        for (version, comment, product) in [
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", Product::Mariadb),
            ("10.6.14-log", "MariaDB Server", Product::Mariadb),
            ("9.7.4", "(Debian)", Product::Mysql),
            ("5.6.24", "MySQL Community Server (GPL)", Product::Mysql),
            ("8.0.11-TiDB-v8.5.3", "TiDB Server (Apache License 2.0)", Product::Tidb),
            ("5.7.25-TiDB-v4.0.0-beta.2", "MySQL Community Server", Product::Tidb),
        ] {
            assert_eq!(recognise_product(version, comment), product, "{version}");
        }
    }
}
