//! A violation that needs used tables: the cases before it are part of the finding.
//!
//! Idea: what does not recur on fresh tables may depend on what tables and sessions went through before, such as pages
//! that a session keeps between transactions. So the cases that the worker ran before it, since its tables and sessions
//! were opened, are run again in their order on one set of kept tables, and then the case itself. If it shows again,
//! first cases are left out, halves at a time, then the last case is reduced, then the others; what is left must show
//! it as often as any other finding, each time on newly opened tables and sessions.
//!
//! Assumption: what matters was done by the same worker at the same level; a case of another worker, and the time that
//! a server has for its background work, are not repeated. Each case is judged as it was then, because rehearsals use
//! the same tables. Two such violations at one place with one oracle and anomaly have one cause.
//!
//! Blind spot: tables are reduced only in as far as all cases of the sequence can still share them.

use std::time::Instant;

use anchorite_model::{Case, Cause, Confirmed, Contrast, Deed, Finding, Product, Signature};
use anchorite_reduce::{Budget, Confirmation, Repetitions, reduce};
use anchorite_stage::{Runner, StageError};

use crate::finding::Suspicion;
use crate::question::{Effort, Question, nonsense, shows};
use crate::{Examined, Examiner};

/// The most cases before a suspect that are run again.
pub const BEFORE_MAX: u64 = 400;
/// What the fingerprint of a sequence ends in: a single case with the same shape has another cause.
pub(crate) const SUFFIX: &str = "-sequence";

/// Something to do with a runner.
pub type Work<'w> = &'w mut dyn FnMut(&mut dyn Runner) -> Result<(), StageError>;

/// Opens kept tables and sessions, and does something with them.
pub type WithKeptTables<'k> = &'k mut dyn FnMut(Work<'_>) -> Result<(), StageError>;

/// A suspect and what it takes to see it again.
pub struct Retrace<'a> {
    examiner: &'a Examiner<'a>,
    suspect: &'a Suspicion<'a>,
    wanted: Signature,
    effort: &'a Effort,
}

/// The cases before a case, and the case.
#[derive(Debug, Clone)]
struct Sequence {
    before: Vec<Case>,
    last: Case,
}

impl<'a> Retrace<'a> {
    /// `None` if it is not known what to look for.
    pub fn new(
        examiner: &'a Examiner<'a>,
        suspect: &'a Suspicion<'a>,
        effort: &'a Effort,
    ) -> Option<Self> {
        let wanted = suspect.signature.clone()?;
        Some(Self { examiner, suspect, wanted, effort })
    }

    /// Whether it shows again after these cases.
    pub fn shows_after(
        &self,
        before: &[Case],
        kept: WithKeptTables<'_>,
    ) -> Result<bool, StageError> {
        let sequence = Sequence { before: before.to_vec(), last: self.suspect.case.clone() };
        Ok(self.replay(&sequence, false, kept)?.is_some())
    }

    /// Reduces the sequence, and confirms what is left; `None` if it does not show every time. `found` are the
    /// fingerprints of earlier findings.
    pub fn finding(
        &self,
        before: Vec<Case>,
        found: &[String],
        kept: WithKeptTables<'_>,
    ) -> Result<Option<Finding>, StageError> {
        let whole = Sequence { before, last: self.suspect.case.clone() };
        let Some(original) = self.replay(&whole, false, kept)? else { return Ok(None) };
        let shrinking = Shrinking {
            retrace: self,
            product: original.run.target.product,
            nonsense: nonsense(&original.run),
            deadline: Instant::now() + self.effort.time,
        };
        let sequence = shrinking.shrink(whole, kept)?;
        let mut repetitions = Repetitions::new(self.effort.confirmations);
        let mut last = None;
        while repetitions.wants_more() {
            let tried = self.replay(&sequence, true, kept)?;
            repetitions.note(tried.is_some());
            last = tried.or(last);
        }
        Ok(match (repetitions.verdict(), last) {
            (Confirmation::Confirmed(confirmed), Some(tried)) => {
                Some(self.told(sequence, tried, confirmed, found))
            }
            _ => None,
        })
    }

    /// Runs a sequence on newly opened tables; the last run, if it shows it, with its cause if that is asked for.
    fn replay(
        &self,
        sequence: &Sequence,
        diagnosed: bool,
        kept: WithKeptTables<'_>,
    ) -> Result<Option<Examined>, StageError> {
        let mut shown = None;
        kept(&mut |runner| {
            for case in &sequence.before {
                self.try_case(runner, case)?;
            }
            let tried = self.try_case(runner, &sequence.last)?;
            shown = tried.filter(|tried| shows(tried, &self.wanted));
            match shown.as_mut().filter(|_| diagnosed) {
                Some(shown) => self.diagnose(runner, shown),
                None => Ok(()),
            }
        })?;
        Ok(shown)
    }

