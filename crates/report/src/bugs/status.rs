//! What became of a bug, by what was measured on the releases of its products.
//!
//! Assumption: of each product the newest release that was measured counts. Blind spot: a newer one may have fixed it.

use super::bug::Bug;
use super::matrix::{Cell, Matrix, Shown};

/// What became of a bug, by what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It shows on the newest release that was measured of some product, where no page documents it.
    Live,
    /// It shows on an older release only.
    Gone,
    /// It shows only where a page documents it.
    Documented,
    /// It shows on no release that was measured.
    Unseen,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Live, Self::Gone, Self::Documented, Self::Unseen];

    /// The word of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gone => "gone",
            Self::Documented => "documented",
            Self::Unseen => "unseen",
        }
    }
}

impl Bug {
    /// What became of it.
    pub fn status(&self) -> Status {
        let own = [self];
        let matrix = Matrix::recorded(&own);
        let shows = |cells: &[Cell], wanted: fn(&Shown) -> bool| {
            cells.iter().any(|cell| wanted(&cell.shown))
        };
        let row = matrix.rows.first();
        let cells = row.map_or(&[][..], |row| row.cells.as_slice());
        let newest = |column: usize| {
            let product = matrix.columns[column].product;
            let later = matrix.columns.iter().skip(column + 1);
            !later.map(|column| column.product).any(|other| other == product)
        };
        let bug = |shown: &Shown| matches!(shown, Shown::Manifests);
        let mut columns = cells.iter().enumerate();
        if columns.any(|(column, cells)| newest(column) && shows(cells, bug)) {
            Status::Live
        } else if cells.iter().any(|cells| shows(cells, bug)) {
            Status::Gone
        } else if cells.iter().any(|cells| shows(cells, |s| matches!(s, Shown::Allowed { .. }))) {
            Status::Documented
        } else {
            Status::Unseen
        }
    }
}
