//! `--on`: from a text to something that runs.

use anchorite_model::Product;
use anchorite_servers::{Options, Request, RunningServer, start};
use anchorite_target::endpoint::Endpoint;
use anchorite_target::postgres::Postgres;
use anchorite_target::{OpenError, Target, open};

use crate::exit::BadInput;
use crate::leftovers;
use crate::server::{self, Spinner};

/// The target when none is given.
pub const DEFAULT: &str = "sqlite";

/// A target that is open, with the private server behind it, if one was started.
pub struct OpenTarget {
    /// Where cases run.
    pub target: Box<dyn Target>,
    /// Its address, with the password, if there is one.
    pub url: String,
    /// Stops when this is dropped, after the target.
    pub server: Option<RunningServer>,
}

impl OpenTarget {
    /// Opens what `--on` names: an embedded engine, a running server, or a private one.
    pub fn open(text: &str) -> anyhow::Result<Self> {
        if let Some(target) = open_running(text)? {
            leftovers::sweep_ended(target.as_ref());
            return Ok(Self { target, url: text.to_owned(), server: None });
        }
        let request: Request = text.parse()?;
        let progress = Spinner::new();
        let options =
            Options { extra_args: Vec::new(), ready: &server::ready, progress: &progress };
        let server = start(&request, &options)?;
        progress.finish();
        let url = server.url();
        Ok(Self { target: open(&url).map_err(told)?, url, server: Some(server) })
    }

    /// The PostgreSQL server behind the target: only there can a spec run by isolationtester's rules.
    pub fn postgres(&self) -> anyhow::Result<Postgres> {
        let endpoint = Endpoint::parse(&self.url).ok();
        match endpoint.filter(|_| self.target.info().product == Product::Postgres) {
            Some(endpoint) => Ok(Postgres::connect(&endpoint)?),
            None => {
                let message = "--format isolationtester needs a postgres target".to_owned();
                Err(BadInput(message).into())
            }
        }
    }
}

/// An embedded engine or a running server; `None` if the text names a private one.
pub fn open_running(text: &str) -> anyhow::Result<Option<Box<dyn Target>>> {
    let is_running = text.contains("://") || text.starts_with(Product::Sqlite.name());
    is_running.then(|| open(text).map_err(told)).transpose()
}

fn told(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Target(error) => error.into(),
        error => BadInput(error.to_string()).into(),
    }
}
