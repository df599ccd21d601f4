//! The published study of known bugs, measured again: at which levels each of them shows today.
//!
//! Idea: the same table, made from measurements instead of by hand, and held against what was published. A published
//! level is contradicted where the bug shows on some release of its product, but on none of them at that level.
//!
//! Source: [`super::published`] and the matrix. Assumption: a script of ours shows the bug wherever the published one
//! does. Blind spot: the release of the study is usually none that was measured, so a bug that shows on no release of
//! ours says nothing about the study.

use anchorite_model::Level;

use super::again;
use super::bug::Bug;
use super::markdown::table;
use super::matrix::{Column, Matrix, Row, Shown};
use super::published::{Published, published};
use super::status::Status;
use super::words::{LEGEND, release};
use crate::markup::{plain, row};

/// What the study did, for the section on where it is wrong.
const HOW: &str = "\
The study sets the level with `SET GLOBAL TRANSACTION ISOLATION LEVEL`, sent through the script's own first \
session. That statement does not change sessions that are already open, so the first session keeps the level \
that was global before, and only the later ones have the level that the result is filed under. The scripts were \
run at repeatable read, read committed, read uncommitted and serializable, in this order and on one server, so \
the first session is one step behind. Here every session's level is set, and read back, before its first \
statement.";

/// The study as a page of Markdown. Listings of papers are no bugs, unless the published list has them.
pub fn study(matrix: &Matrix<'_>) -> String {
    let published = published();
    let is_published = |bug: &Bug| published.iter().any(|e| e.case.as_deref() == Some(bug.id()));
    let mut kept = matrix.clone();
    kept.keep(&|bug| !bug.is_listing() || is_published(bug));
    let matrix = &kept;
    let mut out = String::from("# Known bugs, measured again\n\n");
    out += "Made by `anchorite bugs matrix --format study` from the headers of the cases; not edited by hand. \
        The measurements are those of the [known-bug collection](../cases/bugs), on the releases that the \
        table names.\n\n";
    out += &figures(matrix, &published);
    out += "\n## Which bug shows where\n\n";
    out += &format!("In a cell: {LEGEND}.\n\n");
    out += &table(matrix, &link);
    out += "\n## Found again\n\n";
    out += &again::section(matrix, &link);
    out += "\n## Where the published study differs\n\n";
    out += HOW;
    out += "\n\n";
    out += &differences(matrix, &published);
    out += "\n## What cannot be expressed\n\n";
    out += "Of the published scripts these have no case, because what they are about is not in answers, waits or \
        rows, or because they endanger the server that they run on.\n\n";
    out += &not_expressed(&published);
    out
}

/// The name of a bug with a link to its case.
fn link(bug: &Bug) -> String {
    let id = plain(bug.id());
    format!("[{id}](../cases/{}/{}.case)", bug.folder, bug.id())
}

fn figures(matrix: &Matrix<'_>, published: &[Published]) -> String {
    let expressed = published.iter().filter(|entry| entry.case.is_some()).count();
    let mut out = format!(
        "* {} bugs are in the collection; {expressed} of the {} published scripts are among them.\n",
        matrix.rows.len(),
        published.len()
    );
    for status in Status::ALL {
        let count = matrix.rows.iter().filter(|row| row.bug.status() == status).count();
        out += &format!("* {count} {}\n", meaning(status));
    }
    out += "\n";
    out += &row(["release", "run", "show", "of these documented"].into_iter());
    out += &row(["---"; 4].into_iter());
    for (at, column) in matrix.columns.iter().enumerate() {
        let count = |wanted: fn(&Shown) -> bool| {
            let rows = matrix.rows.iter().filter(|row| !row.levels(at, wanted).is_empty());
            rows.count().to_string()
        };
        let cells = [
            plain(&release(column)),
            count(|shown| !matches!(shown, Shown::NotApplicable { .. })),
            count(|shown| matches!(shown, Shown::Manifests | Shown::Allowed { .. })),
            count(|shown| matches!(shown, Shown::Allowed { .. })),
        ];
        out += &row(cells.iter().map(String::as_str));
    }
    out
}

const fn meaning(status: Status) -> &'static str {
    match status {
        Status::Live => {
            "show on the newest measured release of some product, where no page documents it;"
        }
        Status::Gone => "show on an older release only;",
        Status::Documented => "show only where the vendor documents it;",
        Status::Unseen => "show on no release that was measured.",
    }
}

