//! The cases of the anomaly probe, built into the program so that it needs no files.
//!
//! The files under `cases/probe/` are the source; a test keeps this list complete.

use anchorite_model::Case;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../cases/probe/", $name, ".case")))),*]
    };
}

/// Name and text, in the order of the table: each anomaly's main case, then its variants.
const BUILT_IN: [(&str, &str); 44] = built_in![
    "G0",
    "G0-predicate",
    "G0-insert",
    "G0-delete",
    "G1a",
    "G1a-predicate",
    "G1a-insert",
    "G1a-delete",
    "G1a-write",
    "G1b",
    "G1b-predicate",
    "G1b-insert",
    "G1b-delete",
    "G1c",
    "G1c-predicate",
    "G1c-insert",
    "G1c-delete",
    "OTV",
    "OTV-predicate",
    "OTV-insert",
    "OTV-delete",
    "PMP",
    "PMP-update",
    "PMP-delete",
    "PMP-write",
    "PMP-write-delete",
    "P4",
    "P4-predicate",
    "P4-insert",
    "P4-delete",
    "G-single",
    "G-single-predicate",
    "G-single-insert",
    "G-single-delete",
    "G-single-write",
    "G-single-write-insert",
    "G-single-write-delete",
    "G2-item",
    "G2-item-insert",
    "G2-item-delete",
    "G2",
    "G2-update",
    "G2-delete",
    "G2-two-edges",
];

/// The cases of the probe, in the order of the table.
///
/// # Panics
///
/// Never in a program that passed its tests: they read every built-in case.
pub fn cases() -> Vec<Case> {
    let read = |(name, text)| Case::parse(name, text).expect("a built-in case is valid");
    BUILT_IN.into_iter().map(read).collect()
}
