//! What the DBMS says about one row: whether a statement matches it, and what it makes of it.

use super::dirty::Dirty;
use super::inner;
use super::simulate::{Outer, Simulation};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Effect, Evaluator, Untried};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, State, Version, Writer};
use crate::laboratory::Laboratory;
use anchorite_sql::{RowStatement, WriteShape};

/// A row, a statement, and everything around them.
#[derive(Clone, Copy)]
pub(super) struct Situation<'s, 'r> {
    pub(super) state: &'s State,
    pub(super) row: &'s Row,
    pub(super) table: usize,
    pub(super) writer: Writer,
    pub(super) statement: &'s Performed<'r>,
    /// What is tried: its text, or one that says what its queries find.
    pub(super) sql: &'s str,
    pub(super) shape: &'s WriteShape,
    pub(super) dirty: &'s Dirty,
}

impl<'r> Simulation<'_, 'r> {
    /// Whether the statement matches a version of a row, also if it leaves its values as they are.
    pub(super) fn matches(
        &self,
        situation: &Situation<'_, 'r>,
        version: Option<&Version>,
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<bool> {
        if inner!(self.effect(situation, version, view, evaluator, laboratory)).is_some() {
            return Ok(Ok(true));
        }
        let Some(values) = version.and_then(|version| version.values.as_ref()) else {
            return Ok(Ok(false));
        };
        let Some(statement) = RowStatement::read(situation.statement.sql, self.dialect) else {
            return Ok(Ok(false));
        };
        let mut contents = others(situation, view, evaluator);
        contents.insert(situation.table, vec![values.clone()]);
        let session = self.followed[situation.writer].session;
        let found = evaluator.on(session, &statement.select(), &contents, laboratory)?;
        Ok(Ok(found.is_ok_and(|found| !found.returned.is_empty())))
    }

    /// What the statement does to one version of a row; `None` = nothing.
    pub(super) fn effect(
        &self,
        situation: &Situation<'_, 'r>,
        version: Option<&Version>,
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Option<Effect>> {
        let Some(values) = version.and_then(|version| version.values.as_ref()) else {
            return Ok(Ok(None));
        };
        let others = others(situation, view, evaluator);
        let session = self.followed[situation.writer].session;
        let table = situation.table;
        let effect =
            evaluator.on_row(session, situation.sql, table, values, &others, laboratory)?;
        let effect = match effect {
            Ok(effect) => effect,
            Err(Untried::Statement) => return Ok(Err(Unfollowed::FailsOnRow)),
            Err(_) => return Ok(Err(Unfollowed::Untried)),
        };
        let nothing = effect.affected == 0 && effect.values.as_ref() == Some(values);
        Ok(Ok((!nothing).then_some(effect)))
    }
}

/// What stands in other tables when a statement meets a row.
pub(super) fn others(
    situation: &Situation<'_, '_>,
    view: &Contents,
    evaluator: &Evaluator<'_>,
) -> Contents {
    let mut others = if situation.shape.has_subquery {
        view.clone()
    } else {
        let needed = evaluator.may_refer_to(situation.table);
        let latest = situation.state.view(situation.writer, situation.statement.end);
        latest.into_iter().filter(|(table, _)| needed.contains(table)).collect()
    };
    others.remove(&situation.table);
    others
}
