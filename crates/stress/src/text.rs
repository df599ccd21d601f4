//! A plan as SQL.
//!
//! Every statement that looks at rows answers with the same columns, whatever it does: key, value, token of the
//! version, token of the version before, number of writes, and one more for lists and sums. A write answers with what
//! it wrote, by RETURNING where the product has it; elsewhere a SELECT of the same rows, which the transaction has
//! locked by then, follows in the same text. A DELETE answers with what it deleted; where it cannot, a locking read
//! comes before it.

use anchorite_model::Product;
use anchorite_model::sql::Dialect;

use crate::plan::{Change, Compound, End, Look, Op, Plan};
use crate::shape::Shape;
use crate::token::token;
use crate::workload::Workload;

/// The table.
pub const TABLE: &str = "stress_rows";

/// What is answered about a row.
const COLUMNS: &str = "id, v, w, p, n, l";

/// What is inserted.
const ALL_COLUMNS: &str = "id, g, v, w, p, n, l";

/// Items after which a list begins anew, so that rows do not grow without end.
const LIST_BYTES: usize = 200;

/// Rows per INSERT of the preparation.
const ROWS_AT_ONCE: usize = 250;

/// What a product's SQL is like, by its descriptor.
#[derive(Debug, Clone, Copy)]
pub struct Tongue {
    is_mysql: bool,
    has_locking_reads: bool,
    update_returns: bool,
    delete_returns: bool,
    insert_returns: bool,
    has_replace: bool,
    /// What the table is like.
    shape: Shape,
    /// Whether rows tell their versions.
    is_traced: bool,
}

impl Tongue {
    /// That of a product.
    pub fn of(product: Product) -> Self {
        let has = |feature: &str| product.descriptor().features.contains(feature);
        Self {
            is_mysql: product.dialect() == Dialect::Mysql,
            has_locking_reads: has("for-update"),
            update_returns: has("update-returning"),
            delete_returns: has("delete-returning"),
            insert_returns: has("insert-returning"),
            has_replace: has("replace"),
            shape: Shape::default(),
            is_traced: true,
        }
    }

