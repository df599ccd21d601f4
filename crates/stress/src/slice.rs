//! From a race to cases: the transactions of a witness, statement by statement, in the orders that the history allows.
//!
//! Idea: what a race shows may not need one. A case with the same transactions, run one statement at a time, is proof
//! that anybody can repeat. Its rows tell their versions as those of the run did, so the same judge says whether it
//! shows the same anomaly. Real time is kept: a transaction that had ended before another one began comes before it.
//! If there are more orders than are wanted, some of them are chosen at random, always the same.
//!
//! Assumption: what other transactions wrote before does not matter; rows begin as they did at first. Blind spot: a
//! race inside of one statement has no order of statements that shows it, and rows that others inserted are missing.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_check::model::Outcome as Ended;
use anchorite_model::{Answer, Case, Ending, Outcome, Rows, Run, SessionIndex, Statement, Step};

use crate::judge::{Counts, Finding, Judge, Recipe};
use crate::plan::{End, Op, Plan};
use crate::promise::Promises;
use crate::random::Random;
use crate::record::{Reader, Record, final_state};
use crate::text::TABLE;
use crate::workload::{Workload, plan};

/// More transactions than this have too many orders.
const TRANSACTIONS_MAX: usize = 6;

/// Attempts per order that is wanted: the same one may be chosen again.
const ATTEMPTS: usize = 4;

/// PostgreSQL's answer to a COMMIT that rolled back.
const ROLLED_BACK: &str = "ROLLBACK";

/// The columns of a row as statements answer with them.
const COLUMNS: [&str; 6] = ["id", "v", "w", "p", "n", "l"];

/// One transaction of a witness.
#[derive(Debug)]
struct Part {
    number: u64,
    plan: Plan,
    times: Option<(u64, u64)>,
    /// Each statement with the operation that it belongs to, if any.
    statements: Vec<(Option<usize>, String)>,
}

/// The transactions of a witness.
#[derive(Debug)]
pub struct Slice<'r> {
    recipe: &'r Recipe,
    parts: Vec<Part>,
}

