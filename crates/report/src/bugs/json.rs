//! The table as JSON: a contract with scripts.
//!
//! `bugs` describes the bugs, `results` has one object per bug, release and level that was run or measured. `result` is
//! `manifests`, `allowed` (with `page`), `does not` or `not applicable` (with `reason`); `agreement` and `remark` are
//! left out where the header of the case says nothing about the place.

use serde_json::{Map, Value as Json, json};

use super::bug::Bug;
use super::matrix::{Cell, Column, Matrix, Shown};

/// The matrix as one JSON document with a line end. `version` is Anchorite's own.
pub fn json(matrix: &Matrix<'_>, version: &str) -> String {
    let bugs: Vec<Json> = matrix.rows.iter().map(|row| about(row.bug)).collect();
    let results: Vec<Json> =
        matrix.cells().map(|(bug, column, cell)| result(bug, column, cell)).collect();
    format!("{}\n", json!({"anchorite": version, "bugs": bugs, "results": results}))
}

/// A bug without its answers.
pub(super) fn about(bug: &Bug) -> Json {
    let products: Vec<&str> =
        bug.case.header.targets.iter().map(|product| product.name()).collect();
    let found = bug.lines.found.iter().map(|found| json!({"at": found.at, "by": found.by}));
    let missing = bug.lines.missing.iter();
    let missing = missing.map(|missing| json!({"part": missing.part.name(), "what": missing.what}));
    json!({
        "bug": bug.id(),
        "title": bug.title(),
        "kind": bug.lines.kind.name(),
        "status": bug.status().name(),
        "also": bug.lines.also,
        "products": products,
        "sources": bug.case.header.source,
        "found": found.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

fn result(bug: &Bug, column: &Column, cell: &Cell) -> Json {
    let mut object = Map::new();
    let mut add = |key: &str, value: Json| drop(object.insert(key.to_owned(), value));
    add("bug", json!(bug.id()));
    add("product", json!(column.product.name()));
    add("version", json!(column.version.to_string()));
    add("level", json!(cell.level.name()));
    add("result", json!(cell.shown.name()));
    match &cell.shown {
        Shown::Allowed { page } => add("page", json!(page)),
        Shown::NotApplicable { reason } => add("reason", json!(reason)),
        Shown::Manifests | Shown::Absent => {}
    }
    if let Some((agreement, remark)) = &cell.expected {
        add("agreement", json!(agreement.name()));
        add("remark", json!(remark));
    }
    Json::Object(object)
}
