//! The statements of an instrumented run, one after the other in orders that their dependencies allow.
//!
//! Idea: a statement that only reads can be left out of a circle, because nobody else needs it. Where writes form a
//! circle, they are left out with everything that depends on them; what comes before them is still certain. Tables that
//! a statement without a place has written are not compared at the end.
//!
//! What is only possible is respected as well, unless it forms a circle: then more orders fit what really was read. A
//! difference proves something only if everything that was read is shown. Assumption: no table hands out numbers.

use std::collections::BTreeSet;

use anchorite_model::{Answer, Case, Event, Outcome, Rows, Run, Statement, Step, Value, Verdict};
use anchorite_sql::chained::{BETWEEN_CHAINS, Effect};
use anchorite_sql::side_effects::numbers_rows;

use super::Unjudged;
use super::steady::is_steady;
use crate::laboratory::Laboratory;
use crate::traced::Traced;
use crate::traced::edges::Dependencies;
use crate::traced::statements::{Choice, Node, Precedence};

/// The orders that are tried.
const CHOICES: [Choice; 4] =
    [Choice::First, Choice::SameTransaction, Choice::Last, Choice::Drawn(1)];

/// A run that is replayed.
pub struct Replaying<'a> {
    /// What it tells.
    pub traced: Traced<'a>,
    /// The run.
    pub run: &'a Run,
}

/// What is different in a replay.
struct Difference {
    name: &'static str,
    because: String,
}

/// What can be replayed.
struct Plan {
    precedence: Precedence,
    /// The statements that have no place.
    left_out: BTreeSet<usize>,
    /// Whether it is known what was read, so that a difference proves something.
    is_certain: bool,
}

