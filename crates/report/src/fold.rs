//! Repeats of one case, merged if their outcomes are equal.
//!
//! Idea: `--repeat 100` asks whether the outcome is stable, so the answer is a count, not a hundred copies. Results of
//! the same case on the same target at the same level are repeats of each other. Two repeats have the same outcome if
//! their events are equal apart from their times, and so are the final state (as multisets of rows, because no order
//! was asked for), the checks, the notes, the ending and the verdicts. Blind spot: rows of a statement are compared in
//! the order in which they arrived, so two repeats of a query without ORDER BY may count as different.

use anchorite_model::{Event, Rows, Value};

use crate::RunResult;

/// Repeats with the same outcome.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcomes<'a> {
    /// The first of them, which stands for all.
    pub result: &'a RunResult,
    /// Which repeats they are, 1-based.
    pub repeats: Vec<usize>,
}

/// All results of one case on one target at one level.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repeats<'a> {
    /// The distinct outcomes in the order of their first appearance; never empty.
    pub outcomes: Vec<Outcomes<'a>>,
    /// How many runs there were.
    pub total: usize,
}

/// Groups the results, in the order of their first appearance.
pub(crate) fn fold(results: &[RunResult]) -> Vec<Repeats<'_>> {
    let mut groups: Vec<Repeats<'_>> = Vec::new();
    for result in results {
        match groups.iter_mut().find(|group| same_case(group.outcomes[0].result, result)) {
            Some(group) => add(group, result),
            None => groups
                .push(Repeats { outcomes: vec![Outcomes { result, repeats: vec![1] }], total: 1 }),
        }
    }
    groups
}

fn add<'a>(group: &mut Repeats<'a>, result: &'a RunResult) {
    group.total += 1;
    match group.outcomes.iter_mut().find(|seen| same_outcome(seen.result, result)) {
        Some(seen) => seen.repeats.push(group.total),
        None => group.outcomes.push(Outcomes { result, repeats: vec![group.total] }),
    }
}

/// For each result: which repeat of its case it is (1-based), and how many there are.
pub(crate) fn numbered(results: &[RunResult]) -> Vec<(usize, usize)> {
    let mut cases: Vec<(&RunResult, usize)> = Vec::new();
    let mut places = Vec::with_capacity(results.len());
    for result in results {
        let known = cases.iter().position(|(first, _)| same_case(first, result));
        let case = known.unwrap_or_else(|| {
            cases.push((result, 0));
            cases.len() - 1
        });
        cases[case].1 += 1;
        places.push((case, cases[case].1));
    }
    places.into_iter().map(|(case, repeat)| (repeat, cases[case].1)).collect()
}

/// How many times this outcome occurred, if there were repeats.
pub(crate) fn repeats_told(all: &Repeats<'_>, index: usize) -> Option<String> {
    const SHOWN_MAX: usize = 10;
    if all.total == 1 {
        return None;
    }
    if all.outcomes.len() == 1 {
        return Some(format!("{} runs, all the same", all.total));
    }
    let repeats = &all.outcomes[index].repeats;
    let mut which: Vec<String> = repeats.iter().take(SHOWN_MAX).map(usize::to_string).collect();
    if repeats.len() > SHOWN_MAX {
        which.push("...".to_owned());
    }
    Some(format!(
        "outcome {} of {}: seen in {} of {} runs ({})",
        index + 1,
        all.outcomes.len(),
        repeats.len(),
        all.total,
        which.join(", ")
    ))
}

fn same_case(a: &RunResult, b: &RunResult) -> bool {
    let asked =
        |result: &RunResult| result.run.sessions.iter().map(|s| s.level).collect::<Vec<_>>();
    a.run.target == b.run.target
        && a.run.level == b.run.level
        && asked(a) == asked(b)
        && a.run.case == b.run.case
}

fn same_outcome(a: &RunResult, b: &RunResult) -> bool {
    let (x, y) = (&a.run, &b.run);
    x.events.len() == y.events.len()
        && x.events.iter().zip(&y.events).all(|(a, b)| same_event(a, b))
        && same_state(&x.final_state, &y.final_state)
        && x.sessions == y.sessions
        && x.checks == y.checks
        && x.notes == y.notes
        && x.ending == y.ending
        && a.verdicts == b.verdicts
        && a.compared == b.compared
        && a.observed == b.observed
}

fn same_event(a: &Event, b: &Event) -> bool {
    (a.n, a.session, &a.sql, &a.outcome) == (b.n, b.session, &b.sql, &b.outcome)
}

fn same_state(a: &[(String, Rows)], b: &[(String, Rows)]) -> bool {
    fn sorted(rows: &Rows) -> Vec<&Vec<Value>> {
        let mut sorted: Vec<_> = rows.rows.iter().collect();
        sorted.sort();
        sorted
    }
    a.len() == b.len()
        && a.iter().zip(b).all(|((name, x), (other, y))| {
            name == other && x.columns == y.columns && sorted(x) == sorted(y)
        })
}
