//! A violation that was confirmed, reduced and given a fingerprint: what a user gets.

use serde::{Deserialize, Serialize};

use crate::{Case, Cause, Covers, Disagreement, Judgement, Run, Signature, Stance, disagreements};

/// A confirmed violation in its smallest form, self-contained: it can be shown and replayed without the generator that
/// made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Identifies the root cause as well as we can: two findings with one cause should share it.
    pub fingerprint: String,
    /// What happens, in a few words (`DELETE waits, then deletes nothing`); empty in files of earlier releases.
    #[serde(default)]
    pub title: String,
    /// The target as `--on` named it, without any password; empty if not known.
    #[serde(default)]
    pub on: String,
    /// What the command line needs in addition to target and level to show it again (`--against mariadb@11.8`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What was found by whom.
    pub signature: Signature,
    /// The oracles that see it, the one of the signature first; empty in files of earlier releases, which had one.
    #[serde(default)]
    pub witnesses: Vec<String>,
    /// What other oracles' findings of the same cause are called: their fingerprints for the reduced run, and what the
    /// fingerprint is apart from the oracle.
    #[serde(default)]
    pub alike: Vec<String>,
    /// What went wrong; the fingerprint is made of its name. Null for documented exceptions, and in files of earlier
    /// releases.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// The name of the known issue that it is, if it is one.
    pub known: Option<String>,
    /// Whether that issue was found by Anchorite and is in no tracker: then it is shown as if it was new.
    #[serde(default)]
    pub unreported: bool,
    /// Where the case came from.
    pub origin: Origin,
    /// The case as it was found.
    pub original: Case,
    /// The cases that have to run before it on the same tables, in order, reduced; empty if it shows on fresh ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Case>,
    /// The last run of the reduced case, on freshly created tables; it contains the case.
    pub run: Run,
    /// What all oracles say about that run.
    pub judgements: Vec<Judgement>,
    /// What their verdicts cover, by their names; empty in files of earlier releases.
    #[serde(default)]
    pub covers: Vec<(String, Covers)>,
    /// How many times the reduced case showed the finding again.
    pub confirmed: Confirmed,
    /// The nearest variants that do not show it.
    pub contrast: Vec<Contrast>,
    /// What the claim promises at this level, with its URL, and which exceptions were considered.
    pub claim: Vec<String>,
}

impl Finding {
    /// The oracles that see it, at least its own.
    pub fn seen_by(&self) -> Vec<&str> {
        let own = self.signature.oracle.as_str();
        let others = self.witnesses.iter().map(String::as_str).filter(|name| *name != own);
        std::iter::once(own).chain(others).collect()
    }

    /// Adds the oracles that see another finding of the same cause; gives those that are new here.
    pub fn add_witnesses(&mut self, other: &Self) -> Vec<String> {
        // One fingerprint by two oracles: the anomaly got an oracle of its own since this was written down.
        let renamed = usize::from(other.fingerprint == self.fingerprint);
        let mut seen_by: Vec<String> = self.seen_by().into_iter().map(str::to_owned).collect();
        let others = other.seen_by().into_iter().skip(renamed).map(str::to_owned);
        let new: Vec<String> = others.filter(|name| !seen_by.contains(name)).collect();
        seen_by.extend_from_slice(&new);
        self.witnesses = seen_by;
        new
    }

    /// Whether another oracle's finding is of the same cause. Two findings of one oracle are told apart by their
    /// fingerprints alone.
    pub fn explains(&self, other: &Self) -> bool {
        let names = |finding: &Self| {
            let own = std::iter::once(finding.fingerprint.clone());
            own.chain(finding.alike.iter().cloned()).collect::<Vec<_>>()
        };
        let ours = names(self);
        self.signature.oracle != other.signature.oracle
            && (names(other).iter().any(|name| ours.contains(name))
                || self.known.is_some() && self.known == other.known)
    }

    /// Where the oracles contradict each other about the reduced run.
    pub fn disagreements(&self) -> Vec<Disagreement<'_>> {
        let said = self.judgements.iter().map(|judgement| Stance::of(judgement, &self.covers));
        // A documented exception is a finding only in strict mode.
        disagreements(&said.collect::<Vec<_>>(), self.signature.exception.is_some())
    }

    /// The reduced case as a file that shows the finding without any option.
    pub fn reduced_case(&self) -> Case {
        self.as_it_ran(&self.run.case)
    }

    /// The cases that have to run before it, as files of the same kind, with their names.
    pub fn cases_before(&self) -> Vec<(String, Case)> {
        let named =
            |(at, case): (usize, &Case)| (format!("before-{}.case", at + 1), self.as_it_ran(case));
        self.before.iter().enumerate().map(named).collect()
    }

    /// The case as it was found, as a file of the same kind.
    pub fn original_case(&self) -> Case {
        self.as_it_ran(&self.original)
    }

    /// The case with the level of its sessions and the products that may understand it in its header.
    fn as_it_ran(&self, case: &Case) -> Case {
        let mut case = case.clone();
        let mut levels = self.run.sessions.iter().map(|session| session.level);
        // Sessions at different levels, or at the default, keep what the case itself says.
        if let Some(Some(first)) = levels.next()
            && levels.all(|level| level == Some(first))
        {
            case.header.level = Some(first);
            case.header.session_levels.clear();
        }
        // A crash may leave no sessions behind.
        case.header.level = case.header.level.or(self.run.level);
        // The generator writes for one product what others of its family mostly understand.
        if case.header.targets.is_empty() || matches!(self.origin, Origin::Generated { .. }) {
            case.header.targets = self.run.target.product.speakers();
        }
        if case.header.title.is_none() && !self.title.is_empty() {
            case.header.title = Some(self.title.clone());
        }
        case
    }
}

/// Where a case came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The generator, from a seed and a number.
    Generated {
        /// The campaign's seed.
        seed: u64,
        /// The case's number in it.
        number: u64,
    },
    /// A file.
    File(String),
}

/// How many times something recurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The number of times it did.
    pub shown: u32,
    /// The number of runs.
    pub runs: u32,
}

/// A variant of the reduced case, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// How it differs (`without the index on c2`, `at repeatable read`).
    pub change: String,
    /// What then happens (`does not show it`, `t2 fails with deadlock`).
    pub outcome: String,
}
