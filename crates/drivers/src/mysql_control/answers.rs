//! Small queries to a server and their plain answers.

use anchorite_model::{Answer, Value};

use super::CONTROL_LIMIT;
use crate::mysql_wire::{Connection, ServerError, WireError};

/// `Unknown system variable`
const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;

/// A system variable; `None` if the server has none of that name.
pub(crate) fn variable(
    connection: &mut Connection,
    name: &str,
) -> Result<Option<String>, WireError> {
    known_answer(connection, &format!("SELECT @@{name}"))
}

/// The first cell of an answer; `None` if the question names a system variable that the server does not have.
pub(crate) fn known_answer(
    connection: &mut Connection,
    question: &str,
) -> Result<Option<String>, WireError> {
    match connection.query(question, CONTROL_LIMIT) {
        Ok(answer) => Ok(first_text(&answer)),
        Err(WireError::Server(ServerError { code: ER_UNKNOWN_SYSTEM_VARIABLE, .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The first cell of the first result.
pub(crate) fn first_text(answer: &Answer) -> Option<String> {
    text(rows(answer, 0).first()?.first()?)
}

/// The rows of the n-th result.
pub(crate) fn rows(answer: &Answer, n: usize) -> &[Vec<Value>] {
    answer.results.get(n).map_or(&[], |result| &result.rows)
}

/// A cell as text, whatever its type: some servers give binary strings where others give text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Text(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
