//! From a suspect to a finding: confirmed, reduced, contrasted, named.
//!
//! Idea: run it again on fresh tables, as many times as requested. Make it smaller with a fast runner, asking only
//! whether the same oracle still finds the same thing. Confirm what is left on fresh tables again, so that nothing is
//! reported that was not just executed there. If it does not show there, the fast runner's leftovers contributed to it:
//! then the reduction is repeated on fresh tables.
//!
//! Assumption: the same oracle, anomaly and exception mean the same finding. Blind spot: two causes under one
//! signature; the smaller one wins. A candidate that fails with errors of no class (syntax, unknown column) more often
//! than the original is never taken, so that a reduction does not drift into nonsense.

use std::time::{Duration, Instant};

use anchorite_judge::{Oracle, level_of, oracles};
use anchorite_model::{
    Case, Confirmed, Contrast, ErrorClass, Finding, Level, Origin, Outcome, Run, Signature,
};
use anchorite_reduce::known::KnownIssue;
use anchorite_reduce::{
    Budget, Confirmation, Reduced, Repetitions, Shape, contrast, contrasts, reduce,
};
use anchorite_report::finding::headline;
use anchorite_stage::{Runner, StageError};

use crate::naming::Naming;
use crate::{Examined, Examiner};

/// A case that seems to show something.
#[derive(Debug, Clone)]
pub struct Suspicion<'a> {
    /// The case.
    pub case: &'a Case,
    /// The level of all sessions, if it is not the case's own.
    pub level: Option<Level>,
    /// What it showed; `None` = whatever it shows first.
    pub signature: Option<Signature>,
    /// Where it came from.
    pub origin: Origin,
    /// The target as `--on` named it, without any password.
    pub on: &'a str,
    /// The second target as `--against` named it, without any password.
    pub against: Option<&'a str>,
}

impl Suspicion<'_> {
    /// What the command line needs so that this oracle judges the case again.
    fn options(&self, oracle: &str) -> Vec<String> {
        let is_optional = oracles::named(oracle).is_ok_and(|oracle| oracle.is_optional());
        match self.against {
            Some(second) => vec!["--against".to_owned(), second.to_owned()],
            None if is_optional => vec!["--oracle".to_owned(), oracle.to_owned()],
            None => Vec::new(),
        }
    }
}

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

/// What became of a suspect.
#[derive(Debug, Clone)]
pub enum Investigation {
    /// It recurs every time.
    Confirmed {
        /// What a user gets.
        finding: Box<Finding>,
        /// Its shape, for people.
        shape: Shape,
        /// The number of questions that the reduction asked.
        questions: usize,
        /// Whether the reduction was completed.
        complete: bool,
    },
    /// It recurs sometimes.
    Flaky(Confirmed),
    /// It did not recur.
    NotShownAgain {
        /// The number of runs.
        runs: u32,
    },
}

/// Confirms, reduces and names a suspect. `fast` is for the many runs of the reduction, `fresh` for what is reported.
pub fn investigate(
    examiner: &Examiner<'_>,
    fast: &mut dyn Runner,
    fresh: &mut dyn Runner,
    suspect: &Suspicion<'_>,
    effort: &Effort,
    known: &[KnownIssue],
) -> Result<Investigation, StageError> {
    let mut wanted = suspect.signature.clone();
    let before = confirm(examiner, fresh, suspect.case, suspect.level, &mut wanted, effort)?;
    let (original, wanted) = match (before, wanted) {
        ((Confirmation::Confirmed(_), Some(tried)), Some(wanted)) => (tried, wanted),
        ((Confirmation::Flaky(confirmed), _), _) => return Ok(Investigation::Flaky(confirmed)),
        ((Confirmation::NotShownAgain { runs }, _), _) => {
            return Ok(Investigation::NotShownAgain { runs });
        }
        ((Confirmation::Confirmed(confirmed), _), _) => {
            return Ok(Investigation::NotShownAgain { runs: confirmed.runs });
        }
    };
    // The many runs of the reduction are judged only by the oracle whose finding it is.
    let judges = examiner.oracles.iter().filter(|oracle| oracle.name() == wanted.oracle);
    let judges: Vec<&dyn Oracle> = judges.copied().collect();
    let by_it = Examiner { oracles: &judges, ..*examiner };
    let nonsense = nonsense(&original.run);
    let question = Question { examiner, by_it, level: suspect.level, wanted, nonsense };
    let deadline = Instant::now() + effort.time;
    let mut reduced = question.reduce(fast, suspect.case, &original.run, effort, deadline)?;
    let mut after = question.confirm(fresh, &reduced.case, effort)?;
    if after.1.is_none() {
        let asked = reduced.questions;
        let deadline = Instant::now() + effort.time;
        reduced = question.reduce(fresh, suspect.case, &original.run, effort, deadline)?;
        reduced.questions += asked;
        after = question.confirm(fresh, &reduced.case, effort)?;
    }
    let (confirmed, tried) = match after {
        (confirmed, Some(tried)) => (confirmed, tried),
        (confirmed, None) => return Ok(Investigation::Flaky(confirmed)),
    };
    let contrast = question.contrast(fresh, &tried.run, effort.contrasts)?;
    let (finding, shape) = question.finding(suspect, tried, confirmed, contrast, known);
    let Reduced { questions, complete, .. } = reduced;
    Ok(Investigation::Confirmed { finding: Box::new(finding), shape, questions, complete })
}

