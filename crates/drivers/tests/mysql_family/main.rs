//! The MySQL-protocol targets against real servers.
//!
//! `ANCHORITE_TEST_URLS` names the servers (URLs separated by spaces, `mysql://…`, `mariadb://…`,
//! `tidb://…`); without it every test says that it was skipped.

mod bed;
mod connections;
mod errors;
mod levels;
mod values;
mod waits;
