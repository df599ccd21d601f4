//! Random transactions, put into an order.

use anchorite_model::{SessionIndex, Statement, StatementKind, Step};

use crate::generator::Generator;
use crate::schedule;

/// The statements of one session; an explicit transaction includes those that begin and end it.
struct Transaction {
    statements: Vec<String>,
    is_explicit: bool,
}

/// Names of the sessions, and the schedule.
pub(crate) fn make(mut generator: Generator<'_>) -> (Vec<String>, Vec<Step>) {
    let weights = &generator.grammar.weights.transactions;
    let count = generator.random.weighted(&[
        (weights.one, 1),
        (weights.two, 2),
        (weights.three, 3),
        (weights.four, 4),
        (weights.five, 5),
    ]);
    let is_shaped =
        count > 1 && generator.random.percent(generator.grammar.weights.case.shape_percent);
    let shape = if is_shaped { generator.shape() } else { None };
    let (mut transactions, mut order) = (Vec::new(), Vec::new());
    if let Some(shape) = shape {
        for statements in shape.transactions {
            transactions.push(Transaction { statements, is_explicit: true });
        }
        order = shape.order;
    }
    let first_free = transactions.len();
    while transactions.len() < count {
        generator.transaction = transactions.len();
        let is_explicit =
            transactions.is_empty() || !generator.random.percent(weights.autocommit_percent);
        transactions.push(generator.make_transaction(is_explicit));
    }
    let free = &transactions[first_free..];
    if !free.is_empty() {
        let lengths: Vec<usize> =
            free.iter().map(|transaction| transaction.statements.len()).collect();
        let explicit: Vec<bool> = free.iter().map(|transaction| transaction.is_explicit).collect();
        let more = schedule::any_order(
            generator.grammar.weights,
            &mut generator.random,
            &lengths,
            &explicit,
        );
        let more = more.into_iter().map(|session| session + first_free).collect();
        order = schedule::merge(&mut generator.random, order, more);
    }
    let owners = generator.share_sessions(&transactions, &mut order);
    in_order(&transactions, &owners, order)
}

/// Sessions are named in the order of their first statements, as in a `.case` file.
fn in_order(
    transactions: &[Transaction],
    owners: &[usize],
    order: Vec<usize>,
) -> (Vec<String>, Vec<Step>) {
    let mut names: Vec<usize> = Vec::new();
    let mut sent = vec![0; transactions.len()];
    let steps = order.into_iter().map(|transaction| {
        let owner = owners[transaction];
        let known = names.iter().position(|name| *name == owner);
        let session: SessionIndex = known.unwrap_or_else(|| {
            names.push(owner);
            names.len() - 1
        });
        let sql = transactions[transaction].statements[sent[transaction]].clone();
        sent[transaction] += 1;
        Step { session, statement: Statement { sql, line: 0 } }
    });
    let steps: Vec<Step> = steps.collect();
    ((1..=names.len()).map(|number| format!("t{number}")).collect(), steps)
}

