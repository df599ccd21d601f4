//! What may have happened so far, and what a read may have seen of it.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_claims::Exception;
use anchorite_model::{Cause, Value};

use super::unjudged::Unjudged;
use crate::evidence::evaluator::Contents;
use crate::evidence::versions::Writer;
use crate::evidence::world::World;
use crate::oracles::final_state::mechanism::exception_sentence;

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
    /// Why a write may have chosen other rows than these, so that the tables may end otherwise.
    pub doubt: Option<Unjudged>,
    /// What explains what it did otherwise than promised.
    pub needed: Option<Needed>,
}

/// An exception without which something that was done is not explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// The name of the exception.
    pub name: String,
    /// What happened, and where it is explained.
    pub because: Vec<String>,
    /// Whether a page of the vendor says so.
    pub is_documented: bool,
    /// Whether it is about what a read returned.
    pub is_of_read: bool,
}

impl Needed {
    /// What this exception explains.
    pub fn of(exception: &Exception, happened: String, is_of_read: bool) -> Self {
        Self {
            name: exception.name.clone(),
            because: vec![happened, exception_sentence(exception)],
            is_documented: exception.is_documented(),
            is_of_read,
        }
    }

    /// The one that weighs more.
    pub fn worse(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).min_by_key(|needed| needed.is_documented)
    }

    /// The one that weighs less.
    pub fn milder(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).min_by_key(|needed| !needed.is_documented)
    }
}

impl Course {
    /// Where every course begins.
    pub fn new(world: World) -> Self {
        let (snapshots, unknown) = (BTreeMap::new(), BTreeSet::new());
        Self { world, snapshots, unknown, unjudged: None, doubt: None, needed: None }
    }
}

/// That a statement did not wait.
pub struct Unawaited {
    /// What it did, in words.
    pub told: String,
    /// For what it should have waited.
    pub cause: Cause,
}

/// What may show of rows, by their numbers; `None` = no row.
pub type Choices = BTreeMap<usize, Vec<Option<Vec<Value>>>>;

/// What writes that still wait may have done.
#[derive(Debug, Clone, Default)]
pub struct HalfDone {
    /// What may show of rows beside their latest version.
    pub rows: Choices,
    /// Rows that may be there already, with their tables.
    pub new: Vec<(usize, Vec<Value>)>,
}

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
