//! A small client of the MySQL protocol that can send without waiting for the answer.
//!
//! Idea: the stage holds several sessions on one thread, so a connection must be able to *submit* a
//! statement and to be *polled* later. Ready-made clients wait inside; this one only frames, sends and
//! parses what has arrived. The packet formats and the authentication come from `mysql_common`.
//!
//! * [`Connection`]: one authenticated connection; `submit`, `poll`, and `query` for both together.
//! * `response`: packets to answers, a pure state machine. `value`: cells to typed values.
//!
//! Source: the "Client/Server Protocol" chapter of the MySQL internals documentation and MariaDB's
//! protocol pages. Assumption: protocol 4.1. Blind spots: no compression, and `LOAD DATA
//! LOCAL` is never offered to the server.

mod channel;
mod connection;
mod handshake;
mod response;
mod value;

pub(crate) use connection::{Connection, WireError};
pub(crate) use response::ServerError;