impl Generator<'_> {
    /// A transaction.
    fn make_transaction(&mut self, is_explicit: bool) -> Transaction {
        let weights = &self.grammar.weights.transactions;
        if !is_explicit {
            let table = self.any_table();
            let statement = self.statement(table, true);
            return Transaction { statements: vec![statement], is_explicit };
        }
        let count = self.random.weighted(&[
            (weights.one_statement, 1),
            (weights.two_statements, 2),
            (weights.three_statements, 3),
            (weights.four_statements, 4),
            (weights.five_statements, 5),
        ]);
        let mut statements: Vec<String> = (0..count)
            .map(|_| {
                let table = self.any_table();
                let inside =
                    self.random.percent(self.grammar.weights.ddl.inside_transaction_percent);
                self.statement(table, inside)
            })
            .collect();
        // Some transaction has to write, or nothing can go wrong.
        if self.transaction == 0 && !statements.iter().any(|sql| StatementKind::of(sql).writes()) {
            let hot = self.hot;
            statements[0] = self.update(hot);
        }
        if self.grammar.has("savepoint") && self.random.percent(weights.savepoint_percent) {
            self.add_savepoint(&mut statements);
        }
        let begin = self.begin();
        statements.insert(0, begin);
        statements.push(self.end());
        Transaction { statements, is_explicit }
    }

    /// A statement that reads or writes.
    pub(crate) fn statement(&mut self, table: usize, may_be_ddl: bool) -> String {
        let weights = &self.grammar.weights.statement;
        let form = self.random.weighted(&[
            (weights.update, "update"),
            (weights.delete, "delete"),
            (weights.insert, "insert"),
            (self.grammar.if_has("replace", weights.replace), "replace"),
            (weights.select, "select"),
            (if may_be_ddl { weights.ddl } else { 0 }, "ddl"),
        ]);
        match form {
            "delete" => self.delete(table),
            "insert" => self.insert(table),
            "replace" => self.replace(table),
            "select" => self.select(table),
            "ddl" => self.ddl(table),
            _ => self.update(table),
        }
    }

    /// How a transaction begins.
    pub(crate) fn begin(&mut self) -> String {
        let weights = &self.grammar.weights.transactions;
        let has = |feature: &str| self.grammar.has(feature);
        if has("consistent-snapshot") && self.random.percent(weights.consistent_snapshot_percent) {
            return "START TRANSACTION WITH CONSISTENT SNAPSHOT".to_owned();
        }
        if has("begin-immediate") && self.random.percent(weights.begin_immediate_percent) {
            return "BEGIN IMMEDIATE".to_owned();
        }
        if has("begin-optimistic") && self.random.percent(weights.begin_optimistic_percent) {
            return "BEGIN OPTIMISTIC".to_owned();
        }
        if has("begin-pessimistic") {
            return "BEGIN PESSIMISTIC".to_owned();
        }
        let is_long = has("start-transaction") && self.random.percent(20);
        if is_long { "START TRANSACTION" } else { "BEGIN" }.to_owned()
    }

    /// For each transaction the one whose session runs it: its own, or one that ended before.
    fn share_sessions(
        &mut self,
        transactions: &[Transaction],
        order: &mut Vec<usize>,
    ) -> Vec<usize> {
        let mut owners: Vec<usize> = (0..transactions.len()).collect();
        let share = self.grammar.weights.transactions.same_session_percent;
        let hosts: Vec<usize> = (0..transactions.len())
            .filter(|transaction| transactions[*transaction].is_explicit)
            .collect();
        for transaction in
            (0..transactions.len()).filter(|transaction| !transactions[*transaction].is_explicit)
        {
            if !self.random.percent(share) {
                continue;
            }
            let host = *self.random.pick(&hosts);
            order.retain(|other| *other != transaction);
            let end = order.iter().rposition(|other| *other == host).map_or(0, |last| last + 1);
            let place = self.random.between(end, order.len());
            order.insert(place, transaction);
            owners[transaction] = host;
        }
        owners
    }

    /// How a transaction ends.
    pub(crate) fn end(&mut self) -> String {
        let undo = self.random.percent(self.grammar.weights.transactions.rollback_percent);
        if undo { "ROLLBACK" } else { "COMMIT" }.to_owned()
    }

    /// Sets a savepoint somewhere, and later rolls back to it or releases it.
    fn add_savepoint(&mut self, statements: &mut Vec<String>) {
        let name = format!("s{}", self.next_name());
        let start = self.random.below(statements.len());
        let end = self.random.between(start + 1, statements.len());
        let back = self.random.percent(75);
        let savepoint = if back { "ROLLBACK TO SAVEPOINT" } else { "RELEASE SAVEPOINT" };
        statements.insert(end, format!("{savepoint} {name}"));
        statements.insert(start, format!("SAVEPOINT {name}"));
    }
}
