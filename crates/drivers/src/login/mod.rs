//! Passwords that do not stand in the URL: the formats of the files in which users keep them.
//!
//! Pure: who reads files and the environment hands their texts over.

pub mod my_cnf;
pub mod pgpass;
