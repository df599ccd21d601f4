//! The passes, from coarse to fine, repeated until none of them finds anything.
//!
//! Idea: hierarchical delta debugging (Misherghi and Su 2006): what depends on something is removed with it. Whole
//! sessions and transactions first, then statements, tables with everything that uses them, rows, columns with their
//! uses, constraints and types, clauses, expressions, literals, and the schedule. Names come last, once.

mod clauses;
mod columns;
mod expressions;
mod literals;
mod names;
mod schedule;
mod statements;
mod tables;
mod tokens;

use anchorite_model::{Case, Product};

use crate::draft::Draft;
use crate::search::{Budget, Reduced, Search, Stop};

/// The smallest case that can be found for which `still` says yes. The original case is assumed to be interesting.
///
/// `still` is asked about cases that can be read, never twice about the same text. Its errors end the
/// reduction.
pub fn reduce<E>(
    case: &Case,
    product: Product,
    mut budget: Budget<'_>,
    still: &mut dyn FnMut(&Case) -> Result<bool, E>,
) -> Result<Reduced, E> {
    let mut failure = None;
    let mut answer = |case: &Case| match still(case) {
        Ok(answer) => Some(answer),
        Err(error) => {
            failure = Some(error);
            None
        }
    };
    let reduced = smallest(case, product, &mut budget, &mut answer);
    failure.map_or(Ok(reduced), Err)
}

/// Not generic, so that it is compiled once, here.
fn smallest(
    case: &Case,
    product: Product,
    budget: &mut Budget<'_>,
    still: &mut dyn FnMut(&Case) -> Option<bool>,
) -> Reduced {
    let mut search = Search::new(Draft::of(case, product.dialect()), still, budget);
    let complete = to_the_end(&mut search).is_ok();
    let case = if search.taken == 0 { case.clone() } else { search.best.to_case() };
    Reduced { case, questions: search.asked, complete }
}

fn to_the_end(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    loop {
        let taken = search.taken;
        coarse(search)?;
        fine(search)?;
        if search.taken == taken {
            break;
        }
    }
    names::tidy(search)
}

/// Large parts: repeated on its own, because it makes everything after it cheaper.
fn coarse(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    loop {
        let taken = search.taken;
        search.thin(statements::sessions)?;
        search.thin(statements::transactions)?;
        search.thin(statements::units)?;
        search.thin(tables::tables)?;
        search.thin(tables::other_setup)?;
        if search.taken == taken {
            return Ok(());
        }
    }
}

fn fine(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    search.thin(tables::rows)?;
    tables::merge_inserts(search)?;
    search.thin(columns::columns)?;
    search.thin(clauses::schema)?;
    search.thin(literals::types)?;
    search.thin(clauses::clauses)?;
    search.thin(tokens::parts)?;
    search.thin(statements::controls)?;
    expressions::simplify(search)?;
    literals::simplify(search)?;
    schedule::calm(search)
}
