//! A bug of the collection: a case, and what its header says about it.
//!
//! Source: the headers of `cases/bugs`, `cases/papers` and `cases/servers`. Blind spot: a measurement on an unknown
//! release of a series
//! belongs to no release.

use anchorite_claims::Version;
use anchorite_judge::{BugLines, ConditionError, Measurements, ProductLevels, Versions};
use anchorite_model::{Case, Level, Product};

/// A bug of the collection.
#[derive(Debug, Clone)]
pub struct Bug {
    /// The folder below `cases` that its file is in.
    pub folder: &'static str,
    /// How it is shown.
    pub case: Case,
    /// What the header says about the bug.
    pub lines: BugLines,
    /// What the header says about where it was measured.
    pub measured: Measurements,
}

impl Bug {
    /// Reads the header of a case of this folder.
    pub fn read(folder: &'static str, case: Case) -> Result<Self, ConditionError> {
        Ok(Self { folder, lines: BugLines::of(&case)?, measured: Measurements::of(&case)?, case })
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.case.name
    }

    /// What it is, in a sentence.
    pub fn title(&self) -> &str {
        self.case.header.title.as_deref().unwrap_or_default()
    }

    /// The arguments of the server that it needs for itself, if it needs one: what it does concerns the whole server.
    pub fn server_arguments(&self) -> Option<Vec<String>> {
        let mut lines = self.case.header.other.iter().filter(|(key, _)| key == "server");
        lines.next().map(|(_, text)| text.split_whitespace().map(str::to_owned).collect())
    }

    /// Whether its case is written for this product.
    pub fn is_for(&self, product: Product) -> bool {
        let targets = &self.case.header.targets;
        targets.is_empty() || targets.contains(&product)
    }

    /// Whether it was seen at this level anywhere, or is about it.
    pub fn concerns(&self, level: Level) -> bool {
        let at =
            |place: &ProductLevels| place.levels.as_ref().is_none_or(|own| own.contains(&level));
        self.case.header.level == Some(level) || self.measured.manifests.iter().any(at)
    }

    /// The releases that the header names.
    pub(super) fn releases(&self) -> impl Iterator<Item = (Product, &Version, &ProductLevels)> {
        let places = self.measured.manifests.iter().chain(&self.measured.absent);
        places.flat_map(|place| {
            let releases = match &place.versions {
                Versions::Measured(releases) => releases.as_slice(),
                Versions::Documented { .. } => &[],
            };
            releases.iter().map(move |release| (place.product, release, place))
        })
    }
}
