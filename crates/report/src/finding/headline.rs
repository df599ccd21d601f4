//! A finding in a few words: what the statement at fault did, in everyday language.
//!
//! Idea: `DELETE waits, then deletes nothing` says more than the name of a property that four findings share. The words
//! come from the statement that is blamed: its kind, whether it waited, and its answer next to the correct one. If no
//! statement is blamed, they come from the tables; if these do not help, the title is the name of the property. Source:
//! titles of accepted bug reports of MariaDB, MySQL and PostgreSQL.

use anchorite_claims::Anomaly;
use anchorite_judge::oracles::constraint::CONSTRAINT;
use anchorite_judge::oracles::damage::DAMAGE;
use anchorite_judge::oracles::lock::LOCK;
use anchorite_model::{
    Answer, Event, Expected, Finding, Judgement, Outcome, Run, Signature, StatementKind,
};

use super::compare::{RowPair, compare};
use super::words::anomaly;
use crate::blame::{Blame, blame};
use crate::result::counted;

/// What happens, in a few words.
pub fn headline(run: &Run, signature: &Signature, judgements: &[Judgement]) -> String {
    if signature.mechanism().is_some() || judgements.is_empty() {
        return anomaly(signature);
    }
    let deciding = judgements
        .iter()
        .find(|judgement| judgement.signature(true).is_some_and(|found| found == *signature));
    let Some(judgement) = deciding else { return anomaly(signature) };
    let because = super::words::because(&judgement.verdict);
    let told = match signature.anomaly.as_str() {
        CONSTRAINT => Some(told_of_constraint(because)),
        _ => blame(run, because, &judgement.expected)
            .and_then(|blame| told_of_statement(run, signature, &blame)),
    };
    // A classic anomaly has a descriptive name.
    let is_classic = signature.anomaly.parse::<Anomaly>().is_ok();
    let tables = || (!is_classic).then(|| told_of_tables(run, &judgement.expected))?;
    told.or_else(tables).unwrap_or_else(|| anomaly(signature))
}

/// The title of a finding or, in files of earlier releases, the one that it would get today.
pub(crate) fn title_of(finding: &Finding) -> String {
    match finding.title.is_empty() {
        true => headline(&finding.run, &finding.signature, &finding.judgements),
        false => finding.title.clone(),
    }
}

fn told_of_constraint(because: &[String]) -> String {
    let foreign = because.first().is_some_and(|first| first.to_lowercase().contains("foreign key"));
    match foreign {
        true => "a row refers to one that is gone".to_owned(),
        false => "the tables end with rows that a constraint forbids".to_owned(),
    }
}

fn told_of_statement(run: &Run, signature: &Signature, blame: &Blame) -> Option<String> {
    let events: Vec<&Event> = run.events.iter().filter(|event| event.n == blame.n).collect();
    let last = events.last()?;
    let name = kind_name(&last.sql)?;
    let waits = events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }));
    let then = if waits { "waits, then " } else { "" };
    let did = match (&last.outcome, signature.anomaly.as_str()) {
        (_, LOCK) => "does not wait for a row that is locked".to_owned(),
        (_, DAMAGE) => "finds damaged data".to_owned(),
        (Outcome::Error(error), _) => {
            format!("{then}fails ({}), and should not", error.class.name())
        }
        (Outcome::Ok(answer) | Outcome::Resumed(answer), _) => {
            format!("{then}{}", answered(&last.sql, answer, blame)?)
        }
        (Outcome::Blocked { .. } | Outcome::Skipped { .. }, _) => return None,
    };
    Some(format!("{name} {did}"))
}

/// What an answered statement did.
fn answered(sql: &str, answer: &Answer, blame: &Blame) -> Option<String> {
    if blame.said.starts_with("succeeded") {
        return Some("succeeds, and should fail".to_owned());
    }
    let (does, noun) = match StatementKind::of(sql) {
        StatementKind::Delete => ("deletes", "row"),
        StatementKind::Update => ("updates", "row"),
        StatementKind::Insert => ("inserts", "row"),
        StatementKind::Replace => ("replaces", "row"),
        StatementKind::Merge => ("merges", "row"),
        StatementKind::Select { .. } => return Some(returned(answer, blame)),
        _ => return None,
    };
    let count = answer.affected?;
    let right = blame.instead().and_then(|instead| instead.parse::<u64>().ok());
    let rows = counted(usize::try_from(count).ok()?, noun, "rows");
    Some(match (count, right) {
        (0, _) => format!("{does} nothing"),
        (_, Some(right)) if right != count => format!("{does} {rows} instead of {right}"),
        _ if blame.said.contains("must change") => format!("{does} {rows} and misses another"),
        _ => format!("{does} {rows} of a state that never existed"),
    })
}

