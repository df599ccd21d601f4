//! Consistent view: no cycle with exactly one rw edge, for some version order.
//!
//! Idea: with a known version order ask for every rw edge whether its target reaches its source over ww,
//! wr and order edges; 64 questions at a time, one bit each. With open questions, answer them by
//! satisfying snapshot isolation first (it forbids more); if that is impossible, refine: a SAT solver
//! proposes answers, a cycle with one rw edge forbids the answers on it, until none is left.
//! Source: Adya's PL-2+ (G-single). Limits: those of the polygraph, of which the steps count here, too, and [`ROUNDS`]
//! refinements.

use crate::analysis::Analysis;
use crate::graph::{Csr, EdgeList, RW};
use crate::level_verdict::LevelVerdict;
use crate::model::NONE;
use crate::polygraph::{Decision, Polygraph, Question, Shape};
use batsat::{BasicSolver, Lit, SolverInterface, Var, lbool};

/// How many times answers are refined before giving up.
pub const ROUNDS: usize = 20_000;

/// Decides consistent view, given that cursor stability holds.
pub fn decide(analysis: &Analysis<'_>, session: bool, real_time: bool) -> LevelVerdict {
    let inputs = analysis.inputs(analysis.derived(), session, real_time, true);
    let snapshot = Polygraph::new(inputs, Shape::Snapshot);
    let questions = snapshot.questions.clone();
    let readers = snapshot.readers.clone();
    match snapshot.decide(&analysis.limits) {
        Decision::Holds => return LevelVerdict::Holds,
        Decision::Unknown(why) if !questions.is_empty() => return LevelVerdict::Unknown(why),
        _ => {}
    }
    let mut certain = Typed::default();
    analysis.edges(analysis.derived(), session, real_time, |from, to, kind| {
        certain.push(from, to, kind as u8 & RW != 0, None);
    });
    let steps = analysis.limits.steps;
    refine(analysis.history.txns.len(), &certain, &questions, &readers, steps)
}

/// Edges, each with whether it is rw and which answer added it.
#[derive(Default, Clone)]
struct Typed {
    edges: Vec<(u32, u32, bool, Option<Lit>)>,
}

impl Typed {
    fn push(&mut self, from: u32, to: u32, anti: bool, because: Option<Lit>) {
        if from != to {
            self.edges.push((from, to, anti, because));
        }
    }

    /// The edges that some cycle has.
    fn inside_components(&self, nodes: usize) -> Typed {
        let mut all = EdgeList::default();
        for &(from, to, ..) in &self.edges {
            all.push(from, to);
        }
        let mut component = vec![NONE; nodes];
        for (number, members) in (0..).zip(crate::graph::components(&Csr::new(nodes, &all), 0)) {
            for member in members {
                component[member as usize] = number;
            }
        }
        let inside = |edge: &&(u32, u32, bool, Option<Lit>)| {
            let of = |node: u32| component[node as usize];
            of(edge.0) != NONE && of(edge.0) == of(edge.1)
        };
        Typed { edges: self.edges.iter().filter(inside).copied().collect() }
    }
}

fn refine(
    nodes: usize,
    certain: &Typed,
    questions: &[Question],
    readers: &[Vec<u32>],
    steps: u64,
) -> LevelVerdict {
    let mut left = steps;
    let mut solver = BasicSolver::default();
    let variables: Vec<Var> = questions.iter().map(|_| solver.new_var_default()).collect();
    for _ in 0..ROUNDS {
        if solver.solve_limited(&[]) != lbool::TRUE {
            return LevelVerdict::Fails;
        }
        let mut edges = certain.clone();
        for (question, variable) in questions.iter().zip(&variables) {
            let a_first = solver.value_var(*variable) != lbool::FALSE;
            let because = Some(Lit::new(*variable, a_first));
            let (last, next, of_last) = if a_first {
                (question.a_last, question.b_first, question.a_readers)
            } else {
                (question.b_last, question.a_first, question.b_readers)
            };
            edges.push(last, next, false, because);
            for &reader in &readers[of_last as usize] {
                edges.push(reader, next, true, because);
            }
        }
        let answers = match single_cycle(nodes, &edges, &mut left) {
            Ok(Some(answers)) => answers,
            Ok(None) => return LevelVerdict::Holds,
            Err(UsedUp) => {
                return LevelVerdict::Unknown(format!(
                    "the search for cycles with one anti-dependency met its limit of {steps} steps"
                ));
            }
        };
        let mut clause: Vec<Lit> = answers.into_iter().map(|answer| !answer).collect();
        clause.sort_unstable();
        clause.dedup();
        if clause.is_empty() || !solver.add_clause_reuse(&mut clause) {
            return LevelVerdict::Fails;
        }
    }
    LevelVerdict::Unknown(format!("the version order was refined {ROUNDS} times without a result"))
}

