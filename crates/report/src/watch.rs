//! One event of a run, as text: for somebody who watches statement by statement.
//!
//! Idea: the words are those of the whole run's text (`entries`), so that what is seen live and what is read afterwards
//! do not differ. Assumption: the event is one of the run's.

use anchorite_model::{Blocker, Event, Outcome, Rows, Run};

use crate::TextOptions;
use crate::entries::outcome_items;
use crate::escape::visible;
use crate::page::{Page, paint};
use crate::result::{blocker_name, session_name};
use crate::style::{Ink, Line};
use crate::table::table;
use crate::text::statement;

/// What the event says. With `named`, the session and its statement come first: the reader has not just typed it.
pub fn event_text(run: &Run, event: &Event, named: bool, options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut lines = Vec::new();
    if named {
        let name = format!("{}: ", visible(&session_name(run, event.session)));
        for (i, line) in statement(&event.sql, page.width - name.len()).iter().enumerate() {
            let mut whole = Line::of(Ink::Title, if i == 0 { name.as_str() } else { "" });
            whole.pad_to(name.len());
            whole.append(line);
            lines.push(whole);
        }
    }
    let is_wait =
        |other: &&Event| other.n == event.n && matches!(other.outcome, Outcome::Blocked { .. });
    let waited = run.events.iter().take_while(|other| *other != event).any(|e| is_wait(&e));
    let mut items = Vec::new();
    outcome_items(run, event, waited, &mut items);
    lines.extend(page.items(&items, page.width));
    paint(&lines, options.style)
}

/// A result set as a table.
pub fn rows_text(rows: &Rows, options: &TextOptions) -> String {
    let page = Page::new(options);
    paint(&table(rows, page.width, page.glyphs), options.style)
}

/// The names of those that a statement waits for, separated by commas.
pub fn blocker_names(run: &Run, by: &[Blocker]) -> String {
    by.iter().map(|blocker| blocker_name(run, blocker)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use anchorite_model::{
        Answer, BlockingKnowledge, Case, Ending, Product, SessionInfo, TargetInfo,
    };

    use super::*;
    use crate::{Glyphs, Style};

    fn run() -> Run {
        let session = |name: &str| SessionInfo {
            name: name.to_owned(),
            level: None,
            level_read_back: String::new(),
        };
        let sql = "UPDATE t SET a = 1".to_owned();
        let event = |outcome| Event {
            n: 1,
            session: 1,
            sql: sql.clone(),
            outcome,
            at_us: 0,
            sent: None,
            answered: None,
        };
        let by = vec![Blocker::Session(0), Blocker::Outside("7".to_owned())];
        let answer = Answer { affected: Some(2), ..Answer::default() };
        let product = Product::named("sqlite");
        Run {
            case: Case::default(),
            target: TargetInfo { product, version: String::new(), variant: String::new() },
            level: None,
            sessions: vec![session("t1"), session("t2")],
            settings: Vec::new(),
            blocking: BlockingKnowledge::Asked(String::new()),
            events: vec![
                event(Outcome::Blocked { by, wait: "row lock".to_owned() }),
                event(Outcome::Resumed(answer)),
            ],
            final_state: Vec::new(),
            checks: Vec::new(),
            notes: Vec::new(),
            ending: Ending::Complete,
        }
    }

    #[test]
    fn an_event_says_what_the_whole_run_would_say() {
        let run = run();
        let options = TextOptions { width: 80, style: Style::Plain, glyphs: Glyphs::Ascii };
        let blocked = event_text(&run, &run.events[0], false, &options);
        assert_eq!(blocked, "> blocked by t1 and a connection outside this case (7) (row lock)\n");
        let resumed = event_text(&run, &run.events[1], true, &options);
        assert_eq!(resumed, "t2: UPDATE t SET a = 1;\n> resumed: 2 rows affected\n");
    }
}
