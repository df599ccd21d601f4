//! The open questions as variables of a SAT solver that learns about cycles.
//!
//! Idea: a theory keeps a topological order of the certain edges and of those that the current answers add, and updates
//! it edge by edge (Pearce and Kelly 2006); an edge that closes a cycle is a conflict, explained by the answers on the
//! cycle. First answers follow the guessed order. Deterministic: the solver uses no clock and no random choices; it
//! stops after a number of conflicts, or of edges that were followed while the order was updated.

use super::{Decision, Limits, Polygraph, Reason, guess};
use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, Theory, TheoryArg, Var, lbool};
use std::cell::Cell;

/// Edge label of certain edges.
const CERTAIN: u32 = u32::MAX;

/// Solves what pruning left open.
pub(super) fn decide(polygraph: &Polygraph, order: &[u32], limits: &Limits) -> Decision {
    let steps = Steps { done: Cell::new(0), limit: limits.steps };
    let stop = Stop { conflicts: Cell::new(0), limit: limits.conflicts, steps: &steps };
    let mut solver = Solver::new(SolverOpts::default(), stop);
    let positions = guess::positions(order);
    let mut variables = Vec::with_capacity(polygraph.questions.len());
    for question in &polygraph.questions {
        let a = positions[polygraph.commit(question.a_last) as usize];
        let b = positions[polygraph.commit(question.b_last) as usize];
        variables.push(solver.new_var(lbool::new(a < b), true));
    }
    let mut theory = Acyclic::new(polygraph, positions, &variables, &steps);
    let answer = solver.solve_limited_th(&mut theory, &[]);
    if steps.are_used_up() {
        return Decision::Unknown(format!(
            "the solver met its limit of {} steps with {} pairs of writes open",
            limits.steps,
            polygraph.questions.len()
        ));
    }
    match answer {
        answer if answer == lbool::TRUE => Decision::Holds,
        answer if answer == lbool::FALSE => {
            Decision::Fails(Reason::NoAssignment { questions: polygraph.questions.len() })
        }
        _ => Decision::Unknown(format!(
            "the solver met its limit of {} conflicts with {} pairs of writes open",
            limits.conflicts,
            polygraph.questions.len()
        )),
    }
}

/// Edges that were followed, and how many may be.
struct Steps {
    done: Cell<u64>,
    limit: u64,
}

impl Steps {
    fn add(&self, steps: usize) {
        self.done.set(self.done.get() + steps as u64);
    }

    fn are_used_up(&self) -> bool {
        self.done.get() > self.limit
    }
}

struct Stop<'s> {
    conflicts: Cell<u64>,
    limit: u64,
    steps: &'s Steps,
}

impl Callbacks for Stop<'_> {
    fn on_new_clause(&mut self, _clause: &[Lit], _kind: batsat::clause::Kind) {
        self.conflicts.set(self.conflicts.get() + 1);
    }

    fn stop(&self) -> bool {
        self.conflicts.get() > self.limit || self.steps.are_used_up()
    }
}

/// A graph whose topological order follows insertions, and forgets them on backtracking.
struct Acyclic<'p> {
    polygraph: &'p Polygraph,
    steps: &'p Steps,
    out: Vec<Vec<(u32, u32)>>,
    into: Vec<Vec<(u32, u32)>>,
    position: Vec<u32>,
    /// Inserted edges, newest last.
    inserted: Vec<(u32, u32)>,
    /// Number of inserted edges and of handled literals at every level.
    levels: Vec<(usize, usize)>,
    handled: usize,
    seen: Vec<u32>,
    mark: u32,
    parent: Vec<(u32, u32)>,
}

