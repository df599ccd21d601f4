//! What a reduced case looks like once everything accidental is taken out, and its hash.
//!
//! Idea: two findings of one cause should get one name, two causes two. Signal is who is involved: the kinds of
//! statements in each session, in the session's own order; whether a key moves; by which kind of index
//! a statement finds its rows; who waits for whom; errors; the family of engines; oracle, anomaly, exception
//! and level. Noise is everything else: names, literals, which plain column, how many rows, comparison
//! operators, how statements of different sessions are interleaved beyond the waits, repetitions of a
//! statement, whether a single statement has a BEGIN around it, and reads without locks where reads are not judged.
//!
//! The path by which a statement finds its rows is signal for the one that waits. The one that it waits for holds
//! its locks either way, so there it is noise.
//!
//! Blind spots: relations between literals (a value that is written twice) are not seen. A statement that could not
//! be parsed counts by its first words only.

use std::collections::BTreeSet;
use std::fmt;

use anchorite_model::sql::Dialect;
use anchorite_model::{
    Blocker, Case, Event, Level, Outcome, Product, Run, Signature, StatementKind,
};
use sqlparser::ast::{
    BinaryOperator, Expr, Insert, OnConflictAction, OnInsert, SetExpr, Statement,
};

use crate::draft::{Draft, Line};
use crate::schema::{self, Table, column_name, last_name};
use crate::syntax::{columns_in, conjuncts, has_subquery_as_value, insert_table, relations};

/// The normalised shape of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// For people: `innodb; t1: UPDATE moves primary key; t2: DELETE by scan, waits for t1`.
    text: String,
    /// The kinds of statements in it, for the readable part of a fingerprint.
    kinds: BTreeSet<&'static str>,
}

impl Shape {
    /// The shape of the case of a run. Reads without locks count if `with_reads` says so.
    pub fn of(run: &Run, with_reads: bool) -> Self {
        Self::new(&run.case, run.target.product, &run.events, with_reads)
    }

    /// The shape of a case that nobody ran: as if nobody waited.
    pub fn of_case(case: &Case, product: Product, with_reads: bool) -> Self {
        Self::new(case, product, &[], with_reads)
    }

