//! Bugs by releases by levels.
//!
//! Idea: one row per bug, one column per release, and in each cell one answer per level, so that a bug which moved from
//! one level to another is seen at a glance. A cell without answers was not measured, which is not the same as a bug
//! that does not show. Assumption of the recorded matrix: `all` means the levels that other headers name for this
//! release, or those of the product.

use anchorite_claims::Version;
use anchorite_judge::{Agreement, ProductLevels, Versions};
use anchorite_model::{Level, Product};

use super::bug::Bug;

/// What a bug did at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// It shows, and no page of the vendor says that it may.
    Manifests,
    /// It shows, and the vendor documents it.
    Allowed {
        /// The page.
        page: String,
    },
    /// It does not show.
    Absent,
    /// It could not be run there.
    NotApplicable {
        /// Why.
        reason: String,
    },
}

impl Shown {
    /// The word of JSON and of the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Allowed { .. } => "allowed",
            Self::Absent => "does not",
            Self::NotApplicable { .. } => "not applicable",
        }
    }
}

/// One bug on one release at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The level.
    pub level: Level,
    /// What it did.
    pub shown: Shown,
    /// Whether the header of its case says the same, and in which words; nothing where it says nothing.
    pub expected: Option<(Agreement, String)>,
}

/// A release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The product.
    pub product: Product,
    /// The numbers of its version.
    pub version: Version,
    /// The levels at which something was run, weakest first.
    pub levels: Vec<Level>,
}

/// A bug.
#[derive(Debug, Clone)]
pub struct Row<'b> {
    /// Which.
    pub bug: &'b Bug,
    /// What it did, column by column.
    pub cells: Vec<Vec<Cell>>,
}

/// The whole table.
#[derive(Debug, Clone, Default)]
pub struct Matrix<'b> {
    /// Releases: products in the order in which they are known, each from its oldest release on.
    pub columns: Vec<Column>,
    /// Bugs.
    pub rows: Vec<Row<'b>>,
}

impl<'b> Matrix<'b> {
    /// What the headers of these bugs record.
    pub fn recorded(bugs: &[&'b Bug]) -> Self {
        let mut matrix = Self::default();
        for (product, version, place) in bugs.iter().flat_map(|bug| bug.releases()) {
            let levels = place.levels.clone().unwrap_or_default();
            matrix.column(product, version, &levels);
        }
        for column in &mut matrix.columns {
            if column.levels.is_empty() {
                let known = &column.product.descriptor().levels.level;
                column.levels =
                    Level::ALL.into_iter().filter(|l| known.iter().any(|k| k.name == *l)).collect();
            }
        }
        matrix.rows = bugs.iter().map(|bug| recorded_row(bug, &matrix.columns)).collect();
        matrix
    }

    /// The column of a release, with these levels among its own; a new one is put in its place.
    pub fn column(&mut self, product: Product, version: &Version, levels: &[Level]) -> usize {
        let known = |column: &Column| (column.product, &column.version) == (product, version);
        let at = self.columns.iter().position(known).unwrap_or_else(|| {
            let column = Column { product, version: version.clone(), levels: Vec::new() };
            let at = self.columns.partition_point(|other| key(other) < key(&column));
            self.columns.insert(at, column);
            self.rows.iter_mut().for_each(|row| row.cells.insert(at, Vec::new()));
            at
        });
        let own = &mut self.columns[at].levels;
        own.extend(levels);
        own.sort();
        own.dedup();
        at
    }

    /// Adds what a bug did on a release.
    pub fn add(&mut self, bug: &'b Bug, product: Product, version: &Version, cell: Cell) {
        let column = self.column(product, version, &[cell.level]);
        let at = self.rows.iter().position(|row| row.bug.id() == bug.id()).unwrap_or_else(|| {
            self.rows.push(Row { bug, cells: vec![Vec::new(); self.columns.len()] });
            self.rows.len() - 1
        });
        self.rows[at].cells[column].push(cell);
    }

    /// Leaves out the other bugs, and releases about which the rest says nothing.
    pub fn keep(&mut self, is_kept: &dyn Fn(&Bug) -> bool) {
        self.rows.retain(|row| is_kept(row.bug));
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row.cells[at].is_empty()) {
                self.columns.remove(at);
                self.rows.iter_mut().for_each(|row| drop(row.cells.remove(at)));
            }
        }
    }

    /// Every cell with its bug and its release.
    pub fn cells(&self) -> impl Iterator<Item = (&'b Bug, &Column, &Cell)> {
        self.rows.iter().flat_map(move |row| {
            let columns = self.columns.iter().zip(&row.cells);
            columns.flat_map(move |(column, cells)| {
                cells.iter().map(move |cell| (row.bug, column, cell))
            })
        })
    }
}

