//! Specs by isolationtester's own rules, printed as they finish.

use std::process::ExitCode;

use anchorite_drivers::pg_isolation::IsolationDatabase;
use anchorite_model::spec::Spec;
use anchorite_stage::isolation::run_spec;

use super::task::RunTask;
use crate::exit::{BadInput, Exit};
use crate::files::Script;
use crate::output::{self, tell};
use crate::targets::OpenTarget;

impl RunTask<'_> {
    /// Runs the specs on every target.
    pub fn run_specs(&self) -> anyhow::Result<ExitCode> {
        let mut specs = Vec::new();
        for script in self.scripts {
            let Script::Spec(spec) = script else {
                let message = "--format isolationtester is for .spec files".to_owned();
                return Err(BadInput(message).into());
            };
            specs.push(spec);
        }
        let mut exit = Exit::Fine;
        for on in &self.arguments.on {
            let server = OpenTarget::open(on, &self.login)?;
            let complete = self.interrupt.attend(|| self.run_specs_on(&server, &specs))?;
            if !complete {
                exit = Exit::Target;
            }
        }
        Ok(exit.into())
    }

    fn run_specs_on(&self, server: &OpenTarget, specs: &[&Spec]) -> anyhow::Result<bool> {
        let database = IsolationDatabase::create(&server.postgres()?)?;
        if let Some(remark) = &database.remark {
            tell(remark);
        }
        let mut complete = true;
        for spec in specs {
            for _ in 0..self.arguments.repeat {
                let transcript = run_spec(&database, spec, &self.options)?;
                output::print(&transcript.text);
                complete &= transcript.failure.is_none();
            }
        }
        Ok(complete)
    }
}
