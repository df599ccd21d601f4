//! Which statements scan their table, where an exception holds only for scans.
//!
//! Idea: where the text leaves it open, the DBMS is asked for its plan, on the tables as they were at the beginning and
//! as the statement found them: the optimizer also counts what is not committed, so a table that one transaction has
//! changed from end to end is scanned for what an index would find before. A scan excuses; another plan blames nobody.
//!
//! Blind spot: versions that are gone and still stand in an index.

use std::collections::BTreeSet;

use anchorite_model::{RunError, SessionIndex};
use anchorite_sql::search::Search;

use super::Followed;
use super::plan::{Plan, plan};
use super::simulate::Course;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::laboratory::Laboratory;

impl<'r> Followed<'_, 'r, '_> {
    /// The statements that deviate, and of which only the DBMS can say that they scan their table.
    pub(super) fn scans(
        &self,
        courses: &[Course],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<BTreeSet<usize>, RunError> {
        let deviations = courses.iter().flat_map(|course| &course.deviations);
        let narrow = deviations.filter(|deviation| {
            let exception = self.documented.excuse(deviation.word, deviation.kind);
            exception.is_some_and(|exception| exception.scan)
        });
        let statements: BTreeSet<usize> = narrow.map(|deviation| deviation.n).collect();
        let contents = self.contents();
        let mut scans = BTreeSet::new();
        for n in statements {
            let step = &self.run.case.steps[n - 1];
            let sql = &step.statement.sql;
            if evaluator.search(sql) != Search::Unknown {
                continue;
            }
            let found = self.found(n, evaluator, laboratory)?;
            for contents in [&contents, &found] {
                if plan(step.session, sql, contents, evaluator, laboratory)? == Some(Plan::Table) {
                    scans.insert(n);
                    break;
                }
            }
        }
        Ok(scans)
    }

    /// The tables before the first statement.
    fn contents(&self) -> Contents {
        let tables = self.initial.iter().enumerate();
        tables.map(|(table, (_, rows))| (table, rows.rows.clone())).collect()
    }

    /// Roughly what the indexes held when a statement was sent: the optimizer also counts what is not committed.
    fn found(
        &self,
        n: usize,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Contents, RunError> {
        let mut contents = self.contents();
        let transactions = self.alternatives.first().into_iter().flatten();
        let all: Vec<(SessionIndex, &Performed<'r>)> = transactions
            .flat_map(|one| one.statements.iter().map(|statement| (one.session, statement)))
            .collect();
        let sent = all.iter().find(|(_, statement)| statement.n == n).map(|(_, it)| it.start);
        let is_before = |it: &Performed<'_>| {
            it.kind.writes() && it.reply.is_ok() && !it.undone && sent.is_some_and(|n| it.end <= n)
        };
        let mut before: Vec<_> = all.into_iter().filter(|(_, it)| is_before(it)).collect();
        before.sort_by_key(|(_, statement)| statement.end);
        for (session, statement) in before {
            if let Ok(after) = evaluator.on(session, statement.sql, &contents, laboratory)? {
                let after = after.tables.into_iter().enumerate();
                contents = after.map(|(table, (_, rows))| (table, rows.rows)).collect();
            }
        }
        Ok(contents)
    }
}
