//! Small queries on syntax trees.

use std::collections::BTreeSet;
use std::ops::ControlFlow::{self, Break, Continue};

use sqlparser::ast::{
    BinaryOperator, Expr, Insert, ObjectName, SetExpr, Statement, TableObject, Value, Values,
};

use crate::walk::{Node, Part, change_expressions};

/// The name of an unqualified column.
pub fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.to_lowercase()),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.to_lowercase()),
        _ => None,
    }
}

/// The last part of a name, in lower case.
pub fn last_name(name: &ObjectName) -> String {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map_or_else(String::new, |name| name.value.to_lowercase())
}

/// The tables that a statement names, in lower case.
pub fn relations(tree: &Statement) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    tree.walk(&mut |node| {
        if let Node::Table(name) = node {
            found.insert(last_name(name));
        }
        Continue(())
    });
    found
}

/// The columns that something names, in lower case.
pub fn columns_in(part: &dyn Part) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_expr(part, &mut |expr| {
        found.extend(column_name(expr));
        Continue(())
    });
    found
}

/// Whether a statement uses a subquery as a value: `= (SELECT …)`, `EXISTS (SELECT …)`.
pub fn has_subquery_as_value(tree: &Statement) -> bool {
    let mut found = false;
    each_expr(tree, &mut |expr| {
        found |= matches!(expr, Expr::Subquery(_) | Expr::Exists { .. });
        Continue(())
    });
    found
}

fn each_expr(part: &dyn Part, look: &mut dyn FnMut(&Expr) -> ControlFlow<()>) {
    part.walk(&mut |node| match node {
        Node::Expr(expr) => look(expr),
        _ => Continue(()),
    });
}

/// The table that an INSERT writes to.
pub fn insert_table(insert: &Insert) -> String {
    match &insert.table {
        TableObject::TableName(name) => last_name(name),
        _ => String::new(),
    }
}

/// The rows of an INSERT … VALUES.
pub fn values_of(tree: &Statement) -> Option<&Values> {
    let Statement::Insert(insert) = tree else { return None };
    match insert.source.as_ref()?.body.as_ref() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    }
}

/// The rows of an INSERT … VALUES.
pub fn values_of_mut(tree: &mut Statement) -> Option<&mut Values> {
    let Statement::Insert(insert) = tree else { return None };
    match insert.source.as_mut()?.body.as_mut() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    }
}

/// The parts of a condition that are joined by AND.
pub fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut parts = conjuncts(*left);
            parts.extend(conjuncts(*right));
            parts
        }
        Expr::Nested(inner) if matches!(*inner, Expr::BinaryOp { op: BinaryOperator::And, .. }) => {
            conjuncts(*inner)
        }
        other => vec![other],
    }
}

/// A condition of these parts; `None` if there is none.
pub fn conjunction(parts: Vec<Expr>) -> Option<Expr> {
    parts.into_iter().reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    })
}

/// A number as an expression.
pub fn number(text: &str) -> Expr {
    Expr::Value(Value::Number(text.to_owned(), false).into())
}

/// The expression at this position, counted before its children.
pub fn nth_expr(tree: &Statement, position: usize) -> Option<Expr> {
    let (mut at, mut found) = (0, None);
    each_expr(tree, &mut |expr| {
        at += 1;
        if at <= position {
            return Continue(());
        }
        found = Some(copy(expr));
        Break(())
    });
    found
}

/// Puts another expression at this position.
pub fn replace_nth_expr(tree: &mut Statement, position: usize, replacement: Expr) {
    let (mut at, mut replacement) = (0, Some(replacement));
    change_expressions(tree, &mut |expr| {
        at += 1;
        if at <= position {
            return Continue(());
        }
        if let Some(replacement) = replacement.take() {
            *expr = replacement;
        }
        Break(())
    });
}

/// The expressions right below one, without those inside its subqueries.
pub fn children(expr: &Expr) -> Vec<Expr> {
    let (mut depth, mut queries, mut found) = (0, 0, Vec::new());
    expr.walk(&mut |node| {
        match node {
            Node::Query(_) => queries += 1,
            Node::QueryEnd => queries -= 1,
            Node::Expr(expr) => {
                if depth == 1 && queries == 0 {
                    found.push(copy(expr));
                }
                depth += 1;
            }
            Node::ExprEnd => depth -= 1,
            Node::Table(_) => {}
        }
        Continue(())
    });
    found
}

/// The same expression again; compiled here, once.
#[inline(never)]
pub fn copy(expr: &Expr) -> Expr {
    expr.clone()
}
