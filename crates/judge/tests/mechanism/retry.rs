//! A snapshot for each execution of a statement, which begins anew after each wait: TiDB's pessimistic transactions.

use crate::statement::Statement;
use crate::world::{Progress, Running, World};

pub fn go_on(world: &mut World, running: &mut Running) -> Progress {
    let (change, condition) = match running.statement {
        Statement::Insert(values) => return world.insert(running, values),
        Statement::Change(change, condition) => (change, condition),
        Statement::Read(_) => return Progress::Done,
    };
    let who = running.who;
    let mut found = Vec::new();
    for row in 0..world.rows.len() {
        let (judged, base) = world.current(row, who, condition);
        let (Some(judged), Some(base)) = (judged, base) else { continue };
        if !world.matches(condition, judged) {
            continue;
        }
        match world.holder(row, who, false) {
            None => found.push((row, base)),
            Some(holder) => match world.without_waiting(row, who) {
                Some(values) => found.extend(values.map(|values| (row, values))),
                None => return Progress::WaitsFor(holder),
            },
        }
    }
    for (row, base) in found {
        world.locks.push((who, row, false));
        match world.change(running, row, base, change) {
            Progress::Done => {}
            other => {
                world.undo(running);
                return other;
            }
        }
    }
    Progress::Done
}
