//! One session: it sends its transactions, one after the other, and writes down what they told.
//!
//! Most transactions are sent as one text, if the protocol allows: the server then executes their statements as fast as
//! it can, which is where races within a statement show. The others wait for each answer, so that others come between
//! their statements. After an error everything is rolled back.
//!
//! How a transaction ended is only certain from an answer. If the answer to COMMIT is lost, or is an error that does
//! not say that the transaction is gone, the outcome is unknown. Where connections are lost on purpose, COMMIT is sent
//! only when all before it has been answered: a transaction that was lost earlier has certainly not committed, and one
//! of unknown outcome has told everything that it wrote.

use std::time::{Duration, Instant};

use anchorite_check::model::Outcome;
use anchorite_drivers::{Reply, Session, await_answer};
use anchorite_model::{Answer, DbError, ErrorClass, Rows};

use crate::faults::CutAt;
use crate::plan::{End, Plan};
use crate::record::{Reader, Record};
use crate::text::{Tongue, sets_of};

/// A statement that is not answered is cancelled after this time.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(20);

/// PostgreSQL's answer to a COMMIT that rolled back.
const ROLLED_BACK: &str = "ROLLBACK";

/// A session of a run.
pub struct Performer<'r> {
    /// The connection.
    pub session: Box<dyn Session>,
    /// Its number.
    pub number: u32,
    /// The product's SQL.
    pub tongue: &'r Tongue,
    /// Whether several statements may be sent as one text.
    pub at_once: bool,
    /// Whether COMMIT is sent only when everything before it has been answered: then a lost answer leaves no doubt
    /// about anything but the end.
    pub commit_apart: bool,
    /// Where the connection is cut in the next transaction.
    pub cut: Option<CutAt>,
}

/// What a connection that we have cut answers.
const CUT: &str = "cut";

/// How a transaction ended.
struct Ended {
    outcome: Outcome,
    error: Option<DbError>,
}

impl Ended {
    fn as_meant(plan: &Plan, tag: Option<&str>) -> Self {
        let outcome = match plan.end {
            End::Commit if tag != Some(ROLLED_BACK) => Outcome::Committed,
            _ => Outcome::Aborted,
        };
        let is_refused = plan.end == End::Commit && outcome == Outcome::Aborted;
        let class = ErrorClass::Serialization;
        Self { outcome, error: is_refused.then(|| DbError { class, ..DbError::default() }) }
    }

    /// The end by an error; `at_commit` if COMMIT had been sent and may have been executed.
    fn by(error: DbError, plan: &Plan, at_commit: bool) -> Self {
        let says_nothing = matches!(error.class, ErrorClass::ConnectionLost | ErrorClass::Other);
        let outcome = match at_commit && says_nothing && plan.end == End::Commit {
            true => Outcome::Unknown,
            false => Outcome::Aborted,
        };
        Self { outcome, error: Some(error) }
    }
}