fn returned(answer: &Answer, blame: &Blame) -> String {
    let here: usize = answer.results.iter().map(|rows| rows.rows.len()).sum();
    let nothing = |text: &str| text == "no rows";
    match blame.instead() {
        Some(instead) if nothing(instead) && here > 0 => "returns rows that should not be there",
        Some(_) if here == 0 => "does not return a row that is there",
        _ => "returns what no order of the transactions gives",
    }
    .to_owned()
}

/// The verb of a statement, as it is written.
fn kind_name(sql: &str) -> Option<&'static str> {
    Some(match StatementKind::of(sql) {
        StatementKind::Delete => "DELETE",
        StatementKind::Update => "UPDATE",
        StatementKind::Insert => "INSERT",
        StatementKind::Replace => "REPLACE",
        StatementKind::Merge => "MERGE",
        StatementKind::Select { locking: true } => "locking SELECT",
        StatementKind::Select { locking: false } => "SELECT",
        StatementKind::Commit { .. } => "COMMIT",
        _ => return None,
    })
}

/// How the tables differ from the nearest correct outcome.
fn told_of_tables(run: &Run, expected: &[Expected]) -> Option<String> {
    let differences = |outcome: &Expected| {
        let tables = compare(&outcome.final_state, &run.final_state);
        let pairs = tables.into_iter().map(|table| {
            let off: Vec<RowPair<'_>> = table.rows.into_iter().filter(RowPair::differs).collect();
            (table.name.to_owned(), off.len(), kind_of(&off))
        });
        pairs.filter(|(_, count, _)| *count > 0).collect::<Vec<_>>()
    };
    let told = expected.iter().map(differences).filter(|tables| !tables.is_empty());
    let nearest =
        told.min_by_key(|tables| tables.iter().map(|(_, count, _)| count).sum::<usize>())?;
    let (name, count, kind) = nearest.into_iter().next()?;
    Some(match kind {
        Kind::Missing => format!("{name} lacks {}", counted(count, "row", "rows")),
        Kind::TooMuch => format!("{name} has {} too many", counted(count, "row", "rows")),
        Kind::Changed => format!("{name} ends with values that no order of the transactions gives"),
    })
}

enum Kind {
    Missing,
    TooMuch,
    Changed,
}

