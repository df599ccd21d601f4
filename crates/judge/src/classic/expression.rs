//! Expressions over one row, as far as every product agrees about them.
//!
//! Idea: integers, texts, booleans and NULL with SQL's three-valued logic. Whatever products differ in (division,
//! collations, conversions, functions) is not understood, and [`None`] says so: a guess would be no proof.

use anchorite_model::Value;
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value as Literal};

/// Names of columns with a row of values.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The columns' names, in lower case.
    pub columns: &'a [String],
    /// Their values.
    pub row: &'a [Value],
}

/// No columns at all, for constants.
pub const NOWHERE: Scope<'static> = Scope { columns: &[], row: &[] };

/// The value of an expression; `None` if it is not understood.
pub fn value(expr: &Expr, scope: Scope<'_>) -> Option<Value> {
    match expr {
        Expr::Nested(inner) => value(inner, scope),
        Expr::Identifier(name) => column(&name.value, scope),
        Expr::CompoundIdentifier(names) => column(&names.last()?.value, scope),
        Expr::Value(literal) => constant(&literal.value),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match value(expr, scope)? {
            Value::Int(number) => Some(Value::Int(number.checked_neg()?)),
            Value::Null => Some(Value::Null),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => value(expr, scope),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            Some(boolean(truth(expr, scope)?.map(|is_true| !is_true)))
        }
        Expr::BinaryOp { left, op, right } => binary(left, op, right, scope),
        Expr::IsNull(inner) => Some(Value::Bool(matches!(value(inner, scope)?, Value::Null))),
        Expr::IsNotNull(inner) => Some(Value::Bool(!matches!(value(inner, scope)?, Value::Null))),
        Expr::InList { expr, list, negated } => {
            let wanted = value(expr, scope)?;
            let mut found = Some(false);
            for item in list {
                found = either(found, compared(&wanted, &value(item, scope)?, |o| o.is_eq())?);
            }
            Some(boolean(found.map(|found| found != *negated)))
        }
        Expr::Between { expr, negated, low, high } => {
            let inner = value(expr, scope)?;
            let above = compared(&inner, &value(low, scope)?, |o| o.is_ge())?;
            let below = compared(&inner, &value(high, scope)?, |o| o.is_le())?;
            Some(boolean(both(above, below).map(|inside| inside != *negated)))
        }
        _ => None,
    }
}

/// Whether a condition is true, `Some(None)` if it is unknown (NULL); `None` if it is not understood.
#[expect(clippy::option_option, reason = "not understood and SQL's unknown are two things")]
pub fn truth(expr: &Expr, scope: Scope<'_>) -> Option<Option<bool>> {
    match value(expr, scope)? {
        Value::Null => Some(None),
        Value::Bool(is_true) => Some(Some(is_true)),
        Value::Int(number) => Some(Some(number != 0)),
        _ => None,
    }
}

/// Whether an expression depends on the row.
pub fn is_constant(expr: &Expr) -> bool {
    value(expr, NOWHERE).is_some()
}

fn column(name: &str, scope: Scope<'_>) -> Option<Value> {
    let place = scope.columns.iter().position(|column| column.eq_ignore_ascii_case(name))?;
    scope.row.get(place).cloned()
}

fn constant(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Null => Some(Value::Null),
        Literal::Boolean(is_true) => Some(Value::Bool(*is_true)),
        Literal::Number(digits, _) => digits.parse().ok().map(Value::Int),
        Literal::SingleQuotedString(text) => Some(Value::Text(text.clone())),
        _ => None,
    }
}

fn boolean(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr, scope: Scope<'_>) -> Option<Value> {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Or, Plus};
    if matches!(op, And | Or) {
        let (left, right) = (truth(left, scope)?, truth(right, scope)?);
        return Some(boolean(if *op == And { both(left, right) } else { either(left, right) }));
    }
    let (left, right) = (value(left, scope)?, value(right, scope)?);
    let compare =
        |holds: fn(std::cmp::Ordering) -> bool| compared(&left, &right, holds).map(boolean);
    match op {
        Eq => compare(|order| order.is_eq()),
        NotEq => compare(|order| order.is_ne()),
        Lt => compare(|order| order.is_lt()),
        LtEq => compare(|order| order.is_le()),
        Gt => compare(|order| order.is_gt()),
        GtEq => compare(|order| order.is_ge()),
        Plus | Minus | Multiply | Modulo => arithmetic(&left, op, &right),
        _ => None,
    }
}

fn arithmetic(left: &Value, op: &BinaryOperator, right: &Value) -> Option<Value> {
    let (left, right) = match (left, right) {
        (Value::Null, Value::Null | Value::Int(_)) | (Value::Int(_), Value::Null) => {
            return Some(Value::Null);
        }
        (Value::Int(left), Value::Int(right)) => (*left, *right),
        _ => return None,
    };
    let result = match op {
        BinaryOperator::Plus => left.checked_add(right),
        BinaryOperator::Minus => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        // Zero is an error here and NULL there.
        _ => left.checked_rem(right),
    };
    result.map(Value::Int)
}

/// Compares two values; `Some(None)` if one is NULL, `None` if products may differ in the answer.
#[expect(clippy::option_option, reason = "not understood and SQL's unknown are two things")]
fn compared(
    left: &Value,
    right: &Value,
    holds: fn(std::cmp::Ordering) -> bool,
) -> Option<Option<bool>> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Some(None),
        (Value::Int(left), Value::Int(right)) => Some(Some(holds(left.cmp(right)))),
        (Value::Bool(left), Value::Bool(right)) => Some(Some(holds(left.cmp(right)))),
        (Value::Text(left), Value::Text(right)) => {
            let order = left.cmp(right);
            // A collation decides about case, accents and the order; it cannot make the same text differ.
            let is_equality =
                !holds(std::cmp::Ordering::Less) || !holds(std::cmp::Ordering::Greater);
            let is_plain =
                |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            let is_sure = order.is_eq() || (is_plain(left) && is_plain(right));
            (is_sure && is_equality).then(|| Some(holds(order)))
        }
        _ => None,
    }
}

const fn both(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

const fn either(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}
