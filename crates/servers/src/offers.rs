//! What is available on this machine, determined without network access.

use anchorite_model::Product;

use crate::cache::Cache;
use crate::catalog::{Recipe, Row};
use crate::install::{Installation, Source};
use crate::source::{cache_key, container, given, obstacle, own_program, path, source_of};
use crate::version::satisfies;
use crate::{Error, catalog};

/// A server that is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The request that gives it.
    pub target: String,
    /// The exact version, where it is known without fetching it.
    pub version: Option<String>,
    /// Where it would come from.
    pub source: Source,
    /// Whether nothing has to be fetched or built.
    pub cached: bool,
}

/// Everything that is available: what is installed, what is in the cache, what could be fetched or built.
pub fn offers() -> Result<Vec<Offer>, Error> {
    let engine = container::engine();
    let mut offers = Vec::new();
    for product in catalog::products() {
        let mut installed = path::all(product);
        if catalog::server(product).variable.is_some() {
            installed.extend(given(product));
        }
        let cache = Cache::of(product)?;
        offers.extend(installed.iter().map(|found| of_installed(product, found)));
        for row in &catalog::rows(product).collect::<Vec<_>>() {
            let target = format!("{product}@{}", row.series);
            let have = installed.iter().any(|found| satisfies(&found.version, row.series));
            if have || offers.iter().any(|offer: &Offer| offer.target == target) {
                continue;
            }
            let cached = cache.find(&cache_key(row, Some(row.series)));
            if cached.is_some() || obstacle(row).is_none() {
                let cached_version = cached.as_ref().map(|found| found.version.clone());
                let version = cached_version.or_else(|| pinned(row).map(str::to_owned));
                let source = source_of(row);
                offers.push(Offer { target, version, source, cached: cached.is_some() });
            }
        }
        if engine.is_some() && container::is_known(product) {
            let target = product.to_string();
            let source = Source::Container;
            offers.push(Offer { target, version: None, source, cached: false });
        }
    }
    Ok(offers)
}

/// What would be needed for a product that [`offers`] does not list, in a sentence.
pub fn needed_for(product: Product) -> String {
    let mut obstacles: Vec<String> = Vec::new();
    for row in &catalog::rows(product).collect::<Vec<_>>() {
        obstacles.extend(obstacle(row).filter(|obstacle| !obstacles.contains(obstacle)));
    }
    match obstacles.is_empty() {
        true => format!("no package provides it; {}", own_program(product)),
        false => format!("{}; or {}", obstacles.join("; "), own_program(product)),
    }
}

/// The version that a recipe is bound to.
fn pinned(row: &Row) -> Option<&'static str> {
    match row.recipe {
        Recipe::Go(build) => Some(build.label.1.trim_start_matches('v')),
        Recipe::Debian { .. } | Recipe::Npm { .. } => None,
    }
}

fn of_installed(product: Product, found: &Installation) -> Offer {
    // The series as the product defines it: PostgreSQL uses one number, the others two.
    let parts = product.descriptor().version.series;
    let series: Vec<&str> = found.version.split('.').take(parts).collect();
    Offer {
        target: format!("{product}@{}", series.join(".")),
        version: Some(found.version.clone()),
        source: found.source,
        cached: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_package_carries_says_how_to_get_it() {
        let told = needed_for(Product::named("cockroach"));
        for way in ["PATH", "ANCHORITE_COCKROACH", "--binary", "podman or docker"] {
            assert!(told.contains(way), "{way} in: {told}");
        }
    }

    #[test]
    fn a_pinned_version_is_known_before_it_is_built() {
        let pinned_of = |series: &str| {
            let mut rows = catalog::products().flat_map(catalog::rows);
            pinned(&rows.find(|row| row.series == series).expect("a row"))
        };
        assert!(pinned_of("8.5").is_some_and(|version| satisfies(version, "8.5.0")));
        assert_eq!(pinned_of("10.11"), None);
    }
}