impl<'r> Slice<'r> {
    /// Those of a finding; an error says why it has no cases.
    pub fn of(recipe: &'r Recipe, finding: &Finding) -> Result<Self, &'static str> {
        if ["lost-commit", "torn-commit", "resurrected-abort"].contains(&finding.weighed.name) {
            return Err("a fault is no part of a case");
        }
        if finding.transactions.len() > TRANSACTIONS_MAX {
            return Err("it has too many transactions");
        }
        let mut parts: Vec<Part> = finding
            .transactions
            .iter()
            .map(|told| {
                let plan = plan(&recipe.workloads, recipe.seed, told.txn);
                let statements = statements(recipe, &plan, told.txn);
                Part { number: told.txn, plan, times: told.times, statements }
            })
            .collect();
        parts.sort_by_key(|part| part.times.map_or(part.number, |times| times.0));
        Ok(Self { recipe, parts })
    }

    /// Cases with these transactions in different orders, at most so many.
    pub fn cases(&self, limit: usize) -> Vec<Case> {
        let mut random = Random::new(self.recipe.seed, limit as u64);
        let mut orders = BTreeSet::new();
        let mut cases = Vec::new();
        for attempt in 0..limit * ATTEMPTS {
            let order = self.order(&mut random, attempt);
            if cases.len() < limit && orders.insert(order.clone()) {
                cases.push(self.case(&order, cases.len() + 1));
            }
        }
        cases
    }

    /// One order: whose statement is next. The first ones switch often, the others as it comes.
    fn order(&self, random: &mut Random, attempt: usize) -> Vec<usize> {
        let mut left: Vec<usize> = self.parts.iter().map(|part| part.statements.len()).collect();
        let mut order: Vec<usize> = Vec::new();
        while left.iter().any(|count| *count > 0) {
            let may: Vec<usize> =
                (0..left.len()).filter(|at| left[*at] > 0 && self.may_go(*at, &left)).collect();
            let last = order.last().copied();
            let turn = may.iter().find(|at| last.is_some_and(|last| **at > last));
            let next = match attempt {
                // In turns: the transactions overlap as much as they can.
                0 => turn.or(may.first()).copied(),
                _ => may.get(random.below(may.len() as u64) as usize).copied(),
            };
            let Some(next) = next else { break };
            left[next] -= 1;
            order.push(next);
        }
        order
    }

    /// Whether all have ended that had ended before this one began.
    fn may_go(&self, at: usize, left: &[usize]) -> bool {
        let Some((began, _)) = self.parts[at].times else { return true };
        let mut others = self.parts.iter().zip(left);
        others.all(|(other, left)| *left == 0 || other.times.is_none_or(|times| times.1 >= began))
    }

    fn case(&self, order: &[usize], number: usize) -> Case {
        let mut next = vec![0; self.parts.len()];
        let mut sessions: Vec<usize> = Vec::new();
        let mut steps = Vec::new();
        for at in order {
            let session = sessions.iter().position(|one| one == at).unwrap_or_else(|| {
                sessions.push(*at);
                sessions.len() - 1
            });
            let sql = self.parts[*at].statements[next[*at]].1.clone();
            next[*at] += 1;
            steps.push(Step { session, statement: Statement { sql, line: 0 } });
        }
        let names = sessions.iter().map(|at| format!("t{}", self.parts[*at].number));
        let setup = self.setup().into_iter().map(|sql| Statement { sql, line: 0 });
        Case {
            name: format!("race-{number}"),
            setup: setup.collect(),
            sessions: names.collect(),
            steps,
            ..Case::default()
        }
    }

    /// The table with the rows that these transactions look at.
    fn setup(&self) -> Vec<String> {
        let (mut rows, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for op in self.parts.iter().flat_map(|part| &part.plan.ops) {
            match *op {
                Op::Read(row, _)
                | Op::Write(row, _)
                | Op::Append(row)
                | Op::Replace(row)
                | Op::Delete(row) => {
                    rows.insert(row);
                }
                Op::Insert(_, group)
                | Op::ReadGroup(group, _)
                | Op::Compute(_, group)
                | Op::WriteGroup(group, _) => {
                    groups.insert(group);
                }
                Op::ReadCompound(_, both) => groups.extend(both),
            }
        }
        let initial =
            self.recipe.workloads.iter().flat_map(|workload: &Workload| workload.initial());
        let wanted = initial.filter(|(row, group, _)| rows.contains(row) || groups.contains(group));
        self.recipe.tongue.setup_with(&wanted.collect::<Vec<_>>())
    }

    /// What the judge says about a run of one of these cases; `None` if it did not end as it should.
    pub fn counts(&self, run: &Run) -> Option<Counts> {
        if run.ending != Ending::Complete {
            return None;
        }
        let first = run.sessions.first()?;
        let promises = Promises::new(&run.target, first.effective_level(), &first.level_read_back);
        let mut judge = Judge::new(promises, self.recipe.clone());
        let mut events = Vec::new();
        for session in 0..run.case.sessions.len() {
            let (record, began, ended) = self.record(run, session)?;
            events.push((began, record.number, None));
            events.push((ended, record.number, Some(record)));
        }
        events.sort_by_key(|(at, ..)| *at);
        let last = events.last()?.0 as u64;
        for (at, number, record) in events {
            match record {
                None => judge.begin(number, at as u64),
                Some(record) => judge.end(&record, at as u64),
            }
        }
        let number = self.parts.iter().map(|part| part.number).max()? + 1;
        let (rows, blunders) = final_state(number, in_the_end(run)?);
        judge.blunders(&blunders, number);
        Some(judge.finish(&rows, (last + 1, last + 2)))
    }

    /// What the transaction of a session did, and when it began and ended.
    fn record(&self, run: &Run, session: SessionIndex) -> Option<(Record, usize, usize)> {
        let name = run.case.sessions.get(session)?;
        let part = self.parts.iter().find(|part| format!("t{}", part.number) == *name)?;
        let own = run.case.steps.iter().zip(1..).filter(|(step, _)| step.session == session);
        let numbers: BTreeMap<usize, usize> = own.map(|(_, n)| n).zip(0..).collect();
        let mut reader = Reader::new(part.number, &part.plan);
        let (mut began, mut ended) = (usize::MAX, 0);
        let (mut outcome, mut answered) = (Ended::Committed, 0);
        let mut rows: BTreeMap<usize, Rows> = BTreeMap::new();
        for event in run.events.iter().filter(|event| event.session == session) {
            began = began.min(event.sent.unwrap_or(usize::MAX));
            ended = ended.max(event.answered.or(event.sent).unwrap_or(0));
            let (place, _) = part.statements.get(*numbers.get(&event.n)?)?;
            match &event.outcome {
                Outcome::Ok(answer) | Outcome::Resumed(answer) => {
                    if answer.tag.as_deref() == Some(ROLLED_BACK) {
                        outcome = Ended::Aborted;
                    }
                    if let Some(place) = place {
                        answered = place + 1;
                        rows.entry(*place).or_default();
                        rows_of(answer).into_iter().for_each(|set| drop(rows.insert(*place, set)));
                    }
                }
                Outcome::Error(_) | Outcome::Skipped { .. } => outcome = Ended::Aborted,
                Outcome::Blocked { .. } => {}
            }
        }
        rows.into_iter().for_each(|(place, rows)| reader.answer(place, rows));
        if part.plan.end == End::Rollback {
            outcome = Ended::Aborted;
        }
        if outcome == Ended::Aborted {
            reader.attempted(answered);
        }
        let session = u32::try_from(session).unwrap_or(u32::MAX);
        Some((reader.finish(session, outcome), began, ended))
    }
}

fn statements(recipe: &Recipe, plan: &Plan, number: u64) -> Vec<(Option<usize>, String)> {
    let all = recipe.tongue.all(plan, number);
    let (begin, end) = (all.first().cloned(), all.last().cloned());
    let ops = plan.ops.iter().enumerate().flat_map(|(place, op)| {
        let these = recipe.tongue.statements(*op, number, place);
        these.into_iter().map(move |sql| (Some(place), sql))
    });
    let edge = |sql: Option<String>| sql.into_iter().map(|sql| (None, sql));
    edge(begin).chain(ops).chain(edge(end)).collect()
}

fn rows_of(answer: &Answer) -> Option<Rows> {
    answer.results.iter().find(|set| !set.columns.is_empty()).cloned()
}

/// The rows of the final state, with the columns in the order of our statements.
fn in_the_end(run: &Run) -> Option<Rows> {
    let (_, rows) = run.final_state.iter().find(|(name, _)| name.contains(TABLE))?;
    let place = |name: &&str| rows.columns.iter().position(|column| column == name);
    let places: Vec<usize> = COLUMNS.iter().map(place).collect::<Option<_>>()?;
    let pick = |row: &Vec<_>| places.iter().map(|at| row.get(*at).cloned()).collect();
    let picked = rows.rows.iter().map(pick).collect::<Option<_>>()?;
    Some(Rows { columns: COLUMNS.map(str::to_owned).to_vec(), rows: picked })
}
