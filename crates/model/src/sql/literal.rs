//! Values as SQL literals: what was read can be written again.

use super::Dialect;
use crate::Value;

/// A value as it is written in a statement.
pub fn literal(value: &Value, dialect: Dialect) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(b) if dialect == Dialect::Postgres => b.to_string(),
        Value::Bool(b) => u8::from(*b).to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Decimal(text) => text.clone(),
        Value::Text(text) => {
            let doubled = text.replace('\'', "''");
            let safe = match dialect {
                Dialect::Mysql => doubled.replace('\\', "\\\\"),
                Dialect::Postgres | Dialect::Sqlite => doubled,
            };
            format!("'{safe}'")
        }
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            match dialect {
                Dialect::Postgres => format!("'\\x{hex}'"),
                Dialect::Mysql | Dialect::Sqlite => format!("x'{hex}'"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_stay_inside() {
        let text = Value::Text("a'b\\".to_owned());
        assert_eq!(literal(&text, Dialect::Postgres), "'a''b\\'");
        assert_eq!(literal(&text, Dialect::Mysql), "'a''b\\\\'");
        let bytes = Value::Bytes(vec![0, 255]);
        assert_eq!(literal(&bytes, Dialect::Sqlite), "x'00ff'");
        assert_eq!(literal(&bytes, Dialect::Postgres), "'\\x00ff'");
    }
}
