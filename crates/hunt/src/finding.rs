//! From a suspect to a finding: confirmed, reduced, contrasted, named.
//!
//! Idea: run it again on fresh tables, as many times as requested. Make it smaller with a fast runner, asking only
//! whether the same oracle still finds the same thing. Confirm what is left on fresh tables again, so that nothing is
//! reported that was not just executed there. If it does not show there, the fast runner's leftovers contributed to it:
//! then the reduction is repeated on fresh tables.
//!
//! While a case is made smaller, the same oracle must find the same thing *for a cause that the original had*
//! ([`anchorite_judge::cause`]): otherwise a new bug could shrink into a known one. A candidate that fails with errors
//! of no class (syntax, unknown column) more often than the original is never taken, so that a reduction does not
//! drift into nonsense.
//!
//! Blind spot: an original whose cause is not found may shrink into any other.

use std::time::Instant;

use anchorite_judge::{Oracle, level_of, oracles};
use anchorite_model::{
    Case, Cause, Confirmed, Contrast, Deed, Finding, Level, Origin, Run, Signature,
};
use anchorite_reduce::known::KnownIssue;
use anchorite_reduce::{Confirmation, Reduced};
use anchorite_report::finding::headline;
use anchorite_stage::{Runner, StageError};

use crate::naming::{Naming, causes_of, fingerprint};
use crate::question::{Effort, Question, confirm, nonsense};
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

/// What is on record already.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recorded<'a> {
    /// Known issues.
    pub known: &'a [KnownIssue],
    /// The fingerprints of earlier findings: what has the cause of one of them is not reduced again.
    pub found: &'a [String],
}

/// What became of a suspect.
#[derive(Debug, Clone)]
pub enum Investigation {
    /// It recurs every time.
    Confirmed {
        /// What a user gets.
        finding: Box<Finding>,
        /// The number of questions that the reduction asked.
        questions: usize,
        /// Whether the reduction was completed.
        complete: bool,
    },
    /// It recurs every time, for the cause of the finding with this fingerprint.
    Again(String),
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
    recorded: Recorded<'_>,
) -> Result<Investigation, StageError> {
    let mut wanted = suspect.signature.clone();
    let before = confirm(examiner, fresh, suspect.case, suspect.level, &mut wanted, effort)?;
    let (mut original, wanted) = match (before, wanted) {
        ((Confirmation::Confirmed(_), Some(tried)), Some(wanted)) => (tried, wanted),
        ((Confirmation::Flaky(confirmed), _), _) => return Ok(Investigation::Flaky(confirmed)),
        ((Confirmation::NotShownAgain { runs }, _), _) => {
            return Ok(Investigation::NotShownAgain { runs });
        }
        ((Confirmation::Confirmed(confirmed), _), _) => {
            return Ok(Investigation::NotShownAgain { runs: confirmed.runs });
        }
    };
    examiner.diagnose(fast, &mut original)?;
    let causes = causes_of(&original, &wanted);
    if let Some(name) = again(&original.run, causes, recorded.found) {
        return Ok(Investigation::Again(name));
    }
    let causes = causes.iter().filter(|cause| cause.deed != Deed::Unexplained);
    let causes = causes.map(Cause::kind).collect();
    // The many runs of the reduction are judged only by the oracle whose finding it is.
    let judges = examiner.oracles.iter().filter(|oracle| oracle.name() == wanted.oracle);
    let judges: Vec<&dyn Oracle> = judges.copied().collect();
    let by_it = Examiner { oracles: &judges, ..*examiner };
    let nonsense = nonsense(&original.run);
    let question = Question { examiner, by_it, level: suspect.level, wanted, causes, nonsense };
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
    let (confirmed, mut tried) = match after {
        (confirmed, Some(tried)) => (confirmed, tried),
        (confirmed, None) => return Ok(Investigation::Flaky(confirmed)),
    };
    let contrast = question.contrast(fresh, &tried.run, effort.contrasts)?;
    examiner.diagnose(fast, &mut tried)?;
    question.drop_needless_parts(fresh, &mut tried)?;
    let mut finding = question.finding(suspect, tried, confirmed, contrast, recorded.found);
    question.recognize(fresh, &mut finding, recorded.known)?;
    let Reduced { questions, complete, .. } = reduced;
    Ok(Investigation::Confirmed { finding: Box::new(finding), questions, complete })
}

/// The earlier finding whose cause is the most telling one here.
fn again(run: &Run, causes: &[Cause], found: &[String]) -> Option<String> {
    let cause = causes.first().filter(|cause| cause.deed != Deed::Unexplained)?;
    let name = fingerprint(run, &cause.name());
    found.contains(&name).then_some(name)
}

impl Question<'_> {
    pub(crate) fn finding(
        &self,
        suspect: &Suspicion<'_>,
        tried: Examined,
        confirmed: Confirmed,
        contrast: Vec<Contrast>,
        found: &[String],
    ) -> Finding {
        let naming = Naming::new(&tried, &self.wanted, found);
        Finding {
            fingerprint: naming.fingerprint,
            witnesses: naming.witnesses,
            alike: naming.alike,
            cause: naming.cause,
            known: None,
            unreported: false,
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
        }
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
