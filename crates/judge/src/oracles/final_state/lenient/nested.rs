//! Locking queries outside a transaction whose subquery takes no locks.
//!
//! Idea: the part outside the parentheses locks and reads the latest versions; the nested one is a consistent read, of
//! one committed state between the beginning and the end of the query. So the query is executed with the tables of the
//! outer part in one of these states and those of the inner part in the same or an earlier one. If none of them gives
//! the answer, the exception does not explain it.
//!
//! Assumption: the states are those after the commits of the writers, in that order, which is where the level promises
//! it. Blind spot: a query that reads one table both outside and inside cannot be executed on two states: Undecided.

use anchorite_model::sql::{Dialect, StatementKind, Token};
use anchorite_model::{Outcome, Rows, Value};
use anchorite_sql::tokens::significant;

use crate::evidence::evaluator::Contents;
use crate::evidence::replay::{Form, replay};
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::{Evidence, Unjudged};
use crate::laboratory::Laboratory;

/// The words that join queries which are not nested in each other.
const BESIDE: [&str; 4] = ["UNION", "INTERSECT", "EXCEPT", "WITH"];

/// A locking query with a nested one that does not lock.
pub(super) struct Nested<'t> {
    statement: &'t Performed<'t>,
    tokens: Vec<(Token<'t>, bool)>,
}

impl<'t> Nested<'t> {
    /// The only statement of a transaction, if it is such a query.
    pub(super) fn of(transaction: &'t Transaction<'t>, dialect: Dialect) -> Option<Self> {
        let [statement] = transaction.statements.as_slice() else { return None };
        let is_locking = statement.kind == StatementKind::Select { locking: true };
        if transaction.begin.is_some() || !is_locking || statement.reply.is_err() {
            return None;
        }
        let words = significant(statement.sql, dialect);
        let tokens = nested(&words)?;
        let is_beside = |token: &Token<'_>| BESIDE.iter().any(|word| token.is_word(word));
        let locks = |token: &Token<'_>| token.is_word("FOR") || token.is_word("LOCK");
        let is_plain =
            !tokens.iter().any(|(token, inside)| is_beside(token) || *inside && locks(token));
        let has_inner = tokens.iter().any(|(token, inside)| *inside && token.is_word("SELECT"));
        (is_plain && has_inner).then_some(Self { statement, tokens })
    }

    /// The tables of the part outside, or of the nested part.
    fn tables(&self, all: &[(String, Rows)], inside: bool) -> Vec<usize> {
        let is_named = |name: &String| {
            let here = self.tokens.iter().filter(|(_, nested)| *nested == inside);
            here.into_iter().any(|(token, _)| token.is_word(name))
        };
        (0..all.len()).filter(|&table| is_named(&all[table].0)).collect()
    }
}

/// Each token, and whether it is inside a nested query; `None` if a query begins elsewhere.
fn nested<'t>(words: &[Token<'t>]) -> Option<Vec<(Token<'t>, bool)>> {
    let mut open: Vec<bool> = Vec::new();
    let mut found = Vec::new();
    for (at, token) in words.iter().enumerate() {
        let is_query = words.get(at + 1).is_some_and(|next| next.is_word("SELECT"));
        match token.text {
            "(" => open.push(is_query),
            ")" => drop(open.pop()?),
            _ if token.is_word("SELECT") && at > 0 && words[at - 1].text != "(" => return None,
            _ => {}
        }
        found.push((*token, open.contains(&true)));
    }
    Some(found)
}

/// Where the states come from.
pub(super) struct Views<'e, 'a> {
    pub(super) evidence: &'e Evidence<'a>,
    pub(super) transactions: &'e [Transaction<'a>],
}

impl Views<'_, '_> {
    /// Whether two states that the query may have seen give its answer.
    pub(super) fn give(
        &self,
        own: &Transaction<'_>,
        query: &Nested<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<bool, Unjudged> {
        let run = self.evidence.run;
        let (outside, inside) =
            (query.tables(&run.final_state, false), query.tables(&run.final_state, true));
        if outside.iter().any(|table| inside.contains(table)) {
            let reason = "a locking query reads one table both outside and inside of its subquery";
            return Err(reason.to_owned().into());
        }
        let states = self.states(query.statement, laboratory)?;
        let observed = query.statement.reply.ok().and_then(|answer| answer.results.first());
        let observed = observed.map(sorted).unwrap_or_default();
        for (latest, outer) in states.iter().enumerate() {
            for earlier in &states[..=latest] {
                let mut seen = outer.clone();
                inside.iter().for_each(|table| drop(seen.remove(table)));
                let inner =
                    inside.iter().filter_map(|table| Some((*table, earlier.get(table)?.clone())));
                seen.extend(inner);
                let case =
                    self.evidence.evaluator()?.case_on(own.session, query.statement.sql, &seen);
                let answered = laboratory.run(&case)?;
                let rows = answered.events.last().and_then(|event| match &event.outcome {
                    Outcome::Ok(answer) => answer.results.first(),
                    _ => None,
                });
                if rows.map(sorted) == Some(observed.clone()) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The committed states from the beginning of a statement to its end, earliest first.
    fn states(
        &self,
        statement: &Performed<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Vec<Contents>, Unjudged> {
        let writers: Vec<&Transaction<'_>> =
            self.transactions.iter().filter(|one| one.committed && one.is_writer()).collect();
        let mut states = Vec::new();
        for count in 0..=writers.len() {
            let is_over = writers.get(count).is_some_and(|next| next.ended <= statement.start);
            let is_late = count > 0 && writers[count - 1].ended > statement.end;
            if is_over || is_late {
                continue;
            }
            let replay = replay(self.evidence.run, &writers[..count], Form::Transactions, false);
            let tables = laboratory.run(&replay.case)?.final_state;
            states.push(
                tables
                    .into_iter()
                    .enumerate()
                    .map(|(table, (_, rows))| (table, rows.rows))
                    .collect(),
            );
        }
        Ok(states)
    }
}

fn sorted(rows: &Rows) -> Vec<Vec<Value>> {
    let mut rows = rows.rows.clone();
    rows.sort();
    rows
}
