//! Runs a case on a target, exactly.
