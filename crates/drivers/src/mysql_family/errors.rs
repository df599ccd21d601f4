//! What an error number means: its class, and whether it took the whole transaction along.
//!
//! A table and a pure function. Source: the vendors' error lists, and measurements on MariaDB 10.5–11.8,
//! MySQL 5.6 and 9.7 and TiDB 4.0 and 8.5 of what is left of the transaction afterwards.
//!
//! Blind spot: with `innodb_rollback_on_timeout=ON` a lock timeout (1205) counts as the end of the
//! transaction, also in the rare case that it was a metadata lock's, which only fails the statement; the
//! server answers both with the same words.

use anchorite_model::sql::StatementKind;
use anchorite_model::{DbError, ErrorClass, Product};

use crate::mysql_wire::{ServerError, WireError};

/// What a server's errors depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorRules {
    pub product: Product,
    /// `innodb_rollback_on_timeout`.
    pub rollback_on_timeout: bool,
}

/// What is left of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    /// Only the statement failed.
    No,
    /// All of it was rolled back.
    Yes,
    /// All of it, if `innodb_rollback_on_timeout` is on.
    IfConfigured,
    /// All of it, unless the statement only reads or writes rows: then the error came while committing.
    UnlessRowStatement,
    /// All of it, if the statement was to commit it.
    AtCommit,
}

