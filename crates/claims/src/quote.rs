//! The vendor's own words.

/// The words of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Verbatim.
    pub words: String,
    /// When they were copied: `2026-09-12`, or `2026-09` where the day is not known.
    pub copied: String,
}
