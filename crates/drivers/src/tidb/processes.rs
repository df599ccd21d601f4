//! TiDB's process list: connections, their transactions and statements.

use anchorite_model::Value;

use super::log::Timestamp;
use crate::ConnectionId;
use crate::mysql_control::text;

/// The list has the transaction's start in every version.
pub(super) const PROCESSES: &str =
    "SELECT ID, COMMAND, TxnStart, INFO FROM information_schema.processlist";

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub id: ConnectionId,
    pub is_idle: bool,
    pub transaction: Option<Timestamp>,
    pub sql: String,
}

/// The rows of [`PROCESSES`].
pub(super) fn processes(rows: &[Vec<Value>]) -> Vec<Process> {
    rows.iter()
        .filter_map(|row| {
            let [id, command, start, sql] = &row[..] else { return None };
            Some(Process {
                id: text(id)?.parse().ok()?,
                is_idle: text(command)? == "Sleep",
                transaction: text(start).and_then(|start| timestamp(&start)),
                sql: text(sql).unwrap_or_default(),
            })
        })
        .collect()
}

/// `11-15 23:44:36.203(470492453588959232)`
fn timestamp(text: &str) -> Option<Timestamp> {
    text.split_once('(')?.1.strip_suffix(')')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_apart() {
        let cell = |text: &str| Value::Text(text.to_owned());
        let rows = [
            vec![Value::Int(7), cell("Sleep"), cell("11-15 23:44:36.203(4704924)"), Value::Null],
            vec![Value::Int(8), cell("Query"), cell(""), cell("select 1")],
        ];
        let process = |id, is_idle, transaction, sql: &str| Process {
            id,
            is_idle,
            transaction,
            sql: sql.to_owned(),
        };
        assert_eq!(
            processes(&rows),
            [process(7, true, Some(4_704_924), ""), process(8, false, None, "select 1")]
        );
    }
}
