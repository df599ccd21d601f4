//! A snapshot for each transaction, and the first who changes a row wins: PostgreSQL's repeatable read.

use crate::statement::Statement;
use crate::world::{Fault, Progress, Running, World};

pub fn go_on(world: &mut World, running: &mut Running) -> Progress {
    let (change, condition) = match running.statement {
        Statement::Insert(values) => return world.insert(running, values),
        Statement::Change(change, condition) => (change, condition),
        Statement::Read(_) => return Progress::Done,
    };
    let who = running.who;
    for row in 0..world.rows.len() {
        let Some(found) = world.visible(row, who, running.snapshot) else { continue };
        if running.seen.contains(&row) || !world.matches(condition, found) {
            continue;
        }
        let mut base = found;
        if let Some(holder) = world.holder(row, who, false) {
            match world.without_waiting(row, who) {
                Some(values) => base = values.unwrap_or(found),
                None => return Progress::WaitsFor(holder),
            }
        }
        let is_changed = world.own(row, who).is_none()
            && world.committed(row, usize::MAX).and_then(|version| version.committed)
                > Some(running.snapshot);
        if is_changed {
            if world.goes_wrong(Fault::Stale) {
                base = world.latest(row, who).unwrap_or(found);
            } else if !world.goes_wrong(Fault::Lost) {
                return Progress::Conflict;
            }
        }
        match world.change(running, row, base, change) {
            Progress::Done => {}
            other => return other,
        }
    }
    Progress::Done
}
