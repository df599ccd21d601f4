//! Asking whether smaller drafts are still interesting, and thinning a draft by halves.
//!
//! Idea: delta debugging (Zeller and Hildebrandt 2002), without the subsets that hardly ever work: remove as much as
//! possible at once, then halves, quarters, and finally single items. A pass describes its items by one *walk* over the
//! draft that asks a [`Picker`] about each of them; the same walk counts and removes them, so the two cannot disagree.
//!
//! Every candidate must cost less than the best draft so far; so the search ends, and never grows a case.
//! Answers are kept by the printed text; nothing is asked twice.

use std::collections::HashMap;

use anchorite_model::Case;

use crate::draft::Draft;

/// How long to continue.
pub struct Budget<'b> {
    /// The most questions.
    pub questions: usize,
    /// Asked before each question; `false` = no time is left.
    pub time_left: &'b mut dyn FnMut() -> bool,
}

/// A case that became smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduced {
    /// The smallest case for which the answer was yes; the original one if there was none.
    pub case: Case,
    /// The number of questions asked.
    pub questions: usize,
    /// Whether nothing more was left to try; otherwise the budget was used up.
    pub complete: bool,
}

/// Why the search ends before it is done.
pub(crate) enum Stop {
    Budget,
    /// The question could not be answered.
    Failed,
}

/// The state of a reduction.
pub(crate) struct Search<'s, 'b> {
    pub(crate) best: Draft,
    still: &'s mut dyn FnMut(&Case) -> Option<bool>,
    budget: &'s mut Budget<'b>,
    answers: HashMap<String, bool>,
    pub(crate) asked: usize,
    /// How many candidates were taken.
    pub(crate) taken: usize,
}

impl<'s, 'b> Search<'s, 'b> {
    pub(crate) fn new(
        best: Draft,
        still: &'s mut dyn FnMut(&Case) -> Option<bool>,
        budget: &'s mut Budget<'b>,
    ) -> Self {
        Self { best, still, budget, answers: HashMap::new(), asked: 0, taken: 0 }
    }

    /// Takes the candidate if it costs less and is still interesting.
    pub(crate) fn offer(&mut self, candidate: Draft) -> Result<bool, Stop> {
        if candidate.cost() >= self.best.cost() {
            return Ok(false);
        }
        self.offer_whatever_it_costs(candidate)
    }

    /// Takes the candidate if it is still interesting. Only for steps that cannot cycle.
    pub(crate) fn offer_whatever_it_costs(&mut self, candidate: Draft) -> Result<bool, Stop> {
        if !candidate.is_sound() {
            return Ok(false);
        }
        let case = candidate.to_case();
        let text = case.to_text();
        let answer = match self.answers.get(&text) {
            Some(answer) => *answer,
            None => {
                if self.asked >= self.budget.questions || !(self.budget.time_left)() {
                    return Err(Stop::Budget);
                }
                self.asked += 1;
                let answer = (self.still)(&case).ok_or(Stop::Failed)?;
                self.answers.insert(text, answer);
                answer
            }
        };
        if answer {
            self.best = candidate;
            self.taken += 1;
        }
        Ok(answer)
    }

    /// Removes as many as possible of the items that the walk asks about.
    pub(crate) fn thin(&mut self, walk: Walk) -> Result<(), Stop> {
        let base = self.best.clone();
        let mut counting = Picker::new(&[]);
        walk(&mut base.clone(), &mut counting);
        let mut marks = vec![false; counting.at];
        let mut size = marks.len();
        while size > 0 {
            let rest: Vec<usize> = (0..marks.len()).filter(|at| !marks[*at]).collect();
            for chunk in rest.rchunks(size) {
                chunk.iter().for_each(|at| marks[*at] = true);
                let mut candidate = base.clone();
                walk(&mut candidate, &mut Picker::new(&marks));
                if !self.offer(candidate)? {
                    chunk.iter().for_each(|at| marks[*at] = false);
                }
            }
            size /= 2;
        }
        Ok(())
    }
}

/// Walks over a draft and asks about each item that could be removed or simplified.
pub(crate) type Walk = fn(&mut Draft, &mut Picker<'_>);

/// Decides which items are removed, and counts them.
pub(crate) struct Picker<'m> {
    marks: &'m [bool],
    at: usize,
}

impl<'m> Picker<'m> {
    const fn new(marks: &'m [bool]) -> Self {
        Self { marks, at: 0 }
    }

    /// Whether the next item is removed.
    pub(crate) fn goes(&mut self) -> bool {
        self.at += 1;
        self.marks.get(self.at - 1).copied().unwrap_or(false)
    }

    /// Whether the next item is removed; only existing ones are counted.
    pub(crate) fn goes_if(&mut self, exists: bool) -> bool {
        exists && self.goes()
    }

    /// Asks about each element of a list; the list keeps at least one.
    pub(crate) fn thin_list<T>(&mut self, list: &mut Vec<T>) {
        if list.len() > 1 {
            let gone: Vec<bool> = list.iter().map(|_| self.goes()).collect();
            let spare = usize::from(gone.iter().all(|gone| *gone));
            let mut at = 0;
            list.retain(|_| {
                at += 1;
                !gone[at - 1] || at <= spare
            });
        }
    }

    /// Asks about each element of a list that may become empty.
    pub(crate) fn empty_list<T>(&mut self, list: &mut Vec<T>) {
        list.retain(|_| !self.goes());
    }

    /// Asks about something optional.
    pub(crate) fn drop_option<T>(&mut self, option: &mut Option<T>) {
        if self.goes_if(option.is_some()) {
            *option = None;
        }
    }
}
