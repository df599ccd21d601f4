//! Random DDL alongside transactions; rare.
//!
//! New columns and indexes get unique names. Tables that others refer to are not truncated, because some products
//! refuse that whatever they contain.

use anchorite_model::sql::Dialect;

use crate::generator::Generator;
use crate::schema::any_index;

impl Generator<'_> {
    /// A statement that changes a table.
    pub(crate) fn ddl(&mut self, table: usize) -> String {
        let weights = &self.grammar.weights.ddl;
        let definition = self.table(table);
        let if_true = |condition: bool, weight: u32| if condition { weight } else { 0 };
        let can_truncate = self.grammar.has("truncate") && !definition.is_parent;
        let drops = self.grammar.has("drop-index") || self.grammar.has("drop-index-on");
        let form = self.random.weighted(&[
            (weights.create_index, "create index"),
            (self.grammar.if_has("add-column", weights.add_column), "add column"),
            (if_true(drops && !definition.indexes.is_empty(), weights.drop_index), "drop index"),
            (if_true(can_truncate, weights.truncate), "truncate"),
        ]);
        let name = &definition.name;
        let number = self.next_name();
        match form {
            "add column" => {
                let default = self.random.below(10);
                format!("ALTER TABLE {name} ADD COLUMN n{number} INT DEFAULT {default}")
            }
            "truncate" => format!("TRUNCATE TABLE {name}"),
            "drop index" => {
                let index = &self.random.pick(&definition.indexes).name;
                let on = if self.grammar.dialect == Dialect::Mysql {
                    format!(" ON {name}")
                } else {
                    String::new()
                };
                format!("DROP INDEX {index}{on}")
            }
            _ => match any_index(self.grammar, &mut self.random, definition) {
                Some((_, body)) => format!("CREATE INDEX n_{name}_{number} ON {name}{body}"),
                None => self.update(table),
            },
        }
    }
}
