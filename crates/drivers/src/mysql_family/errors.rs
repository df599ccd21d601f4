//! What an error means: its class, and what it left of the transaction, by the rules of the product's descriptor.

use std::collections::HashSet;

use anchorite_model::product::{ErrorSigns, Leaves};
use anchorite_model::{DbError, Product};

use crate::mysql_wire::{ServerError, WireError};

/// What a server's errors depend on.
#[derive(Debug, Clone)]
pub(crate) struct ErrorRules {
    pub product: Product,
    /// The settings that rules ask for, and that are on.
    pub on: HashSet<&'static str>,
}

impl ErrorRules {
    /// The error as the run records it, and whether a client has to roll back what it left.
    pub(crate) fn db_error(&self, error: WireError, sql: &str) -> (DbError, bool) {
        let ServerError { code, message, results } = match error {
            WireError::Server(error) => error,
            WireError::Lost(reason) => return (DbError::connection_lost(reason), false),
        };
        let code = code.to_string();
        let signs = ErrorSigns { code: &code, state: "", message: &message, sql };
        let errors = self.product.descriptor().errors();
        let meaning = errors.meaning(&signs, |setting| self.on.contains(setting));
        // An ERR packet carries no status.
        let in_transaction = match meaning.leaves {
            Leaves::Failed => Some(true),
            _ => meaning.is_outside.then_some(false),
        };
        let error = DbError {
            class: meaning.class,
            code,
            message,
            transaction_gone: meaning.leaves != Leaves::Statement,
            in_transaction,
            results,
            ..DbError::default()
        };
        (error, meaning.roll_back)
    }
}

#[cfg(test)]
mod tests {
    use anchorite_model::ErrorClass;

    use super::*;

    fn rules(product: &str, on: &[&'static str]) -> ErrorRules {
        ErrorRules { product: Product::named(product), on: on.iter().copied().collect() }
    }

    fn server_error(code: u16) -> WireError {
        WireError::Server(ServerError { code, message: "m".to_owned(), results: Vec::new() })
    }

    #[test]
    fn errors_are_classified_by_number() {
        use ErrorClass as C;
        let (mariadb, mysql, tidb) = ("mariadb", "mysql", "tidb");
        for (product, code, sql, class, gone) in [
            (mysql, 1213, "UPDATE t SET a=1", C::Deadlock, true),
            (tidb, 1213, "UPDATE t SET a=1", C::Deadlock, true),
            (mysql, 1205, "UPDATE t SET a=1", C::LockTimeout, false),
            (mysql, 3572, "SELECT 1", C::LockTimeout, false),
            (mysql, 3058, "SELECT 1", C::Deadlock, false),
            (mariadb, 1020, "UPDATE t SET a=1", C::Conflict, true),
            (mysql, 1020, "UPDATE t SET a=1", C::Other, false),
            (mysql, 1412, "UPDATE t SET a=1", C::Conflict, false),
            (tidb, 9007, "COMMIT", C::Conflict, true),
            (tidb, 9007, "/* x */ -- y\n commit", C::Conflict, true),
            (tidb, 9007, "(select 1) for update", C::Conflict, false),
            (tidb, 8002, "commit", C::Conflict, true),
            (tidb, 8022, "BEGIN", C::Conflict, true),
            (tidb, 8028, "COMMIT", C::Conflict, true),
            (mysql, 9007, "COMMIT", C::Other, false),
            (mariadb, 1062, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (tidb, 1062, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (tidb, 1062, "COMMIT", C::Constraint, true),
            (tidb, 8141, "COMMIT", C::Other, true),
            (tidb, 1062, "CREATE UNIQUE INDEX i ON t (a)", C::Constraint, false),
            (mariadb, 4025, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (mysql, 3819, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (mysql, 1452, "INSERT INTO t VALUES (1)", C::Constraint, false),
            (mysql, 1317, "SELECT 1", C::Other, false),
            (mysql, 3024, "SELECT 1", C::Other, false),
            (mariadb, 1969, "SELECT 1", C::Other, false),
            (mariadb, 1927, "SELECT 1", C::ConnectionLost, true),
            (mysql, 1053, "SELECT 1", C::ConnectionLost, true),
            (tidb, 8048, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", C::Other, false),
            (mysql, 1064, "SELEC 1", C::Other, false),
        ] {
            let error = rules(product, &[]).db_error(server_error(code), sql).0;
            assert_eq!((error.class, error.transaction_gone), (class, gone), "{product} {code}");
            assert_eq!(error.code, code.to_string());
        }
    }

    #[test]
    fn a_timeout_ends_the_transaction_where_the_server_is_set_up_so() {
        let error = rules("mysql", &["innodb_rollback_on_timeout"])
            .db_error(server_error(1205), "UPDATE t SET a=1")
            .0;
        assert!(error.transaction_gone);
        assert_eq!(error.in_transaction, None);
    }

    #[test]
    fn a_lost_connection_takes_the_transaction_along() {
        let lost = WireError::Lost("the server closed the connection".into());
        let error = rules("tidb", &[]).db_error(lost, "SELECT 1").0;
        assert_eq!((error.class, error.transaction_gone), (ErrorClass::ConnectionLost, true));
        assert_eq!(error.code, "connection-lost");
    }
}
