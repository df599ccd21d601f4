//! A [`Session`] on the PostgreSQL protocol, shared by PostgreSQL and CockroachDB.
//!
//! Items of the wire are gathered until the server is ready again; then they are one [`Reply`]. An error inside a
//! transaction aborts it: PostgreSQL answers 25P02 until ROLLBACK, and a COMMIT silently rolls back, which the command
//! tag shows.

use std::os::fd::BorrowedFd;

use anchorite_model::product::{ErrorClasses, ErrorSigns, Leaves};
use anchorite_model::{Answer, DbError, Notice, Product, Rows};

use crate::pg_wire::{PgConnection, PgItem, PgMessage, PgRows};
use crate::{ConnectionId, Reply, Session};

/// The product whose errors count where nothing else is said.
const POSTGRES: &str = "postgres";

/// A connection with the parts of the answer that have arrived so far.
pub struct PgSession {
    connection: PgConnection,
    id: ConnectionId,
    answer: Answer,
    error: Option<PgMessage>,
    errors: &'static ErrorClasses,
}

impl PgSession {
    /// Wraps an open connection to a server of PostgreSQL's kind.
    pub fn new(connection: PgConnection) -> Self {
        let errors = Product::named(POSTGRES).descriptor().errors();
        Self { id: connection.pid, connection, answer: Answer::default(), error: None, errors }
    }

    /// The same with the errors of another product.
    pub fn of(connection: PgConnection, product: Product) -> Self {
        Self { errors: product.descriptor().errors(), ..Self::new(connection) }
    }

    /// An id other than the backend's process id, for servers that identify sessions differently.
    pub fn identify(&mut self, id: ConnectionId) {
        self.id = id;
    }

    /// The bare connection, between two statements.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// The bare connection, for callers that read its items one by one.
    pub fn into_connection(self) -> PgConnection {
        self.connection
    }

    fn finish(&mut self, status: u8) -> Reply {
        let in_transaction = Some(status != b'I');
        let answer = std::mem::take(&mut self.answer);
        match self.error.take() {
            None => Ok(Answer { in_transaction, ..answer }),
            Some(error) => {
                let PgMessage { code, message, severity, .. } = error;
                let signs = ErrorSigns { code: &code, state: &code, message: &message, sql: "" };
                let meaning = self.errors.meaning(&signs, |_| false);
                Err(DbError {
                    class: meaning.class,
                    code,
                    message,
                    severity,
                    transaction_gone: meaning.leaves != Leaves::Statement,
                    in_transaction,
                    notices: answer.notices,
                    results: answer.results,
                })
            }
        }
    }
}

impl Session for PgSession {
    fn id(&self) -> ConnectionId {
        self.id
    }

    fn submit(&mut self, sql: &str) {
        self.submit_several(&[sql]);
    }

    fn submit_several(&mut self, statements: &[&str]) -> bool {
        self.answer = Answer::default();
        self.error = None;
        self.connection.send_several(statements);
        true
    }

    fn poll(&mut self) -> Option<Reply> {
        while let Some(item) = self.connection.next_item() {
            match item {
                PgItem::Notice(notice) => self
                    .answer
                    .notices
                    .push(Notice { severity: notice.severity, message: notice.message }),
                PgItem::Notification { pid, channel, payload } => {
                    self.answer.notices.push(Notice {
                        severity: "NOTIFY".to_owned(),
                        message: format!("{channel:?} with payload {payload:?} from pid {pid}"),
                    });
                }
                PgItem::Rows(rows) => {
                    self.answer.affected = affected_by(&rows.tag);
                    self.answer.tag = Some(rows.tag.clone());
                    self.answer.results.push(typed_rows(&rows));
                }
                PgItem::Command(tag) => {
                    self.answer.affected = affected_by(&tag);
                    self.answer.tag = Some(tag);
                }
                PgItem::Error(error) => self.error = Some(error),
                PgItem::Ready(status) => return Some(self.finish(status)),
                PgItem::Lost(why) => {
                    // The server's last message ("terminating connection ...") explains more.
                    let words = self.error.take().map_or(why, |error| error.message);
                    return Some(Err(DbError::connection_lost(words)));
                }
            }
        }
        None
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.connection.fd())
    }

    fn cancel(&mut self) {
        self.connection.cancel();
    }

    fn takes_several(&self) -> bool {
        true
    }
}

fn typed_rows(rows: &PgRows) -> Rows {
    Rows {
        columns: rows.columns.iter().map(|(name, _)| name.clone()).collect(),
        rows: (0..rows.rows.len()).map(|row| rows.typed(row)).collect(),
    }
}

/// The count at the end of a tag of a statement that changes rows: `UPDATE 3`, `INSERT 0 2`.
fn affected_by(tag: &str) -> Option<u64> {
    let mut words = tag.split_whitespace();
    match words.next()? {
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" => words.last()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_affected_rows() {
        assert_eq!(affected_by("INSERT 0 2"), Some(2));
        assert_eq!(affected_by("UPDATE 0"), Some(0));
        assert_eq!(affected_by("SELECT 3"), None);
        assert_eq!(affected_by("CREATE TABLE"), None);
    }
}
