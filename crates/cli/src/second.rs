//! `--against`: a second target that runs are compared with.

use std::sync::Arc;

use anchorite_drivers::Target;
use anchorite_drivers::endpoint::without_password;
use anchorite_hunt::SecondTarget;
use anchorite_servers::RunningServer;
use anchorite_stage::{FreshTables, RunOptions};
use clap::Args;

use crate::exit::BadInput;
use crate::login::Login;
use crate::targets::OpenTarget;

/// The argument.
#[derive(Debug, Args)]
pub struct SecondArgs {
    /// Also run each case on this second target and compare: another version of the same product, or the same version
    /// with other settings (PRODUCT@VERSION, a URL, sqlite:wal)
    #[arg(long, value_name = "TARGET")]
    pub against: Option<String>,
}

/// An open second target.
pub struct Second {
    /// As the command line named it, without its password.
    pub on: String,
    /// Where cases also run.
    pub target: Arc<dyn Target>,
    /// Stops when this is dropped.
    _server: Option<RunningServer>,
}

impl Second {
    /// Opens what was named.
    pub fn open(named: Option<&str>, login: &Login) -> anyhow::Result<Option<Self>> {
        let Some(name) = named else { return Ok(None) };
        let OpenTarget { target, server, .. } = OpenTarget::open(name, login)?;
        Ok(Some(Self { on: without_password(name), target: Arc::from(target), _server: server }))
    }

    /// The same for the threads of a hunt.
    pub fn shared(&self) -> SecondTarget {
        SecondTarget { on: self.on.clone(), target: Arc::clone(&self.target) }
    }

    /// Makes runners there that create everything anew for each case.
    pub fn fresh(&self, options: RunOptions) -> FreshTables<'_> {
        FreshTables { target: self.target.as_ref(), options }
    }

    /// Refuses to compare different products: their answers differ for many reasons.
    pub fn must_be_like(&self, target: &dyn Target) -> Result<(), BadInput> {
        let (first, second) = (target.info().product, self.target.info().product);
        if first == second {
            return Ok(());
        }
        Err(BadInput(format!(
            "--against {}: expected {first} in another version or with other settings, found {second}",
            self.on
        )))
    }
}
