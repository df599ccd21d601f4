//! Every expression and every table of a syntax tree, or of a part of one.
//!
//! Idea: `sqlparser` compiles its walk over all kinds of nodes anew for each visitor. So there are two visitors here,
//! one that reads and one that changes, and callers pass a function that is called through a pointer.

use std::ops::ControlFlow;

use sqlparser::ast::{
    ColumnOptionDef, Expr, IndexColumn, ObjectName, Query, SelectItem, Statement, TableConstraint,
    Visit, VisitMut, Visitor, VisitorMut,
};

/// Something that a walk visits.
#[derive(Debug)]
pub enum Node<'t> {
    /// The name of a table.
    Table(&'t ObjectName),
    /// An expression; its parts follow.
    Expr(&'t Expr),
    /// The end of an expression.
    ExprEnd,
    /// A query; its parts follow.
    Query(&'t Query),
    /// The end of a query.
    QueryEnd,
}

/// The function that a walk calls for each node; the walk ends at a break.
pub type Look<'f> = dyn FnMut(Node<'_>) -> ControlFlow<()> + 'f;

/// A tree or a part of one.
pub trait Part {
    /// Visits all of it, in the order of the text.
    fn walk(&self, look: &mut Look<'_>);
}

macro_rules! parts {
    ($($part:ty),+) => {
        $(impl Part for $part {
            #[inline(never)]
            fn walk(&self, look: &mut Look<'_>) {
                let _ = Visit::visit(self, &mut Looking(look));
            }
        })+
    };
}

parts!(Statement, Query, Expr, SelectItem, IndexColumn, ColumnOptionDef, TableConstraint);

struct Looking<'l, 'f>(&'l mut Look<'f>);

impl Visitor for Looking<'_, '_> {
    type Break = ();

    fn pre_visit_relation(&mut self, table: &ObjectName) -> ControlFlow<()> {
        (self.0)(Node::Table(table))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        (self.0)(Node::Expr(expr))
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        (self.0)(Node::ExprEnd)
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.0)(Node::Query(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        (self.0)(Node::QueryEnd)
    }
}

/// Visits the expressions of a tree until `change` ends the walk; replacements of expressions are also visited.
pub fn change_expressions(
    tree: &mut Statement,
    change: &mut dyn FnMut(&mut Expr) -> ControlFlow<()>,
) {
    let _ = VisitMut::visit(tree, &mut Changing(change));
}

struct Changing<'c>(&'c mut dyn FnMut(&mut Expr) -> ControlFlow<()>);

impl VisitorMut for Changing<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        (self.0)(expr)
    }
}
