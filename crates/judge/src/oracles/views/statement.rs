//! What is known about the tables and statements of a run from their texts.

use std::cell::RefCell;
use std::collections::HashMap;

use anchorite_model::sql::{Dialect, StatementKind, Token};
use anchorite_model::{Outcome, Run, Statement};
use anchorite_sql::Definition;
use anchorite_sql::side_effects::{changes_only_rows, made_by};
use anchorite_sql::tokens::{name, significant};

use super::tables::meet_ddl;
use super::unjudged::Unjudged;
use crate::evidence::evaluator::Evaluator;
use crate::evidence::transactions::Performed;

/// Functions whose values do not depend on rows alone.
const UNSTEADY: [&str; 21] = [
    "RAND",
    "RANDOM",
    "UUID",
    "GEN_RANDOM_UUID",
    "NOW",
    "CURTIME",
    "CURDATE",
    "SYSDATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_TIME",
    "CURRENT_DATE",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "CLOCK_TIMESTAMP",
    "CONNECTION_ID",
    "USER",
    "CURRENT_USER",
    "DATABASE",
    "SCHEMA",
    "VERSION",
    "TXID_CURRENT",
];

/// What a statement is about.
#[derive(Debug, Clone)]
pub struct Traits {
    /// The tables that it names, or of which it names a view.
    pub tables: Vec<usize>,
    /// Whether only rows decide what it does.
    pub is_of_rows: bool,
    /// Whether it returns some of its rows.
    pub takes_some: bool,
    /// Whether it leaves out what others have locked.
    pub skips_locked: bool,
    /// Whether there is a query inside.
    pub has_subquery: bool,
}

/// A statement that waited, and for how long.
struct Wait {
    n: usize,
    start: usize,
    end: usize,
    tables: Vec<usize>,
}

/// What is known.
pub struct Known<'r> {
    run: &'r Run,
    dialect: Dialect,
    /// The primary key of each table.
    pub keys: Vec<Vec<usize>>,
    /// All unique keys of each table.
    pub unique_keys: Vec<Vec<Vec<usize>>>,
    /// Whether each table has no index but that of its primary key.
    pub has_one_index: Vec<bool>,
    /// Whether rows of one table may refer to, or depend on, another one.
    is_linked: bool,
    /// Whether there are constraints that may be checked only at the end of a transaction.
    pub defers: bool,
    /// Whether triggers or routines act by themselves.
    pub has_programs: bool,
    /// Whether indexes may come and go beside the transactions.
    pub meets_ddl: bool,
    /// Whether whoever waits has begun its work, and waits for rows.
    pub waits_for_rows: bool,
    /// The views of the set-up, each with the words that define it.
    views: Vec<(String, Vec<String>)>,
    waits: Vec<Wait>,
    traits: RefCell<HashMap<String, Traits>>,
}

impl<'r> Known<'r> {
    /// Reads the texts of a run; or says why it cannot be followed at all.
    pub fn of(run: &'r Run, evaluator: &Evaluator<'r>) -> Result<Self, Unjudged> {
        let dialect = run.target.product.dialect();
        let mut ddl =
            run.case.setup.iter().filter(|one| StatementKind::of(&one.sql) == StatementKind::Ddl);
        let is_lasting =
            |sql: &str| made_by(sql, dialect).is_none() && !Definition::read(sql, dialect).programs;
        if ddl.clone().any(|one| is_lasting(&one.sql)) {
            return Err(Unjudged::SetUp);
        }
        let is_linked = ddl.any(|one| {
            let definition = Definition::read(&one.sql, dialect);
            definition.refers
                || definition.acts
                || (definition.table.is_none() && makes_more(&one.sql, dialect))
        });
        let may_defer = |one: &Statement| {
            significant(&one.sql, dialect).iter().any(|token| token.is_word("DEFERRABLE"))
        };
        let defers = run.case.setup.iter().any(may_defer);
        let keys = (0..run.final_state.len()).map(|table| evaluator.primary_key(table)).collect();
        let meets_ddl = meet_ddl(run);
        let has_one_index = |table: usize| {
            !meets_ddl
                && evaluator.indexes(table).is_empty()
                && evaluator.unique_keys(table) == vec![evaluator.primary_key(table)]
        };
        let mut known = Self {
            run,
            dialect,
            keys,
            unique_keys: evaluator.all_unique_keys(),
            has_one_index: (0..run.final_state.len()).map(has_one_index).collect(),
            is_linked,
            defers,
            has_programs: evaluator.has_programs(),
            meets_ddl,
            waits_for_rows: wait_for_rows(run),
            views: views(run),
            waits: Vec::new(),
            traits: RefCell::default(),
        };
        known.waits = known.waits();
        Ok(known)
    }

