//! The anomaly table: what each level of a target allows, beside what its documentation claims.
//!
//! Idea: Hermitage's table, with two things added. Each cell says *how* the anomaly was prevented, next to the vendor's
//! own claim, with the page that makes it. An anomaly that is claimed as prevented but was observed is a contradiction,
//! and the only thing here that is wrong. Every form is a pure function from [`Probe`]s to a `String`.
//!
//! Source: Martin Kleppmann's Hermitage for the ten columns; `claims/` for the claims. Assumption: the case with its
//! anomaly's own name fills the anomaly's cell in the table; the other cases are variants of it. Blind spot:
//! "prevented" refers to one schedule per case.

mod html;
mod json;
mod markdown;
mod sheet;
mod text;
mod words;

use anchorite_claims::{Anomaly, Documented, Promise};
use anchorite_judge::Observation;
use anchorite_judge::traced::cycles::Sighting;
use anchorite_model::{BlockingKnowledge, Level, TargetInfo};

pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use text::text;

/// What was probed on one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Where.
    pub target: TargetInfo,
    /// Level by level, in the order in which they ran.
    pub levels: Vec<LevelProbe>,
    /// Why the probe stopped before its end, if it did.
    pub incomplete: Option<String>,
}

/// What was probed at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelProbe {
    /// The level; `None` if the target's default is not a level that has a name here.
    pub level: Option<Level>,
    /// Whether a session gets this level when it asks for none.
    pub is_default: bool,
    /// The level in the server's words; `None` where no case could run.
    pub read_back: Option<String>,
    /// How blocking was known; `None` where no case could run.
    pub blocking: Option<BlockingKnowledge>,
    /// Case by case.
    pub cases: Vec<CaseProbe>,
}

impl LevelProbe {
    /// The level's name, or `default`.
    pub fn name(&self) -> &'static str {
        self.level.map_or("default", Level::name)
    }

    /// The case of this name, if it was probed.
    pub(crate) fn case(&self, name: &str) -> Option<&CaseProbe> {
        self.cases.iter().find(|case| case.name == name)
    }
}

/// What one case showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseProbe {
    /// Its name.
    pub name: String,
    /// What it is about, in a sentence.
    pub title: String,
    /// The anomaly that it provokes.
    pub anomaly: Anomaly,
    /// What the documentation says about it at this level.
    pub documented: Documented<'static>,
    /// What was observed, or why the case could not run.
    pub outcome: Result<Observation, String>,
    /// The anomalies in the dependency graph of the same case on instrumented tables, or why there is none.
    pub graph: Result<Vec<Sighting>, String>,
}

impl CaseProbe {
    /// Whether the anomaly is claimed as prevented and was observed.
    pub fn contradicts(&self) -> bool {
        self.documented.promise == Promise::Prevented
            && self.outcome.as_ref().is_ok_and(|seen| seen.possible)
    }

    /// Whether this case fills its anomaly's cell in the table.
    pub(crate) fn is_main(&self) -> bool {
        self.name == self.anomaly.name()
    }
}

impl Probe {
    /// All cases with the level at which each was probed.
    pub fn cases(&self) -> impl Iterator<Item = (&LevelProbe, &CaseProbe)> {
        self.levels.iter().flat_map(|level| level.cases.iter().map(move |case| (level, case)))
    }

    /// The cases that contradict the documentation.
    pub fn contradictions(&self) -> impl Iterator<Item = (&LevelProbe, &CaseProbe)> {
        self.cases().filter(|(_, case)| case.contradicts())
    }
}
