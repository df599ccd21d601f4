//! Small questions to syntax trees.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Insert, SetExpr, Statement, TableObject, Value, Values, Visit, VisitMut,
    Visitor, VisitorMut, visit_expressions, visit_relations,
};

use crate::schema::{column_name, last_name};

/// The tables that a statement names, in lower case.
pub(crate) fn relations(tree: &Statement) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let _ = visit_relations(tree, |name| {
        found.insert(last_name(name));
        ControlFlow::<()>::Continue(())
    });
    found
}

/// The columns that something names, in lower case.
pub(crate) fn columns_in<V: Visit>(part: &V) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let _ = visit_expressions(part, |expr| {
        found.extend(column_name(expr));
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Whether a subquery stands in a statement as a value: `= (SELECT …)`, `EXISTS (SELECT …)`.
pub(crate) fn has_subquery_as_value(tree: &Statement) -> bool {
    let found = visit_expressions(tree, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The table that an INSERT goes to.
pub(crate) fn insert_table(insert: &Insert) -> String {
    match &insert.table {
        TableObject::TableName(name) => last_name(name),
        _ => String::new(),
    }
}

/// The rows of an INSERT … VALUES.
pub(crate) fn values_of(tree: &Statement) -> Option<&Values> {
    let Statement::Insert(insert) = tree else { return None };
    match insert.source.as_ref()?.body.as_ref() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    }
}

/// The rows of an INSERT … VALUES.
pub(crate) fn values_of_mut(tree: &mut Statement) -> Option<&mut Values> {
    let Statement::Insert(insert) = tree else { return None };
    match insert.source.as_mut()?.body.as_mut() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    }
}

/// The parts of a condition that are joined by AND.
pub(crate) fn conjuncts(expr: Expr) -> Vec<Expr> {
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
pub(crate) fn conjunction(parts: Vec<Expr>) -> Option<Expr> {
    parts.into_iter().reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    })
}

/// A number as an expression.
pub(crate) fn number(text: &str) -> Expr {
    Expr::Value(Value::Number(text.to_owned(), false).into())
}

/// The expression at this position, counted before its children.
pub(crate) fn nth_expr(tree: &Statement, position: usize) -> Option<Expr> {
    let mut at = 0;
    let found = visit_expressions(tree, |expr| {
        at += 1;
        if at > position { ControlFlow::Break(expr.clone()) } else { ControlFlow::Continue(()) }
    });
    match found {
        ControlFlow::Break(expr) => Some(expr),
        ControlFlow::Continue(()) => None,
    }
}

/// Puts another expression at this position.
pub(crate) fn replace_nth_expr(tree: &mut Statement, position: usize, replacement: Expr) {
    let mut replacer = Replacer { at: 0, position, replacement: Some(replacement) };
    let _ = tree.visit(&mut replacer);
}

struct Replacer {
    at: usize,
    position: usize,
    replacement: Option<Expr>,
}

impl VisitorMut for Replacer {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.at += 1;
        if self.at <= self.position {
            return ControlFlow::Continue(());
        }
        if let Some(replacement) = self.replacement.take() {
            *expr = replacement;
        }
        ControlFlow::Break(())
    }
}

/// The expressions right below one, without those inside its subqueries.
pub(crate) fn children(expr: &Expr) -> Vec<Expr> {
    let mut collector = Children::default();
    let _ = expr.visit(&mut collector);
    collector.found
}

#[derive(Default)]
struct Children {
    depth: usize,
    queries: usize,
    found: Vec<Expr>,
}

impl Visitor for Children {
    type Break = ();

    fn pre_visit_query(&mut self, _: &sqlparser::ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &sqlparser::ast::Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 1 && self.queries == 0 {
            self.found.push(expr.clone());
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}
