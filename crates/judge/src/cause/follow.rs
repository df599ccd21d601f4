//! Follows a run statement by statement, looking for the fewest mistakes that explain it.
//!
//! Idea: as long as a statement's answer is what a right view gives, it was right. A mistake is one wrong view, or one
//! effect that is not there. A course that ends with the tables of the run explains it; the courses with the fewest
//! mistakes are the causes, but for a row that is missed although nobody touched it: two rows that were changed
//! meanwhile are the likelier cause. The DBMS itself is asked what a statement does to a view.
//!
//! Assumption: what a statement does depends on the rows that it sees. Blind spot: more than two mistakes, and two in
//! long schedules; there the cause is said to be unexplained.

use anchorite_claims::{WriteClaims, WriteView};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Deed, Outcome, Run, RunError};

use super::meeting::Meeting;
use super::questions::{Effect, Questions};
use super::views::{Looking, Mistake};
use crate::evidence::actions::Action;
use crate::evidence::difference::answers;
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::Contents;
use crate::evidence::transactions::Transaction;
use crate::evidence::versions::Writer;
use crate::evidence::world::{Change, View, World, changes};

/// The most questions to the DBMS.
const QUESTIONS_MAX: usize = 1_500;
/// The most steps of all courses together.
const STEPS_MAX: usize = 20_000;
/// Two mistakes are looked for only in schedules of so many statements.
const STATEMENTS_FOR_TWO: usize = 8;

/// An order in which statements may have done their work.
pub(super) struct Order<'r> {
    pub transactions: Vec<Transaction<'r>>,
    pub actions: Vec<Action>,
}

/// A course: the number of its order, the rows so far, the next action, the mistakes so far.
struct Course {
    order: usize,
    world: World,
    at: usize,
    mistakes: Vec<Mistake>,
}

/// A course that ends as the run did: the number of its order, the rows at the end, and what went wrong.
pub(super) struct Explanation {
    pub order: usize,
    pub world: World,
    pub mistakes: Vec<Mistake>,
}

/// A world that may follow, and the mistake that leads there.
type Next = (World, Option<Mistake>);

/// Who follows a run.
pub(super) struct Following<'f, 'r, 'l> {
    pub run: &'r Run,
    pub claims: &'f WriteClaims,
    /// Every order in which statements that were set free at once may have worked, the observed one first.
    pub orders: &'f [Order<'r>],
    pub questions: Questions<'f, 'r, 'l>,
    /// The unique keys of each table.
    pub keys: Vec<Vec<Vec<usize>>>,
}

