//! The outcomes of suspects, by case and oracle.
//!
//! A case counts once as a hit of a finding, however many oracles saw it there. Earlier releases kept one suspect per
//! case and did not record the oracle: what they settled is settled for every oracle.

use std::collections::BTreeMap;

use crate::{Conclusion, Spot};

/// The suspects that are settled.
#[derive(Debug, Default)]
pub(crate) struct Settled(BTreeMap<(Spot, Option<String>), Conclusion>);

impl Settled {
    /// Whether a suspect is settled.
    pub(crate) fn knows(&self, spot: Spot, oracle: &str) -> bool {
        self.0.contains_key(&(spot, None)) || self.0.contains_key(&(spot, Some(oracle.to_owned())))
    }

    /// Settles a suspect; returns the finding that its case is a further hit of.
    pub(crate) fn note(
        &mut self,
        spot: Spot,
        oracle: Option<String>,
        conclusion: Conclusion,
    ) -> Option<String> {
        let key = (spot, oracle);
        let here = (spot, None)..(Spot { number: spot.number + 1, ..spot }, None);
        let is_counted = self.0.contains_key(&key)
            || self.0.range(here).any(|(_, earlier)| *earlier == conclusion);
        let hit = match &conclusion {
            Conclusion::Confirmed(fingerprint) if !is_counted => Some(fingerprint.clone()),
            _ => None,
        };
        self.0.insert(key, conclusion);
        hit
    }

    /// The place and the oracle of most suspects that did not recur.
    pub(crate) fn flakiest(&self) -> Option<(usize, Option<&str>)> {
        let mut counts: BTreeMap<(usize, Option<&str>), u64> = BTreeMap::new();
        let flaky = self.0.iter().filter(|(_, conclusion)| **conclusion == Conclusion::Flaky);
        for ((spot, oracle), _) in flaky {
            *counts.entry((spot.place, oracle.as_deref())).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(whose, _)| whose)
    }

    /// How many had this outcome.
    pub(crate) fn count(&self, wanted: impl Fn(&Conclusion) -> bool) -> u64 {
        self.0.values().filter(|conclusion| wanted(conclusion)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmed(fingerprint: &str) -> Conclusion {
        Conclusion::Confirmed(fingerprint.to_owned())
    }

    #[test]
    fn a_case_is_one_hit_of_a_finding_however_many_oracles_see_it() {
        let mut settled = Settled::default();
        let spot = |number| Spot { place: 0, number };
        let by = |name: &str| Some(name.to_owned());
        for (number, oracle, fingerprint, is_hit) in [
            (1, by("a"), "f", true),
            (1, by("b"), "f", false),
            (1, by("c"), "g", true),
            (2, by("b"), "f", true),
            // The hunt was killed before the suspect was removed, so it is settled again.
            (2, by("b"), "h", false),
            (3, None, "f", true),
        ] {
            let hit = settled.note(spot(number), oracle, confirmed(fingerprint));
            assert_eq!(hit.is_some(), is_hit, "{number} {fingerprint}");
        }
        assert!(settled.knows(spot(1), "a") && !settled.knows(spot(2), "a"));
        assert!(settled.knows(spot(3), "a"), "an earlier release did not say whose it was");
        assert_eq!(settled.count(|conclusion| *conclusion == confirmed("f")), 3);
    }
}