    fn new(case: &Case, product: Product, events: &[Event], with_reads: bool) -> Self {
        let draft = Draft::of(case, Dialect::of(product));
        let tables = schema::tables(&draft);
        let somebody_waits =
            events.iter().any(|event| matches!(event.outcome, Outcome::Blocked { .. }));
        let mut sessions: Vec<Vec<Item>> = vec![Vec::new(); draft.sessions.len()];
        for (at, line) in draft.lines.iter().enumerate() {
            let fate = Fate::of(events.iter().filter(|event| event.n == at + 1));
            let with_path = fate.waits_for.is_some() || !somebody_waits;
            let Some(words) = words(line, &tables, with_path, with_reads) else { continue };
            let kind = kind_name(&line.sentence.kind()).unwrap_or_default();
            let item = Item { words, kind, fate };
            if sessions[line.session].last() != Some(&item) {
                sessions[line.session].push(item);
            }
        }
        drop_mere_locks(&mut sessions);
        let kinds: BTreeSet<&str> = sessions.iter().flatten().map(|item| item.kind).collect();
        Self { text: format!("{}; {}", family(product), canonical(&sessions)), kinds }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The name of a finding: the kinds of statements in it, and a hash of its shape, signature and level.
pub fn fingerprint(shape: &Shape, signature: &Signature, level: Option<Level>) -> String {
    let level = level.map_or("default", Level::name);
    let Signature { oracle, anomaly, exception } = signature;
    let exception = exception.as_deref().unwrap_or_default();
    let hash = hash(&format!("{}|{oracle}|{anomaly}|{exception}|{level}", shape.text));
    let kinds: Vec<String> = shape.kinds.iter().map(|kind| kind.replace(' ', "-")).collect();
    format!("{}-{:08x}", kinds.join("-"), (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// FNV-1a: a fingerprint must be the same in every release, which the standard library's hash does not promise.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Products that share an engine share its bugs.
const fn family(product: Product) -> &'static str {
    match product {
        Product::Mariadb | Product::Mysql => "innodb",
        Product::Sqlite => "sqlite",
        Product::Postgres => "postgres",
        Product::Tidb => "tidb",
        Product::Cockroach => "cockroach",
    }
}

/// What became of a statement, as far as it is signal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Fate {
    waits_for: Option<Vec<usize>>,
    fails: Option<&'static str>,
}

impl Fate {
    fn of<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let mut fate = Self::default();
        for event in events {
            match &event.outcome {
                Outcome::Blocked { by, .. } => {
                    let sessions = by.iter().filter_map(|blocker| match blocker {
                        Blocker::Session(session) => Some(*session),
                        Blocker::Outside(_) => None,
                    });
                    fate.waits_for = Some(sessions.collect());
                }
                Outcome::Error(error) => fate.fails = Some(error.class.name()),
                _ => {}
            }
        }
        fate
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    words: String,
    kind: &'static str,
    fate: Fate,
}

/// Whoever is waited for holds a lock; how it got it is noise where it also moves a key.
fn drop_mere_locks(sessions: &mut [Vec<Item>]) {
    let waited_for: BTreeSet<usize> = sessions
        .iter()
        .flatten()
        .filter_map(|item| item.fate.waits_for.clone())
        .flatten()
        .collect();
    for session in waited_for {
        let items = &mut sessions[session];
        let waits = items.iter().any(|item| item.fate.waits_for.is_some());
        let moves = |item: &Item| item.words.contains(" moves ");
        if !waits && items.iter().any(moves) {
            items.retain(|item| {
                moves(item) || !["UPDATE", "LOCKING SELECT"].contains(&item.words.as_str())
            });
            items.dedup();
        }
    }
}

/// The sessions as one text, numbered so that it is the smallest of all numberings; so it does not depend on who
/// came first.
fn canonical(sessions: &[Vec<Item>]) -> String {
    const SESSIONS_TO_PERMUTE: usize = 6;
    let used: Vec<usize> = (0..sessions.len()).filter(|at| !sessions[*at].is_empty()).collect();
    let mut orders = vec![used.clone()];
    if used.len() <= SESSIONS_TO_PERMUTE {
        orders = permutations(&used);
    }
    let texts = orders.iter().map(|order| {
        let number = |session: &usize| order.iter().position(|other| other == session);
        let texts = order.iter().enumerate().map(|(at, session)| {
            let items = sessions[*session].iter().map(|item| item_text(item, number));
            format!("t{}: {}", at + 1, items.collect::<Vec<_>>().join(", then "))
        });
        texts.collect::<Vec<_>>().join("; ")
    });
    // Those who wait come after those whom they wait for: easier to read, and as good as any order.
    let waits_first = |text: &String| text.split("; ").position(|part| part.contains("waits for"));
    texts
        .max_by_key(|text| (waits_first(text), std::cmp::Reverse(text.clone())))
        .unwrap_or_default()
}

fn item_text(item: &Item, number: impl Fn(&usize) -> Option<usize>) -> String {
    let mut text = item.words.clone();
    if let Some(waits_for) = &item.fate.waits_for {
        let names: BTreeSet<usize> = waits_for.iter().filter_map(number).collect();
        let names: Vec<String> = names.iter().map(|number| format!("t{}", number + 1)).collect();
        text += " waits for ";
        text += if names.is_empty() { "somebody" } else { "" };
        text += &names.join(" and ");
    }
    if let Some(class) = item.fate.fails {
        text += " fails with ";
        text += class;
    }
    text
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(at);
        all.extend(permutations(&rest).into_iter().map(|mut order| {
            order.insert(0, *first);
            order
        }));
    }
    all
}

/// A statement without what is accidental; `None` if all of it is.
fn words(line: &Line, tables: &[Table], with_path: bool, with_reads: bool) -> Option<String> {
    let kind = line.sentence.kind();
    let name = kind_name(&kind)?.to_uppercase();
    match kind {
        StatementKind::Select { locking: false } if !with_reads => return None,
        StatementKind::Ddl | StatementKind::Other | StatementKind::SetCommand => {
            let tokens = line.sentence.tokens();
            let words = tokens.iter().take(2).map(|token| token.text.to_uppercase());
            return Some(words.collect::<Vec<_>>().join(" "));
        }
        _ => {}
    }
    let Some(tree) = line.sentence.tree() else { return Some(name) };
    let is_change =
        matches!(kind, StatementKind::Update | StatementKind::Delete | StatementKind::Replace);
    let mut words = vec![name];
    let named = relations(tree);
    let named: Vec<&Table> = tables.iter().filter(|table| named.contains(&table.name)).collect();
    words.extend(written(tree, &named));
    if with_path {
        words.extend(path(tree, &named));
    }
    if is_change && named.iter().any(|table| table.passes_on) {
        words.push("with an action".to_owned());
    }
    if named.len() > 1 {
        words.push("over several tables".to_owned());
    }
    if has_subquery_as_value(tree) {
        words.push("with a subquery".to_owned());
    }
    Some(words.join(" "))
}

/// What a statement does to keys.
fn written(tree: &Statement, tables: &[&Table]) -> Option<String> {
    let text = match tree {
        Statement::Update(update) => {
            let columns =
                update.assignments.iter().filter_map(|assignment| match &assignment.target {
                    sqlparser::ast::AssignmentTarget::ColumnName(name) => Some(last_name(name)),
                    sqlparser::ast::AssignmentTarget::Tuple(_) => None,
                });
            let key = key_kind(&columns.collect(), tables)?;
            format!("moves {key}")
        }
        Statement::Insert(insert) => {
            let target = insert_table(insert);
            let table = tables.iter().find(|table| table.name == target);
            let keyed =
                table.is_some_and(|table| !table.primary.is_empty() || !table.unique.is_empty());
            let mut text = if keyed { "with key" } else { "without key" }.to_owned();
            text += conflict_clause(insert);
            let source = insert.source.as_ref().map(|query| query.body.as_ref());
            if matches!(source, Some(SetExpr::Select(_) | SetExpr::SetOperation { .. })) {
                text += " of a query";
            }
            text
        }
        _ => return None,
    };
    Some(text)
}

fn conflict_clause(insert: &Insert) -> &'static str {
    match &insert.on {
        Some(OnInsert::DuplicateKeyUpdate(_)) => " or update",
        Some(OnInsert::OnConflict(conflict)) => match conflict.action {
            OnConflictAction::DoNothing => " or nothing",
            OnConflictAction::DoUpdate(_) => " or update",
        },
        _ if insert.replace_into => " or replace",
        _ if insert.ignore || insert.or.is_some() => " or nothing",
        _ => "",
    }
}

/// By which kind of index a statement can find its rows. A range of the primary key is a scan too: the table
/// itself is in that order where the difference matters.
fn path(tree: &Statement, tables: &[&Table]) -> Option<String> {
    let condition: Option<&Expr> = match tree {
        Statement::Update(update) => update.selection.as_ref(),
        Statement::Delete(delete) => delete.selection.as_ref(),
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.selection.as_ref(),
            _ => return None,
        },
        _ => return None,
    };
    let columns = condition.map(columns_in).unwrap_or_default();
    let parts = condition.cloned().map(conjuncts).unwrap_or_default();
    let points: BTreeSet<String> = parts.iter().filter_map(column_of_lookup).collect();
    let primary = |column: &String| tables.iter().any(|table| table.primary.contains(column));
    let kind = match key_kind(&columns, tables) {
        Some(_) if points.iter().any(primary) => "primary key",
        Some("primary key") => {
            let others: BTreeSet<String> = columns.into_iter().filter(|c| !primary(c)).collect();
            key_kind(&others, tables).unwrap_or("scan")
        }
        other => other.unwrap_or("scan"),
    };
    Some(format!("by {kind}"))
}

