//! What may become of one row under a statement, and of all of them together.

use anchorite_claims::{Deviation, WriteView, WriteWord};
use anchorite_model::{Answer, Value};

use super::dirty::uncommitted;
use super::held::Otherwise;
use super::own_table::CheckedAgain;
use super::simulate::{LeftAlone, made};
use super::whole::earlier;
use crate::evidence::evaluator::{Effect, returned};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Writer};
use crate::evidence::words::tuple;

/// The possible outcomes for one row.
pub(super) enum Treatment {
    Left,
    /// Left although it matches; whether that may be so whatever the path of the scan.
    Deviating {
        kind: Deviation,
        is_certain: bool,
    },
    Changed(Effect),
    /// Changed by what a query inside the statement found before it waited.
    Outdated(Effect),
    /// Changed by what a query inside the statement found that was not committed.
    Dirty(Effect),
}

impl Treatment {
    /// Whether the row is left unchanged.
    pub(super) const fn leaves(&self) -> bool {
        matches!(self, Self::Left | Self::Deviating { .. })
    }

    /// Whether the row is changed like this.
    pub(super) fn gives(&self, effect: &Effect) -> bool {
        match self {
            Self::Changed(own) | Self::Outdated(own) | Self::Dirty(own) => own == effect,
            Self::Left | Self::Deviating { .. } => false,
        }
    }
}

/// What a statement does to the versions of a row that it could see.
pub(super) struct Effects {
    /// For each version, oldest first, one for each view that a query inside the statement could have.
    pub(super) effects: Vec<Option<Effect>>,
    /// How many views.
    pub(super) views: usize,
    /// The row was changed while the statement ran, or since its snapshot.
    pub(super) changed_since: bool,
    /// What becomes of it then if its latest version matches, too.
    pub(super) again: CheckedAgain,
    /// How it came to that, by the latest version.
    pub(super) deviation: Deviation,
    /// Whether that may be so whatever the path of the scan.
    pub(super) is_certain: bool,
    /// A version that another transaction has not committed matches: how that came about.
    pub(super) held: Option<Deviation>,
    /// Whether there is, or was, a version that another transaction has not committed and that does not match.
    pub(super) otherwise: Otherwise,
}

impl Effects {
    /// The possible outcomes.
    pub(super) fn treatments(self, sees: WriteView) -> Vec<Treatment> {
        let Self { effects, views, changed_since, .. } = self;
        let is_first = effects[0].is_some();
        let last = effects.iter().rev().take(views).find_map(Clone::clone);
        // What a query inside the statement finds at its end is an equally good reason to leave the row unchanged.
        let matches_at_end = effects.last().is_some_and(Option::is_some);
        let deviating = |kind| {
            let is_certain = self.is_certain || kind == Deviation::Locked;
            Treatment::Deviating { kind, is_certain }
        };
        let left = || match (matches_at_end, changed_since || views > 1) {
            (true, true) => deviating(self.deviation),
            _ => self.held.map_or(Treatment::Left, deviating),
        };
        let must = effects.iter().all(Option::is_some);
        if must && self.otherwise == Otherwise::Held && sees == WriteView::Latest {
            return vec![deviating(Deviation::Held)];
        }
        let mut outdated: Vec<Effect> = Vec::new();
        for effect in effects.iter().rev().take(views).flatten() {
            if last.as_ref() != Some(effect) && !outdated.contains(effect) {
                outdated.push(effect.clone());
            }
        }
        let outdated = outdated.into_iter().map(Treatment::Outdated);
        match (sees, last.clone()) {
            (WriteView::Latest, Some(effect)) => {
                let was_held =
                    || (self.otherwise == Otherwise::WasHeld).then(|| deviating(Deviation::Held));
                let left = if must { was_held() } else { Some(left()) };
                [Treatment::Changed(effect)].into_iter().chain(left).chain(outdated).collect()
            }
            (WriteView::StatementSnapshot, Some(effect)) if is_first => {
                let may_leave = self.again == CheckedAgain::Perhaps;
                let left = may_leave.then(|| deviating(self.deviation));
                [Treatment::Changed(effect)].into_iter().chain(left).collect()
            }
            // A row that was changed since the snapshot cannot be written: only an error is correct.
            (WriteView::TransactionSnapshot, _) if is_first && changed_since => Vec::new(),
            (WriteView::TransactionSnapshot, Some(effect)) if is_first => {
                vec![Treatment::Changed(effect)]
            }
            _ => vec![left()],
        }
    }
}

/// Every combination of treatments that gives what was answered: the count, and the rows of RETURNING.
pub(super) fn combinations(
    state: &State,
    treatments: &[(usize, Vec<Treatment>)],
    writer: Writer,
    statement: &Performed<'_>,
) -> Vec<(State, Vec<LeftAlone>)> {
    let answer = statement.reply.ok();
    let mut partial = vec![Partial { state: state.clone(), left: Vec::new(), changes: Vec::new() }];
    for (index, choices) in treatments {
        let extend = |known: &Partial| {
            let extended =
                choices.iter().map(|choice| known.with(*index, choice, writer, statement));
            extended.flatten().collect::<Vec<Partial>>()
        };
        partial = partial.iter().flat_map(extend).collect();
    }
    let agrees = |partial: &Partial| answer.is_none_or(|answer| partial.agrees(answer));
    partial.into_iter().filter(agrees).map(|partial| (partial.state, partial.left)).collect()
}

/// Treatments of some of the rows.
struct Partial {
    state: State,
    left: Vec<LeftAlone>,
    changes: Vec<Effect>,
}

impl Partial {
    /// With the treatment of one more row; `None` if that cannot be.
    fn with(
        &self,
        index: usize,
        choice: &Treatment,
        writer: Writer,
        statement: &Performed<'_>,
    ) -> Option<Self> {
        let word = WriteWord::of(&statement.kind).unwrap_or(WriteWord::Update);
        let (mut state, mut left) = (self.state.clone(), self.left.clone());
        let mut changes = self.changes.clone();
        let row = &mut state.rows[index];
        match choice {
            Treatment::Left => {}
            Treatment::Deviating { kind, is_certain } => {
                // A row that is not committed yet is identified by what was inserted.
                let inserted = || row.versions.last()?.values.as_ref();
                let values = row.visible(writer, statement.end).or_else(inserted);
                let row = values.map_or_else(String::new, |values| tuple(values));
                let (n, kind, is_certain) = (statement.n, *kind, *is_certain);
                left.push(LeftAlone { n, word, kind, row, is_certain });
            }
            Treatment::Changed(effect) | Treatment::Outdated(effect) | Treatment::Dirty(effect) => {
                // Two uncommitted versions of one row: a dirty write, which nothing excuses.
                if row.held_by_others(writer).next().is_some() {
                    return None;
                }
                match choice {
                    Treatment::Outdated(_) => left.push(earlier(statement)),
                    Treatment::Dirty(_) => left.push(uncommitted(statement)),
                    _ => {}
                }
                row.versions.push(made(effect.values.clone(), writer, statement));
                changes.push(effect.clone());
            }
        }
        Some(Self { state, left, changes })
    }

    fn agrees(&self, answer: &Answer) -> bool {
        let affected: u64 = self.changes.iter().map(|effect| effect.affected).sum();
        let mut rows: Vec<Vec<Value>> =
            self.changes.iter().flat_map(|effect| effect.returned.clone()).collect();
        rows.sort();
        answer.affected.is_none_or(|count| count == affected) && rows == returned(answer)
    }
}
