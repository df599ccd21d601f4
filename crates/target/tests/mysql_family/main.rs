//! The MySQL-protocol targets against real servers.
//!
//! `ANCHORITE_TEST_URLS` names the servers (URLs separated by spaces, `mysql://…`, `mariadb://…`,
//! `tidb://…`); without it every test says that it was skipped. For a TiDB on this machine that runs with
//! `-L debug`, `ANCHORITE_TEST_TIDB_LOG` names its log file.

mod bed;
mod connections;
mod errors;
mod levels;
mod values;
mod waits;