impl Performer<'_> {
    fn send(&mut self, sql: &str) -> Reply {
        self.session.submit(sql);
        await_answer(self.session.as_mut(), sql, STATEMENT_LIMIT)
    }

    /// Performs a transaction. The second value is the error that ended the connection.
    pub fn perform(&mut self, plan: &Plan, number: u64) -> (Record, Option<DbError>) {
        let begun = Instant::now();
        let mut reader = Reader::new(number, plan);
        let several = self.session.takes_several();
        let ended = match (self.at_once && plan.at_once && several, self.commit_apart) {
            (true, false) => self.at_once(plan, number, &mut reader),
            (true, true) => self.at_once_but_commit(plan, number, &mut reader),
            (false, _) => self.stepwise(plan, number, several, &mut reader),
        };
        let mut lost = None;
        if let Some(error) = &ended.error {
            let is_lost = error.class == ErrorClass::ConnectionLost || error.code == "anchorite";
            if is_lost {
                lost = Some(error.clone());
            } else if error.in_transaction != Some(false) {
                lost = self.send("ROLLBACK").err().filter(is_serious);
            }
        }
        let mut record = reader.finish(self.number, ended.outcome);
        record.error = ended.error.map(|error| error.class);
        record.micros = u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX);
        (record, lost)
    }

    fn at_once(&mut self, plan: &Plan, number: u64, reader: &mut Reader<'_>) -> Ended {
        let text = self.tongue.all(plan, number).join(";\n");
        match self.send(&text) {
            Ok(Answer { results, tag, .. }) => {
                distribute(plan, results, reader);
                Ended::as_meant(plan, tag.as_deref())
            }
            Err(mut error) => {
                let results = std::mem::take(&mut error.results);
                let answered = distribute(plan, results, reader);
                reader.attempted(answered);
                let at_commit =
                    answered == plan.ops.len() || error.class == ErrorClass::ConnectionLost;
                Ended::by(error, plan, at_commit)
            }
        }
    }

    /// Everything in one text but the end, which is sent when that has been answered.
    fn at_once_but_commit(&mut self, plan: &Plan, number: u64, reader: &mut Reader<'_>) -> Ended {
        let mut statements = self.tongue.all(plan, number);
        let end = statements.pop().unwrap_or_default();
        match self.send_body(&statements.join(";\n")) {
            Ok(Answer { results, .. }) => {
                distribute(plan, results, reader);
                self.end(plan, &end)
            }
            Err(mut error) => {
                let results = std::mem::take(&mut error.results);
                let answered = distribute(plan, results, reader);
                reader.attempted(answered);
                Ended::by(error, plan, false)
            }
        }
    }

    fn end(&mut self, plan: &Plan, sql: &str) -> Ended {
        let answer = match self.cut {
            Some(CutAt::End) => self.cut(sql),
            _ => self.send(sql),
        };
        match answer {
            Ok(answer) => Ended::as_meant(plan, answer.tag.as_deref()),
            Err(error) => Ended::by(error, plan, true),
        }
    }

    fn send_body(&mut self, sql: &str) -> Reply {
        match self.cut {
            Some(CutAt::Body) => self.cut(sql),
            _ => self.send(sql),
        }
    }

    /// Sends a text and waits for no answer: the caller closes the connection, which it takes for lost.
    fn cut(&mut self, sql: &str) -> Reply {
        self.session.submit(sql);
        Err(DbError {
            code: CUT.to_owned(),
            ..DbError::connection_lost("cut by Anchorite".to_owned())
        })
    }

    fn stepwise(
        &mut self,
        plan: &Plan,
        number: u64,
        several: bool,
        reader: &mut Reader<'_>,
    ) -> Ended {
        if let Err(error) = self.send("BEGIN") {
            return Ended::by(error, plan, false);
        }
        for (place, op) in plan.ops.iter().enumerate() {
            let statements = self.tongue.statements(*op, number, place);
            let texts = if several { vec![statements.join(";\n")] } else { statements };
            let mut rows = Rows::default();
            for text in texts {
                match self.send_body(&text) {
                    Ok(answer) => {
                        let with_rows =
                            answer.results.into_iter().find(|set| !set.columns.is_empty());
                        rows = with_rows.unwrap_or(rows);
                    }
                    Err(error) => {
                        reader.attempted(place);
                        return Ended::by(error, plan, false);
                    }
                }
            }
            reader.answer(place, rows);
        }
        self.end(plan, if plan.end == End::Commit { "COMMIT" } else { "ROLLBACK" })
    }
}

/// A failed ROLLBACK is no reason to stop unless the connection is gone.
fn is_serious(error: &DbError) -> bool {
    error.class == ErrorClass::ConnectionLost || error.code == "anchorite"
}

/// Hands the result sets to the operations that they answer; how many operations were answered.
fn distribute(plan: &Plan, results: Vec<Rows>, reader: &mut Reader<'_>) -> usize {
    let mut results = results.into_iter().filter(|set| !set.columns.is_empty());
    for (place, op) in plan.ops.iter().enumerate() {
        let rows = match sets_of(*op) {
            0 => Rows::default(),
            _ => match results.next() {
                Some(rows) => rows,
                None => return place,
            },
        };
        reader.answer(place, rows);
    }
    plan.ops.len()
}
