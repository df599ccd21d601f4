//! 10,000 decisions per server, none wrong in either direction.
//!
//! Random transactions update single rows by primary key, so the truth is known without asking anybody:
//! a statement must wait exactly if another open transaction holds its row. Fast reads and slow
//! statements (asleep or busy, without a lock) run beside the blocked ones. The record is replayed
//! against this little lock table; then every row must hold exactly the committed increments, which
//! also shows that no statement was sent twice.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use anchorite_drivers::Target;
use anchorite_model::{Blocker, Case, Outcome, Product, Run, Value};
use anchorite_stage::{RunOptions, run_case};
use support::{Random, case, plain_level, servers, slow_statements};

const DECISIONS: usize = 10_000;
const STEPS_PER_CASE: usize = 100;
const ROWS: usize = 4;

/// What a step of a generated case does, beside its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Begin,
    Update(usize),
    Harmless,
    Commit,
    Rollback,
}

fn random_case(random: &mut Random, product: Product) -> (Case, Vec<Deed>) {
    let sessions = 2 + random.below(4);
    // The highest row that each session's transaction has asked for: rows are taken in rising order,
    // so that no deadlock can arise and every wait has one reason.
    let mut open: Vec<Option<usize>> = vec![None; sessions];
    let mut steps = Vec::new();
    let mut deeds = Vec::new();
    while steps.len() < STEPS_PER_CASE {
        let session = random.below(sessions);
        let (deed, sql) = match open[session] {
            None => (Deed::Begin, "BEGIN".to_owned()),
            Some(highest) => match random.below(10) {
                0..=4 if highest < ROWS => {
                    let row = highest + 1 + random.below(ROWS - highest);
                    let sql = format!("UPDATE t SET v = v + 1 WHERE id = {row}");
                    (Deed::Update(row), sql)
                }
                5 => (Deed::Harmless, (*random.one_of(&slow_statements(product))).to_owned()),
                6 => (Deed::Harmless, "SELECT 1".to_owned()),
                7 => (Deed::Rollback, "ROLLBACK".to_owned()),
                _ => (Deed::Commit, "COMMIT".to_owned()),
            },
        };
        open[session] = match deed {
            Deed::Begin => Some(0),
            Deed::Update(row) => Some(row),
            Deed::Harmless => open[session],
            Deed::Commit | Deed::Rollback => None,
        };
        steps.push((session, sql));
        deeds.push(deed);
    }
    for session in (0..sessions).filter(|session| open[*session].is_some()) {
        steps.push((session, "COMMIT".to_owned()));
        deeds.push(Deed::Commit);
    }
    let rows: Vec<String> = (1..=ROWS).map(|id| format!("({id}, 0)")).collect();
    let setup = [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)".to_owned(),
        format!("INSERT INTO t VALUES {}", rows.join(", ")),
    ];
    (case("decisions", sessions, &setup, steps), deeds)
}

/// The truth: who holds which row, who waits for which, and what a transaction has added.
#[derive(Default)]
struct Locks {
    holders: BTreeMap<usize, usize>,
    /// Sessions whose transaction failed but is not rolled back yet: it may or may not hold its rows.
    failed: BTreeSet<usize>,
    waiters: BTreeMap<usize, usize>,
    added: BTreeMap<usize, Vec<usize>>,
    committed: BTreeMap<usize, i128>,
    seen: usize,
}

impl Locks {
    fn release(&mut self, session: usize) -> Vec<usize> {
        self.holders.retain(|_, holder| *holder != session);
        self.failed.remove(&session);
        self.added.remove(&session).unwrap_or_default()
    }