    /// The same on a table of another shape.
    pub fn on(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The same load without the versions, and without what is only there to learn them: to measure what they cost.
    pub fn bare(product: Product) -> Self {
        Self { is_traced: false, ..Self::of(product) }
    }

    /// The statements that prepare the table.
    pub fn setup(&self, workloads: &[Workload]) -> Vec<String> {
        let rows: Vec<(u64, u64, i64)> =
            workloads.iter().flat_map(|workload| workload.initial()).collect();
        self.setup_with(&rows)
    }

    /// The same with these rows: key, group, value.
    pub fn setup_with(&self, rows: &[(u64, u64, i64)]) -> Vec<String> {
        let text = if self.is_mysql { "VARCHAR(400)" } else { "TEXT" };
        let mut statements = self.shape.create(TABLE, text);
        for some in rows.chunks(ROWS_AT_ONCE) {
            let values: Vec<String> =
                some.iter().map(|(id, g, v)| format!("({id}, {g}, {v}, 0, 0, 0, '')")).collect();
            let values = values.join(", ");
            statements.push(format!("INSERT INTO {TABLE} ({ALL_COLUMNS}) VALUES {values}"));
        }
        statements
    }

    /// Reads everything.
    pub fn everything(&self) -> String {
        format!("SELECT {COLUMNS} FROM {TABLE}")
    }

    /// The statements of one operation; exactly one of them, if any, answers with rows.
    pub fn statements(&self, op: Op, number: u64, place: usize) -> Vec<String> {
        let token = token(number, place);
        let lock = |look: Look| match look {
            Look::Locking if self.has_locking_reads => " FOR UPDATE",
            _ => "",
        };
        let columns = if self.is_traced { COLUMNS } else { "id, v" };
        let select = |condition: String| format!("SELECT {columns} FROM {TABLE} WHERE {condition}");
        match op {
            Op::Read(row, look) => vec![select(format!("id = {row}")) + lock(look)],
            Op::ReadGroup(group, look) => vec![select(format!("g = {group}")) + lock(look)],
            Op::Compute(..) | Op::ReadCompound(..) => vec![compound(op, columns)],
            Op::Replace(row) => self.replace(row, token),
            Op::Write(row, change) => {
                self.update(&changed(change), &format!("id = {row}"), token, "")
            }
            Op::WriteGroup(group, change) => {
                let own = format!(" AND w = {token}");
                self.update(&changed(change), &format!("g = {group}"), token, &own)
            }
            Op::Append(row) => {
                let item = match self.is_mysql {
                    true => format!("CONCAT(l, ',{token}')"),
                    false => format!("l || ',{token}'"),
                };
                let list = format!(
                    "l = CASE WHEN LENGTH(l) > {LIST_BYTES} THEN ',{token}' ELSE {item} END"
                );
                self.update(&list, &format!("id = {row}"), token, "")
            }
            Op::Insert(row, group) => {
                let values = format!("{row}, {group}, 1, {token}, 0, 1, ''");
                vec![format!("INSERT INTO {TABLE} ({ALL_COLUMNS}) VALUES ({values})")]
            }
            Op::Delete(row) if !self.is_traced => {
                vec![format!("DELETE FROM {TABLE} WHERE id = {row}")]
            }
            Op::Delete(row) if self.delete_returns => {
                vec![format!("DELETE FROM {TABLE} WHERE id = {row} RETURNING {COLUMNS}")]
            }
            Op::Delete(row) => vec![
                select(format!("id = {row}")) + lock(Look::Locking),
                format!("DELETE FROM {TABLE} WHERE id = {row}"),
            ],
        }
    }

    fn update(&self, change: &str, condition: &str, token: u64, own: &str) -> Vec<String> {
        if !self.is_traced {
            return vec![format!("UPDATE {TABLE} SET {change} WHERE {condition}")];
        }
        let update =
            format!("UPDATE {TABLE} SET p = w, w = {token}, n = n + 1, {change} WHERE {condition}");
        if self.update_returns {
            return vec![format!("{update} RETURNING {COLUMNS}")];
        }
        vec![update, format!("SELECT {COLUMNS} FROM {TABLE} WHERE {condition}{own}")]
    }

    /// The row that takes the place of another one says which one that was, as an updated row does. The one before is
    /// read with a lock: otherwise the one that is replaced could be another one.
    fn replace(&self, row: u64, token: u64) -> Vec<String> {
        let (statement, returns) = if self.has_replace {
            let lock = if self.has_locking_reads { " FOR UPDATE" } else { "" };
            let read =
                format!("SELECT id, g, v + 1, {token}, w, n + 1, l FROM {TABLE} WHERE id = {row}");
            (format!("REPLACE INTO {TABLE} ({ALL_COLUMNS}) {read}{lock}"), self.insert_returns)
        } else {
            let change =
                format!("v = {TABLE}.v + 1, p = {TABLE}.w, w = {token}, n = {TABLE}.n + 1");
            let values = format!("{row}, 0, 1, {token}, 0, 1, ''");
            let insert = format!("INSERT INTO {TABLE} ({ALL_COLUMNS}) VALUES ({values})");
            (format!("{insert} ON CONFLICT (id) DO UPDATE SET {change}"), true)
        };
        match (self.is_traced, returns) {
            (false, _) => vec![statement],
            (true, true) => vec![format!("{statement} RETURNING {COLUMNS}")],
            (true, false) => {
                vec![statement, format!("SELECT {COLUMNS} FROM {TABLE} WHERE id = {row}")]
            }
        }
    }

    /// All statements of a plan, with BEGIN and its end.
    pub fn all(&self, plan: &Plan, number: u64) -> Vec<String> {
        let ops = plan.ops.iter().enumerate();
        let statements = ops.flat_map(|(place, op)| self.statements(*op, number, place));
        let end = match plan.end {
            End::Commit => "COMMIT",
            End::Rollback => "ROLLBACK",
        };
        ["BEGIN".to_owned()].into_iter().chain(statements).chain([end.to_owned()]).collect()
    }
}

/// A read that consists of several.
fn compound(op: Op, columns: &str) -> String {
    let rows = |group: u64| format!("SELECT {columns} FROM {TABLE} WHERE g = {group}");
    match op {
        Op::Compute(aggregate, group) => {
            let computed = format!("SELECT {} FROM {TABLE} WHERE g = {group}", aggregate.sql());
            format!("SELECT id, v, w, p, n, ({computed}) FROM {TABLE} WHERE g = {group}")
        }
        Op::ReadCompound(Compound::Union, both) => both.map(rows).join(" UNION ALL "),
        Op::ReadCompound(Compound::Subquery, [group, _]) => {
            let keys = format!("SELECT id FROM {TABLE} WHERE g = {group}");
            format!("SELECT {columns} FROM {TABLE} WHERE id IN ({keys})")
        }
        Op::ReadCompound(Compound::Join, [group, _]) => {
            let named: Vec<String> =
                columns.split(", ").map(|column| format!("a.{column}")).collect();
            let joined = format!("{TABLE} a JOIN {TABLE} b ON b.id = a.id");
            format!("SELECT {} FROM {joined} WHERE b.g = {group}", named.join(", "))
        }
        _ => String::new(),
    }
}

/// How many result sets an operation answers with.
pub fn sets_of(op: Op) -> usize {
    usize::from(!matches!(op, Op::Insert(..)))
}

fn changed(change: Change) -> String {
    match change {
        Change::Set(value) => format!("v = {value}"),
        Change::Add(more) if more < 0 => format!("v = v - {}", -more),
        Change::Add(more) => format!("v = v + {more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_tells_what_it_replaced() {
        let told = |product: &str, op: Op| {
            Tongue::of(Product::named(product)).statements(op, 1, 2).join("; ")
        };
        let write = Op::Write(5, Change::Set(7));
        assert_eq!(
            told("postgres", write),
            "UPDATE stress_rows SET p = w, w = 66, n = n + 1, v = 7 WHERE id = 5 RETURNING id, v, w, p, n, l"
        );
        assert!(
            told("mysql", write)
                .ends_with("; SELECT id, v, w, p, n, l FROM stress_rows WHERE id = 5")
        );
        assert!(told("mysql", Op::Delete(5)).contains("FOR UPDATE; DELETE"));
        assert_eq!(
            told("mariadb", Op::Replace(5)),
            "REPLACE INTO stress_rows (id, g, v, w, p, n, l) SELECT id, g, v + 1, 66, w, n + 1, l FROM stress_rows \
             WHERE id = 5 FOR UPDATE RETURNING id, v, w, p, n, l"
        );
        assert!(told("postgres", Op::Replace(5)).contains("ON CONFLICT (id) DO UPDATE SET v ="));
        assert!(told("mariadb", Op::Delete(5)).contains("RETURNING"));
        assert!(!told("sqlite", Op::Read(5, Look::Locking)).contains("FOR UPDATE"));
    }
}
