//! A private server, or SQLite in processes of its own, as something that faults may be done to.

use anchorite_drivers::open;
use anchorite_drivers::sqlite::SqliteApart;
use anchorite_servers::{Endpoint, Options, Paused, RunningServer, Silent};

use crate::trouble::OwnServer;

/// A private server with what it needs to be started again.
pub struct PrivateServer<'s> {
    server: &'s mut RunningServer,
    arguments: Vec<String>,
}

impl<'s> PrivateServer<'s> {
    /// A server that was started with these further arguments.
    pub fn new(server: &'s mut RunningServer, arguments: Vec<String>) -> Self {
        Self { server, arguments }
    }
}

/// It is ready when it accepts a login: one that recovers from a crash greets before it does.
pub fn ready(endpoint: &Endpoint) -> Result<String, String> {
    anchorite_servers::handshake::greets(endpoint)?;
    let target = open(&endpoint.url()).map_err(|error| error.to_string())?;
    Ok(target.info().version.clone())
}

impl OwnServer for PrivateServer<'_> {
    fn kill(&mut self) -> Result<(), String> {
        self.server.kill().map_err(|error| error.to_string())
    }

    fn start_again(&mut self) -> Result<(), String> {
        let extra_args = self.arguments.clone();
        let options = Options { extra_args, ready: &ready, progress: &Silent };
        self.server.start_again(&options).map_err(|error| error.to_string())
    }

    fn pause(&mut self) -> Result<Box<dyn Send>, String> {
        let paused: Paused = self.server.pause().map_err(|error| error.to_string())?;
        Ok(Box::new(paused))
    }
}

/// SQLite whose sessions are processes: together they are the server.
pub struct Processes<'t>(pub &'t SqliteApart);

impl OwnServer for Processes<'_> {
    fn kill(&mut self) -> Result<(), String> {
        self.0.kill();
        Ok(())
    }

    /// Every session starts its own.
    fn start_again(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn pause(&mut self) -> Result<Box<dyn Send>, String> {
        Err("its sessions are processes of their own".to_owned())
    }
}
