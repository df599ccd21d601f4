//! What the generator is told about a target, and how a campaign remembers it.
//!
//! Idea: the same seed gives the same cases only with the same recipe, so a campaign keeps the recipe and a resumed one
//! does not ask again.

use std::path::Path;
use std::sync::Arc;

use anchorite_drivers::Target;
use anchorite_generate::{Recipe, Support, Weights};
use anchorite_hunt::learn::{Learnt, learn};
use anchorite_model::Product;
use anchorite_stage::{FreshTables, RunOptions};
use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::learnt;
use crate::exit::BadInput;
use crate::interrupt::Interrupt;
use crate::output::tell;

/// A recipe as stored in a campaign's file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    /// What the target rejects.
    rejects: Vec<String>,
    /// The text of the weights file, if there was one.
    weights: Option<String>,
}

/// A weights file: its name for messages, and its text.
#[derive(Debug, Clone)]
pub struct WeightsFile {
    name: String,
    text: String,
}

impl WeightsFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => Err(BadInput(format!("{name}: {error}"))),
        }
    }
}

/// The recipe for a target, after trying what it rejects, and its form for the campaign's file.
pub fn make(
    target: &dyn Target,
    weights: Option<&WeightsFile>,
    interrupt: &Interrupt,
) -> anyhow::Result<(Recipe, serde_json::Value)> {
    let product = target.info().product;
    let flag = Arc::clone(&interrupt.flag);
    let options = RunOptions { interrupt: flag, ..RunOptions::default() };
    let mut fresh = FreshTables { target, options };
    let support = match learnt::recall(target.info()) {
        Some(support) => support,
        None => {
            let Learnt { support, unsure, forbidden } = interrupt
                .attend(|| learn(&mut fresh, product))
                .context("while learning its dialect")?;
            if unsure.is_empty() && forbidden.is_empty() {
                learnt::keep(target.info(), &support);
            }
            // What fails because of a broken connection or a missing privilege is not remembered beyond this campaign.
            for (options, why) in [
                (unsure, "asking for it lost the connection"),
                (forbidden, "the account lacks a privilege (docs/connections.md)"),
            ] {
                if !options.is_empty() {
                    tell(&format!("left out, because {why}: {}", options.join(", ")));
                }
            }
            support
        }
    };
    let mut recipe = Recipe { support, ..Recipe::new(product) };
    if let Some(file) = weights {
        recipe.weights = parse(file)?;
    }
    let rejects = recipe.support.rejected().map(str::to_owned).collect();
    let written = Written { rejects, weights: weights.map(|file| file.text.clone()) };
    Ok((recipe, serde_json::to_value(written)?))
}

/// The recipe that a campaign was begun with.
pub fn remembered(
    product: Product,
    value: &serde_json::Value,
    campaign: &Path,
) -> anyhow::Result<Recipe> {
    let name = campaign.display().to_string();
    let written: Written = serde_json::from_value(value.clone())
        .map_err(|error| BadInput(format!("{name}: recipe: {error}")))?;
    let support = Support::without(written.rejects.iter().map(String::as_str));
    let mut recipe = Recipe { support, ..Recipe::new(product) };
    if let Some(text) = written.weights {
        recipe.weights = parse(&WeightsFile { name, text })?;
    }
    Ok(recipe)
}

fn parse(file: &WeightsFile) -> Result<Weights, BadInput> {
    Weights::parse(&file.name, &file.text).map_err(|error| BadInput(error.to_string()))
}
