//! What the shell can say about its sessions: their levels, what they do, who waits for whom.

use anchorite_drivers::Target;
use anchorite_model::{Blocker, Rows, Run, Value};
use anchorite_report::blocker_names;
use anchorite_stage::{OneByOne, SessionState};

/// The levels of the target, and those that the sessions read back when they were opened.
pub fn levels(target: &dyn Target, run: &Run) -> String {
    let names: Vec<&str> = target.levels().iter().map(|level| level.name()).collect();
    let mut text = format!("{} has: {}\n", target.info(), names.join(", "));
    for session in &run.sessions {
        text += &format!("{}: {}\n", session.name, session.level_read_back);
    }
    text
}

/// What each session does; `None` if the server cannot be asked who waits.
pub fn waits(live: &mut OneByOne<'_>) -> Option<Rows> {
    let waits = live.waits()?;
    let columns = ["session", "state", "statement", "waits for", "because of"];
    let mut rows = Rows { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() };
    for (index, session) in live.run().sessions.iter().enumerate() {
        let wait = waits.iter().find(|wait| wait.session == index);
        let state = match live.state(index) {
            SessionState::Idle => "idle",
            SessionState::InTransaction => "in a transaction",
            SessionState::Running | SessionState::Blocked if wait.is_some() => "waiting",
            SessionState::Running | SessionState::Blocked => "running",
            SessionState::Lost => "connection lost",
        };
        let by: &[Blocker] = wait.map_or(&[], |wait| &wait.by);
        let cells = [
            session.name.clone(),
            state.to_owned(),
            live.outstanding(index).unwrap_or_default().to_owned(),
            blocker_names(live.run(), by),
            wait.map(|wait| wait.wait.clone()).unwrap_or_default(),
        ];
        let shown = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        rows.rows.push(cells.map(|text| Value::Text(shown(text))).to_vec());
    }
    Some(rows)
}