/// An error number of every product, or of one.
struct Rule(Option<Product>, &'static [u16], ErrorClass, Gone);

const RULES: &[Rule] = &[
    // Deadlocks; 1614 is an XA branch's. A deadlock of GET_LOCK (3058, 3132) fails the call alone.
    Rule(None, &[1213, 1614], ErrorClass::Deadlock, Gone::Yes),
    Rule(None, &[3058, 3132], ErrorClass::Deadlock, Gone::No),
    // Lock wait timeout; NOWAIT; a wait given up for a pending exclusive lock; an XA branch's timeout.
    Rule(None, &[1205], ErrorClass::LockTimeout, Gone::IfConfigured),
    Rule(None, &[3572, 1689], ErrorClass::LockTimeout, Gone::No),
    Rule(None, &[1613], ErrorClass::LockTimeout, Gone::Yes),
    // A group's certification refused the commit.
    Rule(None, &[3101], ErrorClass::Serialization, Gone::Yes),
    // innodb_snapshot_isolation: the row was changed after the snapshot.
    Rule(Some(Product::Mariadb), &[1020], ErrorClass::Conflict, Gone::Yes),
    // DDL has changed the table after the snapshot: "please retry transaction".
    Rule(None, &[1412], ErrorClass::Conflict, Gone::No),
    // Write conflict, cannot retry, retryable, schema changed or outdated, conflict in TiDB itself.
    Rule(
        Some(Product::Tidb),
        &[9007, 8002, 8022, 8027, 8028, 8005],
        ErrorClass::Conflict,
        Gone::UnlessRowStatement,
    ),
    // A unique key that was to be checked at the end.
    Rule(Some(Product::Tidb), &[8147], ErrorClass::Constraint, Gone::Yes),
    // Duplicate keys, which an optimistic transaction meets when it commits; there they may also break an assertion.
    Rule(Some(Product::Tidb), &[1062], ErrorClass::Constraint, Gone::AtCommit),
    Rule(Some(Product::Tidb), &[8141], ErrorClass::Other, Gone::AtCommit),
    // Duplicate keys.
    Rule(None, &[1022, 1062, 1169, 1557, 1586, 1761, 1762], ErrorClass::Constraint, Gone::No),
    // NOT NULL and missing defaults.
    Rule(None, &[1048, 1263, 1364], ErrorClass::Constraint, Gone::No),
    // Foreign keys.
    Rule(None, &[1216, 1217, 1451, 1452], ErrorClass::Constraint, Gone::No),
    // CHECK (MySQL, MariaDB), views WITH CHECK OPTION, no partition for the value.
    Rule(None, &[3819, 4025, 1369, 1526], ErrorClass::Constraint, Gone::No),
    // Shutdown, killed or timed out connections, network errors.
    Rule(
        None,
        &[1053, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 3168, 3169, 4031],
        ErrorClass::ConnectionLost,
        Gone::Yes,
    ),
    // The lock table is full, COMMIT failed, an XA branch was rolled back; the server hangs up after a
    // packet that is too large.
    Rule(None, &[1206, 1180, 1402, 1153], ErrorClass::Other, Gone::Yes),
];

impl ErrorRules {
    /// The class of an error, and whether the transaction is gone.
    fn classify(&self, code: u16, kind: &StatementKind) -> (ErrorClass, bool) {
        let rule = RULES.iter().find(|Rule(product, codes, ..)| {
            codes.contains(&code) && product.is_none_or(|product| product == self.product)
        });
        let Some(Rule(_, _, class, gone)) = rule else { return (ErrorClass::Other, false) };
        let gone = match gone {
            Gone::No => false,
            Gone::Yes => true,
            Gone::IfConfigured => self.rollback_on_timeout,
            Gone::UnlessRowStatement => !is_row_statement(kind),
            Gone::AtCommit => matches!(kind, StatementKind::Commit { .. } | StatementKind::Begin),
        };
        (*class, gone)
    }

    /// The error as the run records it.
    pub(crate) fn db_error(&self, error: WireError, sql: &str) -> DbError {
        let ServerError { code, message, results } = match error {
            WireError::Server(error) => error,
            WireError::Lost(reason) => return DbError::connection_lost(reason),
        };
        let (class, gone) = self.classify(code, &StatementKind::of(sql));
        // An ERR packet carries no status. After a timeout that rolls back, versions differ in whether
        // the session counts as being inside a transaction.
        let known_outside = gone && class != ErrorClass::LockTimeout;
        DbError {
            class,
            code: code.to_string(),
            message,
            transaction_gone: gone,
            in_transaction: known_outside.then_some(false),
            results,
            ..DbError::default()
        }
    }
}

/// Whether the statement only reads or writes rows, and so does not end a transaction by itself.
fn is_row_statement(kind: &StatementKind) -> bool {
    kind.writes() || matches!(kind, StatementKind::Select { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(product: Product, rollback_on_timeout: bool) -> ErrorRules {
        ErrorRules { product, rollback_on_timeout }
    }

    fn server_error(code: u16) -> WireError {
        WireError::Server(ServerError { code, message: "m".to_owned(), results: Vec::new() })
    }

    #[test]
    fn errors_are_classified_by_number() {
        use ErrorClass as C;
        use Product::{Mariadb, Mysql, Tidb};
        for (product, code, sql, class, gone) in [
            (Mysql, 1213, "UPDATE t SET a=1", C::Deadlock, true),
            (Tidb, 1213, "UPDATE t SET a=1", C::Deadlock, true),
            (Mysql, 1205, "UPDATE t SET a=1", C::LockTimeout, false),
            (Mysql, 3572, "SELECT 1", C::LockTimeout, false),
            (Mysql, 3058, "SELECT 1", C::Deadlock, false),
            (Mariadb, 1020, "UPDATE t SET a=1", C::Conflict, true),
            (Mysql, 1020, "UPDATE t SET a=1", C::Other, false),
            (Mysql, 1412, "UPDATE t SET a=1", C::Conflict, false),
            (Tidb, 9007, "COMMIT", C::Conflict, true),
            (Tidb, 9007, "/* x */ -- y\n commit", C::Conflict, true),
            (Tidb, 9007, "(select 1) for update", C::Conflict, false),
            (Tidb, 8002, "commit", C::Conflict, true),
            (Tidb, 8022, "BEGIN", C::Conflict, true),
            (Tidb, 8028, "COMMIT", C::Conflict, true),
            (Mysql, 9007, "COMMIT", C::Other, false),
            (Mariadb, 1062, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (Tidb, 1062, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (Tidb, 1062, "COMMIT", C::Constraint, true),
            (Tidb, 8141, "COMMIT", C::Other, true),
            (Tidb, 1062, "CREATE UNIQUE INDEX i ON t (a)", C::Constraint, false),
            (Mariadb, 4025, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (Mysql, 3819, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (Mysql, 1452, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (Mysql, 1317, "SELECT 1", C::Other, false),
            (Mysql, 3024, "SELECT 1", C::Other, false),
            (Mariadb, 1969, "SELECT 1", C::Other, false),
            (Mariadb, 1927, "SELECT 1", C::ConnectionLost, true),
            (Mysql, 1053, "SELECT 1", C::ConnectionLost, true),
            (Tidb, 8048, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", C::Other, false),
            (Mysql, 1064, "SELEC 1", C::Other, false),
        ] {
            let error = rules(product, false).db_error(server_error(code), sql);
            assert_eq!((error.class, error.transaction_gone), (class, gone), "{product} {code}");
            assert_eq!(error.code, code.to_string());
        }
    }

    #[test]
    fn a_timeout_ends_the_transaction_where_the_server_is_set_up_so() {
        let error = rules(Product::Mysql, true).db_error(server_error(1205), "UPDATE t SET a=1");
        assert!(error.transaction_gone);
        assert_eq!(error.in_transaction, None);
    }

    #[test]
    fn a_lost_connection_takes_the_transaction_along() {
        let lost = WireError::Lost("the server closed the connection".into());
        let error = rules(Product::Tidb, false).db_error(lost, "SELECT 1");
        assert_eq!((error.class, error.transaction_gone), (ErrorClass::ConnectionLost, true));
        assert_eq!(error.code, "connection-lost");
    }
}