fn kind_of(pairs: &[RowPair<'_>]) -> Kind {
    if pairs.iter().all(|pair| pair.actual.is_none()) {
        Kind::Missing
    } else if pairs.iter().all(|pair| pair.expected.is_none()) {
        Kind::TooMuch
    } else {
        Kind::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::{
        BlockingKnowledge, Case, DbError, Ending, ErrorClass, Product, Rank, Rows, Statement, Step,
        TargetInfo, Value, Verdict,
    };

    const SERIAL: &str = "write-serializability (tx-WSS)";

    /// A run of one statement.
    fn run(sql: &str, waits: bool, outcome: Outcome) -> Run {
        let event = |outcome| Event {
            n: 1,
            session: 0,
            sql: sql.to_owned(),
            outcome,
            at_us: 0,
            sent: None,
            answered: None,
        };
        let blocked = Outcome::Blocked { by: Vec::new(), wait: String::new() };
        let statement = Statement { sql: sql.to_owned(), line: 0 };
        let target = TargetInfo {
            product: Product::named("mariadb"),
            version: String::new(),
            variant: String::new(),
        };
        Run {
            case: Case { steps: vec![Step { session: 0, statement }], ..Case::default() },
            target,
            level: None,
            sessions: Vec::new(),
            settings: Vec::new(),
            blocking: BlockingKnowledge::Asked(String::new()),
            events: waits.then_some(blocked).into_iter().chain([outcome]).map(event).collect(),
            final_state: Vec::new(),
            checks: Vec::new(),
            notes: Vec::new(),
            ending: Ending::Complete,
        }
    }

    fn affected(count: u64) -> Outcome {
        Outcome::Ok(Answer { affected: Some(count), ..Answer::default() })
    }

    fn told(run: &Run, anomaly: &str, because: &str, expected: Vec<Expected>) -> String {
        let oracle = "final-state".to_owned();
        let signature = Signature {
            oracle: oracle.clone(),
            anomaly: anomaly.to_owned(),
            exception: None,
            rank: Rank::Broken,
        };
        let because = vec![because.to_owned()];
        let verdict = Verdict::broken(anomaly, because);
        headline(run, &signature, &[Judgement { expected, ..Judgement::new(&oracle, verdict) }])
    }

    /// Statement, whether it waits, its outcome, what it violates, what is said about it, and the title.
    type Titled = (&'static str, bool, Outcome, &'static str, &'static str, &'static str);

    fn assert_titles<const N: usize>(all: [Titled; N]) {
        for (sql, waits, outcome, anomaly, said, title) in all {
            let run = run(sql, waits, outcome);
            assert_eq!(told(&run, anomaly, &format!("step 1 ({sql}){said}"), Vec::new()), title);
        }
    }

    #[test]
    fn titles_tell_which_rows_were_changed() {
        let delete = "DELETE FROM t";
        assert_titles([
            (
                delete,
                true,
                affected(0),
                SERIAL,
                " affected 0, but must change (1): it matches",
                "DELETE waits, then deletes nothing",
            ),
            (
                delete,
                false,
                affected(0),
                SERIAL,
                ": affected 0 instead of 1",
                "DELETE deletes nothing",
            ),
            (
                "UPDATE t SET a = 1",
                true,
                affected(1),
                SERIAL,
                ": affected 1 instead of 2",
                "UPDATE waits, then updates 1 row instead of 2",
            ),
            (
                "UPDATE t SET a = 1",
                false,
                affected(1),
                SERIAL,
                " affected 1, but must change (2): it matches",
                "UPDATE updates 1 row and misses another",
            ),
            (
                "UPDATE t SET a = 1",
                false,
                affected(2),
                SERIAL,
                " affected 2, which no version of the rows that it could see gives",
                "UPDATE updates 2 rows of a state that never existed",
            ),
            (
                delete,
                false,
                affected(1),
                LOCK,
                " of t2 changes that row, and did not wait until t1 had ended",
                "DELETE does not wait for a row that is locked",
            ),
        ]);
    }

    #[test]
    fn titles_tell_which_rows_were_inserted() {
        let error = Outcome::Error(DbError { class: ErrorClass::Constraint, ..DbError::default() });
        assert_titles([
            (
                "INSERT INTO t VALUES (1)",
                true,
                error,
                SERIAL,
                ": failed (constraint, 1062) instead of succeeding",
                "INSERT waits, then fails (constraint), and should not",
            ),
            (
                "INSERT INTO t VALUES (1)",
                false,
                affected(1),
                SERIAL,
                ": succeeded, but failed (constraint, 1062) there",
                "INSERT succeeds, and should fail",
            ),
        ]);
    }

    #[test]
    fn titles_tell_which_rows_were_read() {
        let rows = Rows { columns: vec!["a".to_owned()], rows: vec![vec![Value::Int(1)]] };
        let row = Outcome::Ok(Answer { results: vec![rows], ..Answer::default() });
        let none = Outcome::Ok(Answer { results: vec![Rows::default()], ..Answer::default() });
        assert_titles([
            (
                "SELECT a FROM t",
                false,
                none,
                SERIAL,
                ": returned no rows instead of (1)",
                "SELECT does not return a row that is there",
            ),
            (
                "SELECT a FROM t FOR UPDATE",
                true,
                row.clone(),
                SERIAL,
                ": returned (1) instead of no rows",
                "locking SELECT waits, then returns rows that should not be there",
            ),
            (
                "SELECT a FROM t",
                false,
                row,
                SERIAL,
                ": returned (1) instead of (2)",
                "SELECT returns what no order of the transactions gives",
            ),
        ]);
    }

    #[test]
    fn where_nobody_is_blamed_the_tables_or_the_name_are_the_title() {
        let table = |cells: &[i128]| {
            let rows = cells.iter().map(|cell| vec![Value::Int(*cell)]).collect();
            vec![("t".to_owned(), Rows { columns: vec!["a".to_owned()], rows })]
        };
        let mut run = run("COMMIT", false, Outcome::Ok(Answer::default()));
        run.final_state = table(&[1]);
        for (right, title) in [
            (table(&[1, 2]), "t lacks 1 row"),
            (table(&[]), "t has 1 row too many"),
            (table(&[3]), "t ends with values that no order of the transactions gives"),
        ] {
            let differences = Vec::new();
            let right = Expected { title: String::new(), final_state: right, differences };
            assert_eq!(told(&run, SERIAL, "", vec![right]), title);
        }
        assert_eq!(told(&run, SERIAL, "", Vec::new()), SERIAL);
        assert_eq!(told(&run, "G2-item", "", Vec::new()), "write skew (G2-item)");
        let orphan = "the tables cannot hold what they end with: INSERT fails (1452: a foreign key constraint fails)";
        assert_eq!(told(&run, CONSTRAINT, orphan, Vec::new()), "a row refers to one that is gone");
    }
}