/// No steps are left.
struct UsedUp;

/// Answers on some cycle with at most one rw edge; `None` if there is no such cycle.
fn single_cycle(nodes: usize, typed: &Typed, left: &mut u64) -> Result<Option<Vec<Lit>>, UsedUp> {
    let edges = typed.edges.len();
    let mut spend = |rounds: usize| {
        let price = (rounds * (nodes + edges)) as u64;
        *left = left.checked_sub(price).ok_or(UsedUp)?;
        Ok(())
    };
    spend(3)?;
    let typed = &typed.inside_components(nodes);
    let mut forward = EdgeList::default();
    for &(from, to, anti, _) in &typed.edges {
        if !anti {
            forward.push(from, to);
        }
    }
    let graph = Csr::new(nodes, &forward);
    let mut targets: Vec<u32> =
        typed.edges.iter().filter(|edge| edge.2).map(|edge| edge.1).collect();
    targets.sort_unstable();
    targets.dedup();
    if let Some(component) = crate::graph::components(&graph, 0).first() {
        return Ok(Some(path_answers(nodes, typed, component[0], component[0])));
    }
    for batch in targets.chunks(64) {
        spend(1)?;
        let reached = reach(&graph, batch);
        for &(from, to, anti, because) in &typed.edges {
            if !anti {
                continue;
            }
            let Ok(bit) = batch.binary_search(&to) else { continue };
            if reached[from as usize] >> bit & 1 == 1 {
                let mut answers = path_answers(nodes, typed, to, from);
                answers.extend(because);
                return Ok(Some(answers));
            }
        }
    }
    Ok(None)
}

/// For every node, which of up to 64 starts reach it.
fn reach(graph: &Csr, starts: &[u32]) -> Vec<u64> {
    let mut reached = vec![0_u64; graph.nodes()];
    let mut queue: Vec<u32> = starts.to_vec();
    for (bit, start) in starts.iter().enumerate() {
        reached[*start as usize] |= 1 << bit;
    }
    while let Some(node) = queue.pop() {
        for &to in graph.targets(node) {
            let news = reached[node as usize] & !reached[to as usize];
            if news != 0 {
                reached[to as usize] |= news;
                queue.push(to);
            }
        }
    }
    reached
}

/// Answers on a shortest path (or cycle, if the ends are the same) without rw edges.
fn path_answers(nodes: usize, typed: &Typed, from: u32, to: u32) -> Vec<Lit> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (at, &(source, _, anti, _)) in typed.edges.iter().enumerate() {
        if !anti {
            out[source as usize].push(at);
        }
    }
    let mut came: Vec<Option<usize>> = vec![None; nodes];
    let mut queue = vec![from];
    let mut at = 0;
    while at < queue.len() {
        let node = queue[at];
        at += 1;
        for &edge in &out[node as usize] {
            let next = typed.edges[edge].1;
            if came[next as usize].is_none() {
                came[next as usize] = Some(edge);
                queue.push(next);
            }
        }
    }
    let mut answers = Vec::new();
    let mut node = to;
    while let Some(edge) = came[node as usize].take() {
        answers.extend(typed.edges[edge].3);
        node = typed.edges[edge].0;
        if node == from {
            break;
        }
    }
    answers
}
