//! A judged run compared with everything that the header of its case says about its place.
//!
//! Idea: `-- manifests:`, `-- absent:` and `-- seen:` are about what a run shows, `-- expect:` about the verdicts at
//! the level that the case names. A test, a regression run and a hunt ask the same question about both, so it is
//! answered in one place.

use anchorite_claims::Version;
use anchorite_model::{Case, Judgement, Run, SessionInfo, TargetInfo, Verdict};

use crate::evidence::level_of;
use crate::header::expect::{self, BadExpectation, expectations};
use crate::header::lines::{ConditionError, shows};
use crate::header::measurements::{self, Agreement, Measurements, Remark, Versions};

/// Why a header cannot be compared with a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A condition or a place cannot be read.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// An expected verdict cannot be read.
    #[error(transparent)]
    Expectation(#[from] BadExpectation),
}

/// A run compared with what the header of its case says about its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// One remark for each thing that is known; empty if nothing is known.
    pub remarks: Vec<Remark>,
    /// Whether the run has violations, and the header announces every one of them.
    pub announced: bool,
}

impl Comparison {
    /// The overall agreement; `None` if there are no remarks. One that differs outweighs all others.
    pub fn agreement(&self) -> Option<Agreement> {
        let has = |wanted: Agreement| self.remarks.iter().any(|remark| remark.agreement == wanted);
        [Agreement::Differs, Agreement::OtherVersion, Agreement::AsExpected]
            .into_iter()
            .find(|agreement| has(*agreement))
    }
}

/// Whether everything in the header that [`compare`] needs can be read.
pub fn readable(case: &Case) -> Result<(), HeaderError> {
    shows(case)?;
    Measurements::of(case)?;
    expectations(case)?;
    Ok(())
}

/// Whether anything in the header was measured on this release.
pub fn is_measured_on(case: &Case, target: &TargetInfo) -> Result<bool, HeaderError> {
    let measured = Measurements::of(case)?;
    let seen = measured.seen.iter().flat_map(|seen| &seen.places);
    let places = measured.manifests.iter().chain(&measured.absent).chain(seen);
    let places = places.map(|place| (place.product, &place.versions));
    let expected = expectations(case)?;
    let expected = expected.iter().flat_map(|line| &line.places);
    let mut all = places.chain(expected.map(|(product, versions)| (*product, versions)));
    let version = Version::of(target);
    let is_measured = |versions: &Versions| {
        matches!(versions, Versions::Measured(_)) && versions.include(&version)
    };
    Ok(all.any(|(product, versions)| product == target.product && is_measured(versions)))
}

/// Compares a run and its judgements with the header of its case.
pub fn compare(run: &Run, judgements: &[Judgement]) -> Result<Comparison, HeaderError> {
    let case = &run.case;
    let shown = shows(case)?.iter().all(|condition| condition.is_true_of(run));
    let level = level_of(run);
    let expected = if is_at_own_level(run) { expectations(case)? } else { Vec::new() };
    let mut remarks = match level {
        Some(level) => measurements::remarks(case, run, level)?,
        None => Vec::new(),
    };
    remarks.extend(
        judgements
            .iter()
            .filter_map(|judged| expect::remark(&expected, &run.target, judged, shown)),
    );
    let is_violation = |judged: &&Judgement| matches!(judged.verdict, Verdict::Violation { .. });
    let is_measured = match level {
        Some(level) => shown && Measurements::of(case)?.shows_on(&run.target, level),
        None => false,
    };
    let mut violations = judgements.iter().filter(is_violation).peekable();
    let is_announced =
        |judged: &Judgement| is_measured || expect::announces(&expected, &run.target, judged);
    let announced = violations.peek().is_some() && violations.all(is_announced);
    Ok(Comparison { remarks, announced })
}

/// Whether every session ran at the level that the case asks for: expected verdicts are about that one.
fn is_at_own_level(run: &Run) -> bool {
    let asked = |(index, session): (usize, &SessionInfo)| session.level == run.case.level_of(index);
    run.sessions.iter().enumerate().all(asked)
}