    /// Runs and judges a case; `None` if it cannot be set up.
    fn try_case(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
    ) -> Result<Option<Examined>, StageError> {
        self.examiner.examine_if_possible(runner, case, self.suspect.level)
    }

    /// Looks for the cause in the last case. That something fails or is not there says how it shows: the cases before
    /// have left behind what was used instead.
    fn diagnose(&self, runner: &mut dyn Runner, tried: &mut Examined) -> Result<(), StageError> {
        self.examiner.diagnose(runner, tried)?;
        let causes = tried.judgements.iter_mut().flat_map(|said| &mut said.causes);
        causes.filter(|cause| cause.deed.is_an_effect()).for_each(|cause| {
            let doer = cause.statement.take();
            *cause = Cause { statement: doer, ..Cause::of(Deed::LeftoverUsed) };
        });
        Ok(())
    }

    fn told(
        &self,
        sequence: Sequence,
        tried: Examined,
        confirmed: Confirmed,
        found: &[String],
    ) -> Finding {
        let found = found.iter().filter_map(|name| name.strip_suffix(SUFFIX));
        let found: Vec<String> = found.map(str::to_owned).collect();
        let question = Question {
            examiner: self.examiner,
            by_it: *self.examiner,
            level: self.suspect.level,
            wanted: self.wanted.clone(),
            causes: Vec::new(),
            nonsense: nonsense(&tried.run),
        };
        let contrast = vec![Contrast {
            change: "alone, on fresh tables".to_owned(),
            outcome: "does not show it".to_owned(),
        }];
        // A known issue of a single case does not explain what needs several.
        let finding = question.finding(self.suspect, tried, confirmed, contrast, &found);
        Finding {
            fingerprint: finding.fingerprint + SUFFIX,
            title: finding.title + ", after other cases on the same tables",
            alike: Vec::new(),
            before: sequence.before,
            ..finding
        }
    }
}

/// Makes a sequence smaller.
struct Shrinking<'a> {
    retrace: &'a Retrace<'a>,
    product: Product,
    nonsense: usize,
    deadline: Instant,
}

impl Shrinking<'_> {
    fn shrink(&self, whole: Sequence, kept: WithKeptTables<'_>) -> Result<Sequence, StageError> {
        let mut best = self.fewer(whole, kept)?;
        let Sequence { before, last } = &best;
        let smaller = self.reduced(last, kept, |last| Sequence { before: before.clone(), last })?;
        best.last = smaller;
        for at in (0..best.before.len()).rev() {
            best.before[at] = self.reduced(&best.before[at], kept, |case| {
                let mut changed = best.clone();
                changed.before[at] = case;
                changed
            })?;
        }
        self.fewer(best, kept)
    }

    /// Leaves out halves, quarters, and so on, of the cases before, from the first on.
    fn fewer(&self, whole: Sequence, kept: WithKeptTables<'_>) -> Result<Sequence, StageError> {
        let mut best = whole;
        let mut size = best.before.len();
        while size > 0 {
            let mut at = 0;
            while at < best.before.len() {
                let mut changed = best.clone();
                changed.before.drain(at..(at + size).min(best.before.len()));
                if self.still(&changed, kept)? {
                    best = changed;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        Ok(best)
    }

    /// One case of the sequence, reduced.
    fn reduced(
        &self,
        case: &Case,
        kept: WithKeptTables<'_>,
        with: impl Fn(Case) -> Sequence,
    ) -> Result<Case, StageError> {
        let time_left = &mut || Instant::now() < self.deadline;
        let budget = Budget { questions: self.retrace.effort.questions, time_left };
        let still = &mut |case: &Case| self.still(&with(case.clone()), kept);
        Ok(reduce(case, self.product, budget, still)?.case)
    }

    fn still(&self, sequence: &Sequence, kept: WithKeptTables<'_>) -> Result<bool, StageError> {
        if Instant::now() >= self.deadline {
            return Ok(false);
        }
        let tried = self.retrace.replay(sequence, false, kept)?;
        Ok(tried.is_some_and(|tried| nonsense(&tried.run) <= self.nonsense))
    }
}
