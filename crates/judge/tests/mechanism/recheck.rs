//! A snapshot for each statement, and rows that were changed since then judged again: PostgreSQL's read committed.

use crate::statement::Statement;
use crate::world::{Progress, Running, World};

pub fn go_on(world: &mut World, running: &mut Running) -> Progress {
    let (change, condition) = match running.statement {
        Statement::Insert(values) => return world.insert(running, values),
        Statement::Change(change, condition) => (change, condition),
        Statement::Read(_) => return Progress::Done,
    };
    let who = running.who;
    for row in 0..world.rows.len() {
        if running.seen.contains(&row) {
            continue;
        }
        let Some(found) = world.visible(row, who, running.snapshot) else { continue };
        if !condition.holds(found) {
            if world.holder(row, who, false).is_none()
                && world.matches(condition, found)
                && let Some(latest) = world.latest(row, who)
            {
                match world.change(running, row, latest, change) {
                    Progress::Done => {}
                    other => return other,
                }
            }
            continue;
        }
        let (judged, base) = match world.holder(row, who, false) {
            None => world.current(row, who, condition),
            Some(holder) => match world.without_waiting(row, who) {
                Some(values) => (values, values),
                None => return Progress::WaitsFor(holder),
            },
        };
        if let (Some(judged), Some(base)) = (judged, base)
            && world.matches(condition, judged)
        {
            world.locks.push((who, row, false));
            match world.change(running, row, base, change) {
                Progress::Done => {}
                other => return other,
            }
        }
        running.seen.push(row);
    }
    Progress::Done
}