impl<'f, 'r> Following<'f, 'r, '_> {
    /// The courses with the fewest mistakes that end as the run did; empty if none does.
    pub(super) fn explanations(&mut self, initial: &World) -> Result<Vec<Explanation>, RunError> {
        let performed = |action: &&Action| matches!(action, Action::Perform { .. });
        let actions = self.orders.iter().take(1).flat_map(|order| &order.actions);
        let statements = actions.filter(performed).count();
        let most = if statements <= STATEMENTS_FOR_TWO { 2 } else { 1 };
        for mistakes in 0..=most {
            let found = self.courses(initial, mistakes)?;
            if found.is_empty() {
                continue;
            }
            let is_plain = |one: &Explanation| {
                one.mistakes.iter().all(|mistake| self.is_unprovoked(one, mistake))
            };
            if mistakes == 0 || mistakes == most || !found.iter().all(is_plain) {
                return Ok(found);
            }
            // Two rows that were changed meanwhile are missed more easily than one that nobody touched.
            let mut more = self.courses(initial, mistakes + 1)?;
            more.retain(|one| {
                let is_likely = |mistake: &Mistake| {
                    mistake.deed == Deed::RowMissed && !self.is_unprovoked(one, mistake)
                };
                one.mistakes.len() > mistakes && one.mistakes.iter().all(is_likely)
            });
            return Ok(if more.is_empty() { found } else { more });
        }
        Ok(Vec::new())
    }

    /// Whether a row was missed that nobody else had touched meanwhile.
    fn is_unprovoked(&self, explanation: &Explanation, mistake: &Mistake) -> bool {
        let transactions = &self.orders[explanation.order].transactions;
        let statement = mistake.statement(transactions);
        let (Some(statement), Some(row)) = (statement, mistake.row) else { return false };
        let at = Meeting { writer: mistake.writer, transactions, statement };
        mistake.deed == Deed::RowMissed && at.is_untouched(&explanation.world.state.rows[row])
    }

    fn courses(&mut self, initial: &World, most: usize) -> Result<Vec<Explanation>, RunError> {
        let begin = |order| Course { order, world: initial.clone(), at: 0, mistakes: Vec::new() };
        // The last one is followed first.
        let mut open: Vec<Course> = (0..self.orders.len()).rev().map(begin).collect();
        let (mut found, mut steps) = (Vec::new(), 0);
        while let Some(Course { order, world, at, mistakes }) = open.pop() {
            steps += 1;
            if steps > STEPS_MAX || self.questions.asked() > QUESTIONS_MAX {
                break;
            }
            let Order { transactions, actions } = &self.orders[order];
            let Some(action) = actions.get(at).copied() else {
                if self.arrives(&world) {
                    found.push(Explanation { order, world, mistakes });
                }
                continue;
            };
            let may_err = mistakes.len() < most;
            for (world, mistake) in self.next(transactions, &world, action, may_err)? {
                let mistakes = mistakes.iter().copied().chain(mistake).collect();
                open.push(Course { order, world, at: at + 1, mistakes });
            }
        }
        Ok(found)
    }

    fn arrives(&self, world: &World) -> bool {
        self.run.final_state.iter().enumerate().all(|(table, (_, rows))| {
            let mut seen: Vec<_> = rows.rows.iter().collect();
            seen.sort();
            seen == world.state.committed_rows(table)
        })
    }

    fn next(
        &mut self,
        transactions: &'f [Transaction<'r>],
        world: &World,
        action: Action,
        may_err: bool,
    ) -> Result<Vec<Next>, RunError> {
        match action {
            Action::Perform { writer, statement } => {
                let transaction = &transactions[writer];
                let statement = &transaction.statements[statement];
                let (claims, dialect) = (self.claims, self.run.target.product.dialect());
                let looking = Looking { world, claims, transaction, statement, writer, dialect };
                self.perform(&looking, may_err)
            }
            Action::TakeBack { writer, since, moment } => {
                let ended = transactions[writer].ended;
                Ok(taken_back(world, writer, (since, moment, ended), may_err))
            }
            Action::Commit { writer } => {
                Ok(committed(world, writer, transactions[writer].ended, may_err))
            }
        }
    }

    fn perform(&mut self, looking: &Looking<'_, 'r>, may_err: bool) -> Result<Vec<Next>, RunError> {
        let Looking { world, transaction, statement, writer, .. } = *looking;
        let right = self.right_views(looking)?;
        let mut views: Vec<(View, Option<Mistake>)> =
            right.iter().map(|view| (view.clone(), None)).collect();
        if may_err {
            let wrong = looking.wrong(&right).into_iter();
            views.extend(wrong.map(|(view, mistake)| (view, Some(mistake))));
        }
        let contents: Vec<Contents> = views.iter().map(|(view, _)| world.contents(view)).collect();
        self.questions.find_out(transaction.session, statement.sql, &contents)?;
        // What a right view gives needs no mistake; of one kind of mistake the first one is enough.
        let mut known: Vec<(Option<Deed>, Vec<Change>)> = Vec::new();
        let mut next = Vec::new();
        for (view, mistake) in views {
            let Some(changes) = self.changes_if_answered(looking, &view)? else { continue };
            let mistake = mistake.or_else(|| overwritten(looking, &changes));
            let deed = mistake.map(|mistake| mistake.deed);
            let is_known =
                known.iter().any(|(by, same)| *same == changes && (by.is_none() || *by == deed));
            if is_known || (mistake.is_some() && !may_err) {
                continue;
            }
            let mut after = world.clone();
            after.apply(&changes, writer, statement.end);
            next.push((after, mistake));
            if mistake.is_some_and(|mistake| mistake.deed == Deed::ConflictMissed) {
                next.extend(written_over(looking, &changes).map(|over| (over, mistake)));
            }
            if may_err && mistake.is_none() {
                next.extend(self.wrong_effects(looking, &view, &changes)?);
            }
            known.push((deed, changes));
        }
        if may_err && statement.waited {
            next.extend(ended_untold(looking));
        }
        if next.is_empty() && may_err && statement.reply.is_err() {
            let (deed, n) = (Deed::FailedWithoutCause, Some(statement.n));
            next.push((world.clone(), Some(Mistake { deed, n, writer, row: None })));
        }
        Ok(next)
    }

    /// The views that the level gives to the statement.
    fn right_views(&mut self, looking: &Looking<'_, 'r>) -> Result<Vec<View>, RunError> {
        let moments = looking.moments();
        let views = moments.iter().map(|at| looking.world.seen_at(looking.writer, *at));
        let mut views: Vec<View> = views.collect();
        let waits = looking.statement.waited && looking.statement.kind.writes();
        if looking.sees() == WriteView::StatementSnapshot && waits {
            views = vec![self.checked_again(looking, views.swap_remove(0))?];
        }
        views.dedup();
        Ok(views)
    }

    /// The view of a statement snapshot in which rows that match were changed since, and are checked again.
    fn checked_again(
        &mut self,
        looking: &Looking<'_, 'r>,
        mut view: View,
    ) -> Result<View, RunError> {
        let Some((_, after)) = self.effect(looking, &view)? else { return Ok(view) };
        for change in self.changes(looking, &view, &after) {
            let Change::Row(row, _) = change else { continue };
            let of_row = &looking.world.state.rows[row];
            match of_row.visible(looking.writer, looking.statement.end) {
                Some(values) => drop(view.0.insert(row, values.clone())),
                None => drop(view.0.remove(&row)),
            }
        }
        Ok(view)
    }

    /// What the statement changes if it looks at this view; `None` if it would be answered differently.
    fn changes_if_answered(
        &mut self,
        looking: &Looking<'_, 'r>,
        view: &View,
    ) -> Result<Option<Vec<Change>>, RunError> {
        let Some((outcome, after)) = self.effect(looking, view)? else { return Ok(None) };
        let statement = looking.statement;
        let Some(observed) = last_event(self.run, statement.n) else { return Ok(None) };
        if answers(statement.sql, &observed.outcome, &outcome).is_some() {
            return Ok(None);
        }
        let changes = match outcome {
            Outcome::Ok(_) | Outcome::Resumed(_) => self.changes(looking, view, &after),
            _ => Vec::new(),
        };
        Ok(Some(changes))
    }

    fn changes(&self, looking: &Looking<'_, '_>, view: &View, after: &Contents) -> Vec<Change> {
        // A REPLACE puts a new row in the place of an old one; all others change rows or remove them.
        let may_update = looking.statement.kind != StatementKind::Replace;
        changes(looking.world, view, after, &self.keys, may_update)
    }

    /// An effect that is not there, in whole or in part, or is there twice.
    fn wrong_effects(
        &mut self,
        looking: &Looking<'_, 'r>,
        view: &View,
        changes: &[Change],
    ) -> Result<Vec<Next>, RunError> {
        let Looking { world, statement, writer, .. } = *looking;
        let row_of = |change: &Change| match change {
            Change::Row(row, _) => Some(*row),
            Change::New(..) => None,
        };
        let mistake = |deed, row| Mistake { deed, n: Some(statement.n), writer, row };
        let mut next = Vec::new();
        for at in 0..changes.len() {
            let mut kept = changes.to_vec();
            let lost = kept.remove(at);
            let mut after = world.clone();
            after.apply(&kept, writer, statement.end);
            next.push((after, Some(mistake(Deed::VersionLost, row_of(&lost)))));
        }
        let Some((_, once)) = self.effect(looking, view)? else { return Ok(next) };
        let session = looking.transaction.session;
        let again = self.questions.ask(session, statement.sql, &once)?;
        if let (false, Some((Outcome::Ok(_), twice))) = (changes.is_empty(), again) {
            let mut after = world.clone();
            after.apply(&self.changes(looking, view, &twice), writer, statement.end);
            next.push((after, Some(mistake(Deed::AppliedTwice, None))));
        }
        Ok(next)
    }

    fn effect(&mut self, looking: &Looking<'_, 'r>, view: &View) -> Result<Effect, RunError> {
        let contents = looking.world.contents(view);
        self.questions.ask(looking.transaction.session, looking.statement.sql, &contents)
    }
}

