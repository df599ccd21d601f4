//! `hunt --case N`: one case of a seed, run and judged like a file, and shown in full.
//!
//! Idea: findings, suspects and false alarms are identified by seed and number. To look at one of them, you need its
//! text, which is in no file, and what happens when it runs. Assumption: the recipe is the one that a new hunt with the
//! same weights file would have; then the case is the same.

use std::process::ExitCode;
use std::sync::Arc;

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_generate::case;
use anchorite_hunt::Examiner;
use anchorite_model::Pair;
use anchorite_report::RunResult;
use anchorite_stage::{Asking, FreshTables, RunOptions};

use super::arguments::{Format, HuntArgs};
use super::recipe::{self, WeightsFile};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::output::{print, text_options};
use crate::second::Second;
use crate::targets::{self, OpenTarget};
use crate::{oracles, run};

/// Runs the case of this number on every target, at every level.
pub fn run(arguments: &HuntArgs, seed: u64, number: u64) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    let second = Second::open(arguments.second.against.as_deref(), &login)?;
    let weights = arguments.weights.as_deref().map(WeightsFile::read).transpose()?;
    let default = [targets::DEFAULT.to_owned()];
    let on = if arguments.on.is_empty() { &default[..] } else { &arguments.on };
    let mut results = Vec::new();
    for name in on {
        let open = OpenTarget::open(name, &login)?;
        let target = open.target.as_ref();
        second.as_ref().map(|second| second.must_be_like(target)).transpose()?;
        let (recipe, _) = recipe::make(target, weights.as_ref(), &interrupt)?;
        let case = case(&recipe, seed, number);
        if arguments.format == Format::Text {
            let head = format!("-- case {number} of seed {seed} for {}\n", target.info());
            print(&format!("{head}\n{}\n", case.to_text()));
        }
        let options = options(arguments, &interrupt);
        let judged =
            interrupt.attend(|| run_at_levels(arguments, target, second.as_ref(), &case, &options));
        results.extend(judged?);
    }
    print(&match arguments.format {
        Format::Text => anchorite_report::text(&results, &text_options()),
        Format::Json => anchorite_report::json(&results, env!("CARGO_PKG_VERSION")),
        Format::Junit => anchorite_report::junit(&results),
    });
    Ok(run::exit_for(&results).into())
}

fn options(arguments: &HuntArgs, interrupt: &Interrupt) -> RunOptions {
    RunOptions {
        asking: arguments.silence.map_or(Asking::Server, Asking::Silence),
        interrupt: Arc::clone(&interrupt.flag),
        ..RunOptions::default()
    }
}

fn run_at_levels(
    arguments: &HuntArgs,
    target: &dyn Target,
    second: Option<&Second>,
    case: &anchorite_model::Case,
    options: &RunOptions,
) -> anyhow::Result<Vec<RunResult>> {
    let levels = match arguments.level.is_empty() {
        true => chosen(&[LevelChoice::All], target)?,
        false => chosen(&arguments.level, target)?,
    };
    let oracles = oracles::chosen(&arguments.oracle, second.is_some());
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: &oracles, strict: arguments.strict };
    let mut results = Vec::new();
    for level in levels {
        let options = RunOptions { level, ..options.clone() };
        let mut elsewhere = second.map(|second| second.fresh(options.clone()));
        let mut here = FreshTables { target, options };
        let mut pair = Pair::new(&mut here, elsewhere.as_mut());
        let mut tried = examiner.examine(&mut pair, case, level)?;
        examiner.diagnose(&mut pair, &mut tried)?;
        results.push(run::judged(tried, &examiner));
    }
    Ok(results)
}
