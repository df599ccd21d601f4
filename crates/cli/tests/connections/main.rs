//! Connections to real servers: TLS, passwords, and privileges.
//!
//! Runs with the private servers that `ANCHORITE_TEST_SERVERS` names (`mariadb@10.11 postgres@15 mysql@9.7`).

mod bed;
mod passwords;
mod privileges;
mod tls;
