//! Which bugs generated transactions find again, and what the others would need.
//!
//! Idea: the collection is also a test of the hunt. A bug counts if it shows on a release that can be had, at a level
//! where no page documents it; for each of these the header says where it was found again, or what is missing. Listings
//! of papers are told but not counted: each of them is another bug's smallest form, or the example of a page.
//!
//! Source: the `rediscovered` and `missing` lines of the headers. Assumption: releases that were measured can be had.

use super::bug::Bug;
use super::matrix::{Matrix, Shown};
use super::status::Status;
use crate::markup::{plain, row};

/// How many bugs manifest, and how many of these were found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Found again.
    pub found: usize,
    /// Manifest somewhere.
    pub of: usize,
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.found, self.of)
    }
}

impl Bug {
    /// Whether it shows on some release that was measured, where no page documents it.
    pub fn manifests(&self) -> bool {
        matches!(self.status(), Status::Live | Status::Gone)
    }

    /// Listings are named after their papers, in lower case; bugs after their reports.
    pub fn is_listing(&self) -> bool {
        self.id().starts_with(char::is_lowercase)
    }

    /// What is wrong with the lines that say whether it is found again.
    pub fn rediscovery_complaint(&self) -> Option<&'static str> {
        let (found, missing) = (!self.lines.found.is_empty(), !self.lines.missing.is_empty());
        match (self.manifests(), found, missing) {
            (true, false, false) => Some("it manifests, and no line says rediscovered or missing"),
            (true, true, true) => Some("it is found, so nothing is missing"),
            (false, true, _) => Some("it was found, and is said to manifest nowhere"),
            _ if !self.is_found_where_it_shows() => Some("it was found where it does not show"),
            _ => None,
        }
    }

    /// Whether the header says of every place where it was found that it manifests there.
    fn is_found_where_it_shows(&self) -> bool {
        let own = [self];
        let matrix = Matrix::recorded(&own);
        let Some(row) = matrix.rows.first() else { return false };
        let shows =
            |at: usize| row.levels(at, |s| matches!(s, Shown::Manifests | Shown::Allowed { .. }));
        self.lines.found.iter().flat_map(|found| &found.places).all(|place| {
            let own = |c: &super::Column| {
                c.product == place.product && place.versions.include(&c.version)
            };
            let at = matrix.columns.iter().position(own);
            at.is_some_and(|at| {
                let shown = shows(at);
                place.levels.as_ref().map_or(!shown.is_empty(), |levels| {
                    levels.iter().all(|level| shown.contains(level))
                })
            })
        })
    }
}

/// The share of the bugs that are found again.
pub fn share<'b>(bugs: impl IntoIterator<Item = &'b Bug>) -> Share {
    let counted = bugs.into_iter().filter(|bug| bug.manifests() && !bug.is_listing());
    counted.fold(Share { found: 0, of: 0 }, |share, bug| Share {
        found: share.found + usize::from(!bug.lines.found.is_empty()),
        of: share.of + 1,
    })
}

/// The section of the study.
pub(super) fn section(matrix: &Matrix<'_>, name: &dyn Fn(&Bug) -> String) -> String {
    let bugs = || matrix.rows.iter().map(|row| row.bug).filter(|bug| bug.manifests());
    let mut out = format!(
        "{} bugs that manifest on a measured release, where no page documents it, were found again by \
        `anchorite hunt --known none` or by `anchorite stress`. Of the others the table says what is missing.\n\n",
        share(bugs())
    );
    out += &row(["bug", "found again", "missing"].into_iter());
    out += &row(["---"; 3].into_iter());
    for bug in bugs() {
        let found: Vec<String> = bug
            .lines
            .found
            .iter()
            .map(|found| plain(&format!("{}: {}", found.at, found.by)))
            .collect();
        let missing = bug.lines.missing.iter();
        let missing: Vec<String> = missing
            .map(|missing| plain(&format!("{}: {}", missing.part.name(), missing.what)))
            .collect();
        let cells = [name(bug), found.join("; "), missing.join("; ")];
        out += &row(cells.iter().map(String::as_str));
    }
    out
}
