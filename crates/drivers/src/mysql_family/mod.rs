//! The servers that speak the MySQL protocol: MySQL, MariaDB and TiDB.
//!
//! They share connecting, sessions and schemas, which live here. What differs is in their descriptors: levels, how they
//! are set and read back (`server`), what errors mean (`errors`), and which of the probes tells who waits for whom
//! (`probes`). The server's own version decides which product it is, whatever the URL says.

mod errors;
mod marked;
mod probes;
mod query_watcher;
mod schema;
mod server;
mod session;

use std::sync::Arc;
use std::time::Duration;

use anchorite_model::{Level, Product, TargetInfo};

use crate::endpoint::Endpoint;
use crate::mark::Marked;
use crate::mysql_control::{CONTROL_LIMIT, rows, text};
use crate::mysql_wire::{Connection, WireError};
use crate::socket::{Identity, come_closer};
use crate::trace::SocketFile;
use crate::{Schema, Target, TargetError, Trace};

pub(crate) use errors::ErrorRules;
pub(crate) use server::Server;

/// Connects to a `mysql://`, `mariadb://` or `tidb://` endpoint and finds out what answers there.
pub fn connect(endpoint: &Endpoint) -> Result<Box<dyn Target>, TargetError> {
    let mut endpoint = endpoint.clone();
    endpoint.fill_in();
    let named = endpoint.product().unwrap_or_else(|| Product::named("mysql"));
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
    let server = Server::recognise(&mut connection, &nearer, named).map_err(refused)?;
    let socket = SocketFile::of(&server.endpoint);
    Ok(Box::new(Family { server: Arc::new(server), socket }))
}

/// What the server says about itself.
fn introduce(connection: &mut Connection) -> Option<Identity> {
    let question = "SELECT @@port, @@socket, @@hostname, @@datadir, @@version";
    let answer = connection.query(question, CONTROL_LIMIT).ok()?;
    let cells: Vec<String> = rows(&answer, 0).first()?.iter().filter_map(text).collect();
    let (port, socket) = (cells.first()?.parse().ok()?, cells.get(1)?);
    Some(Identity { port, sockets: vec![socket.into()], identity: cells.join(" ") })
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
        &self.server.levels
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
