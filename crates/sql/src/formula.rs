//! Expressions over one row, as far as all products agree on them.
//!
//! Idea: integers, texts, booleans and NULL with SQL's three-valued logic. Whatever products differ in (division,
//! collations, conversions, functions) is not understood and gives [`None`]: a guess would prove nothing.

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

/// An expression over the columns of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formula {
    /// The value of a column.
    Column(String),
    /// A literal.
    Constant(Value),
    /// `-a`
    Negative(Box<Formula>),
    /// `NOT a`
    Not(Box<Formula>),
    /// `a < b`, `a + b`, `a AND b`
    Binary(Box<Formula>, Operator, Box<Formula>),
    /// `a IS NULL`
    IsNull(Box<Formula>),
    /// `a IN (b, c)`
    In(Box<Formula>, Vec<Formula>),
    /// `a BETWEEN b AND c`
    Between(Box<Formula>, Box<Formula>, Box<Formula>),
    /// Anything else.
    NotUnderstood,
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as SQL names them")]
pub enum Operator {
    And,
    Or,
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Plus,
    Minus,
    Multiply,
    Modulo,
}

impl Formula {
    /// The meaning of an expression.
    pub fn of(expr: &Expr) -> Self {
        let boxed = |expr: &Expr| Box::new(Self::of(expr));
        let negated = |negated: bool, formula: Self| {
            if negated { Self::Not(Box::new(formula)) } else { formula }
        };
        match expr {
            Expr::Nested(inner) => Self::of(inner),
            Expr::Identifier(name) => Self::Column(name.value.clone()),
            Expr::CompoundIdentifier(names) => {
                names.last().map_or(Self::NotUnderstood, |name| Self::Column(name.value.clone()))
            }
            Expr::Value(literal) => {
                constant(&literal.value).map_or(Self::NotUnderstood, Self::Constant)
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Self::Negative(boxed(expr)),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => Self::of(expr),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Self::Not(boxed(expr)),
            Expr::BinaryOp { left, op, right } => match operator(op) {
                Some(operator) => Self::Binary(boxed(left), operator, boxed(right)),
                None => Self::NotUnderstood,
            },
            Expr::IsNull(inner) => Self::IsNull(boxed(inner)),
            Expr::IsNotNull(inner) => negated(true, Self::IsNull(boxed(inner))),
            Expr::InList { expr, list, negated: not } => {
                negated(*not, Self::In(boxed(expr), list.iter().map(Self::of).collect()))
            }
            Expr::Between { expr, negated: not, low, high } => {
                negated(*not, Self::Between(boxed(expr), boxed(low), boxed(high)))
            }
            _ => Self::NotUnderstood,
        }
    }

    /// Its value; `None` if it is not understood.
    pub fn value(&self, scope: Scope<'_>) -> Option<Value> {
        match self {
            Self::Column(name) => column(name, scope),
            Self::Constant(value) => Some(value.clone()),
            Self::Negative(inner) => match inner.value(scope)? {
                Value::Int(number) => Some(Value::Int(number.checked_neg()?)),
                Value::Null => Some(Value::Null),
                _ => None,
            },
            Self::Not(inner) => Some(boolean(inner.truth(scope)?.map(|is_true| !is_true))),
            Self::Binary(left, operator, right) => binary(left, *operator, right, scope),
            Self::IsNull(inner) => Some(Value::Bool(matches!(inner.value(scope)?, Value::Null))),
            Self::In(wanted, list) => {
                let wanted = wanted.value(scope)?;
                let mut found = Some(false);
                for item in list {
                    found = either(found, compared(&wanted, &item.value(scope)?, |o| o.is_eq())?);
                }
                Some(boolean(found))
            }
            Self::Between(inner, low, high) => {
                let inner = inner.value(scope)?;
                let above = compared(&inner, &low.value(scope)?, |o| o.is_ge())?;
                let below = compared(&inner, &high.value(scope)?, |o| o.is_le())?;
                Some(boolean(both(above, below)))
            }
            Self::NotUnderstood => None,
        }
    }

    /// Whether it is true, `Some(None)` if that is unknown (NULL); `None` if it is not understood.
    pub fn truth(&self, scope: Scope<'_>) -> Option<Option<bool>> {
        match self.value(scope)? {
            Value::Null => Some(None),
            Value::Bool(is_true) => Some(Some(is_true)),
            Value::Int(number) => Some(Some(number != 0)),
            _ => None,
        }
    }

    /// Whether it does not depend on the row.
    pub fn is_constant(&self) -> bool {
        self.value(NOWHERE).is_some()
    }
}

/// The integer that a constant expression gives.
pub fn integer(expr: &Expr) -> Option<i64> {
    match Formula::of(expr).value(NOWHERE)? {
        Value::Int(number) => i64::try_from(number).ok(),
        _ => None,
    }
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

const fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::And => Operator::And,
        BinaryOperator::Or => Operator::Or,
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Modulo => Operator::Modulo,
        _ => return None,
    })
}

fn binary(left: &Formula, op: Operator, right: &Formula, scope: Scope<'_>) -> Option<Value> {
    use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    if matches!(op, And | Or) {
        let (left, right) = (left.truth(scope)?, right.truth(scope)?);
        return Some(boolean(if op == And { both(left, right) } else { either(left, right) }));
    }
    let (left, right) = (left.value(scope)?, right.value(scope)?);
    let compare =
        |holds: fn(std::cmp::Ordering) -> bool| compared(&left, &right, holds).map(boolean);
    match op {
        Eq => compare(|order| order.is_eq()),
        NotEq => compare(|order| order.is_ne()),
        Lt => compare(|order| order.is_lt()),
        LtEq => compare(|order| order.is_le()),
        Gt => compare(|order| order.is_gt()),
        GtEq => compare(|order| order.is_ge()),
        _ => arithmetic(&left, op, &right),
    }
}

fn arithmetic(left: &Value, op: Operator, right: &Value) -> Option<Value> {
    let (left, right) = match (left, right) {
        (Value::Null, Value::Null | Value::Int(_)) | (Value::Int(_), Value::Null) => {
            return Some(Value::Null);
        }
        (Value::Int(left), Value::Int(right)) => (*left, *right),
        _ => return None,
    };
    let result = match op {
        Operator::Plus => left.checked_add(right),
        Operator::Minus => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        // Division by zero is an error in some products and NULL in others.
        Operator::Modulo => left.checked_rem(right),
        _ => None,
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
            // A collation decides case, accents and order; it cannot make equal texts differ.
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