fn differences(matrix: &Matrix<'_>, published: &[Published]) -> String {
    let mut out = row(["report", "published", "measured", "not at", "beyond"].into_iter());
    out += &row(["---"; 5].into_iter());
    for entry in published {
        let of_entry = |row: &&Row<'_>| Some(row.bug.id()) == entry.case.as_deref();
        let Some(found) = matrix.rows.iter().find(of_entry) else { continue };
        let Some(held) = Held::against(entry, found, &matrix.columns) else { continue };
        let published = format!("{}: {}", plain(&entry.version), short(&entry.levels));
        let cells = [
            plain(&entry.id),
            published,
            plain(&held.releases.join(", ")) + ": " + &short(&held.shows),
            short(&held.contradicted),
            short(&held.beyond),
        ];
        out += &row(cells.iter().map(String::as_str));
    }
    out
}

/// A published entry held against what was measured on the same product.
struct Held {
    /// The releases on which the bug shows.
    releases: Vec<String>,
    /// The levels at which it shows on one of them.
    shows: Vec<Level>,
    /// Published, and run, but not among those.
    contradicted: Vec<Level>,
    /// Among those where no page documents it, and not published.
    beyond: Vec<Level>,
}

impl Held {
    /// Nothing if the bug shows on no release of the product at a published level, or if both say the same.
    fn against(entry: &Published, row: &Row<'_>, columns: &[Column]) -> Option<Self> {
        let (mut releases, mut shows, mut ran) = (Vec::new(), Vec::new(), Vec::new());
        let mut beyond = Vec::new();
        for (at, column) in columns.iter().enumerate().filter(|(_, c)| c.product == entry.product) {
            let here = row.levels(at, |s| matches!(s, Shown::Manifests | Shown::Allowed { .. }));
            if !here.is_empty() {
                releases.push(column.version.to_string());
                ran.extend(row.levels(at, |shown| !matches!(shown, Shown::NotApplicable { .. })));
                beyond.extend(row.levels(at, |shown| matches!(shown, Shown::Manifests)));
                shows.extend(here);
            }
        }
        for levels in [&mut shows, &mut beyond] {
            levels.sort();
            levels.dedup();
        }
        // The study has no snapshot level.
        beyond.retain(|level| *level != Level::Snapshot && !entry.levels.contains(level));
        let is_contradicted = |level: &&Level| ran.contains(*level) && !shows.contains(*level);
        let contradicted: Vec<Level> =
            entry.levels.iter().filter(is_contradicted).copied().collect();
        let is_replicated = entry.levels.iter().any(|level| shows.contains(level));
        let differs = !contradicted.is_empty() || !beyond.is_empty();
        let held = Self { releases, shows, contradicted, beyond };
        (is_replicated && differs).then_some(held)
    }
}

fn short(levels: &[Level]) -> String {
    levels.iter().map(|level| level.short()).collect::<Vec<_>>().join(" ")
}

fn not_expressed(published: &[Published]) -> String {
    let mut out = row(["report", "kind", "sessions", "why not"].into_iter());
    out += &row(["---"; 4].into_iter());
    for entry in published {
        let Some(why) = &entry.why else { continue };
        let sessions = entry.sessions.to_string();
        out += &row([entry.id.as_str(), entry.kind.name(), &sessions, &plain(why)].into_iter());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::Case;

    #[test]
    fn a_published_level_is_contradicted_where_the_bug_shows_at_others() {
        let header = "-- targets: mariadb\n-- manifests: mariadb 10.11.18 rr\n-- absent: mariadb 10.11.18 ru rc ser";
        let case = Case::parse("MDEV-26642", &format!("{header}\n/* t1 */ SELECT 1;\n"));
        let bug = Bug::read("bugs", case.expect("a case")).expect("a readable header");
        let matrix = Matrix::recorded(&[&bug]);
        let entry = published().into_iter().find(|entry| entry.id == "MDEV-26642");
        let entry = entry.expect("an entry of the study");
        let held = Held::against(&entry, &matrix.rows[0], &matrix.columns).expect("they differ");
        assert_eq!(
            (short(&held.shows), short(&held.contradicted)),
            ("rr".to_owned(), "rc".to_owned())
        );
        assert!(held.beyond.is_empty());
        let right = Published { levels: vec![Level::RepeatableRead], ..entry };
        assert!(Held::against(&right, &matrix.rows[0], &matrix.columns).is_none());
    }
}
