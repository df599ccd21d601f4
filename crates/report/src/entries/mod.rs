//! The description of a run: what each event means in words, before any layout.
//!
//! Idea: a statement is shown when it is submitted, and its result where it happened, so a blocked statement appears
//! again, under the same number, when it resumes or fails. A statement that was sent before others were answered, and
//! answered after them, also appears twice, so that a deadlock is below the statement that closed it. One that had to
//! queue appears at its position in the file, and again where it was sent. Assumption: events are in the order in which
//! they happened ([`anchorite_model::Event`]). Blind spot: the statement's kind decides whether a count of affected
//! rows is meaningful, so a `MERGE` that changed nothing is only `ok`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use anchorite_model::{
    Answer, Blocker, DbError, Event, Notice, Outcome, Rows, Run, SessionIndex, StatementKind,
};

use crate::blame::Blame;
use crate::result::{counted, session_name};

/// What a remark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// An answer in a word or two (`ok`, `2 rows affected`).
    Answer,
    /// The statement waits.
    Blocked,
    /// The statement resumes.
    Resumed,
    /// The statement failed, or did not do what it says.
    Failed,
    /// This answer is the wrong one.
    Wrong,
    /// The statement was queued, sent or skipped.
    Progress,
    /// The server's own words.
    Quote,
}

/// One thing to say about an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// A remark.
    Remark(Tone, String),
    /// A result set.
    Rows(&'a Rows),
}

/// What a entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind<'a> {
    /// It was due while its session waited.
    Queued,
    /// It was sent; the result follows later.
    Sent,
    /// Something happened to it.
    Event(&'a Event),
    /// It is not part of the schedule.
    Unscheduled,
}

/// One event, or the queueing or sending that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// What it is about.
    pub kind: EntryKind<'a>,
    /// Whether its answer is to blame.
    pub is_wrong: bool,
    /// The statement's number.
    pub n: usize,
    /// Its session.
    pub session: SessionIndex,
    /// The statement, where it appears for the first time.
    pub sql: Option<&'a str>,
    /// What is said about it, in order; never empty.
    pub items: Vec<Item<'a>>,
}

impl<'a> Entry<'a> {
    /// The event, where it is one.
    pub const fn event(&self) -> Option<&'a Event> {
        match self.kind {
            EntryKind::Event(event) => Some(event),
            EntryKind::Queued | EntryKind::Sent | EntryKind::Unscheduled => None,
        }
    }

    fn before_the_event(
        event: &'a Event,
        kind: EntryKind<'a>,
        sql: Option<&'a str>,
        said: String,
    ) -> Self {
        let items = vec![Item::Remark(Tone::Progress, said)];
        Self { kind, is_wrong: false, n: event.n, session: event.session, sql, items }
    }
}

/// Describes the whole run; the answer that is to blame is marked.
pub(crate) fn describe<'a>(run: &'a Run, blame: Option<&Blame>) -> Vec<Entry<'a>> {
    let mut told = BTreeSet::new();
    let mut waiting = BTreeSet::new();
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(run.events.len());
    for (i, event) in run.events.iter().enumerate() {
        let mut sql = told.insert(event.n).then_some(event.sql.as_str());
        let waited = waiting.contains(&event.n);
        let mut items = Vec::new();
        if sql.is_some() {
            let queued = queued_behind(&run.events[..i], event);
            if let Some(other) = queued {
                let at = entries.iter().position(|entry| entry.sql.is_some() && entry.n > event.n);
                let said = format!("queued behind {other}");
                let entry = Entry::before_the_event(event, EntryKind::Queued, sql.take(), said);
                entries.insert(at.unwrap_or(entries.len()), entry);
            }
            if let Some(at) = entries.iter().position(|entry| is_after(entry, event)) {
                let said = "sent".to_owned();
                entries
                    .insert(at, Entry::before_the_event(event, EntryKind::Sent, sql.take(), said));
            } else if queued.is_some() && event.sent.is_some() {
                items.push(Item::Remark(Tone::Progress, "sent".to_owned()));
            }
        }
        outcome_items(run, event, waited, &mut items);
        if let [Item::Remark(Tone::Progress, sent), Item::Remark(Tone::Answer, short)] = &items[..]
        {
            items = vec![Item::Remark(Tone::Answer, format!("{sent}: {short}"))];
        }
        if matches!(event.outcome, Outcome::Blocked { .. }) {
            waiting.insert(event.n);
        }
        let (n, session) = (event.n, event.session);
        entries.push(Entry {
            kind: EntryKind::Event(event),
            is_wrong: false,
            n,
            session,
            sql,
            items,
        });
    }
    if let Some(blame) = blame {
        accuse(&mut entries, blame);
    }
    entries
}

