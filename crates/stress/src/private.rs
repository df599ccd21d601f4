//! A private server, or SQLite in processes of its own, as something that faults may be done to.

use anchorite_drivers::open;
use anchorite_drivers::sqlite::SqliteApart;
use anchorite_servers::{Endpoint, Options, Paused, RunningServer, Silent, SmallDisk};

use crate::trouble::OwnServer;

/// A private server with what it needs to be started again.
pub struct PrivateServer<'s> {
    server: &'s mut RunningServer,
    arguments: Vec<String>,
    disk: Option<SmallDisk>,
}

impl<'s> PrivateServer<'s> {
    /// A server that was started with these further arguments.
    pub fn new(server: &'s mut RunningServer, arguments: Vec<String>) -> Self {
        Self { server, arguments, disk: None }
    }

    /// The disk that its data are on, if that is one of our own.
    pub fn with_disk(self, disk: Option<SmallDisk>) -> Self {
        Self { disk, ..self }
    }

    fn again(
        &mut self,
        start: impl FnOnce(&mut RunningServer, &Options<'_>) -> Result<(), anchorite_servers::Error>,
    ) -> Result<(), String> {
        let extra_args = self.arguments.clone();
        let options = Options { extra_args, ready: &ready, progress: &Silent };
        start(self.server, &options).map_err(|error| error.to_string())
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
        self.again(RunningServer::start_again)
    }

    fn pause(&mut self) -> Result<Box<dyn Send>, String> {
        let paused: Paused = self.server.pause().map_err(|error| error.to_string())?;
        Ok(Box::new(paused))
    }

    fn fill_disk(&mut self) -> Result<Box<dyn Send>, String> {
        fill(self.disk.as_ref())
    }

    fn revive(&mut self) -> Result<(), String> {
        self.again(RunningServer::revive)
    }

    fn take_image(&mut self) -> Result<(), String> {
        self.server.take_image().map_err(|error| error.to_string())
    }

    fn lose_power(&mut self) -> Result<(), String> {
        let server = &self.server;
        let lost = server.kill().and_then(|()| server.restore_image());
        lost.map_err(|error| error.to_string())
    }
}

fn fill(disk: Option<&SmallDisk>) -> Result<Box<dyn Send>, String> {
    let disk = disk.ok_or("it has no disk of its own")?;
    let full = disk.fill().map_err(|error| format!("cannot fill the disk: {error}"))?;
    Ok(Box::new(full))
}

/// An engine in this process, of which only the disk can be in trouble.
pub struct Embedded(pub SmallDisk);

impl OwnServer for Embedded {
    fn kill(&mut self) -> Result<(), String> {
        Err("it is in this process".to_owned())
    }

    fn start_again(&mut self) -> Result<(), String> {
        Err("it is in this process".to_owned())
    }

    fn pause(&mut self) -> Result<Box<dyn Send>, String> {
        Err("it is in this process".to_owned())
    }

    fn fill_disk(&mut self) -> Result<Box<dyn Send>, String> {
        fill(Some(&self.0))
    }
}

/// SQLite whose sessions are processes: together they are the server.
pub struct Processes<'t>(pub &'t SqliteApart, pub Option<SmallDisk>);

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

    fn fill_disk(&mut self) -> Result<Box<dyn Send>, String> {
        fill(self.1.as_ref())
    }
}
