//! The anomalies that happen in a case, by name and with their proofs; and the history of the run that shows them.
//!
//! Idea: the case is run on instrumented tables, and its exact dependencies tell, with no promise of any level in mind.
//! Assumption: one more column per table changes nothing about the anomaly.

use anchorite_check::model::History;
use anchorite_claims::Claims;
use anchorite_model::{Case, Level, Product, Runner};

use super::case::chained_case;
use super::cycles::Sighting;
use super::recorded::recorded;
use super::{Untold, told};
use crate::evidence::{Evidence, Prepared};
use crate::laboratory::Laboratory;

/// What happened in a case that was run with chains.
#[derive(Debug)]
pub struct Named {
    /// By name.
    pub sightings: Vec<Sighting>,
    /// For `anchorite check`.
    pub history: History,
}

/// Runs a case with chains, and names what happens in it.
pub fn named(
    case: &Case,
    product: Product,
    claims: &Claims,
    runner: &mut dyn Runner,
    level: Option<Level>,
) -> Result<Named, Untold> {
    let chained = chained_case(case, product)?;
    let run = runner.run(&chained.case, level)?;
    let evidence = Evidence::new(&run, claims, Prepared::new());
    let mut laboratory = Laboratory::new(runner, level);
    let told = told(chained, &evidence, &mut laboratory)?;
    let transactions = evidence.transactions()?;
    let sightings = told.by(transactions).sightings(product.dialect());
    let history = recorded(&told, transactions).map_err(|error| error.to_string())?;
    Ok(Named { sightings, history })
}
