//! Follows the statements of a run through the versions of the rows, along every course that the mechanism permits.

use anchorite_claims::{Deviation, DocumentedWrites, WriteView, WriteWord};
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Rows, Run, RunError, Value};

use super::unfollowed::Unfollowed;
use super::{inner, snapshots};
use crate::evidence::actions::{Action, actions};
use crate::evidence::evaluator::Evaluator;
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::{State, Version, Writer};
use crate::evidence::words::{abridged, spelled};
use crate::laboratory::Laboratory;
use anchorite_sql::{joined_shape, may_choose};

/// The most courses that are followed.
const MOST_COURSES: usize = 64;

/// A row that a write left unchanged although its latest version matches.
#[derive(Debug, Clone)]
pub struct LeftAlone {
    /// The statement's number.
    pub n: usize,
    /// Its kind.
    pub word: WriteWord,
    /// How it came to that.
    pub kind: Deviation,
    /// The row, spelled out.
    pub row: String,
    /// Whether that may be so whatever the path of the scan.
    pub is_certain: bool,
}

/// One way in which everything may have happened.
#[derive(Debug, Clone)]
pub struct Course {
    /// The rows that were left unchanged along the way.
    pub deviations: Vec<LeftAlone>,
    /// Why it does not end as the run did; `None` = it does.
    pub failure: Option<String>,
    /// Why it is not followed further.
    pub unfollowed: Option<Unfollowed>,
}

/// What to follow.
pub struct Simulation<'a, 'r> {
    run: &'r Run,
    pub(super) followed: &'a [&'a Transaction<'r>],
    pub(super) documented: &'a DocumentedWrites<'a>,
    /// Whether queries inside writes may read what is not committed.
    pub(super) is_dirty: bool,
    pub(super) dialect: Dialect,
    actions: Vec<Action>,
    /// For each transaction the moment of its snapshot, where it has one for all its statements.
    snapshots: Vec<usize>,
}

/// What could not be run, what is not followed, or the value.
pub type Outer<T> = Result<Result<T, Unfollowed>, RunError>;

impl<'a, 'r> Simulation<'a, 'r> {
    /// Prepares to follow these transactions. Where versions count that nobody committed (`is_dirty`), they are all,
    /// and what was taken back is followed until then.
    pub fn new(
        run: &'r Run,
        followed: &'a [&'a Transaction<'r>],
        documented: &'a DocumentedWrites<'a>,
        is_dirty: bool,
    ) -> Self {
        let actions = actions(followed, |statement| {
            statement.kind.writes() && statement.reply.is_ok() && (is_dirty || !statement.undone)
        });
        let dialect = run.target.product.dialect();
        Self { run, followed, documented, is_dirty, dialect, actions, snapshots: Vec::new() }
    }

