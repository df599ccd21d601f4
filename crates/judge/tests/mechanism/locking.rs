//! Two-phase locking with gaps: InnoDB's repeatable read, and serializable, where reads share locks.
//!
//! A scan goes through the keys in order; every key that it has passed, and every row that it has met, stays locked
//! until the transaction ends.

use crate::statement::{Condition, Statement};
use crate::world::{Progress, Running, World};

pub fn go_on(world: &mut World, running: &mut Running) -> Progress {
    match running.statement {
        Statement::Insert(values) => world.insert(running, values),
        Statement::Read(condition) => scan(world, running, condition),
        Statement::Change(_, condition) => scan(world, running, condition),
    }
}

fn scan(world: &mut World, running: &mut Running, condition: Condition) -> Progress {
    let (from, below) = condition.range();
    running.position = running.position.max(from);
    while let Some((key, row)) = next(world, running, below) {
        world.ranges.push((running.who, running.position, key + 1));
        running.position = key;
        let is_read = matches!(running.statement, Statement::Read(_));
        let (judged, base) = match world.holder(row, running.who, is_read) {
            None => world.current(row, running.who, condition),
            Some(holder) => match world.without_waiting(row, running.who) {
                Some(values) => (values, values),
                None => return Progress::WaitsFor(holder),
            },
        };
        let (Some(judged), Some(base)) = (judged, base) else {
            running.seen.push(row);
            continue;
        };
        world.locks.push((running.who, row, is_read));
        match running.statement {
            Statement::Change(change, _) if world.matches(condition, judged) => {
                match world.change(running, row, base, change) {
                    Progress::Done => {}
                    other => return other,
                }
            }
            Statement::Read(_) if condition.holds(judged) => running.rows_read.push(judged),
            _ => {}
        }
        running.seen.push(row);
    }
    world.ranges.push((running.who, running.position, below));
    Progress::Done
}

/// The next row of the scan, and where it stands.
fn next(world: &World, running: &Running, below: i128) -> Option<(i128, usize)> {
    let rows = (0..world.rows.len()).filter(|row| !running.seen.contains(row));
    let places = rows.flat_map(|row| world.keys(row).into_iter().map(move |key| (key, row)));
    places.filter(|(key, _)| (running.position..below).contains(key)).min()
}
