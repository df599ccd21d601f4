//! The anomalies that happen in a case, by name and with their proofs.
//!
//! Idea: the case is run on instrumented tables, and its exact dependencies tell, with no promise of any level in mind.
//! Assumption: one more column per table changes nothing about the anomaly.

use anchorite_claims::Claims;
use anchorite_model::{Case, Level, Product, Runner};

use super::case::chained_case;
use super::cycles::Sighting;
use super::{Untold, traced};
use crate::evidence::{Evidence, Prepared};
use crate::laboratory::Laboratory;

/// Runs a case with chains, and names what happens in it.
pub fn named(
    case: &Case,
    product: Product,
    claims: &Claims,
    runner: &mut dyn Runner,
    level: Option<Level>,
) -> Result<Vec<Sighting>, Untold> {
    let chained = chained_case(case, product)?;
    let run = runner.run(&chained.case, level)?;
    let evidence = Evidence::new(&run, claims, Prepared::new());
    let mut laboratory = Laboratory::new(runner, level);
    let traced = traced(chained, &evidence, &mut laboratory)?;
    Ok(traced.sightings(product.dialect()))
}
