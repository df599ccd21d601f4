//! The reorder oracle: do the statements give the same answers one after the other?
//!
//! Idea: a run on instrumented tables says on which other statements each statement depends. Where these dependencies
//! form no circle, there are orders that respect all of them. In each of these, in a single session and without any
//! transactions, every statement must read and write what it did in the run, and the tables must end alike: each
//! statement finds the same versions of the same rows.
//!
//! Source: Jiang et al., *Detecting Transactional Bugs in Database Engines via Graph-Based Oracle Construction*
//! (TxCheck, OSDI 2023). Three orders instead of one, and the counts and the tables at the end are compared as well.
//! Assumption: what a statement does depends on the rows of its tables alone. Blind spot: statements in a circle of
//! dependencies, for which there is no order; keys that an INSERT must not meet.

use anchorite_claims::{Anomaly, Promise};
use anchorite_model::sql::Dialect;
use anchorite_model::{
    Answer, Case, Ending, Judgement, Outcome, Rows, Run, Statement, Step, Value, Verdict,
};
use anchorite_sql::chained::{BETWEEN_CHAINS, Effect};
use anchorite_sql::tokens::significant;

use super::{Needs, Oracle, Unjudged};
use crate::evidence::{Evidence, Prepared, level_of};
use crate::laboratory::Laboratory;
use crate::traced::case::chained_case;
use crate::traced::statements::{Choice, Node, order};
use crate::traced::{Traced, Untold, traced};

/// Functions whose values depend on their arguments alone; and words that stand before a parenthesis.
const STEADY: [&str; 56] = [
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "ABS",
    "COALESCE",
    "NULLIF",
    "IFNULL",
    "CONCAT",
    "LENGTH",
    "CHAR_LENGTH",
    "UPPER",
    "LOWER",
    "GREATEST",
    "LEAST",
    "ROUND",
    "MOD",
    "VALUES",
    "VALUE",
    "IN",
    "EXISTS",
    "CAST",
    "TRIM",
    "SUBSTR",
    "SUBSTRING",
    "SIGN",
    "AND",
    "OR",
    "NOT",
    "ON",
    "INTO",
    "FROM",
    "WHERE",
    "SELECT",
    "BETWEEN",
    "THEN",
    "ELSE",
    "WHEN",
    "SET",
    "JSON_EXTRACT",
    "REPEAT",
    "REPLACE",
    "LEFT",
    "RIGHT",
    "FLOOR",
    "CEIL",
    "HEX",
    "TYPEOF",
    "EXTRACT",
    "CHAR",
    "VARCHAR",
    "DECIMAL",
    "NUMERIC",
    "USING",
    "AS",
];

/// The oracle.
pub struct Reorder;

impl Oracle for Reorder {
    fn name(&self) -> &'static str {
        "reorder"
    }

    fn about(&self) -> &'static str {
        "the statements, sorted by their dependencies and without transactions, must do the same"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn must_be_named(&self) -> bool {
        true
    }

    fn prepare(&self, run: &Run, _: bool) -> Vec<Case> {
        let chained = chained_case(&run.case, run.target.product);
        chained.into_iter().map(|chained| chained.case).collect()
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let run = evidence.run;
        let level =
            level_of(run).ok_or_else(|| "the sessions ran at different levels".to_owned())?;
        let about = evidence.claims.about(&run.target, level, Anomaly::G1a, "G1a");
        if about.promise != Promise::Prevented {
            let reason = "the level does not promise that statements see only what was committed";
            return Err(reason.to_owned().into());
        }
        let case = chained_case(&run.case, run.target.product)?;
        let instrumented = evidence.prepared(self.name()).first().and_then(Option::as_ref);
        let is_whole = |run: &&Run| run.ending == Ending::Complete;
        let Some(instrumented) = instrumented.filter(is_whole) else {
            return Err("the instrumented case could not be run".to_owned().into());
        };
        let evidence = Evidence::new(instrumented, evidence.claims, Prepared::new());
        let traced = match traced(case, &evidence, laboratory) {
            Ok(traced) => traced,
            Err(Untold::Reason(reason) | Untold::Unwritten(reason)) => return Err(reason.into()),
            Err(Untold::Failed(error)) => return Err(error.into()),
        };
        let verdict = Replaying { traced: &traced, run: instrumented }.verdict(laboratory)?;
        Ok(Judgement::new(self.name(), verdict))
    }
}

