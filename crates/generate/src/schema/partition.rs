//! Random partitions.
//!
//! Assumption: every unique key has to contain the partitioning column, and foreign keys are impossible; so only tables
//! with a primary key and nothing else qualify.

use anchorite_model::sql::Dialect;

use super::Table;
use crate::Grammar;
use crate::random::Random;
use crate::value::Kind;

/// What follows the closing parenthesis of CREATE TABLE, and the statements that make the partitions.
pub(super) fn partitions(
    grammar: &Grammar<'_>,
    random: &mut Random,
    table: &Table,
) -> Option<(String, Vec<String>)> {
    let can = table.uniques.is_empty() && table.foreign.is_none();
    let whole_numbers: Vec<usize> =
        table.primary.iter().copied().filter(|at| table.columns[*at].kind == Kind::Int).collect();
    let by = random.try_pick(&whole_numbers).filter(|_| can)?;
    let column = &table.columns[*by].name;
    let (low, high) = (random.between(1, 4), random.between(5, 8));
    let count = random.between(2, 3);
    let forms: Vec<&str> = ["partition-hash", "partition-range", "partition-tables"]
        .into_iter()
        .filter(|form| grammar.has(form))
        .collect();
    match *random.try_pick(&forms)? {
        "partition-hash" => {
            Some((format!(" PARTITION BY HASH ({column}) PARTITIONS {count}"), Vec::new()))
        }
        "partition-range" => {
            let parts = format!(
                "PARTITION p0 VALUES LESS THAN ({low}), PARTITION p1 VALUES LESS THAN ({high}), \
                 PARTITION p2 VALUES LESS THAN MAXVALUE"
            );
            Some((format!(" PARTITION BY RANGE ({column}) ({parts})"), Vec::new()))
        }
        _ if grammar.dialect == Dialect::Postgres => {
            let name = &table.name;
            let hash = random.percent(50);
            let bounds: Vec<String> = if hash {
                (0..count)
                    .map(|rest| format!("FOR VALUES WITH (MODULUS {count}, REMAINDER {rest})"))
                    .collect()
            } else {
                vec![
                    format!("FOR VALUES FROM (MINVALUE) TO ({low})"),
                    format!("FOR VALUES FROM ({low}) TO ({high})"),
                    "DEFAULT".to_owned(),
                ]
            };
            let parts = bounds.iter().enumerate();
            let parts = parts
                .map(|(n, bounds)| format!("CREATE TABLE {name}_{n} PARTITION OF {name} {bounds}"));
            let way = if hash { "HASH" } else { "RANGE" };
            Some((format!(" PARTITION BY {way} ({column})"), parts.collect()))
        }
        _ => None,
    }
}
