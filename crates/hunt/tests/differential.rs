//! A second opinion on the differential oracle, by brute force: where nobody waits and nobody is refused, two runs of
//! one case are right if and only if every answer and every table is the same.
//!
//! On SQLite, and on every server of `ANCHORITE_TEST_URLS`: honest, where the oracle must not complain, and with a
//! fault planted in the run on the other side, where it must.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, case};
use anchorite_hunt::{Examined, Examiner};
use anchorite_judge::oracles;
use anchorite_model::{Case, Level, Outcome, Pair, Rows, Run, RunError, Runner, Value, Verdict};
use anchorite_stage::{Arena, RunOptions};

const SEED: u64 = 4;
/// So many cases on SQLite, and on a server, where a run takes longer; then more until every fault was caught: few
/// cases have no wait, no failure, and something that a fault could be planted in.
const CASES: [u64; 2] = [200, 60];
const CASES_MAX: u64 = 1000;

/// Faults that may be planted in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// None.
    Nothing,
    /// A read loses a row.
    RowLost,
    /// A write counts one row more.
    WrongCount,
    /// A row of the final state is gone.
    TableShorter,
}

/// All of them.
const FAULTS: [Fault; 4] = [Fault::Nothing, Fault::RowLost, Fault::WrongCount, Fault::TableShorter];

/// Runs cases, and on the other side the same ones with a fault.
struct Faulty<'t> {
    arena: Arena<'t>,
    fault: Fault,
    /// The runs of one generated case, here and there: they are the same for every fault, which is planted in a copy.
    known: [Vec<(Case, Run)>; 2],
    /// Both runs of the last case that was compared as its schedule says.
    last: Option<(Run, bool)>,
}

impl Faulty<'_> {
    fn honest(&mut self, side: usize, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        if let Some((_, run)) = self.known[side].iter().find(|(known, _)| known == case) {
            return Ok(run.clone());
        }
        let run = self.arena.run(case, level)?;
        self.known[side].push((case.clone(), run.clone()));
        Ok(run)
    }
}

impl Faulty<'_> {
    /// Plants the fault where nobody has waited yet; whether that was possible.
    fn plant(&self, run: &mut Run) -> bool {
        match self.fault {
            Fault::Nothing => false,
            Fault::TableShorter => run.final_state.iter_mut().any(|(_, rows)| pop(rows)),
            // What a transaction reads after its own writes is judged by the claims alone.
            Fault::RowLost => answers(run)
                .take_while(|(sql, ..)| !is_change(sql))
                .any(|(_, rows, _)| rows.iter_mut().any(pop)),
            Fault::WrongCount => answers(run).any(|(sql, _, affected)| {
                let counts = is_change(sql) && affected.is_some();
                *affected = affected.map(|count| count + u64::from(counts));
                counts
            }),
        }
    }
}

fn is_change(sql: &str) -> bool {
    ["UPDATE", "DELETE", "INSERT"].iter().any(|word| sql.starts_with(word))
}

fn pop(rows: &mut Rows) -> bool {
    rows.rows.pop().is_some()
}

/// The answers before the first wait.
fn answers(run: &mut Run) -> impl Iterator<Item = (&str, &mut Vec<Rows>, &mut Option<u64>)> {
    run.events.iter_mut().map_while(|event| match &mut event.outcome {
        Outcome::Ok(answer) => Some((&*event.sql, &mut answer.results, &mut answer.affected)),
        _ => None,
    })
}

impl Runner for Faulty<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.honest(0, case, level)
    }

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.arena.rehearse(case, level)
    }

    fn has_elsewhere(&self) -> bool {
        true
    }

    fn run_elsewhere(
        &mut self,
        case: &Case,
        level: Option<Level>,
    ) -> Option<Result<Run, RunError>> {
        let mut run = match self.honest(1, case, level) {
            Ok(run) => run,
            Err(error) => return Some(Err(error)),
        };
        if self.last.is_none() {
            let planted = self.plant(&mut run);
            self.last = Some((run.clone(), planted));
        }
        Some(Ok(run))
    }
}

/// Whether everything was answered at once, and with success.
fn is_plain(run: &Run) -> bool {
    run.events.iter().all(|event| matches!(event.outcome, Outcome::Ok(_)))
}

fn sorted(rows: &Rows) -> Table {
    let mut rows = rows.rows.clone();
    rows.sort();
    rows
}