/// What a transaction has written since a moment is taken back.
fn taken_back(
    world: &World,
    writer: Writer,
    (since, moment, ended): (usize, usize, usize),
    may_err: bool,
) -> Vec<Next> {
    let mut right = world.clone();
    right.state.take_back(writer, since, moment);
    let mut next = vec![(right, None)];
    let written = world.written_by(writer);
    if may_err && let Some(row) = written.first() {
        let mut kept = world.clone();
        if since == 0 {
            kept.state.commit(writer, ended);
        }
        let deed = Deed::RollbackKept;
        next.push((kept, Some(Mistake { deed, n: None, writer, row: Some(*row) })));
    }
    next
}

/// A transaction commits.
fn committed(world: &World, writer: Writer, ended: usize, may_err: bool) -> Vec<Next> {
    let mut right = world.clone();
    right.state.commit(writer, ended);
    let mut next = vec![(right, None)];
    let written = world.written_by(writer);
    if !may_err || written.is_empty() {
        return next;
    }
    let mistake = |row| Mistake { deed: Deed::VersionLost, n: None, writer, row: Some(row) };
    let mut lost = world.clone();
    lost.state.take_back(writer, 0, ended);
    next.push((lost, Some(mistake(written[0]))));
    for row in written.iter().copied().filter(|_| written.len() > 1) {
        let mut torn = world.clone();
        torn.state.rows[row]
            .versions
            .retain(|version| version.writer != Some(writer) || version.committed.is_some());
        torn.state.commit(writer, ended);
        next.push((torn, Some(mistake(row))));
    }
    next
}

