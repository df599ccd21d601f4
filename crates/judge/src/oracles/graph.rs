//! The graph oracle: do the transactions depend on each other in a way that the level forbids?
//!
//! Idea: the case is run a second time with instrumented tables, in which each row tells who wrote it. From that follow
//! the direct serialization graph with its item and predicate dependencies, and the anomalies in it, by name; the
//! claims say which of them the level prevents. How the server works is of no importance, so this judges every product
//! and level in the same way.
//!
//! Source: Adya 1999; TxCheck (OSDI 2023) and chapter 5 of the thesis on exact dependency graphs for the
//! instrumentation. Assumption: with one more column per table the same promises hold. Blind spot: what
//! [`crate::traced`] cannot see; a run in which an anomaly is possible, but not certain, is Undecided.

use anchorite_claims::{Anomaly, Claims, Documented, Promise};
use anchorite_model::{Case, Dependency, Ending, Judgement, Run, Verdict};

use super::{Needs, Oracle, Unjudged};
use crate::evidence::{Evidence, level_of};
use crate::laboratory::Laboratory;
use crate::traced::asked::{asked, prepared};
use crate::traced::cycles::Sighting;
use crate::traced::{Traced, Untold};

/// A version that no statement can have written.
pub const UNWRITTEN: &str = "unwritten-version";

/// The oracles that prepare the instrumented run.
pub const TRACING: [&str; 2] = ["graph", "reorder"];

/// The oracle.
pub struct Graph;

impl Oracle for Graph {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn about(&self) -> &'static str {
        "the transactions must not depend on each other in a way that their level forbids"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn must_be_named(&self) -> bool {
        true
    }

    fn prepare(&self, run: &Run, _: bool) -> Vec<Case> {
        prepared(run)
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let run = evidence.run;
        if let Ending::TargetLost(_) = &run.ending {
            return Err("the run is not complete, because the server went away".to_owned().into());
        }
        level_of(run).ok_or_else(|| "the sessions ran at different levels".to_owned())?;
        let (instrumented, told) = asked(evidence, &TRACING, laboratory)?;
        let (verdict, cycle) = match told.as_ref() {
            Ok(told) => verdict(&told.by(instrumented.transactions()?), run, evidence.claims),
            Err(Untold::Unwritten(why)) => {
                (Verdict::broken(UNWRITTEN, vec![why.clone()]), Vec::new())
            }
            Err(untold) => return Err(untold.to_string().into()),
        };
        Ok(Judgement { cycle, ..Judgement::new(self.name(), verdict) })
    }
}

/// What is promised about an anomaly at the level of a run.
fn promised<'c>(
    run: &Run,
    claims: &'c Claims,
    anomaly: Anomaly,
    by_write: bool,
) -> Option<Documented<'c>> {
    let words: Vec<&str> =
        run.sessions.iter().map(|session| session.level_read_back.as_str()).collect();
    let case = format!("{anomaly}{}", if by_write { "-write" } else { "" });
    let level = level_of(run)?;
    Some(claims.about_session(&run.target, level, &words.join(" / "), anomaly, &case))
}

/// What the dependencies of a run say about its level, and the cycle that proves it.
fn verdict(traced: &Traced<'_>, run: &Run, claims: &Claims) -> (Verdict, Vec<Dependency>) {
    let undecided = |reason: String| (Verdict::Undecided { reason }, Vec::new());
    let found = traced.sightings(run.target.product.dialect());
    let promise = |anomaly: Anomaly, by_write: bool| {
        promised(run, claims, anomaly, by_write).map_or(Promise::Unspecified, |said| said.promise)
    };
    let is = |wanted: Promise| {
        found.iter().find(move |seen| promise(seen.anomaly, seen.by_write) == wanted)
    };
    if let Some(broken) = is(Promise::Prevented) {
        return (Verdict::broken(broken.anomaly.name(), told(broken)), broken.cycle.clone());
    }
    if let Some(open) = is(Promise::Unspecified) {
        return undecided(format!("nothing is claimed about {} at this level", open.anomaly));
    }
    let is_forbidden =
        |(anomaly, by_write): &(Anomaly, bool)| promise(*anomaly, *by_write) == Promise::Prevented;
    if traced.possible().iter().any(is_forbidden) {
        let reason = "what a statement read is not known exactly, and it could be forbidden";
        return undecided(reason.to_owned());
    }
    let Some(allowed) = is(Promise::Possible) else { return (Verdict::Pass, Vec::new()) };
    let said = promised(run, claims, allowed.anomaly, allowed.by_write);
    let page = said.and_then(|said| said.claim).map(|claim| claim.url.clone());
    let mut because = told(allowed);
    because.extend(page.map(|url| format!("documented: {url}")));
    let exception = format!("possible-{}", allowed.anomaly);
    (Verdict::Allowed { exception, because }, allowed.cycle.clone())
}

/// The proof in sentences, and whether the case shows it as it is.
fn told(seen: &Sighting) -> Vec<String> {
    let name = format!("{} ({})", seen.anomaly, seen.anomaly.explained());
    let shape = match seen.shape {
        shape if shape == seen.anomaly.name() => name,
        shape => format!("{name}, a cycle of the kind {shape}"),
    };
    let mut because = vec![shape];
    because.extend(seen.because.iter().cloned());
    because.push("seen on tables that were given a column which tells who wrote a row".to_owned());
    because
}
