//! Random transactions, put into an order.

use anchorite_model::{SessionIndex, Statement, StatementKind, Step};

use crate::generator::Generator;
use crate::schedule;

/// Percentage of the statements about a table with a view that name the view.
const VIEW_PERCENT: u32 = 50;

/// The statements of one session; an explicit transaction includes those that begin and end it.
struct Transaction {
    statements: Vec<String>,
    is_explicit: bool,
    /// Whether it leaves its session as it was, so that others may follow there.
    is_host: bool,
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
            transactions.push(Transaction { statements, is_explicit: true, is_host: true });
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
            return Transaction { statements: vec![statement], is_explicit, is_host: false };
        }
        let count = self.random.weighted(&[
            (weights.one_statement, 1),
            (weights.two_statements, 2),
            (weights.three_statements, 3),
            (weights.four_statements, 4),
            (weights.five_statements, 5),
        ]);
        let may_only_read = self.transaction > 0 && self.grammar.has("read-only");
        if may_only_read && self.random.percent(weights.read_only_percent) {
            return self.read_only(count);
        }
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
            self.add_savepoints(&mut statements);
        }
        let has_switch = self.grammar.has("autocommit-off");
        let is_host = !(has_switch && self.random.percent(weights.autocommit_off_percent));
        let begin = if is_host { self.begin() } else { "SET autocommit = 0".to_owned() };
        statements.insert(0, begin);
        statements.push(self.end());
        Transaction { statements, is_explicit, is_host }
    }

    /// A transaction that says that it only reads.
    fn read_only(&mut self, count: usize) -> Transaction {
        let weights = &self.grammar.weights.transactions;
        let is_deferrable =
            self.grammar.has("deferrable") && self.random.percent(weights.deferrable_percent);
        let more = if is_deferrable { ", DEFERRABLE" } else { "" };
        let mut statements = vec![format!("START TRANSACTION READ ONLY{more}")];
        for _ in 0..count {
            let table = self.any_table();
            statements.push(self.plain_select(table));
        }
        statements.push(self.end());
        Transaction { statements, is_explicit: true, is_host: true }
    }

    /// A statement that reads or writes.
    pub(crate) fn statement(&mut self, table: usize, may_be_ddl: bool) -> String {
        let weights = &self.grammar.weights.statement;
        let form = self.random.weighted(&[
            (weights.update, "update"),
            (weights.delete, "delete"),
            (weights.insert, "insert"),
            (self.grammar.if_has("replace", weights.replace), "replace"),
            (self.grammar.if_has("merge", weights.merge), "merge"),
            (weights.select, "select"),
            (if may_be_ddl { weights.ddl } else { 0 }, "ddl"),
        ]);
        let sql = match form {
            "delete" => self.delete(table),
            "insert" => self.insert(table),
            "replace" => self.replace(table),
            "merge" => self.merge(table).unwrap_or_else(|| self.insert(table)),
            "select" => self.select(table),
            "ddl" => self.ddl(table),
            _ => self.update(table),
        };
        if matches!(form, "update" | "delete" | "insert" | "select") {
            self.through_view(table, sql)
        } else {
            sql
        }
    }

    /// The statement with a view in place of the table, now and then.
    fn through_view(&mut self, table: usize, sql: String) -> String {
        let Some(view) = self.schema.views.iter().find(|view| view.table == table) else {
            return sql;
        };
        let is_query = matches!(StatementKind::of(&sql), StatementKind::Select { .. });
        // Hints name indexes, and what becomes of a row that is in the way depends on the keys of the table.
        let is_of_table = [" INDEX", "ON CONFLICT", "ON DUPLICATE", "IGNORE", " JOIN ", " AS a "]
            .into_iter()
            .any(|words| sql.contains(words));
        let is_possible = (is_query || self.grammar.has("view-write")) && !is_of_table;
        if !is_possible || !self.random.percent(VIEW_PERCENT) {
            return sql;
        }
        let name = &self.table(table).name;
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let mut viewed = String::with_capacity(sql.len());
        let mut rest = sql.as_str();
        while let Some(at) = rest.find(name.as_str()) {
            let (before, after) = (&rest[..at], &rest[at + name.len()..]);
            let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
            viewed.push_str(before);
            viewed.push_str(if is_word { &view.name } else { name });
            rest = after;
        }
        viewed + rest
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
            .filter(|transaction| transactions[*transaction].is_host)
            .collect();
        for transaction in
            (0..transactions.len()).filter(|transaction| !transactions[*transaction].is_explicit)
        {
            if !self.random.percent(share) {
                continue;
            }
            let Some(host) = self.random.try_pick(&hosts).copied() else { continue };
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
}
