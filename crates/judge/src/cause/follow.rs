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

use super::questions::{Effect, Questions};
use super::views::{Looking, Mistake};
use crate::evidence::actions::Action;
use crate::evidence::difference::answers;
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::Contents;
use crate::evidence::transactions::Transaction;
use crate::evidence::versions::{Version, Writer};
use crate::evidence::world::{Change, View, World, changes};

/// The most questions to the DBMS.
const QUESTIONS_MAX: usize = 1_500;
/// The most steps of all courses together.
const STEPS_MAX: usize = 20_000;
/// Two mistakes are looked for only in schedules of so many statements.
const STATEMENTS_FOR_TWO: usize = 8;

/// A course: the rows so far, the next action, the mistakes so far.
struct Course {
    world: World,
    at: usize,
    mistakes: Vec<Mistake>,
}

/// A world that may follow, and the mistake that leads there.
type Next = (World, Option<Mistake>);

/// Who follows a run.
pub(super) struct Following<'f, 'r, 'l> {
    pub run: &'r Run,
    pub claims: &'f WriteClaims,
    pub transactions: &'f [Transaction<'r>],
    pub questions: Questions<'f, 'r, 'l>,
    pub actions: Vec<Action>,
    /// The unique keys of each table.
    pub keys: Vec<Vec<Vec<usize>>>,
}

impl<'r> Following<'_, 'r, '_> {
    /// The courses with the fewest mistakes that end as the run did; empty if none does. Worlds are those at the end.
    pub(super) fn explanations(
        &mut self,
        initial: &World,
    ) -> Result<Vec<(World, Vec<Mistake>)>, RunError> {
        let performed = |action: &&Action| matches!(action, Action::Perform { .. });
        let statements = self.actions.iter().filter(performed).count();
        let most = if statements <= STATEMENTS_FOR_TWO { 2 } else { 1 };
        for mistakes in 0..=most {
            let found = self.courses(initial, mistakes)?;
            if found.is_empty() {
                continue;
            }
            let is_plain = |(world, made): &(World, Vec<Mistake>)| {
                made.iter().all(|mistake| self.is_unprovoked(world, mistake))
            };
            if mistakes == 0 || mistakes == most || !found.iter().all(is_plain) {
                return Ok(found);
            }
            // Two rows that were changed meanwhile are missed more easily than one that nobody touched.
            let mut more = self.courses(initial, mistakes + 1)?;
            more.retain(|(world, made)| {
                let is_likely = |mistake: &Mistake| {
                    mistake.deed == Deed::RowMissed && !self.is_unprovoked(world, mistake)
                };
                made.len() > mistakes && made.iter().all(is_likely)
            });
            return Ok(if more.is_empty() { found } else { more });
        }
        Ok(Vec::new())
    }

    /// Whether a row was missed that nobody else had touched while the statement ran.
    fn is_unprovoked(&self, world: &World, mistake: &Mistake) -> bool {
        let statement = mistake.statement(self.transactions);
        let (Some(statement), Some(row)) = (statement, mistake.row) else { return false };
        let row = &world.state.rows[row];
        let is_meanwhile = |version: &Version| {
            version.writer.is_some_and(|writer| writer != mistake.writer)
                && version.made < statement.end
                && version.committed.is_none_or(|at| at > statement.start)
        };
        mistake.deed == Deed::RowMissed && !row.versions.iter().any(is_meanwhile)
    }

    fn courses(
        &mut self,
        initial: &World,
        most: usize,
    ) -> Result<Vec<(World, Vec<Mistake>)>, RunError> {
        let mut open = vec![Course { world: initial.clone(), at: 0, mistakes: Vec::new() }];
        let (mut found, mut steps) = (Vec::new(), 0);
        while let Some(Course { world, at, mistakes }) = open.pop() {
            steps += 1;
            if steps > STEPS_MAX || self.questions.asked() > QUESTIONS_MAX {
                break;
            }
            let Some(action) = self.actions.get(at).copied() else {
                if self.arrives(&world) {
                    found.push((world, mistakes));
                }
                continue;
            };
            let may_err = mistakes.len() < most;
            for (world, mistake) in self.next(&world, action, may_err)? {
                let mistakes = mistakes.iter().copied().chain(mistake).collect();
                open.push(Course { world, at: at + 1, mistakes });
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
        world: &World,
        action: Action,
        may_err: bool,
    ) -> Result<Vec<Next>, RunError> {
        match action {
            Action::Perform { writer, statement } => {
                self.perform(world, writer, statement, may_err)
            }
            Action::TakeBack { writer, since, moment } => {
                Ok(self.taken_back(world, writer, (since, moment), may_err))
            }
            Action::Commit { writer } => Ok(self.committed(world, writer, may_err)),
        }
    }

    fn taken_back(
        &self,
        world: &World,
        writer: Writer,
        (since, moment): (usize, usize),
        may_err: bool,
    ) -> Vec<Next> {
        let mut right = world.clone();
        right.state.take_back(writer, since, moment);
        let mut next = vec![(right, None)];
        let written = world.written_by(writer);
        if may_err && let Some(row) = written.first() {
            let mut kept = world.clone();
            if since == 0 {
                kept.state.commit(writer, self.transactions[writer].ended);
            }
            let deed = Deed::RollbackKept;
            next.push((kept, Some(Mistake { deed, n: None, writer, row: Some(*row) })));
        }
        next
    }

    fn committed(&self, world: &World, writer: Writer, may_err: bool) -> Vec<Next> {
        let ended = self.transactions[writer].ended;
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

    fn perform(
        &mut self,
        world: &World,
        writer: Writer,
        statement: usize,
        may_err: bool,
    ) -> Result<Vec<Next>, RunError> {
        let transaction = &self.transactions[writer];
        let statement = &transaction.statements[statement];
        let dialect = self.run.target.product.dialect();
        let looking =
            Looking { world, claims: self.claims, transaction, statement, writer, dialect };
        let right = self.right_views(&looking)?;
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
            let Some(changes) = self.changes_if_answered(&looking, &view)? else { continue };
            let mistake = mistake.or_else(|| overwritten(&looking, &changes));
            let deed = mistake.map(|mistake| mistake.deed);
            let is_known =
                known.iter().any(|(by, same)| *same == changes && (by.is_none() || *by == deed));
            if is_known || (mistake.is_some() && !may_err) {
                continue;
            }
            let mut after = world.clone();
            after.apply(&changes, writer, statement.end);
            next.push((after, mistake));
            if may_err && mistake.is_none() {
                next.extend(self.wrong_effects(&looking, &view, &changes)?);
            }
            known.push((deed, changes));
        }
        if may_err && statement.waited {
            next.extend(ended_untold(&looking));
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

/// A change of a row that another transaction holds, or that changed since the snapshot.
fn overwritten(looking: &Looking<'_, '_>, changes: &[Change]) -> Option<Mistake> {
    let Looking { world, statement, writer, .. } = *looking;
    let snapshot = looking.newest();
    changes.iter().find_map(|change| {
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
    })
}