impl Replaying<'_> {
    /// What the replays say.
    pub fn verdict(&self, laboratory: &mut Laboratory<'_>) -> Result<Verdict, Unjudged> {
        let traced = self.traced;
        if !traced.dependencies.dirty.is_empty() {
            return Err("a statement saw what was not committed".to_owned().into());
        }
        let nodes = traced.nodes();
        let dialect = self.run.target.product.dialect();
        if nodes.iter().any(|node| !is_steady(self.original(node), dialect)) {
            let reason = "what a statement does may depend on more than the rows";
            return Err(reason.to_owned().into());
        }
        if self.hands_out_numbers() {
            return Err("a table hands out numbers".to_owned().into());
        }
        let between = traced.between(&nodes);
        let plan = self.plan(&nodes, &between);
        if plan.left_out.len() == nodes.len() && !nodes.is_empty() {
            return Err("the statements depend on each other in a circle".to_owned().into());
        }
        let mut orders: Vec<Vec<usize>> = Vec::new();
        for choice in CHOICES {
            let order = plan.precedence.order(&nodes, choice);
            if !orders.contains(&order) {
                orders.push(order);
            }
        }
        let cases: Vec<Case> = orders.iter().map(|order| self.case(&nodes, order)).collect();
        let replays = laboratory.run_all(&cases)?;
        // One in which a statement fails says nothing: that may be for a key, which is no dependency between rows.
        let is_done = |replay: &Run| {
            !replay.events.iter().any(|event| matches!(event.outcome, Outcome::Error(_)))
        };
        let done = orders.iter().zip(&replays).filter(|(_, replay)| is_done(replay));
        if done.clone().next().is_none() {
            let reason = "a statement fails without the others, which may be for a key";
            return Err(reason.to_owned().into());
        }
        for (order, replay) in done {
            let compared = self.difference(&nodes, order, &plan.left_out, replay);
            let Some(difference) = compared else { continue };
            if !plan.is_certain {
                let reason = "what a statement read is not known exactly";
                return Err(reason.to_owned().into());
            }
            let because = vec![difference.because, self.told(&nodes, order, &plan.left_out)];
            return Ok(Verdict::broken(difference.name, because));
        }
        Ok(Verdict::Pass)
    }

    fn hands_out_numbers(&self) -> bool {
        let dialect = self.run.target.product.dialect();
        self.run.case.setup.iter().any(|statement| numbers_rows(&statement.sql, dialect))
    }

    /// What has a place in an order.
    fn plan(&self, nodes: &[Node<'_>], between: &Dependencies) -> Plan {
        let is_read = |node: usize| {
            let step = self.traced.case.step(nodes[node].performed.n);
            let effect = step.map(|step| &step.chained.effect);
            matches!(effect, Some(Effect::Reads(_) | Effect::Lists(_)))
        };
        let mut left_out = BTreeSet::new();
        let mut certain = Precedence::new(nodes.len(), &between.certain, &left_out);
        loop {
            let circles = certain.circles();
            if circles.is_empty() {
                break;
            }
            let inside = || circles.iter().flatten().copied();
            // The one that takes part in most of it.
            let read =
                inside().filter(|node| is_read(*node)).max_by_key(|node| certain.degree(*node));
            match read {
                Some(read) => drop(left_out.insert(read)),
                None => left_out.extend(inside().flat_map(|node| certain.and_later(node))),
            }
            certain = Precedence::new(nodes.len(), &between.certain, &left_out);
        }
        let all = between.certain.iter().chain(&between.possible);
        let all = Precedence::new(nodes.len(), all, &left_out);
        let is_shown = self.traced.looks.iter().all(|look| !look.is_partial);
        let is_certain = is_shown && between.possible.is_empty();
        let precedence = if all.circles().is_empty() { all } else { certain };
        Plan { precedence, left_out, is_certain }
    }

    /// The order in a sentence.
    fn told(&self, nodes: &[Node<'_>], order: &[usize], left_out: &BTreeSet<usize>) -> String {
        let steps = |some: &mut dyn Iterator<Item = usize>| {
            let mut told: Vec<String> =
                some.map(|node| self.step(&nodes[node]).to_string()).collect();
            told.dedup();
            told.join(", ")
        };
        let told = steps(&mut order.iter().copied());
        let one_by_one = format!(
            "one after the other in the order {told} of their steps, the statements depend on the same rows"
        );
        match left_out.is_empty() {
            true => one_by_one,
            false => {
                format!("{one_by_one}; without steps {}", steps(&mut left_out.iter().copied()))
            }
        }
    }

    fn original(&self, node: &Node<'_>) -> &str {
        self.traced.case.step(node.performed.n).map_or("", |step| step.sql.as_str())
    }

    fn step(&self, node: &Node<'_>) -> usize {
        self.traced.case.of(node.performed.n)
    }

    /// The statements in this order, in one session.
    fn case(&self, nodes: &[Node<'_>], order: &[usize]) -> Case {
        let case = &self.traced.case.case;
        let step = |node: &usize| Step {
            session: self.traced.transactions[nodes[*node].transaction].session,
            statement: Statement { sql: nodes[*node].performed.sql.to_owned(), line: 0 },
        };
        let first = order.first().map(step).map_or(0, |step| step.session);
        let steps = order.iter().map(step).map(|step| Step { session: first, ..step });
        Case { steps: steps.collect(), check: Vec::new(), ..case.clone() }
    }

    fn difference(
        &self,
        nodes: &[Node<'_>],
        order: &[usize],
        left_out: &BTreeSet<usize>,
        replay: &Run,
    ) -> Option<Difference> {
        let answers = replay.events.iter().filter(|event| event.is_answer());
        let mut answers: Vec<&Event> = answers.collect();
        answers.sort_by_key(|event| event.n);
        for (node, event) in order.iter().map(|node| &nodes[*node]).zip(answers) {
            let (Outcome::Ok(now) | Outcome::Resumed(now)) = &event.outcome else { continue };
            let Ok(then) = node.performed.reply else { continue };
            let lists = self.lists(node);
            let n = self.step(node);
            if rows(then, lists) != rows(now, lists) {
                let because = format!("step {n} returned other rows than it does by itself");
                return Some(Difference { name: "reordered-rows", because });
            }
            if let (Some(then), Some(now)) = (then.affected, now.affected)
                && then != now
            {
                let because = format!("step {n} affected {then} rows, and by itself {now}");
                return Some(Difference { name: "reordered-count", because });
            }
        }
        let is_compared =
            |table: &str| !left_out.iter().any(|node| self.writes(&nodes[*node], table));
        let ends = self.run.final_state.iter().zip(&replay.final_state);
        let mut ends = ends.filter(|(then, _)| is_compared(&then.0.to_lowercase()));
        let other = ends.find(|(then, now)| sorted(&then.1) != sorted(&now.1));
        other.map(|((table, _), _)| Difference {
            name: "reordered-end",
            because: format!("the rows of {table} at the end are others"),
        })
    }

    /// Whether a statement writes this table.
    fn writes(&self, node: &Node<'_>, table: &str) -> bool {
        let step = self.traced.case.step(node.performed.n);
        step.is_some_and(|step| step.chained.writes(table))
    }

    /// How many of the last columns list chains, whose order is of no importance.
    fn lists(&self, node: &Node<'_>) -> usize {
        match self.traced.case.step(node.performed.n).map(|step| &step.chained.effect) {
            Some(Effect::Lists(tables)) => tables.len(),
            _ => 0,
        }
    }
}

fn rows(answer: &Answer, lists: usize) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> =
        answer.results.iter().flat_map(|result| result.rows.clone()).collect();
    for row in &mut rows {
        let start = row.len().saturating_sub(lists);
        for value in &mut row[start..] {
            if let Value::Text(text) = value {
                let mut chains: Vec<&str> = text.split(BETWEEN_CHAINS).collect();
                chains.sort_unstable();
                *value = Value::Text(chains.join(";"));
            }
        }
    }
    rows.sort();
    rows
}

fn sorted(rows: &Rows) -> Vec<&Vec<Value>> {
    let mut sorted: Vec<&Vec<Value>> = rows.rows.iter().collect();
    sorted.sort();
    sorted
}
