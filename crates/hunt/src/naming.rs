//! The names of a finding: its fingerprint, the oracles that see it, the fingerprints that others would give it.
//!
//! Idea: a finding's name is its cause, with the family of engines that it was seen on. Levels and products of one
//! family at which the same cause shows are one finding. If several causes explain a run equally well, one that has
//! been found already is taken: a single cause that explains both is the simpler assumption.
//!
//! What no cause explains is named by the statements that take part, so that two causes do not share a name only
//! because neither is understood.
//!
//! Several oracles may see one cause and name it differently, so a finding also lists what the others call the same
//! reduced run. A later finding of another oracle that shares one of these names is a hit, and its oracle one more
//! witness ([`anchorite_model::Finding::explains`]).
//!
//! Assumption: a reduced case is small enough to have one cause, so all oracles that call its run a violation mean the
//! same.

use std::collections::BTreeSet;

use anchorite_judge::oracles;
use anchorite_model::sql::StatementKind;
use anchorite_model::{Cause, Deed, Run, Signature};

use crate::Examined;

/// The names of a finding.
pub(crate) struct Naming {
    /// Its own.
    pub fingerprint: String,
    /// The cause that it is named after; `None` if it is a documented exception.
    pub cause: Option<Cause>,
    /// The oracles that see it, its own first.
    pub witnesses: Vec<String>,
    /// What other oracles would call it.
    pub alike: Vec<String>,
}

impl Naming {
    /// Names what an oracle has seen in a run whose causes were looked for. `found` are the names of earlier findings.
    pub(crate) fn new(tried: &Examined, wanted: &Signature, found: &[String]) -> Self {
        let (fingerprint, cause) = name(tried, wanted, found);
        let others = tried.signatures.iter().filter(|other| other.oracle != wanted.oracle);
        let (oracles, alike): (Vec<String>, Vec<String>) =
            others.map(|other| (other.oracle.clone(), name(tried, other, found).0)).unzip();
        let witnesses = std::iter::once(wanted.oracle.clone()).chain(oracles).collect();
        Self { fingerprint, cause: cause.cloned(), witnesses, alike }
    }
}

/// What a claims file names is its own cause; an oracle whose violations are one deed each gives that.
pub(crate) fn mechanism(signature: &Signature) -> Option<&str> {
    let oracle = oracles::named(&signature.oracle).ok();
    let deed = oracle.and_then(|oracle| oracle.deed_of(&signature.anomaly));
    signature.mechanism().filter(|_| signature.exception.is_some() || deed.is_none())
}

/// The name of what an oracle has seen, and the cause that it is named after.
fn name<'t>(
    tried: &'t Examined,
    signature: &Signature,
    found: &[String],
) -> (String, Option<&'t Cause>) {
    if let Some(named) = mechanism(signature) {
        return (fingerprint(&tried.run, &named.replace(' ', "-")), None);
    }
    let causes = causes_of(tried, signature);
    let is_found = |cause: &&Cause| found.contains(&fingerprint(&tried.run, &cause.name()));
    let cause = causes.iter().find(is_found).or_else(|| causes.first());
    let name = match cause {
        Some(cause) if cause.deed != Deed::Unexplained => cause.name(),
        _ => unexplained(&tried.run),
    };
    (fingerprint(&tried.run, &name), cause)
}

/// The name of what is not understood: the kinds of statements that look at rows, each once, in alphabetical order.
fn unexplained(run: &Run) -> String {
    let looks = |sql: &str| {
        let kind = StatementKind::of(sql);
        kind.writes() || matches!(kind, StatementKind::Select { .. })
    };
    let texts = run.case.steps.iter().map(|step| step.statement.sql.as_str());
    let words = texts.filter(|sql| looks(sql)).filter_map(|sql| sql.split_whitespace().next());
    let kinds: BTreeSet<String> = words.map(str::to_lowercase).collect();
    let kinds: Vec<String> = kinds.into_iter().collect();
    format!("{}-{}", Deed::Unexplained.name(), kinds.join("-"))
}

/// The causes of what an oracle has seen, as far as they were looked for.
pub(crate) fn causes_of<'t>(tried: &'t Examined, signature: &Signature) -> &'t [Cause] {
    let mut judgements = tried.judgements.iter();
    let said = judgements.find(|said| said.oracle == signature.oracle);
    said.map_or(&[], |said| said.causes.as_slice())
}

/// The name of a cause on the engine of a run.
pub(crate) fn fingerprint(run: &Run, cause: &str) -> String {
    format!("{}-{cause}", run.target.product.descriptor().engine)
}
