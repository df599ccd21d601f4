//! The statement that went wrong, if the oracles' sentences name one.
//!
//! Idea: an oracle that can point at a statement begins its sentence with `step 3 (DELETE FROM t)`. Where it only
//! compared the run with serial orders, it is the statement that differs in every one of them; else the first that
//! differs in the nearest order. Assumption: the wording of `anchorite_judge::evidence`. Blind spot: for a violation
//! that shows only in the tables, no statement is to blame.

use anchorite_judge::evidence::words::abridged;
use anchorite_model::{Expected, Run, Verdict};

/// Who is to blame, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blame {
    /// The statement's number.
    pub n: usize,
    /// What is wrong with its answer, in the oracle's words (`affected 0 instead of 1`).
    pub said: String,
}

/// Who is to blame for a violation.
pub(crate) fn blame(run: &Run, because: &[String], expected: &[Expected]) -> Option<Blame> {
    // If several are named, the last one did what the earlier ones make wrong.
    let direct = because.iter().rev().find_map(|sentence| accusation(run, sentence));
    let orders: Vec<Vec<Blame>> = if expected.is_empty() {
        because
            .iter()
            .filter(|sentence| sentence.starts_with("not "))
            .map(|s| told(run, s))
            .collect()
    } else {
        let of = |order: &Expected| {
            order.differences.iter().filter_map(|d| accusation(run, d)).collect()
        };
        expected.iter().map(of).collect()
    };
    direct.or_else(|| in_all(&orders)).or_else(|| {
        let named = orders.into_iter().filter(|order| !order.is_empty());
        named.min_by_key(Vec::len).and_then(|order| order.into_iter().next())
    })
}

/// Who is to blame for the first violation among verdicts.
pub(crate) fn blame_of_verdicts(run: &Run, verdicts: &[(String, Verdict)]) -> Option<Blame> {
    verdicts.iter().find_map(|(_, verdict)| match verdict {
        Verdict::Violation { because, .. } => blame(run, because, &[]),
        _ => None,
    })
}

/// The first statement that differs in every order.
fn in_all(orders: &[Vec<Blame>]) -> Option<Blame> {
    let first = orders.first()?;
    let everywhere =
        |blame: &&Blame| orders.iter().all(|order| order.iter().any(|other| other.n == blame.n));
    first.iter().find(everywhere).cloned()
}

/// The accusations in `not t1, then t2: table t ends with …; step 3 (…): affected 0 instead of 1`.
fn told(run: &Run, sentence: &str) -> Vec<Blame> {
    let after = sentence.split_once(": ").map_or("", |(_, after)| after);
    after.split("; ").filter_map(|part| accusation(run, part)).collect()
}

/// `step 3 (DELETE FROM t): affected 0 instead of 1`.
fn accusation(run: &Run, sentence: &str) -> Option<Blame> {
    let (number, rest) = sentence.strip_prefix("step ")?.split_once(" (")?;
    let n: usize = number.parse().ok()?;
    let step = run.case.steps.get(n.checked_sub(1)?)?;
    let said = rest.strip_prefix(&abridged(&step.statement.sql))?.strip_prefix(')')?;
    let said = said.trim_start_matches([':', ' ']).to_owned();
    run.events.iter().any(|event| event.n == n).then_some(Blame { n, said })
}

impl Blame {
    /// What the answer should have been, if that is stated (`1`, `no rows`).
    pub fn instead(&self) -> Option<&str> {
        self.said.split_once(" instead of ").map(|(_, instead)| instead)
    }

    /// The words to put beside the answer.
    pub fn told(&self) -> String {
        let must = self.said.split_once(", but must change ").map(|(_, rows)| rows);
        match (self.instead(), must) {
            _ if self.said.starts_with("failed") => "wrong: it should have succeeded".to_owned(),
            _ if self.said.starts_with("succeeded") => "wrong: it should have failed".to_owned(),
            (Some(instead), _) => format!("wrong: {instead} expected"),
            (_, Some(rows)) => {
                let rows = rows.split_once(": ").map_or(rows, |(rows, _)| rows);
                format!("wrong: it must change {rows}")
            }
            _ => format!("wrong: {}", self.said),
        }
    }
}
