//! What may have happened so far, and what a read may have seen of it.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_model::Value;

use super::unjudged::Unjudged;
use crate::evidence::evaluator::Contents;
use crate::evidence::versions::Writer;
use crate::evidence::world::World;

/// One way in which everything may have happened so far.
#[derive(Debug, Clone)]
pub struct Course {
    /// The rows.
    pub world: World,
    /// The snapshots that transactions have taken.
    pub snapshots: BTreeMap<Writer, usize>,
    /// Tables of which the contents are not known any more.
    pub unknown: BTreeSet<usize>,
    /// Why a statement was not judged.
    pub unjudged: Option<Unjudged>,
}

/// What may show of rows instead of their latest version, by the numbers of the rows; `None` = no row.
pub type HalfDone = BTreeMap<usize, Vec<Option<Vec<Value>>>>;

/// What a read may have seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// The rows.
    pub contents: Contents,
    /// The snapshot that its transaction has from now on, if this read takes it.
    pub snapshot: Option<usize>,
    /// The moment of which it is; `None` for one with versions of several moments.
    pub moment: Option<usize>,
    /// Whether it is the one that the claim names, and not one that is merely accepted.
    pub is_exact: bool,
}

impl Sight {
    /// With one more row, once for each of its possible versions; `None` = it is not there.
    pub(super) fn with_row(&self, table: usize, versions: &[Option<Vec<Value>>]) -> Vec<Self> {
        let with = |values: &Option<Vec<Value>>| {
            let mut sight = self.clone();
            sight.contents.entry(table).or_default().extend(values.clone());
            sight
        };
        versions.iter().map(with).collect()
    }
}