/// Marks the answer that is to blame.
fn accuse(entries: &mut [Entry<'_>], blame: &Blame) {
    let is_answer =
        |entry: &&mut Entry<'_>| entry.n == blame.n && entry.event().is_some_and(Event::is_answer);
    let Some(entry) = entries.iter_mut().rev().find(is_answer) else { return };
    entry.is_wrong = true;
    for item in &mut entry.items {
        if let Item::Remark(tone @ (Tone::Answer | Tone::Resumed | Tone::Failed), _) = item {
            *tone = Tone::Wrong;
        }
    }
    entry.items.push(Item::Remark(Tone::Wrong, blame.told()));
}

/// Whether the entry happened after the event's statement was sent.
fn is_after(entry: &Entry<'_>, event: &Event) -> bool {
    let answered = entry.event().and_then(|other| other.answered);
    event.sent.is_some_and(|sent| answered.is_some_and(|answered| answered > sent))
}

/// Statements that were blocked and have no later event, with their sessions' names.
pub(crate) fn never_answered(run: &Run) -> Vec<(usize, String)> {
    let mut open: Vec<(usize, String)> = Vec::new();
    for event in &run.events {
        open.retain(|(n, _)| *n != event.n);
        if matches!(event.outcome, Outcome::Blocked { .. }) {
            open.push((event.n, session_name(run, event.session)));
        }
    }
    open
}

/// What an event says; `waited` if the statement was blocked before.
pub(crate) fn outcome_items<'a>(
    run: &Run,
    event: &'a Event,
    waited: bool,
    items: &mut Vec<Item<'a>>,
) {
    match &event.outcome {
        Outcome::Ok(answer) => answer_items(&event.sql, answer, false, items),
        Outcome::Resumed(answer) => answer_items(&event.sql, answer, true, items),
        Outcome::Blocked { by, wait } => {
            items.push(Item::Remark(Tone::Blocked, blocked(run, by, wait, waited)));
        }
        Outcome::Error(error) => error_items(error, waited, items),
        Outcome::Skipped { reason } => {
            items.push(Item::Remark(Tone::Progress, format!("skipped: {reason}")));
        }
    }
}

/// What an answer says, for a statement of the schedule or of the checks.
pub(crate) fn answer_items<'a>(
    sql: &str,
    answer: &'a Answer,
    resumed: bool,
    items: &mut Vec<Item<'a>>,
) {
    let rolled_back = commit_answered_rollback(sql, answer);
    let count = affected(sql, answer);
    let short = count.clone().unwrap_or_else(|| "ok".to_owned());
    let bare = answer.results.is_empty() && answer.notices.is_empty() && !rolled_back;
    if resumed {
        let text = if bare { format!("resumed: {short}") } else { "resumed".to_owned() };
        items.push(Item::Remark(Tone::Resumed, text));
    }
    notice_items(&answer.notices, items);
    result_items(&answer.results, items);
    if rolled_back {
        let text = "answered ROLLBACK: nothing was committed".to_owned();
        items.push(Item::Remark(Tone::Failed, text));
    } else if count.is_some() || answer.results.is_empty() {
        let said = resumed && (bare || count.is_none());
        if !said {
            items.push(Item::Remark(Tone::Answer, short));
        }
    }
}