/// The column of a condition that names single values: `a = 1`, `a IN (1, 2)`.
fn column_of_lookup(condition: &Expr) -> Option<String> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            column_name(left).or_else(|| column_name(right))
        }
        Expr::InList { expr, negated: false, .. } => column_name(expr),
        Expr::Nested(inner) => column_of_lookup(inner),
        _ => None,
    }
}

/// The strongest kind of key that one of these columns belongs to.
fn key_kind(columns: &BTreeSet<String>, tables: &[&Table]) -> Option<&'static str> {
    let any = |keys: fn(&Table) -> &Vec<String>| {
        tables.iter().any(|table| keys(table).iter().any(|column| columns.contains(column)))
    };
    if any(|table| &table.primary) {
        Some("primary key")
    } else if any(|table| &table.unique) {
        Some("unique key")
    } else if any(|table| &table.foreign) {
        Some("foreign key")
    } else if any(|table| &table.indexed) {
        Some("index")
    } else {
        None
    }
}

/// The name of a kind that is signal.
const fn kind_name(kind: &StatementKind) -> Option<&'static str> {
    match kind {
        StatementKind::Begin | StatementKind::Commit { .. } | StatementKind::Release(_) => None,
        StatementKind::Rollback { .. } => Some("rollback"),
        StatementKind::RollbackTo(_) => Some("rollback to"),
        StatementKind::Savepoint(_) => Some("savepoint"),
        StatementKind::Select { locking: true } => Some("locking select"),
        StatementKind::Select { locking: false } => Some("select"),
        StatementKind::Insert => Some("insert"),
        StatementKind::Update => Some("update"),
        StatementKind::Delete => Some("delete"),
        StatementKind::Replace => Some("replace"),
        StatementKind::Ddl => Some("ddl"),
        StatementKind::SetCommand => Some("set"),
        StatementKind::Other => Some("other"),
    }
}
