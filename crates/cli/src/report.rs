//! `anchorite report`: the findings of a folder on one page.
//!
//! Idea: the folder that a hunt writes (`--out DIR`) is read as it is: `findings/*/finding.json`, and the summary
//! beside them if there is one. A finding that cannot be read is reported and does not hide the others.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anchorite_model::{Finding, HuntSummary};
use anchorite_report::{finding, hunt};
use anyhow::Context;
use clap::Args;

use crate::exit::{BadInput, Exit};
use crate::files::finding_file;
use crate::output::{self, complain};

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --html and --md the findings are listed as text. `-` writes to standard output.

Examples:
  anchorite report hunt-out
  anchorite report hunt-out --html report.html --md report.md")]
pub struct ReportArgs {
    /// The folder that a hunt wrote (hunt --out DIR)
    folder: PathBuf,
    /// Write one HTML page that needs no other file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write all findings as Markdown
    #[arg(long, value_name = "FILE")]
    md: Option<PathBuf>,
}

/// Reads the folder and writes what was asked for.
pub fn run(arguments: &ReportArgs) -> anyhow::Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    let (paths, findings) = findings(&arguments.folder)?;
    let summary = summary(&arguments.folder)?;
    let waiting = waiting(&arguments.folder);
    if let Some(file) = &arguments.html {
        write(file, &finding::page(summary.as_ref(), &findings, waiting, version))?;
    }
    if let Some(file) = &arguments.md {
        let reports: Vec<String> =
            findings.iter().map(|found| finding::markdown(found, version)).collect();
        let text = match reports.is_empty() {
            true => "No findings.\n".to_owned(),
            false => reports.join("\n---\n\n"),
        };
        write(file, &text)?;
    }
    if arguments.html.is_none() && arguments.md.is_none() {
        let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let listed: Vec<(&Finding, &str)> =
            findings.iter().zip(files.iter().map(String::as_str)).collect();
        let options = output::text_options();
        output::print(&hunt::overview(summary.as_ref(), &listed, waiting, &options));
    }
    Ok(Exit::Fine.into())
}

/// The findings that can be read, with their files: new ones first, then those that more oracles see, otherwise sorted
/// by name.
fn findings(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Finding>), BadInput> {
    let place = folder.join("findings");
    let failed = |error: std::io::Error| {
        let name = folder.display();
        BadInput(format!("{name}: expected a folder that a hunt wrote (with findings/): {error}"))
    };
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&place).map_err(failed)? {
        folders.push(entry.map_err(failed)?.path());
    }
    folders.sort();
    let mut read = Vec::new();
    for path in folders.into_iter().map(|folder| folder.join("finding.json")) {
        match finding_file(&path) {
            Ok(finding) => read.push((path, finding)),
            // Half-written folders of a killed hunt have no finding in them.
            Err(_) if !path.exists() => {}
            Err(error) => complain(&error.to_string()),
        }
    }
    let rank = |finding: &Finding| (finding.known.clone(), Reverse(finding.seen_by().len()));
    read.sort_by_key(|(_, finding)| rank(finding));
    Ok(read.into_iter().unzip())
}

/// How many suspects have not been examined yet.
fn waiting(folder: &Path) -> u64 {
    let suspects = std::fs::read_dir(folder.join("suspects")).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    suspects.map(|entry| entry.path()).filter(is_one).count() as u64
}

/// The hunt's numbers, if it wrote them.
fn summary(folder: &Path) -> Result<Option<HuntSummary>, BadInput> {
    let path = folder.join("summary.json");
    if !path.exists() {
        return Ok(None);
    }
    let name = path.display();
    let text =
        std::fs::read_to_string(&path).map_err(|error| BadInput(format!("{name}: {error}")))?;
    let summary = serde_json::from_str(&text);
    summary.map(Some).map_err(|error| BadInput(format!("{name}: {error}")))
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    if file.as_os_str() == "-" {
        output::print(text);
        return Ok(());
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
