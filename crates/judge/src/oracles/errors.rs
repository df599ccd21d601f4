//! The errors oracle: failures that nobody else can have caused, and transactions that are gone without a word.
//!
//! Idea: a deadlock, a serialization failure, a conflict or a lock time-out says that another transaction was in the
//! way. So there must have been one: open at the same time, and at a table that the failed transaction had named, or at
//! one that is connected to it by a foreign key, a trigger or a view. Two more things are wrong whatever the order is:
//! a circle of waits that the server never ends, so that the stage had to, and a transaction that the server calls over
//! after a statement that succeeded.
//!
//! Source: ours. No manual promises that failures have a cause, so what is seen here has the lower rank. Where a vendor
//! documents that they need none, an exception of the claims (`failed`) says so.
//! Assumption: every statement that reaches a table names it, or a table whose definition names it. Blind spots: two
//! transactions at different rows of one table; an error whose class no serial order gives; a transaction that is gone
//! while the server says that it is open.

use std::collections::BTreeSet;

use anchorite_claims::Deviation;
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Blocker, DbError, Event, Judgement, Outcome, Run, SessionIndex, Verdict};
use anchorite_sql::tokens::{name, significant};

use super::{Needs, Oracle, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::transactions::Transaction;
use crate::evidence::words::abridged;
use crate::laboratory::Laboratory;

/// The name of the violation: a failure for which no other transaction is a cause.
pub const CAUSELESS: &str = "failure without a conflict";
/// The name of the violation: a circle of waits that only the stage has ended.
pub const ENDLESS: &str = "deadlock not ended";
/// The name of the violation: the server has ended a transaction without an error.
pub const UNTOLD: &str = "transaction gone without an error";

/// What the names of settings end in that switch off the search for deadlocks.
const DETECTION: &str = "deadlock_detect";

/// The oracle.
pub struct Errors;

impl Oracle for Errors {
    fn name(&self) -> &'static str {
        "errors"
    }

    fn about(&self) -> &'static str {
        "a failure that blames other transactions needs one, deadlocks end, and no transaction ends untold"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        _: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let verdict = verdict(evidence)?;
        Ok(Judgement::new(self.name(), verdict))
    }
}

fn verdict(evidence: &Evidence<'_>) -> Result<Verdict, Unjudged> {
    let run = evidence.run;
    let failures: Vec<Failure<'_>> = run.events.iter().filter_map(Failure::of).collect();
    let transactions = evidence.transactions()?;
    let untold: Vec<String> = transactions.iter().filter_map(|one| untold(run, one)).collect();
    if !untold.is_empty() {
        return Ok(Verdict::undocumented(UNTOLD, untold));
    }
    let endless = endless(run, transactions);
    if !endless.is_empty() {
        return Ok(Verdict::undocumented(ENDLESS, endless));
    }
    if failures.is_empty() {
        return Ok(Verdict::Pass);
    }
    let is_ddl = |sql: &str| StatementKind::of(sql) == StatementKind::Ddl;
    if run.case.steps.iter().any(|step| is_ddl(&step.statement.sql)) {
        return Err("a table was altered while others used it".to_owned().into());
    }
    let tables = Tables::of(run);
    let causeless =
        failures.iter().filter_map(|failure| failure.without_cause(&tables, transactions));
    let causeless: Vec<Causeless> = causeless.collect();
    let is_embedded = run.target.product.descriptor().is_embedded();
    // On a server others than the sessions of the case are at work as well; in an engine of our own nobody is.
    let is_excusable = !(is_embedded && causeless.iter().any(|failure| failure.was_alone));
    let because: Vec<String> = causeless.into_iter().map(|failure| failure.told).collect();
    let exceptions = evidence.writes()?.exceptions.iter().copied();
    let excuse = exceptions
        .filter(|_| is_excusable)
        .find(|exception| exception.rows.contains(&Deviation::Failed));
    Ok(match (because.is_empty(), excuse) {
        (true, _) => Verdict::Pass,
        (false, Some(exception)) => Verdict::Allowed { exception: exception.name.clone(), because },
        (false, None) => Verdict::undocumented(CAUSELESS, because),
    })
}

/// A failure that nobody else can have caused.
struct Causeless {
    /// In a sentence.
    told: String,
    /// Whether no other transaction was open at all.
    was_alone: bool,
}

/// A statement that failed because of others, as the server says.
struct Failure<'r> {
    event: &'r Event,
    error: &'r DbError,
    sent: usize,
    answered: usize,
}

impl<'r> Failure<'r> {
    fn of(event: &'r Event) -> Option<Self> {
        let Outcome::Error(error) = &event.outcome else { return None };
        let (sent, answered) = (event.sent?, event.answered?);
        error.class.is_of_others().then_some(Self { event, error, sent, answered })
    }