    /// Every course, as far as it goes.
    pub fn courses(
        &mut self,
        initial: &[(String, Rows)],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Vec<Course>> {
        let mut courses = Vec::new();
        let Some(choices) = snapshots::choices(self.followed, self.documented.claims.sees) else {
            return Ok(Err(Unfollowed::Snapshots));
        };
        for snapshots in choices {
            self.snapshots = snapshots;
            let state = State::initial(initial);
            inner!(self.follow(state, 0, Vec::new(), &mut courses, evaluator, laboratory));
        }
        Ok(Ok(courses))
    }

    fn follow(
        &self,
        mut state: State,
        at: usize,
        deviations: Vec<LeftAlone>,
        courses: &mut Vec<Course>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<()> {
        let Some(action) = self.actions.get(at) else {
            let failure = self.arrives(&state);
            courses.push(Course { deviations, failure, unfollowed: None });
            return Ok(Ok(()));
        };
        let (writer, statement) = match *action {
            Action::Commit { writer } => {
                state.commit(writer, self.followed[writer].ended);
                return self.follow(state, at + 1, deviations, courses, evaluator, laboratory);
            }
            Action::TakeBack { writer, since, moment } => {
                state.take_back(writer, since, moment);
                return self.follow(state, at + 1, deviations, courses, evaluator, laboratory);
            }
            Action::Perform { writer, statement } => {
                (writer, &self.followed[writer].statements[statement])
            }
        };
        let branches = inner!(self.branches(&state, writer, statement, evaluator, laboratory));
        if branches.next.is_empty() {
            let failure = Some(branches.failure(statement));
            courses.push(Course { deviations, failure, unfollowed: branches.other });
            return Ok(Ok(()));
        }
        if branches.other.is_some() {
            let (deviations, failure) = (deviations.clone(), Some(String::new()));
            courses.push(Course { deviations, failure, unfollowed: branches.other });
        }
        for (next, more) in branches.next {
            if courses.len() >= MOST_COURSES {
                return Ok(Err(Unfollowed::Courses));
            }
            let deviations = deviations.iter().cloned().chain(more).collect();
            inner!(self.follow(next, at + 1, deviations, courses, evaluator, laboratory));
        }
        Ok(Ok(()))
    }

    /// The states that a write may lead to.
    pub fn branches(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Branches> {
        let is_change = matches!(statement.kind, StatementKind::Update | StatementKind::Delete);
        let joined = || {
            let sees_one = self.documented.claims.sees == WriteView::StatementSnapshot;
            let is_joined = is_change && sees_one && !may_choose(statement.sql, self.dialect);
            let shape = joined_shape(statement.sql, self.dialect).filter(|_| is_joined);
            shape.filter(|shape| state.tables.contains(&shape.table))
        };
        match evaluator.shape(statement.sql).or_else(joined) {
            Some(shape) if is_change => {
                self.change(state, writer, statement, &shape, evaluator, laboratory)
            }
            Some(shape) => self.insert(state, writer, statement, &shape, evaluator, laboratory),
            None => {
                let is_exact = !may_choose(statement.sql, self.dialect);
                self.whole(state, writer, statement, is_exact, evaluator, laboratory)
            }
        }
    }

    /// The same transactions with these snapshots.
    pub fn with_snapshots(self, snapshots: Vec<usize>) -> Self {
        Self { snapshots, ..self }
    }

    fn arrives(&self, state: &State) -> Option<String> {
        self.run.final_state.iter().enumerate().find_map(|(table, (name, rows))| {
            let mut seen: Vec<_> = rows.rows.iter().collect();
            seen.sort();
            let expected = state.committed_rows(table);
            (seen != expected).then(|| {
                let expected: Vec<_> = expected.into_iter().cloned().collect();
                format!(
                    "table {name} ends with {}; following each row, it should end with {}",
                    spelled(&rows.rows),
                    spelled(&expected)
                )
            })
        })
    }

    /// What a write of this transaction sees, and the moment from which on it sees it.
    pub(super) fn view_of(&self, writer: Writer, statement: &Performed<'_>) -> (WriteView, usize) {
        let transaction = self.followed[writer];
        let optimistic = transaction.begin.is_some_and(is_optimistic);
        match self.documented.claims.sees {
            _ if optimistic => (WriteView::TransactionSnapshot, transaction.began),
            WriteView::TransactionSnapshot | WriteView::LateSnapshot => {
                (WriteView::TransactionSnapshot, self.snapshots[writer])
            }
            WriteView::Latest | WriteView::Retried | WriteView::StatementSnapshot => {
                (self.documented.claims.sees, statement.start)
            }
        }
    }
}

/// Where a statement may lead.
#[derive(Default)]
pub struct Branches {
    /// The states, with the rows that were left unchanged on the way there.
    pub next: Vec<(State, Vec<LeftAlone>)>,
    /// The rows that it must change in any case, spelled out.
    pub(super) certain: Vec<String>,
    /// Why it may also lead to other states, which are not followed.
    pub other: Option<Unfollowed>,
}

impl Branches {
    /// Why there is no next state.
    pub fn failure(&self, statement: &Performed<'_>) -> String {
        let affected = statement.reply.ok().and_then(|answer| answer.affected).unwrap_or(0);
        let did = format!("step {} ({}) affected {affected}", statement.n, abridged(statement.sql));
        if self.certain.is_empty() {
            return format!("{did}, which no version of the rows that it could see gives");
        }
        let rows = self.certain.join(", ");
        format!(
            "{did}, but must change {rows}: it matches in every version from its beginning to its end"
        )
    }
}

/// A version that a statement makes.
pub(super) fn made(
    values: Option<Vec<Value>>,
    writer: Writer,
    statement: &Performed<'_>,
) -> Version {
    Version { values, writer: Some(writer), made: statement.end, committed: None }
}
