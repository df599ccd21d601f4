//! The names of a finding: its fingerprint, the oracles that see it, the fingerprints that others would give it, and
//! its known issue, if any.
//!
//! Idea: several oracles may see one cause. Each gives what it sees its own fingerprint, so a finding also lists what
//! the others call the same reduced run, and its fingerprint without the oracle and its word for the anomaly. A later
//! finding of another oracle that shares one of these names is a hit, and its oracle one more witness
//! ([`anchorite_model::Finding::explains`]).
//!
//! Assumption: a reduced case is small enough to have one cause, so all oracles that call its run a violation mean the
//! same. Blind spot: two causes with one shape at one level that different oracles see; the first one found gets the
//! name.

use anchorite_judge::{level_of, oracles};
use anchorite_model::{Level, Run, Signature};
use anchorite_reduce::known::{self, KnownIssue, Sighting};
use anchorite_reduce::{Shape, cause, fingerprint};

use crate::{Examined, Examiner};

/// The names of a finding.
pub(crate) struct Naming {
    /// Its own.
    pub fingerprint: String,
    /// Its shape.
    pub shape: Shape,
    /// The oracles that see it, its own first.
    pub witnesses: Vec<String>,
    /// What other oracles would call it.
    pub alike: Vec<String>,
    /// The known issue that it is, according to one of its names.
    pub known: Option<String>,
}

impl Naming {
    /// Names what an oracle has seen in a run.
    pub(crate) fn new(
        examiner: &Examiner<'_>,
        tried: &Examined,
        wanted: &Signature,
        known: &[KnownIssue],
    ) -> Self {
        let by = By { examiner, run: &tried.run, level: level_of(&tried.run), known };
        let (fingerprint, shape, mut issue) = by.names(wanted);
        let mut witnesses = vec![wanted.oracle.clone()];
        let mut alike = vec![by.cause(wanted)];
        for other in tried.signatures.iter().filter(|other| other.oracle != wanted.oracle) {
            let (fingerprint, _, known) = by.names(other);
            witnesses.push(other.oracle.clone());
            alike.push(fingerprint);
            issue = issue.or(known);
        }
        Self { fingerprint, shape, witnesses, alike, known: issue }
    }
}

/// What names are made from, apart from the oracle.
struct By<'a> {
    examiner: &'a Examiner<'a>,
    run: &'a Run,
    level: Option<Level>,
    known: &'a [KnownIssue],
}

impl By<'_> {
    /// The names that an oracle gives: fingerprint, shape and known issue.
    fn names(&self, signature: &Signature) -> (String, Shape, Option<String>) {
        let shape = Shape::of(self.run, self.with_reads(signature));
        let fingerprint = fingerprint(&shape, signature, self.plain_level());
        let sighting = Sighting {
            target: &self.run.target,
            level: self.level,
            signature,
            fingerprint: &fingerprint,
            shape: &shape,
        };
        let known = known::matching(self.known, &sighting).map(|issue| issue.name.clone());
        (fingerprint, shape, known)
    }

    /// The name without the oracle. Reads count, so that oracles that judge them can be compared with others.
    fn cause(&self, signature: &Signature) -> String {
        cause(&Shape::of(self.run, true), signature.exception.as_deref(), self.plain_level())
    }

    /// Two names of one level do not make two findings with one cause.
    fn plain_level(&self) -> Option<Level> {
        let level = self.level?;
        let said = self.examiner.claims.level(level).and_then(|said| said.same_as);
        Some(said.unwrap_or(level))
    }

    /// Whether reads without locks may contribute to it: they are compared, or begin a snapshot.
    fn with_reads(&self, signature: &Signature) -> bool {
        let compares_reads = |level: Level| {
            let (claims, target) = (self.examiner.claims, &self.run.target);
            let oracle = oracles::named(&signature.oracle);
            oracle.is_ok_and(|oracle| oracle.compares_reads(claims, target, level))
        };
        self.level.is_some_and(|level| level > Level::ReadCommitted || compares_reads(level))
    }
}

/// The name of the known issue that a run looks like before it is reduced.
pub(crate) fn looks_like(run: &Run, signature: &Signature, known: &[KnownIssue]) -> Option<String> {
    let shape = Shape::of(run, true);
    let sighting = Sighting {
        target: &run.target,
        level: level_of(run),
        signature,
        fingerprint: "",
        shape: &shape,
    };
    known::matching(known, &sighting).map(|issue| issue.name.clone())
}
