//! Which cases run where, in which order.
//!
//! Idea: a *place* is a target at a level. Case numbers come in blocks, whose cases share their tables;
//! every block runs at every place before the next one begins. So the same seed gives the same cases
//! whatever the number of workers, and all places get their share of any budget.
//!
//! What is done may have gaps, and may be a gap itself: a single case that crashed the engine, in a block of which
//! nothing else is done. So a block may be handed out in several units.

use std::ops::Range;

use anchorite_store::Ranges;

/// A range of case numbers for one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Where.
    pub place: usize,
    /// Which cases; never more than a block.
    pub numbers: Range<u64>,
}

/// Distributes units, each once.
#[derive(Debug, Clone)]
pub struct Plan {
    block: u64,
    /// How many cases each place gets.
    limits: Vec<u64>,
    done: Vec<Ranges>,
    turn: u64,
    /// The first number of the current block that has not been handed out.
    next: u64,
}

impl Plan {
    /// A plan for this many places. The total number of cases, if there is one, is distributed evenly. What is already
    /// done is left out.
    pub fn new(block: u64, cases: Option<u64>, done: Vec<Ranges>) -> Self {
        let places = done.len() as u64;
        let limit = |place: u64| match cases {
            Some(cases) => cases / places + u64::from(place < cases % places),
            None => u64::MAX,
        };
        Self { block, limits: (0..places).map(limit).collect(), done, turn: 0, next: 0 }
    }

    /// The next unit; `None` when every place has had its share.
    pub fn take(&mut self) -> Option<Unit> {
        let places = self.limits.len() as u64;
        loop {
            let (block, place) = (self.turn / places, (self.turn % places) as usize);
            let start = block.checked_mul(self.block)?;
            if self.limits.iter().all(|limit| start >= *limit) {
                return None;
            }
            let end = start.saturating_add(self.block).min(self.limits[place]);
            let first = self.done[place].next_missing(self.next.max(start));
            if first >= end {
                self.turn += 1;
                self.next = 0;
                continue;
            }
            let until = self.done[place].next_present(first).map_or(end, |done| done.min(end));
            self.next = until;
            return Some(Unit { place, numbers: first..until });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut plan: Plan) -> Vec<(usize, Range<u64>)> {
        std::iter::from_fn(|| plan.take()).map(|unit| (unit.place, unit.numbers)).collect()
    }

    #[test]
    fn every_place_gets_its_share_block_by_block() {
        let plan = Plan::new(200, Some(901), vec![Ranges::default(); 2]);
        let units =
            [(0, 0..200), (1, 0..200), (0, 200..400), (1, 200..400), (0, 400..451), (1, 400..450)];
        assert_eq!(all(plan), units);
    }

    #[test]
    fn what_is_done_is_left_out() {
        let mut done = vec![Ranges::default(); 2];
        done[0].add(0..250);
        done[1].add(200..400);
        let plan = Plan::new(200, Some(800), done);
        assert_eq!(all(plan), [(1, 0..200), (0, 250..400)]);
    }

    #[test]
    fn single_cases_that_are_done_are_left_out() {
        let mut done = vec![Ranges::default(); 2];
        [0..50, 70..71, 199..201, 399..400].into_iter().for_each(|range| done[0].add(range));
        let plan = Plan::new(200, Some(800), done);
        let units = [(0, 50..70), (0, 71..199), (1, 0..200), (0, 201..399), (1, 200..400)];
        assert_eq!(all(plan), units);
    }

    #[test]
    fn without_a_number_there_is_always_more() {
        let plan = Plan::new(200, None, vec![Ranges::default(); 3]);
        let mut plan = plan;
        let last = (0..1000).filter_map(|_| plan.take()).last().unwrap();
        assert_eq!(last, Unit { place: 0, numbers: 66_600..66_800 });
    }
}
