//! `--on`: from a text to an open target.

use anchorite_drivers::postgres::Postgres;
use anchorite_drivers::{Address, Target};
use anchorite_model::Product;
use anchorite_servers::{Options, Request, RunningServer, start};

use crate::exit::BadInput;
use crate::leftovers;
use crate::login::{Login, told};
use crate::private::{Spinner, ready};

/// The target when none is given.
pub const DEFAULT: &str = "sqlite";

/// A target that is open, with the private server behind it, if one was started.
pub struct OpenTarget {
    /// Where cases run.
    pub target: Box<dyn Target>,
    /// Where it is, with the password, if there is one.
    pub address: Address,
    /// Stops when this is dropped, after the target.
    pub server: Option<RunningServer>,
}

impl OpenTarget {
    /// Opens what `--on` names: an embedded engine, a running server, or a private one.
    pub fn open(text: &str, login: &Login) -> anyhow::Result<Self> {
        Self::open_with(text, login, Vec::new())
    }

    /// The same; a private server gets these further arguments.
    pub fn open_with(text: &str, login: &Login, extra_args: Vec<String>) -> anyhow::Result<Self> {
        if let Some((target, address)) = open_running(text, login)? {
            leftovers::sweep_ended(target.as_ref());
            return Ok(Self { target, address, server: None });
        }
        let request: Request = text.parse()?;
        let progress = Spinner::new();
        let options = Options { extra_args, ready: &ready, progress: &progress };
        let server = start(&request, &options)?;
        progress.finish();
        let address = Address::parse(&server.url()).map_err(told)?;
        Ok(Self { target: address.open().map_err(told)?, address, server: Some(server) })
    }

    /// The PostgreSQL server behind the target: only there can a spec run by isolationtester's rules.
    pub fn postgres(&self) -> anyhow::Result<Postgres> {
        match &self.address {
            Address::Server(endpoint)
                if self.target.info().product.descriptor().driver == "postgres" =>
            {
                Ok(Postgres::connect(endpoint)?)
            }
            _ => {
                let message = "--format isolationtester needs a postgres target".to_owned();
                Err(BadInput(message).into())
            }
        }
    }
}

/// An embedded engine or a running server, with its address; `None` if the text names a private one.
pub fn open_running(
    text: &str,
    login: &Login,
) -> anyhow::Result<Option<(Box<dyn Target>, Address)>> {
    let mut products = Product::all().into_iter();
    let is_embedded = products
        .any(|product| product.descriptor().is_embedded() && text.starts_with(product.name()));
    let is_running = text.contains("://") || is_embedded;
    is_running.then(|| login.open(text)).transpose()
}
