//! "Is it still the same finding?", asked of many cases while one is made smaller, and of what is left.
//!
//! The same oracle must find the same anomaly, for a cause that the original had, without more errors that have nothing
//! to do with transactions.

use std::time::{Duration, Instant};

use anchorite_judge::level_of;
use anchorite_model::{Case, Confirmed, Contrast, ErrorClass, Level, Outcome, Run, Signature};
use anchorite_reduce::{Budget, Confirmation, Reduced, Repetitions, contrast, contrasts, reduce};
use anchorite_stage::{Runner, StageError};

use crate::naming::causes_of;
use crate::{Examined, Examiner};

/// How much to do for one suspect.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How many times it must show again, before the reduction and after it.
    pub confirmations: u32,
    /// The most questions that the reduction may ask.
    pub questions: usize,
    /// The longest time that the reduction may take.
    pub time: Duration,
    /// The most contrasts that are reported.
    pub contrasts: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { confirmations: 3, questions: 2_000, time: Duration::from_secs(60), contrasts: 8 }
    }
}

/// Runs a case as many times as requested. If no signature is given, the first one shown is used. Also returns the last
/// run that showed it.
pub(crate) fn confirm(
    examiner: &Examiner<'_>,
    fresh: &mut dyn Runner,
    case: &Case,
    level: Option<Level>,
    wanted: &mut Option<Signature>,
    effort: &Effort,
) -> Result<(Confirmation, Option<Examined>), StageError> {
    let mut repetitions = Repetitions::new(effort.confirmations);
    let mut last = None;
    while repetitions.wants_more() {
        let tried = examiner.examine(fresh, case, level)?;
        if wanted.is_none() {
            *wanted = tried.signatures.first().cloned();
        }
        if let Some(wanted) = wanted
            && let Some(renamed) = said_by_another(&tried, wanted)
        {
            *wanted = renamed;
        }
        let shown = wanted.as_ref().is_some_and(|wanted| shows(&tried, wanted));
        repetitions.note(shown);
        if shown {
            last = Some(tried);
        }
    }
    Ok((repetitions.verdict(), last))
}

/// Whether one of the oracles says this.
pub(crate) fn shows(tried: &Examined, wanted: &Signature) -> bool {
    tried.signatures.contains(wanted)
}

/// The same anomaly by the oracle that is in charge of it now: in earlier releases one oracle said all of them.
fn said_by_another(tried: &Examined, wanted: &Signature) -> Option<Signature> {
    if shows(tried, wanted) {
        return None;
    }
    let is_same =
        |said: &&Signature| said.anomaly == wanted.anomaly && said.exception == wanted.exception;
    tried.signatures.iter().find(is_same).cloned()
}

/// How many statements failed for reasons unrelated to transactions.
pub(crate) fn nonsense(run: &Run) -> usize {
    let failures = run.events.iter().filter(
        |event| matches!(&event.outcome, Outcome::Error(error) if error.class == ErrorClass::Other),
    );
    failures.count()
}

/// "Is it still the same finding?"
pub(crate) struct Question<'a> {
    pub examiner: &'a Examiner<'a>,
    /// The same with the one oracle whose finding it is.
    pub by_it: Examiner<'a>,
    pub level: Option<Level>,
    pub wanted: Signature,
    /// The kinds of its causes; empty if they are not known.
    pub causes: Vec<String>,
    /// As many meaningless errors as the original has.
    pub nonsense: usize,
}

impl Question<'_> {
    fn ask(&self, runner: &mut dyn Runner, case: &Case) -> Result<bool, StageError> {
        match self.by_it.examine_if_possible(runner, case, self.level)? {
            Some(tried) if nonsense(&tried.run) > self.nonsense => Ok(false),
            Some(tried) if !shows(&tried, &self.wanted) => Ok(false),
            Some(tried) => self.has_same_cause(runner, tried),
            // A setup that does not work means no.
            None => Ok(false),
        }
    }

    /// Whether its cause is one that the original had.
    fn has_same_cause(
        &self,
        runner: &mut dyn Runner,
        mut tried: Examined,
    ) -> Result<bool, StageError> {
        if self.causes.is_empty() {
            return Ok(true);
        }
        self.by_it.diagnose(runner, &mut tried)?;
        let cause = causes_of(&tried, &self.wanted).first();
        Ok(cause.is_none_or(|cause| self.causes.contains(&cause.kind())))
    }

    pub(crate) fn reduce(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
        run: &Run,
        effort: &Effort,
        deadline: Instant,
    ) -> Result<Reduced, StageError> {
        let time_left = &mut || Instant::now() < deadline;
        let budget = Budget { questions: effort.questions, time_left };
        reduce(case, run.target.product, budget, &mut |case| self.ask(runner, case))
    }

    /// The last run, if all of them showed it.
    pub(crate) fn confirm(
        &self,
        fresh: &mut dyn Runner,
        case: &Case,
        effort: &Effort,
    ) -> Result<(Confirmed, Option<Examined>), StageError> {
        let mut wanted = Some(self.wanted.clone());
        let confirmation = confirm(self.examiner, fresh, case, self.level, &mut wanted, effort)?;
        Ok(match confirmation {
            (Confirmation::Confirmed(confirmed), tried) => (confirmed, tried),
            (Confirmation::Flaky(confirmed), _) => (confirmed, None),
            (Confirmation::NotShownAgain { runs }, _) => (Confirmed { shown: 0, runs }, None),
        })
    }

    /// The nearest variants that do not show it.
    pub(crate) fn contrast(
        &self,
        fresh: &mut dyn Runner,
        run: &Run,
        most: usize,
    ) -> Result<Vec<Contrast>, StageError> {
        let target = &run.target;
        let offered =
            self.examiner.claims.levels.iter().filter(|level| level.is_offered_by(target));
        let levels: Vec<Level> =
            offered.filter(|level| level.same_as.is_none()).map(|level| level.level).collect();
        let level = self.level.or_else(|| level_of(run));
        let mut told = Vec::new();
        for variant in contrasts(&run.case, target.product, &levels, level) {
            if told.len() >= most {
                break;
            }
            let level = variant.level.or(self.level);
            let Some(tried) = self.examiner.examine_if_possible(fresh, &variant.case, level)?
            else {
                continue;
            };
            if nonsense(&tried.run) <= self.nonsense && tried.signatures.is_empty() {
                let outcome = contrast::told(run, &tried.run);
                told.push(Contrast { change: variant.change, outcome });
            }
        }
        Ok(told)
    }
}
