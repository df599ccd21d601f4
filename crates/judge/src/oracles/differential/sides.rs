//! Two runs of the same statements side by side: where they diverge, and how.
//!
//! Idea: up to the first difference both databases were in the same state, so the first difference is what counts;
//! everything after it may follow from it. Waits may differ, because locks are on what is stored. The answer of a
//! statement that nothing blocks may not.
//!
//! Assumption: a statement that waited may have done part of its work before, in an order that depends on how its rows
//! are found. So from the first wait on nothing is compared exactly.

use anchorite_model::sql::{Dialect, StatementKind, Tokens};
use anchorite_model::{Answer, ErrorClass, Event, Level, Outcome, Run};

use crate::evidence::difference::{Difference, differences, sorted};
use crate::evidence::level_of;

/// Words of statements whose result may depend on the order in which rows are visited, on time or on chance.
const UNSTEADY: [&str; 20] = [
    "LIMIT",
    "FETCH",
    "TOP",
    "IGNORE",
    "SKIP",
    "ROW_NUMBER",
    "FIRST_VALUE",
    "LAST_VALUE",
    "GROUP_CONCAT",
    "STRING_AGG",
    "ARRAY_AGG",
    "RAND",
    "RANDOM",
    "UUID",
    "NOW",
    "CURRENT_TIMESTAMP",
    "LAST_INSERT_ID",
    "ROWID",
    "CTID",
    "NEXTVAL",
];

/// Where two runs diverge.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Parting {
    /// Nowhere: the same answers, the same tables in the end.
    Nowhere,
    /// In something that a wait, or a refusal because of others, may have caused on one side.
    AfterWaits(Vec<Difference>),
    /// In an answer or in the final state, although everything before was the same and nothing had waited.
    Plainly(Vec<Difference>),
    /// In something that cannot be compared, and why not.
    Incomparable(String, Vec<Difference>),
}

/// Where `here` and `there`, two runs of the same statements, diverge.
pub(super) fn parting(here: &Run, there: &Run) -> Parting {
    let all = all_differences(here, there);
    if all.is_empty() {
        return Parting::Nowhere;
    }
    let dialect = here.target.product.dialect();
    let mut texts = here.case.steps.iter().map(|step| &step.statement.sql);
    if let Some(sql) = texts.find(|sql| is_unsteady(sql, dialect)) {
        let reason = format!("the result may depend on the order of rows, time or chance: {sql}");
        return Parting::Incomparable(reason, all);
    }
    for (one, other) in here.events.iter().zip(&there.events) {
        match step(one, other) {
            Step::Same => {}
            Step::Parts if is_read_after_own_writes(here, one) => return Parting::AfterWaits(all),
            Step::Parts => return Parting::Plainly(all),
            Step::Waits => return Parting::AfterWaits(all),
            Step::NotUnderstood => {
                let reason = format!("one side does not understand: {}", one.sql);
                return Parting::Incomparable(reason, all);
            }
        }
    }
    if here.events.len() == there.events.len() {
        Parting::Plainly(all)
    } else {
        Parting::AfterWaits(all)
    }
}

/// All differences in answers and in the final state.
fn all_differences(here: &Run, there: &Run) -> Vec<Difference> {
    differences(here, there, (1..=here.case.steps.len()).map(|n| (n, n)))
}

/// How one event of a run compares with the corresponding event of the other.
enum Step {
    Same,
    Parts,
    Waits,
    NotUnderstood,
}

fn step(one: &Event, other: &Event) -> Step {
    use Outcome::{Blocked, Error, Ok, Resumed, Skipped};
    if one.n != other.n {
        return Step::Waits;
    }
    match (&one.outcome, &other.outcome) {
        (Skipped { .. }, Skipped { .. }) => Step::Same,
        (Blocked { .. } | Resumed(_) | Skipped { .. }, _)
        | (_, Blocked { .. } | Resumed(_) | Skipped { .. }) => Step::Waits,
        (Error(error), _) | (_, Error(error)) if is_of_others(error.class) => Step::Waits,
        (Error(error), Error(another)) if error.class == another.class => Step::Same,
        (Error(error), _) | (_, Error(error)) if error.class == ErrorClass::Other => {
            Step::NotUnderstood
        }
        (Ok(answer), Ok(another)) if is_same(answer, another) => Step::Same,
        _ => Step::Parts,
    }
}

/// Whether two answers are equal, whatever the order of their rows.
fn is_same(one: &Answer, other: &Answer) -> bool {
    one.affected == other.affected
        && one.results.iter().map(sorted).eq(other.results.iter().map(sorted))
}

/// Whether a statement fails so because of other transactions, or of a connection that was lost.
fn is_of_others(class: ErrorClass) -> bool {
    class.is_of_others() || class == ErrorClass::ConnectionLost
}

/// Whether this is a read of a session that has written before, at a level with one snapshot for the transaction. Where
/// writes see later versions than that, a transaction that changes a row and one that finds nothing to change there see
/// different data afterwards.
fn is_read_after_own_writes(run: &Run, event: &Event) -> bool {
    if level_of(run).is_some_and(|level| level <= Level::ReadCommitted) {
        return false;
    }
    let is_write = |other: &&Event| {
        other.session == event.session
            && other.n < event.n
            && StatementKind::of(&other.sql).writes()
    };
    matches!(StatementKind::of(&event.sql), StatementKind::Select { .. })
        && run.events.iter().any(|other| is_write(&other))
}

fn is_unsteady(sql: &str, dialect: Dialect) -> bool {
    let mut tokens = Tokens::new(sql, 0, dialect).map_while(Result::ok);
    tokens
        .any(|token| token.text.starts_with('@') || UNSTEADY.iter().any(|word| token.is_word(word)))
}
