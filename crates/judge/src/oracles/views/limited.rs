//! Reads that return some of their rows: LIMIT without an order that decides which.
//!
//! Idea: without its LIMIT the same query returns all rows of its view. The answer has to be a part of these, and as
//! large as LIMIT allows; which part it is, nobody has promised.
//!
//! Blind spot: window functions, LIMIT inside, FETCH.

use anchorite_model::{Outcome, RunError, Value};
use anchorite_sql::tokens::significant;

use super::course::{Following, Place};
use super::seen::Sight;
use crate::evidence::evaluator::{Evaluator, Question};
use crate::evidence::transactions::Performed;
use crate::laboratory::Laboratory;

impl<'r> Following<'_, 'r> {
    /// Which of these views give a read that takes some of its rows what it returned; `None` if that cannot be told.
    pub(super) fn part_of(
        &self,
        place: Place,
        read: &Performed<'r>,
        sights: &[Sight],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Vec<Sight>>, RunError> {
        let Some(all) = self.without_limit(read.sql) else { return Ok(None) };
        let Some(returned) = rows_of(read.reply.ok().map(|answer| &answer.results)) else {
            return Ok(None);
        };
        let session = self.transactions[place.writer].session;
        let question =
            |sight: &Sight| Question { session, sql: &all, contents: sight.contents.clone() };
        evaluator.find_out_all(&sights.iter().map(question).collect::<Vec<_>>(), laboratory)?;
        let mut found = Vec::new();
        for sight in sights {
            let whole = evaluator.tried(session, &all, &sight.contents, laboratory)?;
            let limited = evaluator.tried(session, read.sql, &sight.contents, laboratory)?;
            let (Some((Outcome::Ok(whole), _)), Some((Outcome::Ok(limited), _))) = (whole, limited)
            else {
                return Ok(None);
            };
            let limited = rows_of(Some(&limited.results)).map_or(0, |rows| rows.len());
            let mut rest = rows_of(Some(&whole.results)).unwrap_or_default();
            let is_part = returned.iter().all(|row| {
                let at = rest.iter().position(|other| other == row);
                at.map(|at| rest.swap_remove(at)).is_some()
            });
            if is_part && returned.len() == limited {
                found.push(sight.clone());
            }
        }
        Ok(Some(found))
    }

    /// A query without the only LIMIT at its end.
    fn without_limit(&self, sql: &str) -> Option<String> {
        let tokens = significant(sql, self.run.target.product.dialect());
        let has = |word: &str| tokens.iter().any(|token| token.is_word(word));
        let mut limits = tokens.iter().filter(|token| token.is_word("LIMIT"));
        let limit = limits.next().filter(|_| !has("OVER") && !has("FETCH"))?;
        let after = tokens.iter().filter(|token| token.start > limit.start);
        let is_inside = limits.next().is_some() || after.clone().any(|token| token.is_symbol(")"));
        let rest = after.clone().find(|token| token.is_word("FOR") || token.is_word("LOCK"));
        let clause = rest.map_or("", |token| &sql[token.start..]);
        (!is_inside).then(|| format!("{} {clause}", sql[..limit.start].trim_end()))
    }
}

fn rows_of(results: Option<&Vec<anchorite_model::Rows>>) -> Option<Vec<Vec<Value>>> {
    results.map(|all| all.iter().flat_map(|one| one.rows.iter().cloned()).collect())
}