impl Row<'_> {
    /// The levels of a column at which the answer is like this.
    pub(super) fn levels(&self, column: usize, wanted: fn(&Shown) -> bool) -> Vec<Level> {
        let cells = self.cells[column].iter().filter(|cell| wanted(&cell.shown));
        cells.map(|cell| cell.level).collect()
    }
}

/// Products in their own order, versions from the oldest on.
fn key(column: &Column) -> (usize, &Version) {
    let place = Product::all().iter().position(|product| *product == column.product);
    (place.unwrap_or(usize::MAX), &column.version)
}

fn recorded_row<'b>(bug: &'b Bug, columns: &[Column]) -> Row<'b> {
    let answer = |column: &Column| {
        let levels = column.levels.iter();
        levels.filter_map(|level| recorded_cell(bug, column, *level)).collect()
    };
    Row { bug, cells: columns.iter().map(answer).collect() }
}

fn recorded_cell(bug: &Bug, column: &Column, level: Level) -> Option<Cell> {
    let says = |places: &[ProductLevels]| {
        places.iter().any(|place| {
            let is_measured = matches!(place.versions, Versions::Measured(_));
            let level_fits = place.levels.as_ref().is_none_or(|levels| levels.contains(&level));
            let fits = is_measured && place.product == column.product && level_fits;
            fits && place.versions.include(&column.version)
        })
    };
    let shown = match (says(&bug.measured.manifests), says(&bug.measured.absent)) {
        (true, _) => bug.shown(column.product, &column.version, level),
        (false, true) => Shown::Absent,
        (false, false) => return None,
    };
    Some(Cell { level, shown, expected: None })
}

impl Bug {
    /// How to call it where it shows.
    pub fn shown(&self, product: Product, version: &Version, level: Level) -> Shown {
        match self.lines.page_for(product, version, level) {
            Some(page) => Shown::Allowed { page: page.to_owned() },
            None => Shown::Manifests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::Case;

    use crate::bugs::Status;

    fn bug(name: &str, header: &str) -> Bug {
        let case = Case::parse(name, &format!("{header}\n/* t1 */ SELECT 1;\n")).expect("a case");
        Bug::read("bugs", case).expect("a readable header")
    }

    fn told(matrix: &Matrix<'_>, row: usize) -> Vec<String> {
        let cells = matrix.columns.iter().zip(&matrix.rows[row].cells);
        let cell = |cell: &Cell| format!("{} {}", cell.level.short(), cell.shown.name());
        let told = |(column, cells): (&Column, &Vec<Cell>)| {
            let cells: Vec<String> = cells.iter().map(cell).collect();
            format!("{} {}: {}", column.product, column.version, cells.join(", "))
        };
        cells.map(told).collect()
    }

    #[test]
    fn headers_make_a_table_in_the_order_of_releases() {
        let one = bug(
            "A",
            "-- targets: mysql, mariadb\n-- manifests: mysql 9.7.4 rr; mariadb 10.5.23 rr ser\n\
             -- absent: mysql 9.7.4 ru; mysql 5.6.24 all\n-- allowed: mariadb ser: https://a",
        );
        let two = bug("B", "-- targets: mysql\n-- manifests: mysql 5.6.24 ru rr");
        let matrix = Matrix::recorded(&[&one, &two]);
        assert_eq!(
            told(&matrix, 0),
            [
                "mariadb 10.5.23: rr manifests, ser allowed",
                "mysql 5.6.24: ru does not, rr does not",
                "mysql 9.7.4: ru does not, rr manifests",
            ]
        );
        assert_eq!(told(&matrix, 1)[1], "mysql 5.6.24: ru manifests, rr manifests");
        assert_eq!(told(&matrix, 1)[2], "mysql 9.7.4: ");
    }

    #[test]
    fn the_newest_release_decides_whether_a_bug_is_alive() {
        for (header, status) in [
            ("-- manifests: mysql 5.6.24 9.7.4 rr", Status::Live),
            ("-- manifests: mysql 5.6.24 rr\n-- absent: mysql 9.7.4 all", Status::Gone),
            ("-- manifests: mysql 9.7.4 rr\n-- allowed: mysql rr: https://a", Status::Documented),
            ("-- absent: mysql 9.7.4 all", Status::Unseen),
            ("-- title: nobody has looked", Status::Unseen),
        ] {
            assert_eq!(bug("A", header).status(), status, "{header}");
        }
    }

    #[test]
    fn what_is_added_finds_its_column() {
        let one = bug("A", "-- title: a");
        let mut matrix = Matrix::default();
        for version in ["17.11", "15.18", "17.11"] {
            let version = version.parse().expect("a version");
            let cell = Cell { level: Level::Snapshot, shown: Shown::Absent, expected: None };
            matrix.add(&one, Product::named("postgres"), &version, cell);
        }
        assert_eq!(matrix.rows.len(), 1);
        assert_eq!(
            told(&matrix, 0),
            ["postgres 15.18: si does not", "postgres 17.11: si does not, si does not"]
        );
    }
}
