//! The `anchorite` command.

fn main() {}