impl<'p> Acyclic<'p> {
    fn new(
        polygraph: &'p Polygraph,
        position: Vec<u32>,
        variables: &[Var],
        steps: &'p Steps,
    ) -> Acyclic<'p> {
        debug_assert!(variables.iter().enumerate().all(|(at, var)| at == var.idx() as usize));
        let nodes = polygraph.nodes;
        let mut theory = Acyclic {
            polygraph,
            steps,
            out: vec![Vec::new(); nodes],
            into: vec![Vec::new(); nodes],
            position,
            inserted: Vec::new(),
            levels: Vec::new(),
            handled: 0,
            seen: vec![0; nodes],
            mark: 0,
            parent: vec![(0, 0); nodes],
        };
        for (from, to, _) in polygraph.fixed.iter() {
            theory.out[from as usize].push((to, CERTAIN));
            theory.into[to as usize].push((from, CERTAIN));
        }
        theory
    }

    fn handle(&mut self, acts: &mut TheoryArg<'_>) {
        // When the steps are used up nothing is handled any more, and the solver's answer is not used.
        while self.handled < acts.model().len() && !self.steps.are_used_up() {
            let literal = acts.model()[self.handled];
            self.handled += 1;
            let question = literal.var().idx() as usize;
            let mut edges = Vec::new();
            self.polygraph.answer_edges(
                &self.polygraph.questions[question],
                literal.sign(),
                |from, to| {
                    edges.push((from, to));
                    true
                },
            );
            self.steps.add(1 + edges.len());
            for (from, to) in edges {
                if let Some(conflict) = self.insert(from, to, literal_label(literal)) {
                    acts.raise_conflict(&conflict, true);
                    return;
                }
            }
        }
    }

    /// Inserts an edge; a cycle gives the clause that forbids it.
    fn insert(&mut self, from: u32, to: u32, label: u32) -> Option<Vec<Lit>> {
        if self.position[from as usize] >= self.position[to as usize]
            && let Some(path) = self.reorder(from, to)
        {
            return Some(self.explain(path, label));
        }
        self.out[from as usize].push((to, label));
        self.into[to as usize].push((from, label));
        self.inserted.push((from, to));
        None
    }

    /// Makes room in the order for an edge; returns the labels of a path from `to` to `from` if there is one.
    fn reorder(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let (low, high) = (self.position[to as usize], self.position[from as usize]);
        self.mark += 1;
        let mark = self.mark;
        let mut forward = vec![to];
        self.seen[to as usize] = mark;
        let mut at = 0;
        while at < forward.len() {
            let node = forward[at];
            at += 1;
            if node == from {
                return Some(self.path_labels(to, from));
            }
            self.steps.add(self.out[node as usize].len());
            for &(next, label) in &self.out[node as usize] {
                let position = self.position[next as usize];
                if position <= high && self.seen[next as usize] != mark {
                    self.seen[next as usize] = mark;
                    self.parent[next as usize] = (node, label);
                    forward.push(next);
                }
            }
        }
        let mut backward = vec![from];
        self.seen[from as usize] = mark;
        at = 0;
        while at < backward.len() {
            let node = backward[at];
            at += 1;
            self.steps.add(self.into[node as usize].len());
            for &(next, _) in &self.into[node as usize] {
                if self.position[next as usize] >= low && self.seen[next as usize] != mark {
                    self.seen[next as usize] = mark;
                    backward.push(next);
                }
            }
        }
        backward.sort_unstable_by_key(|node| self.position[*node as usize]);
        forward.sort_unstable_by_key(|node| self.position[*node as usize]);
        let mut places: Vec<u32> =
            backward.iter().chain(&forward).map(|node| self.position[*node as usize]).collect();
        places.sort_unstable();
        for (node, place) in backward.into_iter().chain(forward).zip(places) {
            self.position[node as usize] = place;
        }
        None
    }

    fn path_labels(&self, to: u32, from: u32) -> Vec<u32> {
        let mut labels = Vec::new();
        let mut node = from;
        while node != to {
            let (before, label) = self.parent[node as usize];
            labels.push(label);
            node = before;
        }
        labels
    }

    fn explain(&self, mut labels: Vec<u32>, label: u32) -> Vec<Lit> {
        labels.push(label);
        labels.retain(|label| *label != CERTAIN);
        labels.sort_unstable();
        labels.dedup();
        labels.into_iter().map(|label| !label_literal(label)).collect()
    }
}

fn literal_label(literal: Lit) -> u32 {
    literal.var().idx() << 1 | u32::from(literal.sign())
}

fn label_literal(label: u32) -> Lit {
    Lit::new(Var::unsafe_from_idx(label >> 1), label & 1 == 1)
}

impl Theory for Acyclic<'_> {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.handle(acts);
    }

    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.handle(acts);
    }

    fn create_level(&mut self) {
        self.levels.push((self.inserted.len(), self.handled));
    }

    fn pop_levels(&mut self, n: usize) {
        let kept = self.levels.len() - n;
        let (edges, handled) = self.levels[kept];
        self.levels.truncate(kept);
        self.handled = handled;
        for (from, to) in self.inserted.drain(edges..).rev() {
            self.out[from as usize].pop();
            self.into[to as usize].pop();
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _literal: Lit) -> &[Lit] {
        // The theory only raises conflicts, it never propagates.
        &[]
    }
}