    fn waits(&self) -> Vec<Wait> {
        let blocked =
            self.run.events.iter().filter(|event| matches!(event.outcome, Outcome::Blocked { .. }));
        let waits = blocked.filter_map(|event| {
            let kind = StatementKind::of(&event.sql);
            let answer =
                self.run.events.iter().find(|other| other.n == event.n && other.is_answer());
            let tables = if kind.writes() || kind == StatementKind::Ddl {
                self.traits(&event.sql).tables
            } else {
                Vec::new()
            };
            Some(Wait {
                n: event.n,
                start: event.sent?,
                end: answer.and_then(|answer| answer.answered).unwrap_or(usize::MAX),
                tables,
            })
        });
        waits.collect()
    }

    /// The numbers of others' writes of these tables that waited while a statement ran.
    pub fn writes_under_way(&self, statement: &Performed<'_>, tables: &[usize]) -> Vec<usize> {
        if self.run.target.product.descriptor().transactions.waits_before_work {
            return Vec::new();
        }
        let meets =
            |wait: &&Wait| self.is_linked || wait.tables.iter().any(|table| tables.contains(table));
        let overlaps = |wait: &&Wait| wait.start < statement.end && wait.end > statement.start;
        let writes = self.waits.iter().filter(|wait| !wait.tables.is_empty());
        let found = writes.filter(meets).filter(overlaps).map(|wait| wait.n);
        found.filter(|n| *n != statement.n).collect()
    }

    /// What a statement is about.
    pub fn traits(&self, sql: &str) -> Traits {
        if let Some(known) = self.traits.borrow().get(sql) {
            return known.clone();
        }
        let tokens = significant(sql, self.dialect);
        let word = |word: &str| tokens.iter().any(|token| token.is_word(word));
        let mut names: Vec<&str> = tokens.iter().filter_map(name).collect();
        for (view, words) in &self.views {
            if names.iter().any(|name| name.eq_ignore_ascii_case(view)) {
                names.extend(words.iter().map(String::as_str));
            }
        }
        let tables = self.run.final_state.iter().enumerate();
        let is_named = |table: &str| names.iter().any(|name| name.eq_ignore_ascii_case(table));
        let is_unsteady = UNSTEADY.into_iter().any(word);
        let selects = tokens.iter().filter(|token| token.is_word("SELECT")).count();
        let is_select = tokens.first().is_some_and(|first| first.is_word("SELECT"));
        let tables: Vec<usize> =
            tables.filter(|(_, (table, _))| is_named(table)).map(|(at, _)| at).collect();
        let is_some = word("LIMIT") || word("FETCH") || word("OVER");
        let is_ordered = selects <= usize::from(is_select) && self.is_by_key(&tokens, &tables);
        let traits = Traits {
            tables,
            is_of_rows: changes_only_rows(sql, self.dialect) && !is_unsteady,
            takes_some: is_some && !is_ordered,
            skips_locked: word("SKIP"),
            has_subquery: selects > usize::from(is_select),
        };
        self.traits.borrow_mut().insert(sql.to_owned(), traits.clone());
        traits
    }

    /// Whether rows are ordered by the whole primary key of the only table, so that there is one order.
    fn is_by_key(&self, tokens: &[Token<'_>], tables: &[usize]) -> bool {
        let &[table] = tables else { return false };
        let by = tokens.iter().skip_while(|token| !token.is_word("ORDER"));
        let names: Vec<&str> = by.filter_map(name).collect();
        let columns = &self.run.final_state[table].1.columns;
        let is_named =
            |at: &usize| names.iter().any(|name| name.eq_ignore_ascii_case(&columns[*at]));
        !self.keys[table].is_empty() && self.keys[table].iter().all(is_named)
    }

    /// The tables that are filled when a statement is tried.
    pub fn filled_for(&self, traits: &Traits) -> Vec<usize> {
        if self.is_linked {
            (0..self.run.final_state.len()).collect()
        } else {
            traits.tables.clone()
        }
    }

    /// The tables that a write may change.
    pub fn reach(&self, sql: &str) -> Vec<usize> {
        self.filled_for(&self.traits(sql))
    }
}

/// Whether nothing in a run can be waited for but rows: nothing locks a table, or the database, as a whole.
fn wait_for_rows(run: &Run) -> bool {
    let locks_more =
        |sql: &str| matches!(StatementKind::of(sql), StatementKind::Ddl | StatementKind::Other);
    !run.target.product.descriptor().transactions.waits_before_work
        && !run.case.steps.iter().any(|step| locks_more(&step.statement.sql))
}

/// The views of the set-up.
fn views(run: &Run) -> Vec<(String, Vec<String>)> {
    let dialect = run.target.product.dialect();
    let words = |sql: &str| -> Vec<String> {
        significant(sql, dialect).iter().filter_map(name).map(str::to_owned).collect()
    };
    let setup = run.case.setup.iter().map(|statement| &statement.sql);
    setup.filter_map(|sql| Some((Definition::read(sql, dialect).view?, words(sql)))).collect()
}

/// Whether a DDL statement makes something that acts by itself, or stands for something else.
fn makes_more(sql: &str, dialect: Dialect) -> bool {
    let tokens = significant(sql, dialect);
    ["VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "RULE"]
        .into_iter()
        .any(|word| tokens.iter().any(|token| token.is_word(word)))
}
