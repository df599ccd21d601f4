//! `--on`: from a text to something that runs.

use anchorite_target::endpoint::Endpoint;
use anchorite_target::postgres::Postgres;
use anchorite_target::{OpenError, Target, open};

use crate::exit::BadInput;

/// The target when none is given.
pub const DEFAULT: &str = "sqlite";

/// A target that is open, with the private server behind it, if one was started.
pub struct OpenTarget {
    /// Where cases run.
    pub target: Box<dyn Target>,
    url: String,
}

impl OpenTarget {
    /// Opens what `--on` names: an embedded engine, a running server, or a private one.
    pub fn open(text: &str) -> anyhow::Result<Self> {
        Ok(Self { target: open(text).map_err(told)?, url: text.to_owned() })
    }

    /// The PostgreSQL server behind the target: only there can a spec run by isolationtester's rules.
    pub fn postgres(&self) -> anyhow::Result<Postgres> {
        let endpoint = Endpoint::parse(&self.url).ok();
        match endpoint.filter(|url| ["postgres", "postgresql"].contains(&url.scheme.as_str())) {
            Some(endpoint) => Ok(Postgres::connect(&endpoint)?),
            None => {
                let message = "--format isolationtester needs a postgres target".to_owned();
                Err(BadInput(message).into())
            }
        }
    }
}

fn told(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Target(error) => error.into(),
        error => BadInput(error.to_string()).into(),
    }
}
