//! `--on`: from a text to something that runs.

use anchorite_target::endpoint::Endpoint;
use anchorite_target::postgres::Postgres;
use anchorite_target::{Target, TargetError};

use crate::exit::BadInput;

/// Opens a target.
pub fn open(text: &str) -> anyhow::Result<Opened> {
    let endpoint = Endpoint::parse(text)?;
    match endpoint.scheme.as_str() {
        "postgres" | "postgresql" => Ok(Opened::Postgres(Postgres::connect(&endpoint)?)),
        other => Err(BadInput(format!("unknown target '{other}'")).into()),
    }
}

/// A target that is open.
pub enum Opened {
    Postgres(Postgres),
}

impl Opened {
    pub fn target(&self) -> &dyn Target {
        match self {
            Self::Postgres(target) => target,
        }
    }
}

#[allow(unused)]
type Unused = TargetError;
