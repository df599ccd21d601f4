//! `--bisect`: starts releases of a product until it is known between which two each bug changed.
//!
//! Idea: which release to ask next is decided by [`anchorite_report::bugs::bisect`]; all bugs are run on each release
//! that one of them needs, because starting a server costs more than running them. Source: the releases that
//! `anchorite server versions` lists. Blind spot: one release per series, the one that its source has today.

use anchorite_claims::Version;
use anchorite_model::{Level, Product};
use anchorite_report::bugs::{Bug, Cell, Matrix, Shown, bisect};
use anchorite_servers::offers;

use super::places::{Places, at_place};
use crate::exit::BadInput;
use crate::output::tell;

/// What a bug does on a release: the levels at which it shows.
type Answer = Vec<Level>;

/// Runs the bugs on as few releases as are needed.
pub fn search<'b>(
    product: Product,
    bugs: &[&'b Bug],
    places: &Places,
) -> anyhow::Result<Matrix<'b>> {
    let releases = releases(product)?;
    if releases.is_empty() {
        let message = format!("no release of {product} can be had; see anchorite server versions");
        return Err(BadInput(message).into());
    }
    let mut matrix = Matrix::default();
    let mut answers: Vec<Vec<Option<Answer>>> = vec![vec![None; releases.len()]; bugs.len()];
    while let Some(at) = answers.iter().find_map(|own| bisect::next(own)) {
        tell(&format!("asking {}", releases[at]));
        let cells = at_place(&releases[at], bugs, places, &mut matrix)?;
        for (own, cells) in answers.iter_mut().zip(cells) {
            own[at] = Some(answer(&cells));
        }
    }
    Ok(matrix)
}

fn answer(cells: &[Cell]) -> Answer {
    let shows = |cell: &&Cell| matches!(cell.shown, Shown::Manifests | Shown::Allowed { .. });
    let mut levels: Answer = cells.iter().filter(shows).map(|cell| cell.level).collect();
    levels.sort();
    levels
}

/// The targets of the product that can be had, from the oldest on.
fn releases(product: Product) -> anyhow::Result<Vec<String>> {
    let series = |target: &str| {
        let (name, series) = target.split_once('@')?;
        let version: Version = series.parse().ok()?;
        (name == product.name()).then_some(version)
    };
    let mut releases: Vec<(Version, String)> = offers()?
        .into_iter()
        .filter_map(|offer| Some((series(&offer.target)?, offer.target)))
        .collect();
    releases.sort();
    releases.dedup();
    Ok(releases.into_iter().map(|(_, target)| target).collect())
}
