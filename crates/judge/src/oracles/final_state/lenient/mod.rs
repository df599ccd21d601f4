//! Serial orders with one promise less, where an exception names it.
//!
//! Idea: two exceptions are about locks that are not kept, and not about rows that a write left unchanged: a serial
//! order explains such a run as soon as what the lock would have kept in its place may be elsewhere. The exception has
//! to fit: [`unkept`] asks the DBMS whether an INSERT really met one key that was taken and one that another
//! transaction wrote meanwhile; [`nested`] executes a query on the views that it may have had.
//!
//! Blind spot: each exception is tried by itself, not together with another one.

mod emptied;
mod nested;
mod unkept;

use anchorite_claims::{Deviation, DocumentedWrites, Exception};
use anchorite_model::{UNEXPLAINED, Verdict};

use super::{explained, mechanism};
use crate::evidence::serial::{Leniency, Serial};
use crate::evidence::transactions::Transaction;
use crate::evidence::{Evidence, Unjudged};
use crate::laboratory::Laboratory;

/// Why nothing is said of such a run.
const EMPTIED: &str =
    "a table was emptied while others had a snapshot of it, to which it is empty, too";

/// What is known about a run that no serial order explains.
pub(super) struct Unexplained<'e, 'a> {
    pub(super) evidence: &'e Evidence<'a>,
    pub(super) documented: &'e DocumentedWrites<'a>,
    pub(super) transactions: &'e [Transaction<'a>],
    /// Whether an order differs from the run in nothing but reads.
    pub(super) only_reads: bool,
}

impl<'a> Unexplained<'_, 'a> {
    /// The verdict, if a serial order explains the run together with one of these exceptions.
    pub(super) fn verdict(
        &self,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Verdict>, Unjudged> {
        if self.is_emptied() {
            return Ok(Some(Verdict::Undecided {
                reason: format!("{UNEXPLAINED}, and {EMPTIED}"),
            }));
        }
        match self.nested(laboratory)? {
            Some(verdict) => Ok(Some(verdict)),
            None => self.unkept(laboratory),
        }
    }

    fn is_emptied(&self) -> bool {
        let run = self.evidence.run;
        let tables: Vec<&str> = run.final_state.iter().map(|(table, _)| table.as_str()).collect();
        let dialect = run.target.product.dialect();
        self.exception(Deviation::Emptied).is_some()
            && emptied::meets_emptied(self.transactions, &tables, dialect)
    }

    fn exception(&self, deviation: Deviation) -> Option<&'a Exception> {
        let exceptions = self.documented.exceptions.iter().copied();
        exceptions.into_iter().find(|exception| exception.rows.contains(&deviation))
    }

    fn unkept(&self, laboratory: &mut Laboratory<'_>) -> Result<Option<Verdict>, Unjudged> {
        let Some(exception) = self.exception(Deviation::Unkept) else { return Ok(None) };
        let pairs = unkept::pairs(self.evidence, self.transactions, laboratory)?;
        let Some((_, whom)) = pairs.first() else { return Ok(None) };
        let whom = self.transactions[*whom].name.clone();
        let index = |wanted: &Transaction<'_>| {
            self.transactions.iter().position(|one| one.name == wanted.name)
        };
        let is_free = |first: &Transaction<'_>, second: &Transaction<'_>| {
            index(first).zip(index(second)).is_some_and(|pair| pairs.contains(&pair))
        };
        let leniency = Leniency { left_out: &|_| false, free: &is_free };
        let found = self.evidence.search(&[])?.perform(leniency, laboratory)?;
        let because = || {
            vec![
                format!("a serial order explains it, but for a key that {whom} found free"),
                mechanism::exception_sentence(exception),
            ]
        };
        Ok(matches!(found, Serial::Explained).then(|| explained(exception, because())))
    }

    fn nested(&self, laboratory: &mut Laboratory<'_>) -> Result<Option<Verdict>, Unjudged> {
        let Some(exception) = self.exception(Deviation::Nested) else { return Ok(None) };
        let dialect = self.evidence.run.target.product.dialect();
        let queries: Vec<(&Transaction<'_>, nested::Nested<'_>)> = self
            .transactions
            .iter()
            .filter_map(|one| Some((one, nested::Nested::of(one, dialect)?)))
            .collect();
        if !self.only_reads || queries.is_empty() {
            return Ok(None);
        }
        let is_nested = |one: &Transaction<'_>| queries.iter().any(|(own, _)| own.name == one.name);
        let leniency = Leniency { left_out: &is_nested, free: &|_, _| false };
        let found = self.evidence.search(&[])?.perform(leniency, laboratory)?;
        if !matches!(found, Serial::Explained) {
            return Ok(None);
        }
        for (own, query) in &queries {
            let views = nested::Views { evidence: self.evidence, transactions: self.transactions };
            if !views.give(own, query, laboratory)? {
                return Ok(None);
            }
        }
        let names: Vec<&str> = queries.iter().map(|(own, _)| own.name.as_str()).collect();
        let because = vec![
            format!(
                "a serial order explains the rest, and {} read the latest rows outside and an earlier committed \
                 state inside its subquery",
                names.join(", ")
            ),
            mechanism::exception_sentence(exception),
        ];
        Ok(Some(explained(exception, because)))
    }
}
