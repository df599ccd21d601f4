//! Suspects waiting for the investigator.
//!
//! Idea: kinds that have been examined least come first. Otherwise a bug that shows in every tenth case would keep the
//! investigator busy for the whole campaign, and a rarer one would never be reached. A kind whose last
//! [`FRUITLESS_MAX`] suspects gave no new fingerprint is only counted from then on: there is nothing more to learn
//! from it.
//!
//! Blind spot: a rare second bug under the same anomaly, after the first fifty. A resumed campaign examines fifty more
//! of each kind.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use anchorite_model::{FRUITLESS_MAX, Signature};
use anchorite_store::Suspect;

use crate::supervisor::lock;

/// More suspects of one kind than this are not kept: they are counted as violations.
pub(super) const WAITING_MAX: usize = 100;

/// Place and signature.
pub(super) type Kind = (usize, Signature);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<(Kind, Suspect)>,
    /// How many of each kind were taken.
    taken: BTreeMap<Kind, u32>,
    /// How many of each kind gave no new fingerprint, since the last that did.
    fruitless: BTreeMap<Kind, u32>,
    closed: bool,
    shut: bool,
}

/// The queue between the workers and the investigator.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// Whether there is room for one more of this kind.
    pub(super) fn has_room(&self, place: usize, signature: &Signature) -> bool {
        let state = lock(&self.state);
        let is_alike = |(at, what): &Kind| *at == place && what == signature;
        let is_fruitless =
            state.fruitless.iter().any(|(kind, n)| is_alike(kind) && *n >= FRUITLESS_MAX);
        !is_fruitless
            && state.waiting.iter().filter(|(kind, _)| is_alike(kind)).count() < WAITING_MAX
    }

    /// A suspect was examined. Returns those that need not be, because their kind has given nothing new for long.
    pub(super) fn settled(&self, kind: &Kind, is_new: bool) -> Vec<Suspect> {
        let mut state = lock(&self.state);
        let fruitless = state.fruitless.entry(kind.clone()).or_default();
        *fruitless = if is_new { 0 } else { *fruitless + 1 };
        if *fruitless < FRUITLESS_MAX {
            return Vec::new();
        }
        let alike = state.waiting.extract_if(.., |(waiting, _)| waiting == kind);
        alike.map(|(_, suspect)| suspect).collect()
    }

    /// How many kinds are only counted.
    pub(super) fn barren_kinds(&self) -> u64 {
        lock(&self.state).fruitless.values().filter(|count| **count >= FRUITLESS_MAX).count() as u64
    }

    pub(super) fn put(&self, suspect: Suspect) {
        let kind = (suspect.spot.place, suspect.signature.clone());
        lock(&self.state).waiting.push((kind, suspect));
        self.changed.notify_all();
    }

    /// No worker will find anything more.
    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// No suspect is handed out any more.
    pub(super) fn shut(&self) {
        lock(&self.state).shut = true;
    }

    /// The next suspect: of the kind that was taken least often, the first.
    pub(super) fn take(&self, limit: Duration) -> Taken {
        let state = lock(&self.state);
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let waited = self.changed.wait_timeout_while(state, limit, is_idle);
        let (mut state, _) = waited.unwrap_or_else(|poison| poison.into_inner());
        if state.shut {
            return Taken::Closed;
        }
        let rank = |at: &usize| {
            let (kind, _) = &state.waiting[*at];
            (state.taken.get(kind).copied().unwrap_or(0), *at)
        };
        match (0..state.waiting.len()).min_by_key(rank) {
            Some(at) => {
                let (kind, suspect) = state.waiting.remove(at);
                *state.taken.entry(kind.clone()).or_default() += 1;
                Taken::Suspect(kind, Box::new(suspect))
            }
            None if state.closed => Taken::Closed,
            None => Taken::Nothing,
        }
    }
}

/// The contents of the queue.
#[derive(Debug)]
pub(super) enum Taken {
    Suspect(Kind, Box<Suspect>),
    Nothing,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::{Case, Rank};
    use anchorite_store::Spot;

    fn suspect(place: usize, number: u64, anomaly: &str) -> Suspect {
        let signature = Signature {
            oracle: "x".to_owned(),
            anomaly: anomaly.to_owned(),
            exception: None,
            rank: Rank::Broken,
        };
        let spot = Spot { place, number };
        Suspect::new((spot, String::new(), None), 0, signature, Case::default(), String::new())
    }

    #[test]
    fn kinds_take_turns() {
        let queue = Queue::default();
        for number in 0..3 {
            queue.put(suspect(0, number, "often"));
        }
        queue.put(suspect(0, 3, "rare"));
        queue.put(suspect(1, 4, "often"));
        queue.close();
        let mut numbers = Vec::new();
        while let Taken::Suspect(_, suspect) = queue.take(Duration::ZERO) {
            numbers.push(suspect.spot.number);
        }
        assert_eq!(numbers, [0, 3, 4, 1, 2]);
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let queue = Queue::default();
        for number in 0..WAITING_MAX as u64 {
            let suspect = suspect(0, number, "often");
            assert!(queue.has_room(0, &suspect.signature));
            queue.put(suspect);
        }
        let one_more = suspect(0, 1000, "often");
        assert!(!queue.has_room(0, &one_more.signature));
        assert!(queue.has_room(1, &one_more.signature));
    }

    #[test]
    fn a_kind_that_brings_nothing_new_is_only_counted() {
        let queue = Queue::default();
        let often = suspect(0, 0, "often");
        let kind = (0, often.signature.clone());
        for (round, last) in [(1, FRUITLESS_MAX - 1), (2, FRUITLESS_MAX)] {
            assert!(queue.settled(&kind, true).is_empty(), "a new name begins the count anew");
            for _ in 1..last {
                assert!(queue.settled(&kind, false).is_empty());
            }
            assert!(queue.has_room(0, &often.signature), "round {round}");
        }
        queue.put(suspect(0, 1, "often"));
        queue.put(suspect(0, 2, "rare"));
        let numbers = |left: Vec<Suspect>| left.iter().map(|s| s.spot.number).collect::<Vec<_>>();
        assert_eq!(numbers(queue.settled(&kind, false)), [1]);
        assert!(!queue.has_room(0, &often.signature));
        assert!(queue.has_room(1, &often.signature), "other places are other kinds");
        assert_eq!(queue.barren_kinds(), 1);
    }
}
