//! The settings of a server that have to do with isolation, for the record of a run.
//!
//! Idea: whoever reads a report asks first what the server was set to. A short list per product, read by a session
//! of the case after its level was set, so that what we set ourselves (the limit on waits) is told as it is.
//! Assumption: reading settings changes nothing. Blind spot: a setting that is not on the list, and a server that
//! refuses the question; a run is then recorded without.

use std::time::Duration;

use anchorite_model::Product;

use crate::{Session, execute};

/// Statements that answer with names and values. Names that a version does not know are not answered.
const fn questions(product: Product) -> &'static [&'static str] {
    match product {
        Product::Mariadb | Product::Mysql => &[
            "SHOW SESSION VARIABLES WHERE Variable_name IN ('innodb_snapshot_isolation', \
             'innodb_lock_wait_timeout', 'innodb_rollback_on_timeout', 'innodb_deadlock_detect', \
             'innodb_locks_unsafe_for_binlog')",
            GLOBAL_LEVEL,
        ],
        Product::Tidb => &[
            "SHOW SESSION VARIABLES WHERE Variable_name IN ('innodb_lock_wait_timeout', \
             'tidb_txn_mode', 'tidb_constraint_check_in_place', \
             'tidb_constraint_check_in_place_pessimistic')",
            GLOBAL_LEVEL,
        ],
        // A session that was given a level still knows the default behind it.
        Product::Postgres => &["SELECT name, \
             CASE name WHEN 'default_transaction_isolation' THEN reset_val ELSE current_setting(name) END \
             FROM pg_settings WHERE name IN ('deadlock_timeout', 'default_transaction_isolation', \
             'lock_timeout', 'max_pred_locks_per_transaction') ORDER BY name"],
        Product::Cockroach => &["SELECT variable, value FROM [SHOW ALL] WHERE variable IN \
             ('default_transaction_isolation', 'default_transaction_priority', 'enable_implicit_select_for_update', \
             'lock_timeout') ORDER BY variable"],
        // What there is to say is part of the level that is read back.
        Product::Sqlite => &[],
    }
}

/// The server's default; the session's own level is read back elsewhere. The variable was renamed.
const GLOBAL_LEVEL: &str =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";

/// Asks for the settings of a product.
pub(crate) fn read(
    product: Product,
    session: &mut dyn Session,
    limit: Duration,
) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for sql in questions(product) {
        let Ok(answer) = execute(session, sql, limit) else { continue };
        for row in answer.results.into_iter().flat_map(|result| result.rows) {
            if let [name, value] = &row[..] {
                let global = if *sql == GLOBAL_LEVEL { "global " } else { "" };
                settings.push((format!("{global}{name}"), value.to_string()));
            }
        }
    }
    settings
}