/// What an error says.
pub(crate) fn error_items<'a>(error: &'a DbError, waited: bool, items: &mut Vec<Item<'a>>) {
    notice_items(&error.notices, items);
    result_items(&error.results, items);
    items.push(Item::Remark(Tone::Failed, error_line(error, waited)));
    let fatal = !matches!(error.severity.as_str(), "" | "ERROR");
    let severity = if fatal { format!("{}: ", error.severity) } else { String::new() };
    if !error.message.is_empty() || fatal {
        items.push(Item::Remark(Tone::Quote, format!("{severity}{}", error.message)));
    }
}

fn result_items<'a>(results: &'a [Rows], items: &mut Vec<Item<'a>>) {
    for (i, rows) in results.iter().enumerate() {
        if results.len() > 1 {
            items.push(Item::Remark(Tone::Answer, format!("result {}", i + 1)));
        }
        items.push(Item::Rows(rows));
    }
}

fn notice_items(notices: &[Notice], items: &mut Vec<Item<'_>>) {
    for notice in notices {
        let text = format!("{}: {}", notice.severity, notice.message);
        items.push(Item::Remark(Tone::Quote, text));
    }
}

fn error_line(error: &DbError, waited: bool) -> String {
    let when = if waited { "error after waiting" } else { "error" };
    let class = error.class.name();
    let named = error.code.is_empty() || error.code == class;
    let code = if named { String::new() } else { format!(" ({})", error.code) };
    let scope = match (error.transaction_gone, error.in_transaction) {
        (true, _) => "transaction gone",
        (false, Some(true)) => "transaction still open",
        (false, _) => "statement only",
    };
    format!("{when}: {class}{code}, {scope}")
}

fn blocked(run: &Run, by: &[Blocker], wait: &str, again: bool) -> String {
    let name = |blocker: &Blocker| match blocker {
        Blocker::Session(session) => session_name(run, *session),
        Blocker::Outside(id) => format!("a connection outside this case ({id})"),
        Blocker::Prepared(id) if id.is_empty() => {
            "a prepared transaction outside this case".to_owned()
        }
        Blocker::Prepared(id) => format!("the prepared transaction {id}"),
    };
    let names: Vec<String> = by.iter().map(name).collect();
    let start = if again { "now blocked" } else { "blocked" };
    let by = if names.is_empty() { String::new() } else { format!(" by {}", listed(&names)) };
    let wait = if wait.is_empty() { String::new() } else { format!(" ({wait})") };
    format!("{start}{by}{wait}")
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

/// The session's statement behind which this one had to queue: its predecessor was blocked, and
/// others with higher numbers went ahead meanwhile.
fn queued_behind(before: &[Event], event: &Event) -> Option<usize> {
    before.iter().any(|other| other.n > event.n).then_some(())?;
    let own = before.iter().filter(|other| other.session == event.session);
    own.filter(|other| matches!(other.outcome, Outcome::Blocked { .. })).map(|other| other.n).max()
}

/// PostgreSQL answers the COMMIT of a failed transaction with the tag `ROLLBACK` and no error.
pub(crate) fn commit_answered_rollback(sql: &str, answer: &Answer) -> bool {
    matches!(StatementKind::of(sql), StatementKind::Commit { .. })
        && answer.tag.as_deref().is_some_and(|tag| tag.eq_ignore_ascii_case("ROLLBACK"))
}

/// The count of affected rows, if it is meaningful: servers also count rows of a `BEGIN` or `SELECT`.
fn affected(sql: &str, answer: &Answer) -> Option<String> {
    let count = answer.affected?;
    let returned: usize = answer.results.iter().map(|rows| rows.rows.len()).sum();
    let expected = StatementKind::of(sql).writes();
    let telling = count > 0 && count != returned as u64;
    let number = usize::try_from(count).unwrap_or(usize::MAX);
    (expected || telling).then(|| format!("{} affected", counted(number, "row", "rows")))
}
