//! Sabotage of INSERT, UPDATE, DELETE and REPLACE.

use anchorite_model::sql::{Dialect, literal};
use anchorite_model::{Answer, DbError, ErrorClass, StatementKind, Value};
use anchorite_sql::RowStatement;

use super::Sabotage;
use super::records::Image;
use super::records::{has_effect, is_open_after};
use super::session::{Act, After, SabotagedSession};
use super::shared_schema::lock;
use crate::Reply;

/// After the first write of a transaction.
pub(super) const FIRST_WRITE: &str = "anchorite_first";
/// Before a write that may have to be undone.
const WRITE: &str = "anchorite_write";

impl SabotagedSession {
    pub(super) fn before_write(&mut self) -> Option<Act> {
        let transaction = self.transaction();
        let honest = |after| Some(Act::Send(self.sql.clone(), after));
        match self.shared.sabotage {
            // Whether anybody will overlap is not known yet.
            Sabotage::CommitTorn
                if transaction.open && transaction.writes == 0 && !transaction.has_savepoint =>
            {
                honest(After::MarkFirstWrite)
            }
            Sabotage::LostUpdate if !transaction.open => self.remembering(),
            _ if !self.may_act() || transaction.failed => None,
            Sabotage::LostUpdate => self.write_back(),
            Sabotage::RowSkipped => self.skip_a_row(),
            Sabotage::DuplicateExecution => honest(After::Repeat),
            Sabotage::ErrorExchanged => honest(After::ExchangeError),
            Sabotage::FailureInvented => self.invent_failure(),
            Sabotage::WriteLost => {
                let undoable = match transaction.open {
                    true => format!("SAVEPOINT {WRITE}"),
                    false => "BEGIN".to_owned(),
                };
                self.execute(&undoable).ok()?;
                honest(After::Undo)
            }
            Sabotage::EarlyCommit if transaction.open && !transaction.has_savepoint => {
                honest(After::Commit)
            }
            Sabotage::ConflictIgnored if transaction.open => {
                if self.shared.errors_abort() {
                    self.execute(&format!("SAVEPOINT {WRITE}")).ok()?;
                }
                honest(After::OvercomeConflict)
            }
            _ => None,
        }
    }

    /// One of the rows that the statement should match, according to the committed state, is excluded.
    fn skip_a_row(&self) -> Option<Act> {
        let dialect = self.shared.dialect();
        let statement = RowStatement::read(&self.sql, dialect)?;
        let rows = self.ask_committed(&statement.select()).ok()?.results.pop()?;
        let victim = rows.rows.iter().min()?;
        let location = self.location();
        let columns = rows.columns.iter().map(|column| location.quote(column));
        let is_victim = columns.zip(victim).map(|(column, value)| equals(&column, value, dialect));
        let exclude = format!("NOT ({})", is_victim.collect::<Vec<_>>().join(" AND "));
        // Some values cannot be compared, or are not equal to themselves when written down.
        let others =
            format!("SELECT * FROM {}{}", statement.source, statement.where_also(&exclude));
        let left = self.ask_committed(&others).ok()?.results.pop()?;
        if left.rows.len() >= rows.rows.len() {
            return None;
        }
        self.acted();
        Some(Act::Send(statement.with_condition(&exclude), After::HandOn))
    }

    /// What another transaction has changed since this one began is changed back first.
    fn write_back(&self) -> Option<Act> {
        if self.kind != StatementKind::Update {
            return None;
        }
        let statement = RowStatement::read(&self.sql, self.shared.dialect())?;
        let images: Vec<Image> = lock(&self.shared.records)
            .images
            .iter()
            .filter(|image| image.open_for.contains(&self.key) && statement.is_about(&image.table))
            .cloned()
            .collect();
        for image in images {
            match self.restore(&image, &statement) {
                Ok(true) => {
                    self.acted();
                    break;
                }
                Ok(false) => {}
                // The transaction is gone, as it is after an honest conflict.
                Err(error) => return Some(Act::Answer(Err(error))),
            }
        }
        None
    }

