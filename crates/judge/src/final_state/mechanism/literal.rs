//! Values as SQL literals, to put a version of a row back into a table.

use anchorite_model::sql::Dialect;
use anchorite_model::{Product, Value};

/// The literal for a value in a product's SQL.
pub fn literal(value: &Value, product: Product) -> String {
    let dialect = Dialect::of(product);
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
        assert_eq!(literal(&text, Product::Postgres), "'a''b\\'");
        assert_eq!(literal(&text, Product::Mysql), "'a''b\\\\'");
        let bytes = Value::Bytes(vec![0, 255]);
        assert_eq!(literal(&bytes, Product::Sqlite), "x'00ff'");
        assert_eq!(literal(&bytes, Product::Postgres), "'\\x00ff'");
    }
}
