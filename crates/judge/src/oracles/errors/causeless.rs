//! Statements that failed because of others, as the server says, although nobody was in the way.
//!
//! Only what the others had done before the failure counts. One that had only begun was in nobody's way, unless its
//! BEGIN says that it locks (SQLite's `BEGIN IMMEDIATE`).

use anchorite_model::{DbError, Event, Outcome};

use super::reach::Tables;
use crate::evidence::transactions::{Transaction, locks_at_once};
use crate::evidence::words::abridged;

/// A failure that nobody else can have caused.
pub(super) struct Causeless {
    /// In a sentence.
    pub told: String,
    /// Whether no other transaction had done anything.
    pub was_alone: bool,
}

/// A statement that failed because of others, as the server says.
pub(super) struct Failure<'r> {
    event: &'r Event,
    error: &'r DbError,
    sent: usize,
    answered: usize,
}

impl<'r> Failure<'r> {
    pub(super) fn of(event: &'r Event) -> Option<Self> {
        let Outcome::Error(error) = &event.outcome else { return None };
        let (sent, answered) = (event.sent?, event.answered?);
        error.class.is_of_others().then_some(Self { event, error, sent, answered })
    }

    /// Why nobody else can be the cause, if so.
    pub(super) fn without_cause(
        &self,
        tables: &Tables<'_>,
        transactions: &[Transaction<'_>],
    ) -> Option<Causeless> {
        let is_ours = |one: &&Transaction<'_>| {
            one.session == self.event.session && one.began <= self.sent && self.sent < one.ended
        };
        let own = transactions.iter().find(is_ours);
        let began = own.map_or(self.sent, |own| own.began);
        let overlaps = |one: &&Transaction<'_>| {
            one.session != self.event.session && one.began < self.answered && one.ended > began
        };
        let others: Vec<&Transaction<'_>> = transactions.iter().filter(overlaps).collect();
        let own = own.into_iter().flat_map(|own| before(own, self.sent + 1));
        let reached = tables.reached(own.chain([self.event.sql.as_str()]));
        let is_idle = |other: &Transaction<'_>| {
            before(other, self.answered).next().is_none()
                && !other.begin.is_some_and(|begin| locks_at_once(begin, tables.dialect))
        };
        let meets =
            |other: &Transaction<'_>| tables.reached(before(other, self.answered)).meets(&reached);
        let was_alone = others.iter().all(|other| is_idle(other));
        let names = || {
            let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
            names.join(" and ")
        };
        let why = if others.is_empty() {
            "no other transaction was open meanwhile".to_owned()
        } else if was_alone {
            format!("{} had done nothing by then", names())
        } else if reached.is_empty() || others.iter().any(|other| meets(other)) {
            return None;
        } else {
            format!("{} was at other tables or rows all the time", names())
        };
        let (n, sql) = (self.event.n, abridged(&self.event.sql));
        let DbError { code, message, class, .. } = self.error;
        let class = class.name();
        let told = format!("step {n} ({sql}) failed with {code} ({class}: {message}), but {why}");
        Some(Causeless { told, was_alone })
    }
}

/// The statements of a transaction that were sent before a moment.
fn before<'t>(transaction: &'t Transaction<'_>, moment: usize) -> impl Iterator<Item = &'t str> {
    let sent = transaction.statements.iter().filter(move |statement| statement.start < moment);
    sent.map(|statement| statement.sql)
}