    /// Why nobody else can be the cause, if so.
    fn without_cause(
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
        let named: Vec<&str> = own
            .into_iter()
            .flat_map(|own| &own.statements)
            .filter(|statement| statement.start <= self.sent)
            .map(|statement| statement.sql)
            .chain([self.event.sql.as_str()])
            .collect();
        let reached = tables.reached(&named);
        let meets = |other: &Transaction<'_>| {
            let named: Vec<&str> = other.statements.iter().map(|performed| performed.sql).collect();
            !tables.reached(&named).is_disjoint(&reached)
        };
        let why = match (others.as_slice(), reached.is_empty()) {
            ([], _) => "no other transaction was open meanwhile".to_owned(),
            (_, true) => return None,
            (others, false) if others.iter().any(|other| meets(other)) => return None,
            (others, false) => {
                let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
                format!("{} was at other tables all the time", names.join(" and "))
            }
        };
        let (n, sql) = (self.event.n, abridged(&self.event.sql));
        let DbError { code, message, class, .. } = self.error;
        let class = class.name();
        let told = format!("step {n} ({sql}) failed with {code} ({class}: {message}), but {why}");
        Some(Causeless { told, was_alone: others.is_empty() })
    }
}

/// The tables of a case in groups: what is connected by definitions counts as one.
struct Tables<'r> {
    dialect: Dialect,
    /// Each table with the number of its group.
    groups: Vec<(&'r str, usize)>,
}

impl<'r> Tables<'r> {
    fn of(run: &'r Run) -> Self {
        let names = run.final_state.iter().map(|(table, _)| table.as_str());
        let groups = names.enumerate().map(|(group, table)| (table, group)).collect();
        let mut tables = Self { dialect: run.target.product.dialect(), groups };
        for statement in &run.case.setup {
            let named = tables.reached(&[&statement.sql]);
            let Some(first) = named.first().copied() else { continue };
            let joined = tables.groups.iter_mut().filter(|(_, group)| named.contains(group));
            joined.for_each(|(_, group)| *group = first);
        }
        tables
    }

    /// The groups of the tables that these statements name.
    fn reached(&self, statements: &[&str]) -> BTreeSet<usize> {
        let words = statements.iter().flat_map(|sql| significant(sql, self.dialect));
        let names: Vec<&str> = words.filter_map(|token| name(&token)).collect();
        let is_named = |table: &str| names.iter().any(|name| name.eq_ignore_ascii_case(table));
        self.groups.iter().filter(|(table, _)| is_named(table)).map(|(_, group)| *group).collect()
    }
}

/// A statement that was answered with success, after which the server says that there is no transaction any more.
fn untold(run: &Run, transaction: &Transaction<'_>) -> Option<String> {
    transaction.begin?;
    let is_told = transaction.statements.iter().any(|statement| statement.reply.is_err());
    let gone = transaction
        .statements
        .iter()
        .find(|statement| statement.reply.is_ok_and(|answer| answer.in_transaction == Some(false)));
    let gone = gone.filter(|_| !is_told)?;
    let (n, sql, session) = (gone.n, abridged(gone.sql), &run.sessions[transaction.session].name);
    Some(format!(
        "step {n} ({sql}) succeeded, and afterwards {session} is in no transaction, as the server says"
    ))
}

/// Statements in a circle of waits that had to be cancelled.
fn endless(run: &Run, transactions: &[Transaction<'_>]) -> Vec<String> {
    let is_off = |value: &str| value.eq_ignore_ascii_case("off") || value == "0";
    if run.settings.iter().any(|(name, value)| name.ends_with(DETECTION) && is_off(value)) {
        return Vec::new();
    }
    let statements = transactions
        .iter()
        .flat_map(|one| one.statements.iter().map(move |statement| (one.session, statement)));
    let cancelled = statements.filter(|(_, statement)| statement.cancelled);
    let told = cancelled.filter(|(session, statement)| {
        let waits = waits_at(run, statement.end);
        reaches(&waits, *session, *session, run.sessions.len())
    });
    told.map(|(session, statement)| {
        let (n, sql, name) = (statement.n, abridged(statement.sql), &run.sessions[session].name);
        format!("step {n} ({sql}) of {name} was part of a circle of waits until it was cancelled")
    })
    .collect()
}

/// Who waited for whom just before a moment.
fn waits_at(run: &Run, moment: usize) -> Vec<(SessionIndex, SessionIndex)> {
    let answered = |n: usize| run.events.iter().find(|event| event.n == n && event.is_answer());
    let mut waits = Vec::new();
    for event in &run.events {
        let Outcome::Blocked { by, .. } = &event.outcome else { continue };
        let is_sent = event.sent.is_some_and(|sent| sent < moment);
        let is_over = answered(event.n).is_some_and(|answer| answer.answered < Some(moment));
        if is_sent && !is_over {
            waits.extend(by.iter().filter_map(|blocker| match blocker {
                Blocker::Session(other) => Some((event.session, *other)),
                Blocker::Outside(_) | Blocker::Prepared(_) => None,
            }));
        }
    }
    waits
}

/// Whether a chain of waits leads from one session to another, in so many steps.
fn reaches(
    waits: &[(SessionIndex, SessionIndex)],
    from: SessionIndex,
    to: SessionIndex,
    steps: usize,
) -> bool {
    steps > 0
        && waits.iter().any(|(waiter, blocker)| {
            *waiter == from && (*blocker == to || reaches(waits, *blocker, to, steps - 1))
        })
}
