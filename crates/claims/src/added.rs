//! All known claims: the built-in ones, and those of descriptors from the command line.
//!
//! A descriptor names its claims: a file, or another product whose claims also apply. They stay until the end of the
//! process, like the product.

use std::path::Path;
use std::sync::{LazyLock, PoisonError, RwLock};

use anchorite_model::Product;

use crate::file::BUILT_IN;
use crate::{Claims, ClaimsError};

static KNOWN: LazyLock<RwLock<Vec<&'static Claims>>> = LazyLock::new(|| {
    let read = |(name, text)| Claims::parse_editions(name, text).expect("a built-in file is valid");
    let all = BUILT_IN.into_iter().flat_map(read);
    RwLock::new(all.map(|claims| &*Box::leak(Box::new(claims))).collect())
});

/// The claims of a product, one edition for each manual, oldest first.
pub(crate) fn editions_of(product: Product) -> Vec<&'static Claims> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().copied().filter(|claims| claims.product == product).collect()
}

/// Adds the claims that the descriptor of a product names; `folder` is where the descriptor is.
pub fn add(product: Product, folder: &Path) -> Result<(), ClaimsError> {
    let Some(named) = product.descriptor().claims.as_deref() else {
        return Err(ClaimsError::Missing(product.to_string()));
    };
    let editions = match Product::find(named) {
        Some(other) => {
            let same = editions_of(other).into_iter().cloned();
            same.map(|claims| Claims { product, ..claims }).collect()
        }
        None => Claims::load_editions(&folder.join(named))?,
    };
    if let Some(claims) = editions.iter().find(|claims| claims.product != product) {
        let (file, found) = (named.to_owned(), claims.product);
        let reason = format!("expected product = \"{product}\", found {found}");
        return Err(ClaimsError::Invalid { file, line: 1, reason });
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.extend(editions.into_iter().map(|claims| &*Box::leak(Box::new(claims))));
    Ok(())
}
