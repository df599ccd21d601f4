//! Errors by which a server says that its own data is damaged.
//!
//! Idea: an index that disagrees with its table, or a page that cannot be read, is wrong whatever the level and the
//! order of the transactions are: no serial order and no documented exception is asked then.
//!
//! On TiDB a transaction that was begun OPTIMISTIC, and finds only at its COMMIT that a key is taken, may say so by a
//! broken assertion: nothing is damaged then, and it counts as any other failed COMMIT.
//!
//! Source: the vendors' lists of errors, below. Assumption: the files were not damaged from outside; a campaign's
//! tables are new. Blind spot: damage that the server does not notice itself.

use anchorite_model::{Event, Outcome, Product, Run};

use super::transactions::is_optimistic;

/// What a violation is called: the server reports damaged data.
pub const DAMAGE: &str = "damaged data";

/// The codes of a product's errors about damaged data.
fn codes(product: Product) -> &'static [&'static str] {
    match product {
        // <https://docs.pingcap.com/tidb/stable/error-codes/>: index and record, index values, assertions.
        Product::Tidb => &["8003", "8133", "8134", "8138", "8139", "8140", "8141", "8223"],
        // <https://mariadb.com/kb/en/mariadb-error-code-reference/>: key files, crashed tables, corrupt indexes.
        Product::Mariadb | Product::Mysql => {
            &["1034", "1035", "1194", "1195", "1707", "1712", "1817", "1877"]
        }
        // <https://www.postgresql.org/docs/current/errcodes-appendix.html>: data_corrupted, index_corrupted.
        Product::Postgres | Product::Cockroach => &["XX001", "XX002"],
        // <https://www.sqlite.org/rescode.html#corrupt>: also the extended codes for indexes and sequences.
        Product::Sqlite => &["11", "267", "523", "779"],
    }
}

/// TiDB: an assertion about a key does not hold.
const LATE_DUPLICATE: &str = "8141";

/// A sentence for each statement that was answered so.
pub fn damage(run: &Run) -> Vec<String> {
    reports(run.target.product, &run.events)
}

fn reports(product: Product, events: &[Event]) -> Vec<String> {
    let codes = codes(product);
    let is_late = |event: &Event, code: &str| {
        let begins = |other: &&Event| other.session == event.session && is_optimistic(&other.sql);
        code == LATE_DUPLICATE && events.iter().any(|other| other.n < event.n && begins(&other))
    };
    let reported = events.iter().filter_map(|event| match &event.outcome {
        Outcome::Error(error)
            if codes.contains(&error.code.as_str()) && !is_late(event, &error.code) =>
        {
            Some((event, error))
        }
        _ => None,
    });
    reported
        .map(|(event, error)| {
            let sql = super::compare::abridged(&event.sql);
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
        assert!(answered(Product::Tidb, "8133"));
        assert!(!answered(Product::Mysql, "8133"));
        assert!(answered(Product::Sqlite, "11"));
        assert!(!answered(Product::Postgres, "XX000"));
        assert!(answered(Product::Postgres, "XX002"));
    }

    #[test]
    fn an_optimistic_transaction_may_learn_late_that_a_key_is_taken() {
        let error = DbError { code: LATE_DUPLICATE.to_owned(), ..DbError::default() };
        let begun = |begin| {
            let events = [
                event(1, begin, Outcome::Ok(anchorite_model::Answer::default())),
                event(2, "COMMIT", Outcome::Error(error.clone())),
            ];
            !reports(Product::Tidb, &events).is_empty()
        };
        assert!(begun("BEGIN PESSIMISTIC"));
        assert!(!begun("BEGIN OPTIMISTIC"));
    }
}
