//! The same query twice in one transaction, with different rows.
//!
//! Idea: this needs no understanding of the writes. A transaction that runs the same plain query twice, and has written
//! nothing in between, must get the same rows at a level with repeatable reads. It is called PMP (a phantom) where one
//! answer contains the other, and G-single (a non-repeatable read) where rows were replaced. Blind spot: a row that was
//! deleted while another was changed looks like a replacement.

use anchorite_claims::Anomaly;
use anchorite_model::sql::Dialect;
use anchorite_model::{Case, StatementKind, Value};

use super::cycles::SeenAnomaly;
use crate::evidence::transactions::{Performed, Transaction};
use anchorite_sql::followed::Tables;

/// The anomalies that two answers to one query prove.
pub fn repeated(
    case: &Case,
    dialect: Dialect,
    transactions: &[Transaction<'_>],
) -> Vec<SeenAnomaly> {
    let mut found: Vec<SeenAnomaly> = Vec::new();
    let Some((tables, _)) = Tables::of(case, dialect) else { return found };
    for transaction in transactions.iter().filter(|transaction| transaction.committed) {
        for (i, first) in transaction.statements.iter().enumerate() {
            let later = transaction.statements[i + 1..].iter();
            let until_write = later.take_while(|statement| !has_written(statement));
            for second in until_write.filter(|second| second.sql == first.sql) {
                let plain = first.kind == StatementKind::Select { locking: false };
                if !plain || tables.read(first.sql).is_none_or(|read| read.locking) {
                    continue;
                }
                if let Some(anomaly) = difference(first, second)
                    && !found.iter().any(|known| known.anomaly == anomaly)
                {
                    let because = vec![format!(
                        "steps {} and {} of {} are the same query, nothing was written in between, and the answers \
                         differ",
                        first.n, second.n, transaction.name
                    )];
                    found.push(SeenAnomaly { anomaly, by_write: false, because });
                }
            }
        }
    }
    found
}

/// Whether a statement may have changed what its transaction sees.
fn has_written(statement: &Performed<'_>) -> bool {
    let count = statement.reply.ok().and_then(|answer| answer.affected);
    statement.is_write() && !(statement.kind.writes() && count == Some(0))
}

fn difference(first: &Performed<'_>, second: &Performed<'_>) -> Option<Anomaly> {
    let rows = |statement: &Performed<'_>| -> Option<Vec<Vec<Value>>> {
        let mut rows = statement.reply.ok()?.results.first()?.rows.clone();
        rows.sort();
        Some(rows)
    };
    let (first, second) = (rows(first)?, rows(second)?);
    let (fewer, more) =
        if first.len() < second.len() { (&first, &second) } else { (&second, &first) };
    if first == second {
        None
    } else if contains(more, fewer) {
        Some(Anomaly::Pmp)
    } else {
        Some(Anomaly::GSingle)
    }
}

/// Whether every row of the second is in the first, as often.
fn contains(more: &[Vec<Value>], fewer: &[Vec<Value>]) -> bool {
    let mut left: Vec<&Vec<Value>> = more.iter().collect();
    fewer.iter().all(|row| {
        let place = left.iter().position(|other| *other == row);
        place.map(|place| left.swap_remove(place)).is_some()
    })
}
