//! Row locks without gaps, rows that do not match released again, and semi-consistent reads of UPDATE: InnoDB's read
//! committed.
//!
//! A scan goes through the keys in order. What stands behind it is not looked at again, except for rows that were there
//! from the beginning and match in every version.

use crate::statement::{Change, Condition, Statement};
use crate::world::{Progress, Running, World};

pub fn go_on(world: &mut World, running: &mut Running) -> Progress {
    let (change, condition) = match running.statement {
        Statement::Insert(values) => return world.insert(running, values),
        Statement::Change(change, condition) => (change, condition),
        Statement::Read(_) => return Progress::Done,
    };
    let (from, below) = condition.range();
    running.position = running.position.max(from);
    while let Some((key, row)) =
        next(world, running, below).or_else(|| left_behind(world, running, condition))
    {
        running.position = running.position.max(key);
        match meet(world, running, row, change, condition) {
            Progress::Done => {}
            other => return other,
        }
    }
    Progress::Done
}

fn meet(
    world: &mut World,
    running: &mut Running,
    row: usize,
    change: Change,
    condition: Condition,
) -> Progress {
    let who = running.who;
    let (judged, base) = match world.holder(row, who, false) {
        None => world.current(row, who, condition),
        Some(holder) => {
            let committed = world.committed(row, usize::MAX).and_then(|version| version.values);
            let is_scan = !matches!(condition, Condition::Key(_));
            let is_skipped = is_scan
                && !matches!(change, Change::Gone)
                && !committed.is_some_and(|values| condition.holds(values));
            if is_skipped {
                running.seen.push(row);
                return Progress::Done;
            }
            match world.without_waiting(row, who) {
                Some(values) => (values, values),
                None => return Progress::WaitsFor(holder),
            }
        }
    };
    if let (Some(judged), Some(base)) = (judged, base)
        && world.matches(condition, judged)
    {
        world.locks.push((who, row, false));
        return world.change(running, row, base, change);
    }
    running.seen.push(row);
    Progress::Done
}

/// The next row of the scan, and where it stands.
fn next(world: &World, running: &Running, below: i128) -> Option<(i128, usize)> {
    let rows = (0..world.rows.len()).filter(|row| !running.seen.contains(row));
    let places = rows.flat_map(|row| world.keys(row).into_iter().map(move |key| (key, row)));
    places.filter(|(key, _)| (running.position..below).contains(key)).min()
}

/// A row that moved behind the scan, although it was there when the statement began and always matched.
fn left_behind(world: &World, running: &Running, condition: Condition) -> Option<(i128, usize)> {
    let rows = (0..world.rows.len()).filter(|row| !running.seen.contains(row));
    let always = |row: &usize| {
        (running.snapshot..=world.moment).all(|moment| {
            let values = world.visible(*row, running.who, moment);
            values.is_some_and(|values| condition.holds(values))
        })
    };
    rows.filter(always).map(|row| (running.position, row)).next()
}