/// Runs a case as many times as requested. If no signature is given, the first one shown is used. Also returns the last
/// run that showed it.
fn confirm(
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
    /// As many meaningless errors as the original has.
    pub nonsense: usize,
}

impl Question<'_> {
    fn ask(&self, runner: &mut dyn Runner, case: &Case) -> Result<bool, StageError> {
        match self.by_it.examine(runner, case, self.level) {
            Ok(tried) => Ok(nonsense(&tried.run) <= self.nonsense && shows(&tried, &self.wanted)),
            // A setup that does not work means no.
            Err(StageError::Setup { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn reduce(
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
    fn confirm(
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
    fn contrast(
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
            let tried =
                match self.examiner.examine(fresh, &variant.case, variant.level.or(self.level)) {
                    Ok(tried) => tried,
                    Err(StageError::Interrupted) => return Err(StageError::Interrupted),
                    Err(StageError::Setup { .. }) => continue,
                    Err(error) => return Err(error),
                };
            if nonsense(&tried.run) <= self.nonsense && tried.signatures.is_empty() {
                let outcome = contrast::told(run, &tried.run);
                told.push(Contrast { change: variant.change, outcome });
            }
        }
        Ok(told)
    }

    pub(crate) fn finding(
        &self,
        suspect: &Suspicion<'_>,
        tried: Examined,
        confirmed: Confirmed,
        contrast: Vec<Contrast>,
        known: &[KnownIssue],
    ) -> (Finding, Shape) {
        let naming = Naming::new(self.examiner, &tried, &self.wanted, known);
        let finding = Finding {
            fingerprint: naming.fingerprint,
            witnesses: naming.witnesses,
            alike: naming.alike,
            known: naming.known,
            title: headline(&tried.run, &self.wanted, &tried.judgements),
            on: suspect.on.to_owned(),
            options: suspect.options(&self.wanted.oracle),
            signature: self.wanted.clone(),
            origin: suspect.origin.clone(),
            original: suspect.case.clone(),
            before: Vec::new(),
            claim: self.claim(&tried.run),
            run: tried.run,
            judgements: tried.judgements,
            covers: tried.covers,
            confirmed,
            contrast,
        };
        (finding, naming.shape)
    }

    /// What is promised, and which exceptions were considered.
    fn claim(&self, run: &Run) -> Vec<String> {
        let Some(level) = level_of(run) else { return Vec::new() };
        let said = self.examiner.claims.level(level);
        let mut sentences: Vec<String> =
            said.iter().map(|said| format!("{level}: {} ({})", said.says, said.url)).collect();
        let read_back: Vec<&str> =
            run.sessions.iter().map(|session| session.level_read_back.as_str()).collect();
        let claims = &self.examiner.claims;
        if let Some(writes) = claims.writes_of_sessions(&run.target, level, &read_back) {
            sentences.push(format!("writes: {} ({})", writes.claims.says, writes.claims.url));
            sentences.extend(writes.exceptions.iter().map(|exception| {
                let is_it = Some(exception.name.as_str()) == self.wanted.mechanism();
                let considered = match (is_it, exception.is_documented()) {
                    (true, true) => "documented exception",
                    (true, false) => "no page of the vendor documents it",
                    (false, _) => "exception considered, does not explain it",
                };
                format!("{considered}: {}: {} ({})", exception.name, exception.says, exception.url)
            }));
        }
        sentences
    }
}
