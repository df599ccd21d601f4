//! `--descriptor`: products that are not built in.

use std::path::{Path, PathBuf};

use anchorite_generate::unknown_feature;
use anchorite_model::Product;

use crate::exit::BadInput;

/// Adds the products of these files, in this order: a later one may be `like` an earlier one.
pub fn add(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        let shown = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| BadInput(format!("cannot read {shown}: {error}")))?;
        let product =
            Product::add(&shown.to_string(), &text).map_err(|error| BadInput(error.to_string()))?;
        if product.descriptor().is_embedded() {
            let reason =
                "an engine in this process cannot be added: expected the driver of a server";
            return Err(BadInput(format!("{shown}: {reason}")).into());
        }
        if let Some(problem) = unknown_feature(product) {
            return Err(BadInput(format!("{shown}: {problem}")).into());
        }
        let folder = file.parent().unwrap_or(Path::new("."));
        anchorite_claims::add(product, folder).map_err(|error| BadInput(error.to_string()))?;
    }
    Ok(())
}
