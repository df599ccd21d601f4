//! Runs many generated cases on a target and counts what becomes of them.

use std::collections::BTreeMap;
use std::fmt;

use anchorite_drivers::Target;
use anchorite_generate::{Recipe, Weights, case};
use anchorite_model::{ErrorClass, Level, Outcome, Run, StatementKind};
use anchorite_stage::{Arena, RunOptions, Runner};

/// What became of a number of cases.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: usize,
    pub statements: usize,
    pub failed: BTreeMap<ErrorClass, usize>,
    pub blocked_cases: usize,
    /// Cases of two sessions, and those of them in which somebody waited.
    pub pairs: usize,
    pub blocked_pairs: usize,
    pub deadlock_cases: usize,
    /// Cases of which at least one, and at least two, writing transactions committed.
    pub committed_one: usize,
    pub committed_two: usize,
    /// Writes that succeeded, and those of them that affected rows.
    pub effective_writes: usize,
    pub writes: usize,
    /// Errors of class other, with an example each.
    pub others: BTreeMap<String, (usize, String)>,
}

impl Tally {
    /// Runs these cases at one level.
    pub fn of(
        target: &dyn Target,
        level: Option<Level>,
        seed: u64,
        numbers: std::ops::Range<u64>,
    ) -> Self {
        // Many tables instead of many cases on each: it is the tables that differ between products.
        let weights = Weights::parse("test", "[case]\ngroup = 4").expect("the file is right");
        let recipe = Recipe { weights, ..Recipe::new(target.info().product) };
        let mut runner = Arena::new(target, RunOptions::default()).expect("the target can be used");
        let mut tally = Self::default();
        for number in numbers {
            let case = case(&recipe, seed, number);
            let run = runner.run(&case, level).unwrap_or_else(|error| panic!("{error}\n{case}"));
            tally.count(&run);
        }
        tally
    }

    fn count(&mut self, run: &Run) {
        self.cases += 1;
        self.statements += run.case.steps.len();
        let mut is_blocked = false;
        let mut is_deadlocked = false;
        let mut committed = 0;
        let mut writes = vec![0_usize; run.sessions.len()];
        let mut is_open = vec![false; run.sessions.len()];
        for event in &run.events {
            let kind = StatementKind::of(&event.sql);
            match &event.outcome {
                Outcome::Blocked { .. } => is_blocked = true,
                Outcome::Error(error) => {
                    *self.failed.entry(error.class).or_default() += 1;
                    is_deadlocked |= error.class == ErrorClass::Deadlock;
                    if error.class == ErrorClass::Other && error.code != "25P02" {
                        let example =
                            format!("{} <- {} ({})", error.message, event.sql, run.case.name);
                        let slot = self.others.entry(error.code.clone()).or_insert((0, example));
                        slot.0 += 1;
                    }
                    if error.transaction_gone {
                        writes[event.session] = 0;
                    }
                }
                Outcome::Ok(answer) | Outcome::Resumed(answer) => {
                    let affected = answer.affected.unwrap_or(0);
                    if kind.writes() {
                        self.writes += 1;
                        self.effective_writes += usize::from(affected > 0);
                        writes[event.session] += usize::from(affected > 0);
                    }
                    let was_open = is_open[event.session];
                    match kind {
                        StatementKind::Begin => is_open[event.session] = true,
                        StatementKind::Rollback { .. } => writes[event.session] = 0,
                        _ => (),
                    }
                    let is_commit = matches!(kind, StatementKind::Commit { .. });
                    let is_undone = answer.tag.as_deref() == Some("ROLLBACK");
                    if is_commit || !was_open && kind.writes() {
                        committed += usize::from(writes[event.session] > 0 && !is_undone);
                        writes[event.session] = 0;
                    }
                    if kind.ends_transaction() {
                        is_open[event.session] = false;
                    }
                }
                Outcome::Skipped { .. } => (),
            }
        }
        self.blocked_cases += usize::from(is_blocked);
        self.pairs += usize::from(run.sessions.len() == 2);
        self.blocked_pairs += usize::from(run.sessions.len() == 2 && is_blocked);
        self.deadlock_cases += usize::from(is_deadlocked);
        self.committed_one += usize::from(committed > 0);
        self.committed_two += usize::from(committed > 1);
    }

    /// The share of the cases of which at least one writing transaction committed.
    pub fn committed_share(&self) -> f64 {
        self.committed_one as f64 / self.cases as f64
    }

    /// The share of statements that fail with an error that nobody wanted.
    pub fn other_share(&self) -> f64 {
        let others: usize = self.others.values().map(|(count, _)| count).sum();
        others as f64 / self.statements as f64
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        write!(
            f,
            "{} cases, {:.1} statements each; ",
            self.cases,
            self.statements as f64 / self.cases as f64
        )?;
        write!(
            f,
            "blocked {:.0} % (of pairs {:.0} %), deadlock {:.0} %, >=1 writer {:.0} %, >=2 writers {:.0} %, \
             writes with effect {:.0} %; failed:",
            percent(self.blocked_cases, self.cases),
            percent(self.blocked_pairs, self.pairs),
            percent(self.deadlock_cases, self.cases),
            percent(self.committed_one, self.cases),
            percent(self.committed_two, self.cases),
            percent(self.effective_writes, self.writes),
        )?;
        for (class, count) in &self.failed {
            write!(f, " {} {:.1} %", class.name(), percent(*count, self.statements))?;
        }
        for (code, (count, example)) in &self.others {
            write!(f, "\n    {count} x {code}: {example}")?;
        }
        Ok(())
    }
}
