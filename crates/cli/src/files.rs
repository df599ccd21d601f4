//! Reading cases, specs and findings: a bad file is told with its name, line and what was expected.

use std::path::Path;

use anchorite_model::spec::Spec;
use anchorite_model::{Case, Finding};

use crate::exit::BadInput;

/// A parsed file.
pub enum Script {
    /// A `.case` file.
    Case(Box<Case>),
    /// A `.spec` file.
    Spec(Spec),
}

impl Script {
    /// The cases in it: one, or one per permutation.
    pub fn cases(&self) -> Vec<Case> {
        match self {
            Self::Case(case) => vec![case.as_ref().clone()],
            Self::Spec(spec) => spec.cases(),
        }
    }
}

/// Reads a file by its ending.
pub fn read(path: &Path) -> Result<Script, BadInput> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => BadInput(format!("{name}: expected UTF-8 text")),
        _ => BadInput(format!("{name}: {error}")),
    })?;
    let bad = |error: String| BadInput(error);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("spec") => {
            Spec::parse(&name, &text).map(Script::Spec).map_err(|error| bad(error.to_string()))
        }
        Some("case") => parse_case(path, &name, &text),
        _ => Err(bad(format!("{name}: expected a file that ends in .case or .spec"))),
    }
}

fn parse_case(path: &Path, name: &str, text: &str) -> Result<Script, BadInput> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let case =
        Case::parse(&stem, text).map_err(|error| BadInput(error.in_file(name).to_string()))?;
    Ok(Script::Case(Box::new(case)))
}

/// Reads a `finding.json`: what the store writes beside it (the version of its layout) is passed over.
pub fn finding_file(path: &Path) -> Result<Finding, BadInput> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| BadInput(format!("{name}: {error}")))?;
    let finding = serde_json::from_str(&text);
    finding.map_err(|error| BadInput(format!("{name}: expected a finding: {error}")))
}
