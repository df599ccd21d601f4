//! What the table of a run is like: its key, its indexes, columns that nobody looks at. Pure.
//!
//! Idea: which locks a statement takes, how it finds its rows and what it moves depends on the key and the indexes, so
//! the seed of a run with the workload `generated` chooses them. All other runs have the plain table, so that their
//! speed can be compared. Assumption: every shape is legal SQL of every product. Blind spot: several tables, and
//! references between them.

use crate::random::Random;
use crate::workload::Workload;

/// The stream of random choices that belongs to the table.
const STREAM: u64 = 1 << 62;

/// How a row is known by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Key {
    /// A primary key.
    #[default]
    Primary,
    /// A unique index: the table has no primary key.
    Unique,
    /// A unique index beside a primary key that begins with the group.
    BesideGroup,
}

/// How the rows of a group are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Index {
    /// By an index on the group.
    #[default]
    Group,
    /// By one that also has the value, which every write moves.
    GroupAndValue,
    /// By one that has everything that a read asks for.
    Covering,
}

/// What the table is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Its key.
    pub key: Key,
    /// Its index.
    pub index: Index,
    /// Whether rows have more columns than anybody looks at.
    pub is_wide: bool,
}

impl Shape {
    /// That of a run.
    pub fn of(workloads: &[Workload], seed: u64) -> Self {
        if !workloads.contains(&Workload::Generated) {
            return Self::default();
        }
        let mut random = Random::new(seed, STREAM);
        let key = [Key::Primary, Key::Unique, Key::BesideGroup][random.below(3) as usize];
        let all = [Index::Group, Index::GroupAndValue, Index::Covering];
        let index = all[random.below(3) as usize];
        Self { key, index, is_wide: random.percent(50) }
    }

    /// The statements that create the table; `text` is the product's type for lists.
    pub(crate) fn create(&self, table: &str, text: &str) -> Vec<String> {
        let (key, more) = match self.key {
            Key::Primary => ("PRIMARY KEY", ""),
            Key::Unique => ("NOT NULL UNIQUE", ""),
            Key::BesideGroup => ("NOT NULL UNIQUE", ", PRIMARY KEY (g, id)"),
        };
        let wide = match self.is_wide {
            true => ", x VARCHAR(300) DEFAULT 'nobody looks at this', y DECIMAL(20, 3) DEFAULT 1.5",
            false => "",
        };
        let columns = match self.index {
            Index::Group => "g",
            Index::GroupAndValue => "g, v",
            Index::Covering => "g, id, v, w, p, n",
        };
        vec![
            format!(
                "CREATE TABLE {table} (id BIGINT {key}, g BIGINT NOT NULL, v BIGINT, w BIGINT, p BIGINT, n BIGINT, \
                 l {text}{wide}{more})"
            ),
            format!("CREATE INDEX stress_groups ON {table} ({columns})"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_give_all_shapes_and_other_workloads_the_plain_one() {
        let generated = [Workload::Generated];
        let shapes: Vec<Shape> = (0..300).map(|seed| Shape::of(&generated, seed)).collect();
        assert_eq!(shapes[7], Shape::of(&generated, 7));
        let all: std::collections::BTreeSet<String> =
            shapes.iter().map(|shape| format!("{shape:?}")).collect();
        assert_eq!(all.len(), 3 * 3 * 2);
        assert_eq!(Shape::of(&[Workload::Bank], 7), Shape::default());
    }
}
