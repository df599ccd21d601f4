//! The shell, driven as people drive it: through a pseudo terminal, and through a pipe.
//!
//! SQLite needs nothing; `ANCHORITE_TEST_URLS` names running servers, `ANCHORITE_TEST_SERVERS` private ones that are
//! killed here.

#![allow(clippy::print_stdout, reason = "tests tell what they skip")]

mod piped;
mod servers;
mod terminal;
mod typed;
