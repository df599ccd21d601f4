//! Plain reads of the models: what they see, and what they see if something goes wrong.

use crate::statement::{Condition, Values};
use crate::world::{Fault, Who, World};

impl World {
    /// The rows that a plain read returns, with the snapshot of this moment.
    pub fn read(&mut self, who: Who, snapshot: usize, condition: Condition) -> Vec<Values> {
        let right = self.matching(condition, |world, row| world.visible(row, who, snapshot));
        for (fault, wrong) in self.wrong_reads(who, snapshot, condition) {
            // Only what shows is an occasion.
            if wrong != right && self.goes_wrong(fault) {
                return wrong;
            }
        }
        right
    }

    fn wrong_reads(
        &self,
        who: Who,
        snapshot: usize,
        condition: Condition,
    ) -> Vec<(Fault, Vec<Values>)> {
        let older = snapshot.saturating_sub(1);
        let dirty =
            |world: &Self, row: usize| world.rows[row].versions.last().and_then(|last| last.values);
        let not_own =
            |world: &Self, row: usize| world.committed(row, snapshot).and_then(|last| last.values);
        let mut less = self.matching(condition, |world, row| world.visible(row, who, snapshot));
        less.pop();
        vec![
            (Fault::ReadsDirty, self.matching(condition, dirty)),
            (
                Fault::ReadsStale,
                self.matching(condition, |world, row| world.visible(row, who, older)),
            ),
            (Fault::ReadsLater, self.matching(condition, |world, row| world.latest(row, who))),
            (Fault::ReadsNotOwn, self.matching(condition, not_own)),
            (Fault::ReadsLess, less),
        ]
    }

    fn matching(
        &self,
        condition: Condition,
        see: impl Fn(&Self, usize) -> Option<Values>,
    ) -> Vec<Values> {
        let seen = (0..self.rows.len()).filter_map(|row| see(self, row));
        seen.filter(|values| condition.holds(*values)).collect()
    }
}
