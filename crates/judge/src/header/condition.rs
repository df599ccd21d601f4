//! The language of `-- shows:` lines, as values.
//!
//! Idea: a case file should say, next to the statements, what its phenomenon looks like, in words that a reader
//! understands without this program. One line is a [`Condition`]: alternatives of conjunctions of [`Fact`]s. Several
//! lines must all hold.
//!
//! ```text
//! -- shows: step 3 returns (1, 10) and step 7 returns (2, 18)
//! -- shows: final t is (1, 12), (2, 21) or final t is (1, 11), (2, 22)
//! -- shows: committed t1, t2
//! ```
//!
//! Assumption: steps are numbered as the run's output numbers them, from 1, set-up not counted.
//! Blind spot: order of rows, column names and types other than integers, texts, booleans and NULL.

use std::fmt;

use anchorite_model::sql::StatementKind;
use anchorite_model::{Case, ErrorClass, Value};

/// A row as it is written in a condition.
pub type Row = Vec<Value>;

/// One line: it holds when one of the alternatives does, and an alternative when all its facts do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The alternatives, at least one, each with at least one fact.
    pub alternatives: Vec<Vec<Fact>>,
}

/// Something that may be true of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// What happened to one statement: its number in the schedule, 1-based, and the fact.
    Step(usize, StepFact),
    /// Some statement failed with this class.
    AnyFails(Option<ErrorClass>),
    /// The table's final rows.
    Final(String, RowFact),
    /// Every transaction of these sessions committed.
    Committed(Vec<String>),
    /// No transaction of these sessions committed.
    RolledBack(Vec<String>),
}

/// What happened to one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepFact {
    /// It answered with rows of which this is true.
    Rows(RowFact),
    /// It answered, and some value has these texts in this order.
    Mentions(String),
    /// It answered and affected this many rows, as the server counts them.
    Affects(u64),
    /// It answered, at once or after waiting.
    Succeeds,
    /// It failed, with this class if one is given.
    Fails(Option<ErrorClass>),
    /// It waited; all blockers that the server named are among these sessions (none given: any).
    Blocked(Vec<String>),
    /// It was sent and did not wait.
    NotBlocked,
    /// It was never sent.
    Skipped,
}

/// What is said about a multiset of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowFact {
    /// These rows and no others.
    Exactly(Vec<Row>),
    /// At least these rows.
    Contains(Vec<Row>),
    /// None of these rows.
    Lacks(Vec<Row>),
}

impl Condition {
    /// Every fact that the line mentions.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.alternatives.iter().flatten()
    }

    /// What the line requires but the case does not have: such a step, session or table, or a step of that kind; a
    /// misnumbered condition would otherwise be silently false for ever.
    pub fn misfit(&self, case: &Case) -> Option<String> {
        self.facts().find_map(|fact| fact.misfit(case))
    }
}

impl Fact {
    fn misfit(&self, case: &Case) -> Option<String> {
        match self {
            Self::Step(n, fact) => {
                let Some(step) = n.checked_sub(1).and_then(|index| case.steps.get(index)) else {
                    return Some(format!(
                        "there is no step {n}: the case has {}",
                        case.steps.len()
                    ));
                };
                let sql = &step.statement.sql;
                if !fact.fits(sql) {
                    return Some(format!("step {n} is '{sql}', which does not fit '{fact}'"));
                }
                match fact {
                    StepFact::Blocked(sessions) => unknown_session(sessions, case),
                    _ => None,
                }
            }
            Self::AnyFails(_) => None,
            Self::Final(table, _) => {
                let known = case.setup.iter().any(|statement| mentions(&statement.sql, table));
                (!known).then(|| format!("the set-up does not mention a table '{table}'"))
            }
            Self::Committed(sessions) | Self::RolledBack(sessions) => {
                unknown_session(sessions, case)
            }
        }
    }
}

impl StepFact {
    /// Whether the fact can be true of this kind of statement.
    fn fits(&self, sql: &str) -> bool {
        let kind = StatementKind::of(sql);
        let is_other = kind == StatementKind::Other;
        match self {
            Self::Rows(_) | Self::Mentions(_) => {
                is_other || matches!(kind, StatementKind::Select { .. })
            }
            Self::Affects(_) => is_other || kind.writes(),
            _ => true,
        }
    }
}

fn mentions(sql: &str, word: &str) -> bool {
    sql.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|part| part.eq_ignore_ascii_case(word))
}

fn unknown_session(sessions: &[String], case: &Case) -> Option<String> {
    let unknown = sessions.iter().find(|name| !case.sessions.contains(name))?;
    Some(format!("there is no session '{unknown}'"))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, facts) in self.alternatives.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { " or " })?;
            for (j, fact) in facts.iter().enumerate() {
                f.write_str(if j == 0 { "" } else { " and " })?;
                fact.fmt(f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(n, fact) => write!(f, "step {n} {fact}"),
            Self::AnyFails(class) => write!(f, "any step fails{}", Class(*class)),
            Self::Final(table, RowFact::Exactly(rows)) if rows.is_empty() => {
                write!(f, "final {table} is empty")
            }
            Self::Final(table, rows) => {
                write!(f, "final {table} {}{}", rows.verb("is"), rows.list())
            }
            Self::Committed(sessions) => write!(f, "committed {}", sessions.join(", ")),
            Self::RolledBack(sessions) => write!(f, "rolled back {}", sessions.join(", ")),
        }
    }
}

impl fmt::Display for StepFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(RowFact::Exactly(rows)) if rows.is_empty() => f.write_str("returns nothing"),
            Self::Rows(rows) => write!(f, "{}{}", rows.verb("returns"), rows.list()),
            Self::Mentions(text) => write!(f, "mentions {}", quoted(text)),
            Self::Affects(count) => write!(f, "affects {count}"),
            Self::Succeeds => f.write_str("succeeds"),
            Self::Fails(class) => write!(f, "fails{}", Class(*class)),
            Self::Blocked(by) if by.is_empty() => f.write_str("blocked"),
            Self::Blocked(by) => write!(f, "blocked by {}", by.join(", ")),
            Self::NotBlocked => f.write_str("not blocked"),
            Self::Skipped => f.write_str("skipped"),
        }
    }
}

impl RowFact {
    const fn verb(&self, exactly: &'static str) -> &'static str {
        match self {
            Self::Exactly(_) => exactly,
            Self::Contains(_) => "contains",
            Self::Lacks(_) => "lacks",
        }
    }

    /// The rows in the language's own spelling, each preceded by a space.
    fn list(&self) -> String {
        let (Self::Exactly(rows) | Self::Contains(rows) | Self::Lacks(rows)) = self;
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row.iter().map(literal).collect();
                format!(" ({})", cells.join(", "))
            })
            .collect();
        rows.join(",")
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

struct Class(Option<ErrorClass>);

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |class| write!(f, " {}", class.name()))
    }
}
