//! The values in rows and statements, and the few kinds of columns that hold them.
//!
//! Idea: few values, so that predicates match rows. Every kind has a small pool whose values compare the same way
//! everywhere: lower-case ASCII without trailing spaces, numbers that are exact in binary (quarters).
//!
//! Assumption: within a kind, values can be compared and assigned without a cast in every dialect.

use anchorite_model::Product;
use anchorite_model::sql::Dialect;

use crate::random::Random;

/// What a column holds, as far as statements care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number.
    Int,
    /// A whole number that must not go below zero.
    Unsigned,
    /// An exact decimal.
    Decimal,
    /// A binary floating point number; only quarters are stored.
    Float,
    /// A string of variable length.
    Text,
    /// A string of fixed length.
    Fixed,
    /// A truth value.
    Bool,
    /// A day.
    Date,
    /// A day and a time.
    Moment,
    /// Bytes.
    Bytes,
    /// One of three words.
    Word,
    /// Some of three words.
    Set,
    /// A string of which several spellings are equal.
    Folded,
    /// A JSON document with a number under `a`.
    Json,
    /// A string that may be too long for a page.
    Long,
}

impl Kind {
    /// Whether it is a number.
    pub(crate) const fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Unsigned | Self::Decimal | Self::Float)
    }

    /// Whether `<` and `>` make sense and MIN and MAX exist for it in every dialect.
    pub(crate) const fn has_order(self) -> bool {
        !matches!(
            self,
            Self::Bool
                | Self::Bytes
                | Self::Word
                | Self::Set
                | Self::Folded
                | Self::Json
                | Self::Long
        )
    }

    /// Whether equal values are the same, so that it does not matter which of them stands for a group.
    pub(crate) const fn is_one_spelling(self) -> bool {
        !matches!(self, Self::Folded | Self::Json)
    }

    /// Whether `=` with a constant finds equal values.
    pub(crate) const fn has_equality(self) -> bool {
        !matches!(self, Self::Json)
    }

    /// The usual values.
    fn pool(self) -> Vec<Value> {
        let texts = |texts: &[&'static str]| texts.iter().copied().map(Value::Text).collect();
        match self {
            Self::Int | Self::Unsigned => (0..10).map(Value::Int).collect(),
            Self::Decimal | Self::Float => [0, 1, 2, 4, 6, 10, 20].map(Value::Quarters).into(),
            Self::Text | Self::Fixed => texts(&["a", "b", "c", "ab", "abc", "b1", "x", "zz"]),
            Self::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Self::Date => texts(&["2024-01-01", "2024-02-29", "2024-12-31", "2025-06-15"]),
            Self::Moment => {
                texts(&["2024-01-01 00:00:00", "2024-02-29 12:30:00", "2025-06-15 23:59:59"])
            }
            Self::Bytes => [&[0_u8][..], &[1, 255], &[97]].map(Value::Bytes).into(),
            Self::Word => texts(&["a", "b", "c"]),
            Self::Set => texts(&["a", "b", "a,b", "a,c"]),
            Self::Folded => texts(&["a", "A", "a ", "b", "B", "ab", "aB"]),
            Self::Json => texts(&["{\"a\": 1}", "{\"a\": 2}", "{\"a\": 3, \"b\": [1, 2]}"]),
            Self::Long => {
                let long = ['a', 'b', 'c'].map(Value::Long);
                [Value::Text("a"), Value::Text("b")].into_iter().chain(long).collect()
            }
        }
    }

    /// Extreme values, harmless in comparisons and assignments.
    fn edges(self) -> Vec<Value> {
        match self {
            Self::Int => vec![Value::Int(-1), Value::Int(20)],
            Self::Unsigned => vec![Value::Int(20)],
            Self::Decimal | Self::Float => vec![Value::Quarters(-1), Value::Quarters(-6)],
            Self::Text => vec![Value::Text("")],
            Self::Bytes => vec![Value::Bytes(&[])],
            _ => Vec::new(),
        }
    }

    /// A value of the pool, occasionally an extreme one.
    pub(crate) fn any_value(self, random: &mut Random, edge_percent: u32) -> Value {
        let edges = self.edges();
        let from =
            if !edges.is_empty() && random.percent(edge_percent) { edges } else { self.pool() };
        random.pick(&from).clone()
    }
}

/// A constant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    /// SQL `NULL`.
    Null,
    /// A whole number.
    Int(i64),
    /// A number of quarters.
    Quarters(i64),
    /// Text, dates and words.
    Text(&'static str),
    /// A truth value.
    Bool(bool),
    /// Bytes.
    Bytes(&'static [u8]),
    /// A letter thousands of times: more than half of a page of InnoDB or PostgreSQL.
    Long(char),
}

/// How often the letter of a long value is repeated.
const LONG: usize = 9_000;

impl Value {
    /// The constant as SQL.
    pub(crate) fn sql(&self, product: Product) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Int(number) => number.to_string(),
            Self::Quarters(quarters) => {
                let sign = if *quarters < 0 { "-" } else { "" };
                let (whole, rest) = (quarters.abs() / 4, quarters.abs() % 4);
                format!("{sign}{whole}.{:02}", rest * 25)
            }
            Self::Text(text) => format!("'{text}'"),
            Self::Long(letter) => match product.dialect() {
                Dialect::Sqlite => format!("replace(hex(zeroblob({})), '0', '{letter}')", LONG / 2),
                Dialect::Mysql | Dialect::Postgres => format!("REPEAT('{letter}', {LONG})"),
            },
            Self::Bool(truth) => if *truth { "TRUE" } else { "FALSE" }.to_owned(),
            Self::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                match product.dialect() {
                    Dialect::Postgres => format!("'\\x{digits}'"),
                    Dialect::Mysql | Dialect::Sqlite => format!("x'{digits}'"),
                }
            }
        }
    }

    /// As much of it as a key compares.
    pub(crate) fn beginning(&self, characters: Option<usize>) -> Self {
        match (self, characters) {
            (Self::Text(text), Some(count)) => Self::Text(&text[..count.min(text.len())]),
            _ => self.clone(),
        }
    }

    /// The whole number, if it is one.
    pub(crate) const fn as_int(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_in_the_product_s_way() {
        let written = |value: Value, product| value.sql(product);
        assert_eq!(written(Value::Quarters(-6), Product::named("mysql")), "-1.50");
        assert_eq!(written(Value::Quarters(-1), Product::named("mysql")), "-0.25");
        assert_eq!(written(Value::Bytes(&[1, 255]), Product::named("postgres")), "'\\x01ff'");
        assert_eq!(written(Value::Bytes(&[1, 255]), Product::named("sqlite")), "x'01ff'");
        assert_eq!(written(Value::Null, Product::named("tidb")), "NULL");
    }
}
