//! Cases as a generator makes them: how many questions they take, and how small they become.

use std::convert::Infallible;

use anchorite_generate::{Recipe, case};
use anchorite_model::{Case, Product, StatementKind};
use anchorite_reduce::{Budget, reduce};

/// An UPDATE and a DELETE in different sessions, one of them in a transaction, with rows to work on.
fn interesting(case: &Case) -> bool {
    let kinds: Vec<(usize, StatementKind)> =
        case.steps.iter().map(|s| (s.session, StatementKind::of(&s.statement.sql))).collect();
    let of = |wanted: StatementKind| kinds.iter().find(|(_, kind)| *kind == wanted);
    let (Some(update), Some(delete)) = (of(StatementKind::Update), of(StatementKind::Delete))
    else {
        return false;
    };
    let rows = case.setup.iter().any(|s| StatementKind::of(&s.sql) == StatementKind::Insert);
    update.0 != delete.0 && kinds.contains(&(update.0, StatementKind::Begin)) && rows
}

#[test]
fn generated_cases_take_few_questions() {
    for product in Product::all() {
        let recipe = Recipe::new(product);
        let cases = (0..400).map(|number| case(&recipe, 7, number));
        let mut figures = Vec::new();
        for case in cases.filter(interesting).take(12) {
            let budget = Budget { questions: 2_000, time_left: &mut || true };
            let mut still = |case: &Case| Ok::<bool, Infallible>(interesting(case));
            let reduced =
                reduce(&case, product, budget, &mut still).unwrap_or_else(|never| match never {});
            let statements = reduced.case.setup.len() + reduced.case.steps.len();
            assert!(reduced.complete && interesting(&reduced.case), "{product}\n{case}");
            assert!(statements <= 6, "{product}\n{case}\n{}", reduced.case);
            figures.push(reduced.questions);
        }
        figures.sort_unstable();
        let median = figures[figures.len() / 2];
        assert!(median <= 150, "{product}: {figures:?}");
    }
}