/// The transaction of a statement that waited was ended meanwhile, with all that it had written, but the statement was
/// answered as if it had succeeded.
fn ended_untold(looking: &Looking<'_, '_>) -> Option<Next> {
    let Looking { world, statement, writer, .. } = *looking;
    let is_inside = looking.transaction.begin.is_some() && statement.reply.is_ok();
    let row = world.written_by(writer).first().copied().filter(|_| is_inside)?;
    let mut after = world.clone();
    after.state.take_back(writer, 0, statement.end);
    let (deed, n) = (Deed::EndedUntold, Some(statement.n));
    Some((after, Some(Mistake { deed, n, writer, row: Some(row) })))
}

/// What a transaction leaves that writes its snapshot over what others have committed since: in the tables that it
/// changes, or in all.
fn written_over<'w>(
    looking: &Looking<'w, '_>,
    changes: &'w [Change],
) -> impl Iterator<Item = World> + 'w {
    let Looking { world, statement, writer, .. } = *looking;
    let snapshot = looking.snapshot();
    let is_changed = move |table: usize| {
        changes.iter().any(|change| match change {
            Change::Row(row, _) => world.state.rows[*row].table == table,
            Change::New(into, _) => *into == table,
        })
    };
    let is_late = looking.writes_late();
    [true, false].into_iter().filter(move |_| is_late).map(move |only_changed| {
        let mut over = world.clone();
        over.forget(writer, snapshot, |table| !only_changed || is_changed(table));
        over.apply(changes, writer, statement.end);
        over
    })
}

/// A change of a row that another transaction holds, or that changed since the snapshot; where there is one writer at a
/// time, whatever row has changed.
fn overwritten(looking: &Looking<'_, '_>, changes: &[Change]) -> Option<Mistake> {
    let Looking { world, statement, writer, .. } = *looking;
    let snapshot = looking.newest();
    let met = changes.iter().find_map(|change| {
        let Change::Row(row, _) = change else { return None };
        let of_row = &world.state.rows[*row];
        let deed = if of_row.held_by_others(writer).next().is_some() {
            Deed::DidNotWait
        } else if looking.sees() == WriteView::TransactionSnapshot
            && !of_row.committed_between(snapshot, statement.end).is_empty()
        {
            Deed::ConflictMissed
        } else {
            return None;
        };
        Some(Mistake { deed, n: Some(statement.n), writer, row: Some(*row) })
    });
    let late = Mistake { deed: Deed::ConflictMissed, n: Some(statement.n), writer, row: None };
    met.or_else(|| looking.writes_late().then_some(late))
}
