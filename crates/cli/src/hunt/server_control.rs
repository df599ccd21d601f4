//! Watches and restarts the server behind a target while a hunt runs on it.

use std::sync::Arc;
use std::time::Duration;

use anchorite_drivers::{Address, Target};
use anchorite_hunt::ServerControl;
use anchorite_hunt::ending::End;
use anchorite_servers::{Ended, Options, Request, RunningServer, Silent, start};

use crate::login::Login;
use crate::private::ready;
use crate::targets::OpenTarget;

/// A target by its address, with the private server behind it, if one was started.
pub struct HuntedServer {
    address: Address,
    server: Option<(Request, RunningServer)>,
}

impl HuntedServer {
    /// Opens what `--on` names.
    pub fn open(name: &str, login: &Login) -> anyhow::Result<(Self, Arc<dyn Target>)> {
        let OpenTarget { target, address, server } = OpenTarget::open(name, login)?;
        let server = match server {
            Some(server) => Some((name.parse()?, server)),
            None => None,
        };
        Ok((Self { address, server }, Arc::from(target)))
    }
}

impl ServerControl for HuntedServer {
    fn is_ours(&self) -> bool {
        self.server.is_some()
    }

    fn ended_within(&self, limit: Duration) -> Option<End> {
        let (_, server) = self.server.as_ref()?;
        server.ended_within(limit).then(|| match server.ended() {
            Some(Ended::Code(code)) => End::Code(code),
            Some(Ended::Signal(signal)) => End::Signal(signal),
            None => End::Unknown,
        })
    }

    fn log_tail(&self) -> Option<String> {
        self.server.as_ref().map(|(_, server)| server.log_tail())
    }

    fn open(&self) -> Result<Arc<dyn Target>, String> {
        self.address.open().map(Arc::from).map_err(|error| error.to_string())
    }

    fn restart(&mut self) -> Result<Arc<dyn Target>, String> {
        let Some((request, server)) = &mut self.server else {
            return Err("it is not ours".to_owned());
        };
        let options = Options { extra_args: Vec::new(), ready: &ready, progress: &Silent };
        *server = start(request, &options).map_err(|error| error.to_string())?;
        self.address = Address::parse(&server.url()).map_err(|error| error.to_string())?;
        self.open()
    }
}
