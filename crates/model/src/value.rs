//! A typed cell of a result.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One value as the server typed it. Comparisons are made on these, never on flattened text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Value {
    /// SQL `NULL`.
    Null,
    /// A boolean of a product that has them.
    Bool(bool),
    /// Any integer type (wide enough for unsigned 64 bits).
    Int(i128),
    /// A binary floating point number.
    Float(#[serde(with = "float")] f64),
    /// An exact decimal, in the server's spelling.
    Decimal(String),
    /// Text, and every type without a class of its own here (dates, JSON, ...).
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Floats are stored as text: JSON has no infinity, and text preserves the bits.
mod float {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("expected a number, found '{text}'")))
    }
}

impl Value {
    const fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) => 2,
            Self::Float(_) => 3,
            Self::Decimal(_) => 4,
            Self::Text(_) => 5,
            Self::Bytes(_) => 6,
        }
    }
}

/// A total order so that multisets of rows can be sorted; floats by IEEE total order, except for the two zeros, which
/// are equal in SQL.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) if *a == 0.0 && *b == 0.0 => Ordering::Equal,
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Decimal(a), Self::Decimal(b)) | (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

/// How a value is shown to people in a cell of a table.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Decimal(s) | Self::Text(s) => f.write_str(s),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
        }
    }
}
