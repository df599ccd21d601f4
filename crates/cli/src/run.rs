//! `anchorite run`: runs cases and specs and shows what happened.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anchorite_model::spec::Spec;
use anchorite_stage::RunOptions;
use anchorite_stage::isolation::run_spec;
use anchorite_target::pg_isolation::IsolationDatabase;
use anyhow::Context;
use clap::Args;

use crate::exit::Exit;
use crate::targets::{self, Opened};

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// .case or .spec files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where to run
    #[arg(long = "on", value_name = "TARGET")]
    on: Vec<String>,
}

/// Runs the files.
#[expect(clippy::print_stdout)]
pub fn run(arguments: &RunArgs, interrupt: &Arc<AtomicBool>) -> anyhow::Result<ExitCode> {
    let Opened::Postgres(server) = targets::open(&arguments.on[0])?;
    let options = RunOptions { interrupt: Arc::clone(interrupt), ..RunOptions::default() };
    let database = IsolationDatabase::create(&server)?;
    for file in &arguments.files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).context(name.clone())?;
        let spec = Spec::parse(&name, &text)?;
        let transcript = run_spec(&database, &spec, &options)?;
        print!("{}", transcript.text);
    }
    Ok(Exit::Fine.into())
}