struct Replaying<'a> {
    traced: &'a Traced<'a>,
    run: &'a Run,
}

/// What is different in a replay.
struct Difference {
    name: &'static str,
    because: String,
}

impl Replaying<'_> {
    fn verdict(&self, laboratory: &mut Laboratory<'_>) -> Result<Verdict, Unjudged> {
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
        let between = traced.between(&nodes);
        let mut tried: Vec<Vec<usize>> = Vec::new();
        for choice in [Choice::First, Choice::SameTransaction, Choice::Last] {
            let Some(order) = order(&nodes, &between, choice) else {
                return Err("the statements depend on each other in a circle".to_owned().into());
            };
            if tried.contains(&order) {
                continue;
            }
            let replay = laboratory.run(&self.case(&nodes, &order))?;
            tried.push(order.clone());
            let Some(difference) = self.difference(&nodes, &order, &replay)? else { continue };
            let is_partial = traced.looks.iter().any(|look| look.is_partial);
            if is_partial || !between.possible.is_empty() {
                let reason = "what a statement read is not known exactly";
                return Err(reason.to_owned().into());
            }
            let told: Vec<String> =
                order.iter().map(|node| self.step(&nodes[*node]).to_string()).collect();
            let one_by_one = format!(
                "one after the other in the order {} of their steps, the statements depend on the same rows",
                told.join(", ")
            );
            return Ok(Verdict::broken(difference.name, vec![difference.because, one_by_one]));
        }
        Ok(Verdict::Pass)
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
        replay: &Run,
    ) -> Result<Option<Difference>, Unjudged> {
        let answers = replay.events.iter().filter(|event| event.is_answer());
        let mut answers: Vec<_> = answers.collect();
        answers.sort_by_key(|event| event.n);
        for (node, event) in order.iter().map(|node| &nodes[*node]).zip(answers) {
            let (Outcome::Ok(now) | Outcome::Resumed(now)) = &event.outcome else {
                let reason = "a statement fails without the others, which may be for a key";
                return Err(reason.to_owned().into());
            };
            let Ok(then) = node.performed.reply else { continue };
            let lists = self.lists(node);
            let n = self.step(node);
            if rows(then, lists) != rows(now, lists) {
                let because = format!("step {n} returned other rows than it does by itself");
                return Ok(Some(Difference { name: "reordered-rows", because }));
            }
            if let (Some(then), Some(now)) = (then.affected, now.affected)
                && then != now
            {
                let because = format!("step {n} affected {then} rows, and by itself {now}");
                return Ok(Some(Difference { name: "reordered-count", because }));
            }
        }
        let ends = self.run.final_state.iter().zip(&replay.final_state);
        let other = ends.into_iter().find(|(then, now)| sorted(&then.1) != sorted(&now.1));
        Ok(other.map(|((table, _), _)| Difference {
            name: "reordered-end",
            because: format!("the rows of {table} at the end are others"),
        }))
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

/// Whether all functions of a statement depend on their arguments alone.
fn is_steady(sql: &str, dialect: Dialect) -> bool {
    let tokens = significant(sql, dialect);
    let called = tokens.windows(2).filter(|pair| pair[1].text == "(");
    let is_known = |pair: &[anchorite_model::sql::Token<'_>]| {
        let word = pair[0].text.to_uppercase();
        !word.starts_with(|first: char| first.is_ascii_alphabetic())
            || STEADY.contains(&word.as_str())
            || pair[1].start > pair[0].end()
    };
    let is_moment = |text: &str| {
        let word = text.to_uppercase();
        word.starts_with("CURRENT_") || word.starts_with("LOCALTIME")
    };
    called.into_iter().all(is_known) && !tokens.iter().any(|token| is_moment(token.text))
}
