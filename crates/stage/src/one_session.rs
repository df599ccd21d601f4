//! Serial orders, performed in a single session.
//!
//! Idea: a serial order says what the transactions of a run do without any concurrency. If it were performed in the
//! sessions of the run, or in one session per session of the case, a fault that lives in a session (a page cache that
//! misses what others commit, a snapshot that is kept too long) would repeat itself there and look like what the
//! database does by itself. So all transactions of a serial order run in one session, which has run no case that was
//! judged, only rehearsals; the record names the sessions of the case, so it can be compared with the run.
//!
//! Assumption: it does not matter which session runs a transaction when no other one is open, nor which transactions
//! that session has ended before. That holds for statements that leave nothing behind but rows; any others keep their
//! own sessions. Blind spot: a fault that shows in a single session without any concurrency looks like the semantics
//! of the statement.

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Level, Run, SessionIndex, SessionInfo};
use anchorite_sql::side_effects::changes_only_rows;

use crate::RunOptions;
use crate::open_sessions::level_of;

/// The name of the session.
pub(crate) const NAME: &str = "serial";

/// Whether each transaction ends before another session sends anything.
pub(crate) fn is_serial(case: &Case) -> bool {
    let mut open: Option<SessionIndex> = None;
    for step in &case.steps {
        if open.is_some_and(|session| session != step.session) {
            return false;
        }
        match StatementKind::of(&step.statement.sql) {
            StatementKind::Begin => open = Some(step.session),
            StatementKind::Commit { chain: true }
            | StatementKind::Rollback { chain: true }
            | StatementKind::Autocommit(_) => return false,
            kind if kind.ends_transaction() => open = None,
            _ => {}
        }
    }
    open.is_none()
}

/// Whether a statement is a read, a write or transaction control.
pub(crate) fn is_recognised(kind: &StatementKind) -> bool {
    use StatementKind::{Autocommit, Ddl, Other, SetCommand};
    !matches!(kind, Ddl | Autocommit(_) | SetCommand | Other)
}

/// The level of all sessions of all cases; `None` if there are several.
pub(crate) fn common_level<'c>(
    cases: impl Iterator<Item = &'c Case>,
    options: &RunOptions,
) -> Option<Option<Level>> {
    let mut levels = cases
        .flat_map(|case| (0..case.sessions.len()).map(move |index| level_of(case, index, options)));
    let level = levels.next().flatten();
    levels.all(|other| other == level).then_some(level)
}

/// The case with all its statements in one session; `None` if that would be another case.
pub(crate) fn in_one_session(case: &Case, dialect: Dialect, options: &RunOptions) -> Option<Case> {
    let leaves_only_rows =
        |sql: &str| changes_only_rows(sql, dialect) && is_recognised(&StatementKind::of(sql));
    let level = common_level(std::iter::once(case), options)?;
    if !is_serial(case) || !case.steps.iter().all(|step| leaves_only_rows(&step.statement.sql)) {
        return None;
    }
    let mut merged = case.clone();
    merged.sessions = vec![NAME.to_owned()];
    merged.header.level = level;
    merged.header.session_levels.clear();
    merged.steps.iter_mut().for_each(|step| step.session = 0);
    Some(merged)
}

/// The run of a case in one session, told as a run of the case itself.
pub(crate) fn told_as(case: &Case, options: &RunOptions, mut run: Run) -> Run {
    let read_back = run.sessions.first().map(|session| session.level_read_back.clone());
    let session = |(index, name): (SessionIndex, &String)| SessionInfo {
        name: name.clone(),
        level: level_of(case, index, options),
        level_read_back: read_back.clone().unwrap_or_default(),
    };
    run.sessions = case.sessions.iter().enumerate().map(session).collect();
    for event in &mut run.events {
        event.session = case.steps[event.n - 1].session;
    }
    run.level = options.level.or(case.header.level);
    run.case = case.clone();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(steps: &str) -> Case {
        Case::parse("c", steps).expect("a case")
    }

    #[test]
    fn only_serial_orders_that_leave_rows_are_merged() {
        let table = [
            ("/* a */ BEGIN; /* a */ SELECT 1; /* a */ COMMIT; /* b */ DELETE FROM t;", true),
            ("/* a */ BEGIN; /* b */ SELECT 1; /* a */ COMMIT;", false),
            ("/* a */ BEGIN; /* a */ COMMIT AND CHAIN; /* a */ COMMIT;", false),
            ("/* a */ BEGIN; /* a */ SELECT 1;", false),
            ("/* a */ SET x = 1; /* b */ SELECT 1;", false),
            ("-- level b: read committed\n/* a */ SELECT 1; /* b */ SELECT 1;", false),
        ];
        for (steps, is_merged) in table {
            let merged = in_one_session(&case(steps), Dialect::Mysql, &RunOptions::default());
            assert_eq!(merged.is_some(), is_merged, "{steps}");
        }
    }
}
