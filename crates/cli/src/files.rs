//! Reading cases, specs and findings: a bad file is reported with its name, line and what was expected.

use std::path::{Path, PathBuf};

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

/// The named files, with each folder replaced by the `.case` and `.spec` files below it, sorted by name.
pub fn collect(
    paths: &[PathBuf],
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, BadInput> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        below(path, is_wanted, &mut files)?;
        if files.len() == before {
            let name = path.display();
            return Err(BadInput(format!("{name}: expected .case or .spec files in this folder")));
        }
    }
    Ok(files)
}

fn below(
    folder: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), BadInput> {
    let unreadable = |error: std::io::Error| BadInput(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.sort();
    for path in paths {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            below(&path, is_wanted, files)?;
        } else if ending.is_some_and(|e| ["case", "spec"].contains(&e) && is_wanted(e)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads a file according to its extension.
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

/// The finding that a path leads to: a `finding.json`, or the folder of one. `None` for any other file.
pub fn finding_at(path: &Path) -> Result<Option<Finding>, BadInput> {
    if path.is_dir() {
        let file = path.join("finding.json");
        if !file.exists() {
            return Err(no_finding_in(path));
        }
        return finding_file(&file).map(Some);
    }
    match path.extension().is_some_and(|ending| ending == "json") {
        true => finding_file(path).map(Some),
        false => Ok(None),
    }
}

/// A folder that is not a finding may be the one that holds them.
fn no_finding_in(folder: &Path) -> BadInput {
    let inside = |folder: &Path| {
        let entries = std::fs::read_dir(folder).ok()?.flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("finding.json").exists()).min()
    };
    let example = inside(&folder.join("findings")).or_else(|| inside(folder));
    let name = folder.display();
    BadInput(match example {
        Some(finding) => {
            format!(
                "{name}: contains several findings; name one of them, for instance {}",
                finding.display()
            )
        }
        None => format!("{name}: expected a file, or the folder of a finding (with finding.json)"),
    })
}

/// Reads a `finding.json`, ignoring what the store adds to it (the version of its layout).
pub fn finding_file(path: &Path) -> Result<Finding, BadInput> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| BadInput(format!("{name}: {error}")))?;
    let finding = serde_json::from_str(&text);
    finding.map_err(|error| BadInput(format!("{name}: expected a finding: {error}")))
}
