//! Where a case is known to show its phenomenon, as data in its header.
//!
//! ```text
//! -- manifests: mariadb 10.11 ru rc; mysql 9.7 ru rc        the shows-lines hold there
//! -- absent: mariadb 11.8 all; postgres 15 rc rr ser        they do not hold there
//! -- seen: postgres 15 rr ser: step 4 fails serialization   this condition holds there
//! ```
//!
//! A place is a product, a version prefix (left out: every version) and levels (`all`: every level that
//! the target has). A place that no line names is one where nobody has looked: any outcome is fine.

use anchorite_claims::Version;
use anchorite_model::{Case, Level, Product, Run, TargetInfo};

use crate::condition::Condition;
use crate::header::{ConditionError, fitting, shows, values};

/// A product at some versions and levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The product.
    pub product: Product,
    /// The version's first numbers; `None` = every version.
    pub version: Option<Version>,
    /// The levels; `None` = every level.
    pub levels: Option<Vec<Level>>,
}

impl Place {
    /// Whether the place is this target at this level.
    pub fn is(&self, target: &TargetInfo, level: Level) -> bool {
        let version = self.version.as_ref();
        self.product == target.product
            && version.is_none_or(|prefix| Version::of(target).starts_with(prefix))
            && self.levels.as_ref().is_none_or(|levels| levels.contains(&level))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().peekable();
        let product = words.next().ok_or("expected a product, a version and levels")?;
        let product = product.parse::<Product>().map_err(|error| error.to_string())?;
        let version = words.peek().and_then(|word| word.parse::<Version>().ok());
        if version.is_some() {
            words.next();
        }
        let words: Vec<&str> = words.collect();
        let levels = match words.as_slice() {
            [] => {
                return Err(format!(
                    "'{text}' names no level: expected ru, rc, rr, si, ser or all"
                ));
            }
            ["all"] => None,
            levels => {
                let levels = levels.iter().map(|word| word.parse::<Level>());
                Some(levels.collect::<Result<_, _>>().map_err(|error| error.to_string())?)
            }
        };
        Ok(Self { product, version, levels })
    }

    fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        text.split(';').map(Self::parse).collect()
    }
}

/// A condition that was seen to hold at some places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Where.
    pub places: Vec<Place>,
    /// What.
    pub condition: Condition,
}

/// All that a case's header says about where it was run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// Where all `-- shows:` lines hold.
    pub manifests: Vec<Place>,
    /// Where they do not all hold.
    pub absent: Vec<Place>,
    /// What else holds where.
    pub seen: Vec<Seen>,
}

impl Measured {
    /// Reads the header.
    pub fn of(case: &Case) -> Result<Self, ConditionError> {
        Ok(Self {
            manifests: places(case, "manifests")?,
            absent: places(case, "absent")?,
            seen: values(case, "seen").map(|text| seen(case, text)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether the phenomenon must show at this place; `None` where nobody has looked.
    pub fn expected(&self, target: &TargetInfo, level: Level) -> Option<bool> {
        let any = |places: &[Place]| places.iter().any(|place| place.is(target, level));
        if any(&self.manifests) {
            Some(true)
        } else if any(&self.absent) {
            Some(false)
        } else {
            None
        }
    }

    /// The further conditions that must hold at this place.
    pub fn seen_at(&self, target: &TargetInfo, level: Level) -> impl Iterator<Item = &Condition> {
        self.seen
            .iter()
            .filter(move |seen| seen.places.iter().any(|place| place.is(target, level)))
            .map(|seen| &seen.condition)
    }
}

/// What the header says about this target and level and the run does not confirm, one sentence each.
pub fn contradictions(case: &Case, run: &Run, level: Level) -> Result<Vec<String>, ConditionError> {
    let measured = Measured::of(case)?;
    let conditions = shows(case)?;
    let failing = conditions.iter().find(|condition| !condition.holds(run));
    let mut sentences = Vec::new();
    match (measured.expected(&run.target, level), failing) {
        (Some(true), Some(condition)) => {
            sentences.push(format!("must show here, but this does not hold: {condition}"));
        }
        (Some(false), None) => sentences.push("must not show here, but it does".to_owned()),
        _ => {}
    }
    for condition in measured.seen_at(&run.target, level).filter(|condition| !condition.holds(run))
    {
        sentences.push(format!("was seen here before, but does not hold: {condition}"));
    }
    Ok(sentences)
}

fn places(case: &Case, key: &str) -> Result<Vec<Place>, ConditionError> {
    let mut places = Vec::new();
    for text in values(case, key) {
        places.extend(Place::parse_list(text).map_err(|reason| misfit(case, key, text, reason))?);
    }
    Ok(places)
}

fn seen(case: &Case, text: &str) -> Result<Seen, ConditionError> {
    let (places, condition) = text.split_once(':').ok_or_else(|| {
        misfit(case, "seen", text, "expected PLACES: CONDITION, and found no colon".to_owned())
    })?;
    let places = Place::parse_list(places).map_err(|reason| misfit(case, "seen", text, reason))?;
    Ok(Seen { places, condition: fitting(case, "seen", condition.trim())? })
}

fn misfit(case: &Case, key: &str, text: &str, reason: String) -> ConditionError {
    ConditionError::Misfit {
        case: case.name.clone(),
        key: key.to_owned(),
        text: text.to_owned(),
        reason,
    }
}