    /// Takes in one event and says what is wrong with it.
    fn check(&mut self, run: &Run, deeds: &[Deed], at: usize) -> Result<(), String> {
        let event = &run.events[at];
        let (session, deed) = (event.session, deeds[event.n - 1]);
        if event.n > self.seen {
            self.seen = event.n;
            let free = self.waiters.iter().find(|(_, row)| !self.holders.contains_key(row));
            if let Some((waiter, row)) = free {
                return Err(format!("t{} still waits for row {row}, which is free", waiter + 1));
            }
        }
        match (&event.outcome, deed) {
            (Outcome::Blocked { by, .. }, Deed::Update(row)) => {
                let holder = self.holders.get(&row).filter(|holder| **holder != session);
                let holder = holder.ok_or("blocked although nobody holds the row")?;
                // PostgreSQL's second waiter waits for the first one, not for the holder.
                let concerned = |blocker: &Blocker| match blocker {
                    Blocker::Session(other) => {
                        other == holder || self.waiters.get(other) == Some(&row)
                    }
                    Blocker::Outside(_) | Blocker::Prepared(_) => false,
                };
                if !by.iter().all(concerned) {
                    return Err(format!("t{} holds the row, but blocked by {by:?}", holder + 1));
                }
                self.waiters.insert(session, row);
            }
            (Outcome::Blocked { .. }, _) => return Err("blocked although it takes no lock".into()),
            (Outcome::Ok(_) | Outcome::Resumed(_), Deed::Update(row)) => {
                self.waiters.remove(&session);
                let holds = |holder: &usize| *holder != session && !self.failed.contains(holder);
                if self.holders.get(&row).is_some_and(holds) {
                    return Err("answered although another session holds the row".into());
                }
                self.holders.insert(row, session);
                self.added.entry(session).or_default().push(row);
            }
            (Outcome::Ok(_), Deed::Commit) => {
                for row in self.release(session) {
                    *self.committed.entry(row).or_default() += 1;
                }
            }
            (Outcome::Ok(_), Deed::Rollback) => drop(self.release(session)),
            (Outcome::Error(error), _) => {
                // CockroachDB may ask for a retry at any time.
                if run.target.product != Product::named("cockroach") {
                    return Err(format!("failed: {}", error.message));
                }
                self.waiters.remove(&session);
                self.added.remove(&session);
                self.failed.insert(session);
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_run(run: &Run, deeds: &[Deed]) -> Result<(), String> {
    let mut locks = Locks::default();
    for at in 0..run.events.len() {
        locks.check(run, deeds, at).map_err(|wrong| {
            let event = &run.events[at];
            format!("step {} of t{} ({}): {wrong}", event.n, event.session + 1, event.sql)
        })?;
    }
    let rows = &run.final_state[0].1.rows;
    for row in rows {
        let [Value::Int(id), Value::Int(v)] = row[..] else { return Err(format!("row {row:?}")) };
        let id = usize::try_from(id).expect("a small id");
        let expected = locks.committed.get(&id).copied().unwrap_or_default();
        if v != expected {
            return Err(format!("row {id} holds {v} increments instead of {expected}"));
        }
    }
    Ok(())
}

fn stress(target: &dyn Target) {
    let product = target.info().product;
    let options = RunOptions { level: plain_level(target), ..RunOptions::default() };
    let mut random = Random(0x5eed);
    let (mut decisions, mut blocked) = (0, 0);
    while decisions < DECISIONS {
        let (case, deeds) = random_case(&mut random, product);
        let run = run_case(target, &case, &options).expect("the case runs");
        if let Err(wrong) = check_run(&run, &deeds) {
            panic!("{}: {wrong}\n{case}", target.info());
        }
        decisions += STEPS_PER_CASE;
        let is_blocked = |outcome: &Outcome| matches!(outcome, Outcome::Blocked { .. });
        blocked += run.events.iter().filter(|event| is_blocked(&event.outcome)).count();
    }
    println!("{}: {decisions} decisions, {blocked} of them blocked, 0 wrong", target.info());
    assert!(blocked > DECISIONS / 20, "too few statements were blocked to mean anything");
}

#[test]
fn ten_thousand_decisions_are_right() {
    for target in servers() {
        stress(target.as_ref());
    }
}
