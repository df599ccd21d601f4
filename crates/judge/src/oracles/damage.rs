//! The damage oracle: errors with which a server reports that its own data is damaged.
//!
//! Idea: an index that disagrees with its table, or a page that cannot be read, is wrong whatever the level and the
//! order of the transactions are: serial orders and documented exceptions are not considered.
//!
//! An OPTIMISTIC transaction (TiDB) that finds only at its COMMIT that a key is taken may report a failed assertion:
//! nothing is damaged then, and it counts as any other failed COMMIT.
//!
//! Source: the vendors' lists of errors, in the products' descriptors. Assumption: the files were not damaged from
//! outside; a campaign's tables are new. Blind spot: damage that the server does not notice itself.

use anchorite_model::{Deed, Event, Judgement, Outcome, Product, Run, Verdict};

use super::{Needs, Oracle, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::transactions::is_optimistic;
use crate::evidence::words::abridged;
use crate::laboratory::Laboratory;

/// The name of the violation: the server reports damaged data.
pub const DAMAGE: &str = "damaged data";

/// The oracle.
pub struct Damage;

impl Oracle for Damage {
    fn name(&self) -> &'static str {
        "damage"
    }

    fn about(&self) -> &'static str {
        "no statement may be answered with an error about damaged data"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn deed(&self) -> Option<Deed> {
        Some(Deed::DataDamaged)
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        _: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let run = evidence.run;
        let because = reports(run.target.product, &run.events);
        let verdict = match because.as_slice() {
            [] => Verdict::Pass,
            _ => Verdict::broken(DAMAGE, because),
        };
        Ok(Judgement::new(self.name(), verdict))
    }
}

/// Whether a statement of a run was answered so.
pub fn is_damaged(run: &Run) -> bool {
    !reports(run.target.product, &run.events).is_empty()
}

/// A sentence for each statement that was answered so.
fn reports(product: Product, events: &[Event]) -> Vec<String> {
    let damage = &product.descriptor().damage;
    let is_late = |event: &Event, code: &str| {
        let begins = |other: &&Event| other.session == event.session && is_optimistic(&other.sql);
        damage.late_duplicates.iter().any(|late| late == code)
            && events.iter().any(|other| other.n < event.n && begins(&other))
    };
    let reported = events.iter().filter_map(|event| match &event.outcome {
        Outcome::Error(error)
            if damage.codes.contains(&error.code) && !is_late(event, &error.code) =>
        {
            Some((event, error))
        }
        _ => None,
    });
    reported
        .map(|(event, error)| {
            let sql = abridged(&event.sql);
            format!("step {} ({sql}): the server says ({}): {}", event.n, error.code, error.message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use anchorite_model::DbError;

    use super::*;

    fn event(n: usize, sql: &str, outcome: Outcome) -> Event {
        let sql = sql.to_owned();
        Event { n, session: 0, sql, outcome, at_us: 0, sent: None, answered: None }
    }

    #[test]
    fn only_errors_about_damaged_data_count() {
        let answered = |product, code: &str| {
            let error = DbError { code: code.to_owned(), ..DbError::default() };
            let outcome = Outcome::Error(error);
            !reports(product, &[event(1, "SELECT 1", outcome)]).is_empty()
        };
        assert!(answered(Product::named("tidb"), "8133"));
        assert!(!answered(Product::named("mysql"), "8133"));
        assert!(answered(Product::named("sqlite"), "11"));
        assert!(!answered(Product::named("postgres"), "XX000"));
        assert!(answered(Product::named("postgres"), "XX002"));
    }

    #[test]
    fn an_optimistic_transaction_may_learn_late_that_a_key_is_taken() {
        let error = DbError { code: "8141".to_owned(), ..DbError::default() };
        let begun = |begin| {
            let events = [
                event(1, begin, Outcome::Ok(anchorite_model::Answer::default())),
                event(2, "COMMIT", Outcome::Error(error.clone())),
            ];
            !reports(Product::named("tidb"), &events).is_empty()
        };
        assert!(begun("BEGIN PESSIMISTIC"));
        assert!(!begun("BEGIN OPTIMISTIC"));
    }
}
