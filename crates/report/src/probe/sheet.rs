//! What the forms of the table have in common: its rows, its columns, and the numbered claims.
//!
//! Idea: a claim gets one number, wherever it is used, and claims of one page are grouped under its address, both in
//! the order of their first use. So a number in a cell leads to a sentence and its page, and no address is repeated.

use anchorite_claims::Claim;

use super::{CaseProbe, Probe};

/// A page and the claims on it that were used, with their numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    pub url: &'a str,
    pub claims: Vec<(usize, &'a str)>,
}

/// One target's table.
pub(crate) struct Sheet<'a> {
    pub probe: &'a Probe,
    /// The names of the other cases, in the order in which they were probed.
    pub variants: Vec<&'a str>,
    /// The pages whose claims were used.
    pub sources: Vec<Source<'a>>,
}

impl<'a> Sheet<'a> {
    pub fn of(probe: &'a Probe) -> Self {
        Self { probe, variants: variants(probe), sources: sources(probe) }
    }

    /// The number of the claim about a case, if there is one.
    pub fn number(&self, case: &CaseProbe) -> Option<usize> {
        let claim = case.documented.claim?;
        let source = self.sources.iter().find(|source| source.url == claim.url)?;
        source.claims.iter().find(|(_, says)| *says == claim.says).map(|(number, _)| *number)
    }

    /// `[3]`, or nothing.
    pub fn reference(&self, case: &CaseProbe) -> String {
        self.number(case).map(|number| format!("[{number}]")).unwrap_or_default()
    }

    /// The cases that could not run, with their levels' names and the reasons.
    pub fn not_run(&self) -> impl Iterator<Item = (&'static str, &'a CaseProbe, &'a str)> {
        self.probe.cases().filter_map(|(level, case)| {
            Some((level.name(), case, case.outcome.as_ref().err()?.as_str()))
        })
    }
}

fn variants(probe: &Probe) -> Vec<&str> {
    let mut variants: Vec<&str> = Vec::new();
    for (_, case) in probe.cases().filter(|(_, case)| !case.is_main()) {
        if !variants.contains(&case.name.as_str()) {
            variants.push(&case.name);
        }
    }
    variants
}

fn sources(probe: &Probe) -> Vec<Source<'_>> {
    let mut sources: Vec<Source<'_>> = Vec::new();
    let mains = probe.cases().filter(|(_, case)| case.is_main());
    let others = probe.cases().filter(|(_, case)| !case.is_main());
    for claim in mains.chain(others).filter_map(|(_, case)| case.documented.claim) {
        add(&mut sources, claim);
    }
    let numbers = 1..;
    let claims = sources.iter_mut().flat_map(|source| &mut source.claims);
    for (number, claim) in numbers.zip(claims) {
        claim.0 = number;
    }
    sources
}

fn add(sources: &mut Vec<Source<'static>>, claim: &'static Claim) {
    let found = sources.iter().position(|source| source.url == claim.url);
    let at = found.unwrap_or_else(|| {
        sources.push(Source { url: &claim.url, claims: Vec::new() });
        sources.len() - 1
    });
    let claims = &mut sources[at].claims;
    if claims.iter().all(|(_, says)| *says != claim.says) {
        claims.push((0, &claim.says));
    }
}