    fn restore(&self, image: &Image, statement: &RowStatement<'_>) -> Result<bool, DbError> {
        let dialect = self.shared.dialect();
        let location = self.location();
        let columns: Vec<String> = image.columns.iter().map(|name| location.quote(name)).collect();
        let rows = columns.iter().zip(image.before.iter().zip(&image.after));
        let changes: Vec<String> = rows
            .clone()
            .filter(|(_, (before, after))| before != after)
            .map(|(column, (before, _))| format!("{column} = {}", literal(before, dialect)))
            .collect();
        let is_it: Vec<String> =
            rows.map(|(column, (_, after))| equals(column, after, dialect)).collect();
        let condition = statement.where_also(&format!("({})", is_it.join(" AND ")));
        let update = format!("UPDATE {} SET {}{condition}", statement.source, changes.join(", "));
        if self.execute(&format!("SAVEPOINT {WRITE}")).is_err() {
            return Ok(false);
        }
        let reply = self.execute(&update);
        let restored = has_effect(&reply);
        match reply {
            Err(error) if !is_open_after(&error, true) => return Err(error),
            Err(_) => drop(self.execute(&format!("ROLLBACK TO SAVEPOINT {WRITE}"))),
            Ok(_) => {}
        }
        Ok(restored)
    }

    /// The write's effect is undone, its answer stays.
    pub(super) fn undo(&self, reply: Reply) -> Reply {
        let autocommit = !self.transaction().open;
        let undo = match autocommit {
            true => "ROLLBACK".to_owned(),
            false => format!("ROLLBACK TO SAVEPOINT {WRITE}"),
        };
        if has_effect(&reply) {
            self.acted();
        }
        if (autocommit || reply.is_ok())
            && let Err(error) = self.execute(&undo)
        {
            return Err(error);
        }
        if autocommit { outside_transaction(reply) } else { reply }
    }

    /// The write is executed once more; only its first answer is shown.
    pub(super) fn repeat(&self, reply: Reply) -> Reply {
        if !has_effect(&reply) {
            return reply;
        }
        let open = self.transaction().open;
        if open && self.execute(&format!("SAVEPOINT {WRITE}")).is_err() {
            return reply;
        }
        match self.execute(&self.sql) {
            Ok(answer) if answer.affected != Some(0) => self.acted(),
            Ok(_) => {}
            // The error has ended the transaction: that cannot be hidden.
            Err(error) if open && !is_open_after(&error, true) => return Err(error),
            Err(_) if open => drop(self.execute(&format!("ROLLBACK TO SAVEPOINT {WRITE}"))),
            Err(_) => {}
        }
        reply
    }

    /// The transaction is committed, and another one begun.
    pub(super) fn commit_at_once(&self, reply: Reply) -> Reply {
        if !has_effect(&reply) || !self.commit_would_not_wait() {
            return reply;
        }
        self.acted();
        match self.execute("COMMIT") {
            Ok(_) => self.execute("BEGIN").and(reply),
            Err(error) => Err(error),
        }
    }

    /// With a rollback journal, and a shared cache, a COMMIT waits for readers.
    pub(super) fn commit_would_not_wait(&self) -> bool {
        let info = &self.shared.info;
        let transactions = &info.product.descriptor().transactions;
        let readers_block = transactions.readers_block_commit.contains(&info.variant);
        let records = lock(&self.shared.records);
        !readers_block || records.others(self.key).all(|other| !other.transaction.touched)
    }

    /// From here on COMMIT can keep the first write alone.
    pub(super) fn mark_first_write(&mut self, reply: Reply) -> Reply {
        if has_effect(&reply) {
            self.first_write_marked = self.execute(&format!("SAVEPOINT {FIRST_WRITE}")).is_ok();
        }
        reply
    }

    /// A write that failed because of a conflict is executed by another connection.
    pub(super) fn overcome_conflict(&self, reply: Reply) -> Reply {
        let error = match reply {
            Err(error) if is_conflict(error.class) && is_open_after(&error, true) => error,
            reply => return reply,
        };
        let back = format!("ROLLBACK TO SAVEPOINT {WRITE}");
        if self.shared.errors_abort() && self.execute(&back).is_err() {
            return Err(error);
        }
        match self.ask_committed(&self.sql) {
            Ok(answer) => {
                self.acted();
                Ok(Answer { in_transaction: Some(true), ..answer })
            }
            Err(_) if self.shared.errors_abort() => {
                // The transaction has to be as unusable as it was.
                let _ = self.execute("ROLLBACK TO SAVEPOINT anchorite_nowhere");
                Err(error)
            }
            Err(_) => Err(error),
        }
    }
}

fn is_conflict(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Serialization | ErrorClass::Conflict)
}

/// The same reply from a statement outside a transaction.
fn outside_transaction(reply: Reply) -> Reply {
    match reply {
        Ok(mut answer) => {
            answer.in_transaction = Some(false);
            Ok(answer)
        }
        Err(mut error) => {
            error.in_transaction = Some(false);
            Err(error)
        }
    }
}

/// `column = value`, also for NULL.
fn equals(column: &str, value: &Value, dialect: Dialect) -> String {
    match value {
        Value::Null => format!("{column} IS NULL"),
        value => format!("{column} = {}", literal(value, dialect)),
    }
}
