//! Cells of the text protocol as typed values.
//!
//! The column's type decides: integers (also unsigned, also YEAR) become `Int`, FLOAT and DOUBLE `Float`,
//! DECIMAL `Decimal` in the server's spelling, BIT its number as `Int`, binary strings and geometry
//! `Bytes`, everything else `Text`. Text that is not UTF-8 is kept as `Bytes` rather than mangled.

use anchorite_model::Value;
use mysql_common::constants::ColumnType;

/// The character set number of binary strings.
const BINARY: u16 = 63;

/// How a column's cells are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Int,
    Float,
    Decimal,
    Bit,
    Bytes,
    Text,
}

impl CellKind {
    pub(super) fn of(column_type: ColumnType, character_set: u16) -> Self {
        use ColumnType as T;
        match column_type {
            T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_LONGLONG
            | T::MYSQL_TYPE_YEAR => Self::Int,
            T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => Self::Float,
            T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => Self::Decimal,
            T::MYSQL_TYPE_BIT => Self::Bit,
            T::MYSQL_TYPE_GEOMETRY | T::MYSQL_TYPE_VECTOR => Self::Bytes,
            T::MYSQL_TYPE_VARCHAR
            | T::MYSQL_TYPE_VAR_STRING
            | T::MYSQL_TYPE_STRING
            | T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB
                if character_set == BINARY =>
            {
                Self::Bytes
            }
            // JSON and dates carry the binary character set too, and are text.
            _ => Self::Text,
        }
    }

    /// A cell that is not NULL.
    pub(super) fn read(self, cell: &[u8]) -> Value {
        let number = || std::str::from_utf8(cell).ok();
        let typed = match self {
            Self::Int => number().and_then(|text| text.parse().ok()).map(Value::Int),
            Self::Float => number().and_then(|text| text.parse().ok()).map(Value::Float),
            Self::Decimal => number().map(|text| Value::Decimal(text.to_owned())),
            Self::Bit if cell.len() <= 8 => {
                Some(Value::Int(cell.iter().fold(0, |bits, byte| bits << 8 | i128::from(*byte))))
            }
            Self::Bit | Self::Bytes => Some(Value::Bytes(cell.to_vec())),
            Self::Text => None,
        };
        typed.unwrap_or_else(|| match String::from_utf8(cell.to_vec()) {
            Ok(text) => Value::Text(text),
            Err(not_text) => Value::Bytes(not_text.into_bytes()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_typed_by_their_column() {
        use ColumnType as T;
        const UTF8: u16 = 45;
        for (column, charset, cell, expected) in [
            (T::MYSQL_TYPE_LONG, BINARY, &b"-5"[..], Value::Int(-5)),
            (T::MYSQL_TYPE_LONGLONG, BINARY, b"18446744073709551615", Value::Int(u64::MAX.into())),
            (T::MYSQL_TYPE_YEAR, BINARY, b"2024", Value::Int(2024)),
            (T::MYSQL_TYPE_DOUBLE, BINARY, b"1.5e300", Value::Float(1.5e300)),
            (T::MYSQL_TYPE_NEWDECIMAL, BINARY, b"1.50", Value::Decimal("1.50".into())),
            (T::MYSQL_TYPE_BIT, BINARY, b"\x01\x02", Value::Int(258)),
            (T::MYSQL_TYPE_BIT, BINARY, &[255; 8], Value::Int(u64::MAX.into())),
            (T::MYSQL_TYPE_VAR_STRING, UTF8, "é".as_bytes(), Value::Text("é".into())),
            (T::MYSQL_TYPE_VAR_STRING, UTF8, b"\xff", Value::Bytes(vec![255])),
            (T::MYSQL_TYPE_VAR_STRING, BINARY, b"ab", Value::Bytes(b"ab".to_vec())),
            (T::MYSQL_TYPE_BLOB, BINARY, b"", Value::Bytes(vec![])),
            (T::MYSQL_TYPE_BLOB, UTF8, b"t", Value::Text("t".into())),
            (T::MYSQL_TYPE_JSON, BINARY, b"{}", Value::Text("{}".into())),
            (T::MYSQL_TYPE_DATETIME, BINARY, b"2024-01-01", Value::Text("2024-01-01".into())),
        ] {
            assert_eq!(CellKind::of(column, charset).read(cell), expected, "{column:?}");
        }
    }
}
