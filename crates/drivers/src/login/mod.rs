//! Passwords outside the URL: the formats of the files in which users keep them.
//!
//! Pure: the caller reads files and the environment, and passes their texts in.

pub mod my_cnf;
pub mod pgpass;
