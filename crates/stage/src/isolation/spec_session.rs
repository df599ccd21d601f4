//! A session of a spec: what it was sent and what it has answered so far.
//!
//! As in libpq, NOTICEs are shown as they are read, and reading stops at a statement's first result until the step is
//! reported; later results and NOTICEs of the same step are read then.

use std::collections::VecDeque;

use anchorite_drivers::pg_wire::{PgConnection, PgItem, PgMessage};

/// What the next item of a finished step means.
pub enum Told {
    /// A result: rows, a command's end, an error.
    Result(PgItem),
    /// The step is answered completely.
    Ready,
    /// The connection is gone.
    Lost,
}

/// A session of a spec.
pub struct SpecSession {
    /// The session's name.
    pub name: String,
    /// Its connection.
    pub connection: PgConnection,
    /// The position in the permutation of the step that is not yet reported as complete.
    pub active: Option<usize>,
    /// NOTICEs received so far.
    pub notices: usize,
    first: Option<PgItem>,
    notifications: VecDeque<(u64, String, String)>,
}

impl SpecSession {
    /// A fresh session.
    pub fn new(name: &str, connection: PgConnection) -> Self {
        Self {
            name: name.to_owned(),
            connection,
            active: None,
            notices: 0,
            first: None,
            notifications: VecDeque::new(),
        }
    }

    /// Sends a step.
    pub fn launch(&mut self, place: usize, sql: &str) {
        self.active = Some(place);
        self.connection.send(sql);
    }

    /// Whether a first result is ready.
    pub fn has_result(&self) -> bool {
        self.first.is_some()
    }

    /// Reads what has arrived up to the first result; true if there is one.
    pub fn hear(&mut self, out: &mut String) -> bool {
        while self.first.is_none() {
            match self.connection.next_item() {
                Some(item) => self.first = self.side_word(item, out),
                None => return false,
            }
        }
        true
    }

    /// The next item of a step that is being reported; `None` = nothing has arrived yet.
    pub fn next_told(&mut self, out: &mut String) -> Option<Told> {
        loop {
            let item = match self.first.take() {
                Some(first) => first,
                None => self.connection.next_item()?,
            };
            match self.side_word(item, out) {
                None => {}
                Some(PgItem::Ready(_)) => return Some(Told::Ready),
                Some(PgItem::Lost(_)) => return Some(Told::Lost),
                Some(result) => return Some(Told::Result(result)),
            }
        }
    }

    /// The step is reported: returns its notifications.
    pub fn finish(&mut self) -> VecDeque<(u64, String, String)> {
        self.active = None;
        std::mem::take(&mut self.notifications)
    }

    /// Shows a NOTICE, keeps a notification, and returns anything else.
    fn side_word(&mut self, item: PgItem, out: &mut String) -> Option<PgItem> {
        match item {
            PgItem::Notice(notice) => {
                *out += &notice_text(&self.name, &notice);
                self.notices += 1;
                None
            }
            PgItem::Notification { pid, channel, payload } => {
                self.notifications.push_back((pid, channel, payload));
                None
            }
            other => Some(other),
        }
    }
}

/// A notice as libpq shows it, with the session's name in front.
pub fn notice_text(session: &str, notice: &PgMessage) -> String {
    let mut text = format!("{session}: {}:  {}\n", notice.severity, notice.message);
    for (label, part) in [("DETAIL", &notice.detail), ("HINT", &notice.hint)] {
        if !part.is_empty() {
            text += &format!("{label}:  {part}\n");
        }
    }
    text
}
