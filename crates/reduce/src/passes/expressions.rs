//! Expressions in sessions' statements: replaced by a constant, a column of it, or one of its operands.

use anchorite_sql::ast::{BinaryOperator, Expr, Statement, Value};

use crate::search::{Search, Stop};
use anchorite_sql::syntax::{children, nth_expr, number, replace_nth_expr};

/// Tries every expression, from the outside in.
pub(super) fn simplify(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    for at in 0..search.best.lines.len() {
        let mut position = 0;
        while let Some(expr) =
            search.best.lines[at].parsed.tree().and_then(|tree| nth_expr(tree, position))
        {
            let mut taken = false;
            let root = condition_of(search.best.lines[at].parsed.tree());
            for replacement in replacements(&expr, root.as_ref() == Some(&expr)) {
                let mut candidate = search.best.clone();
                let parsed = &mut candidate.lines[at].parsed;
                parsed.edit(|tree| replace_nth_expr(tree, position, replacement));
                taken = search.offer(candidate)?;
                if taken {
                    break;
                }
            }
            position += usize::from(!taken);
        }
    }
    Ok(())
}

fn condition_of(tree: Option<&Statement>) -> Option<Expr> {
    match tree? {
        Statement::Update(update) => update.selection.clone(),
        Statement::Delete(delete) => delete.selection.clone(),
        _ => None,
    }
}

/// What may replace an expression, simplest first. An earlier pass has already tried to leave out the whole condition,
/// so `TRUE` would add nothing.
fn replacements(expr: &Expr, is_condition: bool) -> Vec<Expr> {
    let mut replacements = Vec::new();
    match expr {
        Expr::Value(_) => return replacements,
        _ if is_condition => {}
        _ if is_truth_value(expr) => replacements.push(Expr::Value(Value::Boolean(true).into())),
        _ => replacements.push(number("1")),
    }
    let mut below = children(expr);
    // A comparison's operands are not conditions, except where numbers are also booleans; asking decides.
    below.sort_by_key(|child| child.to_string().len());
    below.dedup();
    replacements.extend(below);
    if let Expr::Nested(inner) = expr {
        replacements.insert(0, inner.as_ref().clone());
    }
    replacements
}

fn is_truth_value(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Xor
                | BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
                | BinaryOperator::Spaceship
        ),
        Expr::Nested(inner) => is_truth_value(inner),
        Expr::UnaryOp { op, .. } => matches!(op, anchorite_sql::ast::UnaryOperator::Not),
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Like { .. }
        | Expr::Exists { .. } => true,
        _ => false,
    }
}
