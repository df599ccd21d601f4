//! What can be had on this machine, without asking anybody outside.

use anchorite_model::Product;

use crate::cache::Cache;
use crate::install::{Installation, Source};
use crate::source::{cache_key, container, given_cockroach, obstacle, path, source_of};
use crate::version::satisfies;
use crate::{Error, catalog};

/// A server that can be had.
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

/// Everything that can be had: what is installed, what is in the cache, what could be fetched or built.
pub fn offers() -> Result<Vec<Offer>, Error> {
    let engine = container::engine();
    let mut offers = Vec::new();
    let servers = Product::ALL.into_iter().filter(|product| *product != Product::Sqlite);
    for product in servers {
        let mut installed = path::all(product);
        if product == Product::Cockroach {
            installed.extend(given_cockroach());
        }
        let cache = Cache::of(product)?;
        offers.extend(installed.iter().map(|found| of_installed(product, found)));
        for row in catalog::ROWS.iter().filter(|row| row.product == product) {
            let target = format!("{product}@{}", row.series);
            let have = installed.iter().any(|found| satisfies(&found.version, row.series));
            if have || offers.iter().any(|offer: &Offer| offer.target == target) {
                continue;
            }
            let cached = cache.find(&cache_key(row, Some(row.series)));
            if cached.is_some() || obstacle(row).is_none() {
                let version = cached.as_ref().map(|found| found.version.clone());
                let source = source_of(row);
                offers.push(Offer { target, version, source, cached: cached.is_some() });
            }
        }
        if engine.is_some() {
            let target = product.to_string();
            let source = Source::Container;
            offers.push(Offer { target, version: None, source, cached: false });
        }
    }
    Ok(offers)
}

fn of_installed(product: Product, found: &Installation) -> Offer {
    // The series in the product's own habit: PostgreSQL counts by one number, the others by two.
    let parts = if product == Product::Postgres { 1 } else { 2 };
    let series: Vec<&str> = found.version.split('.').take(parts).collect();
    Offer {
        target: format!("{product}@{}", series.join(".")),
        version: Some(found.version.clone()),
        source: found.source,
        cached: true,
    }
}