type Table = Vec<Vec<Value>>;
type Answered = (usize, Vec<Table>, Option<u64>);

/// Everything that two runs of one case have to agree on: answers by number, and tables.
fn everything(run: &Run) -> (Vec<Answered>, Vec<Table>) {
    let answers = run.events.iter().filter_map(|event| match &event.outcome {
        Outcome::Ok(answer) => {
            Some((event.n, answer.results.iter().map(sorted).collect(), answer.affected))
        }
        _ => None,
    });
    (answers.collect(), run.final_state.iter().map(|(_, rows)| sorted(rows)).collect())
}

fn examine(runner: &mut Faulty<'_>, target: &dyn Target, case: &Case) -> (Examined, Run, bool) {
    runner.last = None;
    let oracles = [oracles::named("differential").expect("it is registered")];
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: &oracles, strict: false };
    let examined = examiner.examine(runner, case, None).expect("it runs");
    let (other, planted) = runner.last.take().expect("it was compared");
    (examined, other, planted)
}

#[test]
fn it_says_what_a_naive_comparison_says() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    for url in ["sqlite"].into_iter().chain(urls.split_whitespace()) {
        let target = open(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let recipe = Recipe::new(target.info().product);
        let arena = Arena::new(target.as_ref(), RunOptions::default()).expect("an arena");
        let known = [Vec::new(), Vec::new()];
        let mut runner = Faulty { arena, fault: Fault::Nothing, known, last: None };
        let (mut compared, mut caught) = (0, [0; FAULTS.len()]);
        let least = CASES[usize::from(url != "sqlite")];
        for number in 0..CASES_MAX {
            if number >= least && caught[1..].iter().all(|count| *count > 0) {
                break;
            }
            let case = case(&recipe, SEED, number);
            runner.known = [Vec::new(), Vec::new()];
            for (at, fault) in FAULTS.into_iter().enumerate() {
                runner.fault = fault;
                let (examined, other, planted) = examine(&mut runner, target.as_ref(), &case);
                let verdict = &examined.judgements[0].verdict;
                if !is_plain(&examined.run) || !is_plain(&other) {
                    continue;
                }
                compared += u32::from(fault == Fault::Nothing);
                let differs = everything(&examined.run) != everything(&other);
                let is_violation = matches!(verdict, Verdict::Violation { .. });
                // A statement that may depend on the order of rows is not judged.
                if !matches!(verdict, Verdict::Undecided { .. }) {
                    assert_eq!(
                        is_violation, differs,
                        "{url}: {fault:?}: case {number}: {verdict:?}"
                    );
                }
                caught[at] += u32::from(planted && is_violation);
            }
        }
        println!("{url}: {compared} cases without waits; caught of {FAULTS:?}: {caught:?}");
        assert!(compared >= 5, "{url}: {compared}");
        for (fault, caught) in FAULTS.into_iter().zip(caught) {
            assert_eq!(caught > 0, fault != Fault::Nothing, "{url}: {fault:?}");
        }
    }
}

/// A snapshot puts t1 before t2, locks on tables put it behind: both are serializable, and nobody waits.
const ORDERED_DIFFERENTLY: &str = "\
/* setup */ CREATE TABLE t (a INTEGER);
/* setup */ CREATE TABLE u (a INT);

/* t1 */ BEGIN;
/* t1 */ SELECT 0 FROM u;
/* t2 */ INSERT INTO t VALUES (0);
/* t1 */ SELECT 0 FROM t;
/* t1 */ COMMIT;
";

#[test]
fn two_targets_may_order_transactions_differently() {
    let [here, there] = ["sqlite:wal", "sqlite:shared-cache"].map(|url| open(url).expect("SQLite"));
    let arena = |target| Arena::new(target, RunOptions::default()).expect("an arena");
    let (mut first, mut second) = (arena(here.as_ref()), arena(there.as_ref()));
    let mut pair = Pair::new(&mut first, Some(&mut second));
    let case = Case::parse("ordered-differently.case", ORDERED_DIFFERENTLY).expect("a case");
    let oracles = [oracles::named("differential").expect("it is registered")];
    let claims = Claims::for_target(here.info());
    let examiner = Examiner { claims, oracles: &oracles, strict: false };
    let examined = examiner.examine(&mut pair, &case, None).expect("it runs");
    let verdict = &examined.judgements[0].verdict;
    assert!(matches!(verdict, Verdict::Allowed { .. }), "{verdict:?}");
}
