//! How to reach a server.

use std::path::PathBuf;

use anchorite_model::Product;

/// How to reach a server. There is no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The product.
    pub product: Product,
    /// The address: always loopback.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The account with all rights.
    pub user: String,
    /// The Unix socket, if the server has one that we can reach.
    pub socket: Option<PathBuf>,
    /// The server's log. For TiDB the debug log, whose "blocked by" lines tell who waits for whom; it is
    /// rotated by renaming.
    pub log: Option<PathBuf>,
}

impl Endpoint {
    /// The address as a target.
    pub fn url(&self) -> String {
        let (name, engine) = match self.product.name().split_once(':') {
            Some((name, engine)) => (name, format!("?engine={engine}")),
            None => (self.product.name(), String::new()),
        };
        let scheme = self.product.descriptor().schemes.first().map_or(name, String::as_str);
        format!("{scheme}://{}@{}:{}{engine}", self.user, self.host, self.port)
    }
}
