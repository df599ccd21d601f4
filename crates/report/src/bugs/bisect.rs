//! Between which releases a bug appeared or went.
//!
//! Idea: ask the oldest and the newest release, then again and again one in the middle of two neighbours that differ,
//! until no such two have a release between them. Answers are the levels at which the bug shows, so that a bug which
//! moved from one level to another counts as changed. Blind spot: a bug that came and went between two releases with
//! the same answer is not noticed.

use anchorite_model::{Level, Product};
use serde_json::{Value as Json, json};

use super::matrix::{Column, Matrix, Row, Shown};
use super::words::release;
use crate::TextOptions;
use crate::escape::visible;
use crate::page::{Page, paint};
use crate::style::{Ink, Line};

/// The release to ask next; nothing if everything is known. The answers are in the order of the releases.
pub fn next<T: PartialEq>(answers: &[Option<T>]) -> Option<usize> {
    let ends = [Some(0), answers.len().checked_sub(1)];
    let unknown_end =
        ends.into_iter().flatten().find(|at| answers.get(*at).is_some_and(Option::is_none));
    unknown_end.or_else(|| {
        let known: Vec<usize> = (0..answers.len()).filter(|at| answers[*at].is_some()).collect();
        let mut neighbours = known.windows(2);
        neighbours.find_map(|pair| {
            let (from, to) = (pair[0], pair[1]);
            let has_between = to - from > 1;
            (has_between && answers[from] != answers[to]).then_some(from + (to - from) / 2)
        })
    })
}

/// What changed between two neighbouring releases.
struct Change<'m> {
    from: (&'m Column, Vec<Level>),
    to: (&'m Column, Vec<Level>),
}

fn levels(row: &Row<'_>, at: usize) -> Vec<Level> {
    let mut levels = row.levels(at, |s| matches!(s, Shown::Manifests | Shown::Allowed { .. }));
    levels.sort();
    levels
}

/// The releases of the product on which this bug was run.
fn asked<'m>(
    matrix: &'m Matrix<'_>,
    row: &Row<'_>,
    product: Product,
) -> Vec<(&'m Column, Vec<Level>)> {
    let columns = matrix.columns.iter().enumerate();
    let own =
        columns.filter(|(at, column)| column.product == product && !row.cells[*at].is_empty());
    own.map(|(at, column)| (column, levels(row, at))).collect()
}

fn changes<'m>(asked: &[(&'m Column, Vec<Level>)]) -> Vec<Change<'m>> {
    let differ = asked.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    differ.map(|pair| Change { from: pair[0].clone(), to: pair[1].clone() }).collect()
}

fn told(levels: &[Level]) -> String {
    match levels {
        [] => "nowhere".to_owned(),
        levels => levels.iter().map(|level| level.short()).collect::<Vec<_>>().join(" "),
    }
}

/// What was found, for people.
pub fn text(matrix: &Matrix<'_>, product: Product, options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut lines = Vec::new();
    for row in &matrix.rows {
        lines.push(Line::of(Ink::Title, visible(row.bug.id())));
        let asked = asked(matrix, row, product);
        let changes = changes(&asked);
        for Change { from, to } in &changes {
            let sentence = format!(
                "between {} (shows: {}) and {} (shows: {})",
                release(from.0),
                told(&from.1),
                release(to.0),
                told(&to.1)
            );
            page.indented(Ink::Warning, &sentence, &mut lines);
        }
        if changes.is_empty() {
            let releases: Vec<String> = asked.iter().map(|(column, _)| release(column)).collect();
            let levels = asked.first().map_or(&[][..], |(_, levels)| levels.as_slice());
            let sentence = format!("the same on {} (shows: {})", releases.join(", "), told(levels));
            page.indented(Ink::Plain, &sentence, &mut lines);
        }
    }
    paint(&lines, options.style)
}

/// What was found, as JSON.
pub fn json(matrix: &Matrix<'_>, product: Product, version: &str) -> String {
    let results: Vec<Json> = matrix
        .rows
        .iter()
        .map(|row| {
            let asked = asked(matrix, row, product);
            let place = |(column, levels): &(&Column, Vec<Level>)| {
                let levels: Vec<&str> = levels.iter().map(|level| level.name()).collect();
                json!({"version": column.version.to_string(), "shows": levels})
            };
            let changes: Vec<Json> = changes(&asked)
                .iter()
                .map(|change| json!({"from": place(&change.from), "to": place(&change.to)}))
                .collect();
            let releases: Vec<Json> = asked.iter().map(place).collect();
            json!({"bug": row.bug.id(), "product": product.name(), "releases": releases, "changes": changes})
        })
        .collect();
    format!("{}\n", json!({"anchorite": version, "results": results}))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks until everything is known; gives the releases that were asked, and the pairs that differ.
    fn search(truth: &[u8]) -> (Vec<usize>, Vec<(usize, usize)>) {
        let mut answers: Vec<Option<u8>> = vec![None; truth.len()];
        let mut asked = Vec::new();
        while let Some(at) = next(&answers) {
            assert_eq!(answers[at], None, "asked twice");
            answers[at] = Some(truth[at]);
            asked.push(at);
        }
        let known: Vec<usize> = (0..truth.len()).filter(|at| answers[*at].is_some()).collect();
        let pairs = known.windows(2).map(|pair| (pair[0], pair[1]));
        let pairs = pairs.filter(|(from, to)| truth[*from] != truth[*to]).collect();
        (asked, pairs)
    }

    #[test]
    fn a_single_change_is_found_between_neighbours_with_few_questions() {
        for count in 1..40_usize {
            for change in 0..=count {
                let truth: Vec<u8> = (0..count).map(|at| u8::from(at >= change)).collect();
                let (asked, pairs) = search(&truth);
                let expected: Vec<(usize, usize)> = (1..count)
                    .filter(|at| truth[at - 1] != truth[*at])
                    .map(|at| (at - 1, at))
                    .collect();
                assert_eq!(pairs, expected, "{truth:?}");
                assert!(asked.len() <= 2 + count.ilog2() as usize + 1, "{count}: {asked:?}");
            }
        }
    }

    #[test]
    fn each_pair_that_is_left_has_nothing_between_it() {
        for bits in 0..1_u32 << 9 {
            let truth: Vec<u8> = (0..9).map(|at| u8::from(bits >> at & 1 == 1)).collect();
            let (_, pairs) = search(&truth);
            assert!(pairs.iter().all(|(from, to)| to - from == 1), "{truth:?}: {pairs:?}");
        }
    }

    #[test]
    fn without_releases_nothing_is_asked() {
        assert_eq!(next::<u8>(&[]), None);
    }
}
