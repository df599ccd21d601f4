//! `--history`: what happened in a case, in the history model of `anchorite check`.
//!
//! Idea: the case is run once more, on tables whose rows tell who wrote them. Blind spot: that is another run than the
//! one that is shown.

use std::path::Path;

use anchorite_check::input::Format;
use anchorite_check::output;
use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_judge::traced::Untold;
use anchorite_judge::traced::named::named;
use anchorite_model::Case;
use anchorite_stage::{FreshTables, RunOptions};

use super::task::RunTask;
use crate::exit::BadInput;
use crate::history_file::HistoryFile;
use crate::levels::chosen;
use crate::output::tell;

impl RunTask<'_> {
    /// Runs the only case with instrumented rows, and writes its history.
    pub fn write_history(
        &self,
        target: &dyn Target,
        cases: &[Case],
        path: &Path,
    ) -> anyhow::Result<()> {
        let levels = chosen(&self.arguments.level, target)?;
        let ([case], [level], [_]) = (cases, levels.as_slice(), self.arguments.on.as_slice())
        else {
            let message = "--history is for one case, on one target, at one level".to_owned();
            return Err(BadInput(message).into());
        };
        let options = RunOptions { level: *level, ..self.options.clone() };
        let mut runner = FreshTables { target, options };
        let claims = Claims::for_target(target.info());
        let named = match named(case, target.info().product, claims, &mut runner, *level) {
            Ok(named) => named,
            Err(Untold::Failed(error)) => return Err(error.into()),
            Err(untold) => return Err(BadInput(format!("{}: {untold}", case.name)).into()),
        };
        let mut file = HistoryFile::create(path)?;
        output::write(&named.history, Format::Anchorite, false, None, &mut file.out)?;
        file.finish()?;
        tell(&format!("history of {} written to {}", case.name, path.display()));
        Ok(())
    }
}
