//! Findings on disk: one folder each, complete in itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anchorite_model::{Finding, FindingLine};
use serde::Serialize;

use crate::campaign::{SCHEMA, read_json, to_json};
use crate::{StoreError, atomic};

/// A report that accompanies a finding: its file name and its text.
pub type Page = (String, String);

/// Makes the reports of a finding.
pub type Pages<'a> = &'a dyn Fn(&Finding) -> Vec<Page>;

/// Where a finding was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// The finding that it is, or that it is a hit of.
    pub fingerprint: String,
    /// Whether it is the first.
    pub is_new: bool,
    /// The oracles that see what was found before, and were not known to.
    pub new_witnesses: Vec<String>,
}

/// The file to run a finding again with.
const REDUCED: &str = "reduced.case";
/// The finding itself, for programs.
const FINDING: &str = "finding.json";

#[derive(Serialize)]
struct Written<'a> {
    schema: u32,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// A finding in the folder, and how often it was hit.
#[derive(Debug)]
struct Listed {
    finding: Finding,
    folder: PathBuf,
    hits: u64,
    /// Where it was hit, by the numbers of the places in the campaign.
    places: BTreeSet<usize>,
}

/// The findings of a folder, by fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    listed: BTreeMap<String, Listed>,
}

impl Findings {
    /// Reads them all.
    pub(crate) fn read(folder: &Path) -> Result<Self, StoreError> {
        let mut findings = Self::default();
        for entry in fs::read_dir(folder).map_err(StoreError::io("list", folder))? {
            let path = entry.map_err(StoreError::io("list", folder))?.path();
            let finding = read_json::<Finding>(&path.join(FINDING))?;
            findings.list(finding, path);
        }
        Ok(findings)
    }

    /// Writes one, if it is the first of its kind. If an earlier one explains it, the oracles that see it are added to
    /// that one's witnesses.
    pub(crate) fn write(
        &mut self,
        folder: &Path,
        finding: &Finding,
        pages: Pages<'_>,
    ) -> Result<Filed, StoreError> {
        let by_name = |name: &&String| self.listed.contains_key(*name);
        let mut explained = self.listed.iter().filter(|(_, old)| old.finding.explains(finding));
        let earlier = Some(&finding.fingerprint).filter(by_name);
        let earlier = earlier.or_else(|| explained.next().map(|(name, _)| name)).cloned();
        if let Some(old) = earlier.as_ref().and_then(|name| self.listed.get_mut(name)) {
            let new_witnesses = old.add_witnesses(finding, pages)?;
            let fingerprint = old.finding.fingerprint.clone();
            return Ok(Filed { fingerprint, is_new: false, new_witnesses });
        }
        let path = folder.join(file_name(&finding.fingerprint));
        let mut files = vec![
            (FINDING.to_owned(), finding_json(&path, finding)?),
            (REDUCED.to_owned(), finding.reduced_case().to_text()),
            ("original.case".to_owned(), finding.original_case().to_text()),
        ];
        let before = finding.cases_before().into_iter();
        files.extend(before.map(|(name, case)| (name, case.to_text())));
        files.extend(pages(finding));
        atomic::write_folder(&path, &files)?;
        self.list(finding.clone(), path);
        let fingerprint = finding.fingerprint.clone();
        Ok(Filed { fingerprint, is_new: true, new_witnesses: Vec::new() })
    }

    /// Their names.
    pub(crate) fn fingerprints(&self) -> Vec<String> {
        self.listed.keys().cloned().collect()
    }

    /// Counts a hit, at a place of the campaign.
    pub(crate) fn hit(&mut self, fingerprint: &str, place: usize) {
        if let Some(listed) = self.listed.get_mut(fingerprint) {
            listed.hits += 1;
            listed.places.insert(place);
        }
    }

    /// Those that more oracles see come first, else in order of their fingerprints.
    pub(crate) fn listed(&self) -> Vec<FindingLine> {
        let mut lines: Vec<FindingLine> = self.listed.values().map(Listed::line).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.witnesses.len()));
        lines
    }

    fn list(&mut self, finding: Finding, folder: PathBuf) {
        let listed = Listed { folder, hits: 0, places: BTreeSet::new(), finding };
        self.listed.insert(listed.finding.fingerprint.clone(), listed);
    }
}

impl Listed {
    fn line(&self) -> FindingLine {
        let finding = &self.finding;
        FindingLine {
            fingerprint: finding.fingerprint.clone(),
            title: finding.title.clone(),
            signature: finding.signature.clone(),
            known: finding.known.clone(),
            unreported: finding.unreported,
            cause: finding.cause.clone(),
            target: finding.run.target.clone(),
            level: finding.run.level,
            statements: finding.run.case.steps.len() as u64,
            hits: self.hits,
            places: self.places.iter().copied().collect(),
            levels: Vec::new(),
            seen_at: Vec::new(),
            witnesses: finding.seen_by().into_iter().map(str::to_owned).collect(),
            file: self.folder.join(REDUCED).display().to_string(),
        }
    }

    /// Adds the oracles that see another one; gives those that are new here. The finding itself is written last:
    /// whoever is killed before that comes here again.
    fn add_witnesses(
        &mut self,
        other: &Finding,
        pages: Pages<'_>,
    ) -> Result<Vec<String>, StoreError> {
        let mut finding = self.finding.clone();
        let new = finding.add_witnesses(other);
        if new.is_empty() {
            return Ok(new);
        }
        for (name, text) in pages(&finding) {
            atomic::write(&self.folder.join(name), text.as_bytes())?;
        }
        let path = self.folder.join(FINDING);
        atomic::write(&path, finding_json(&path, &finding)?.as_bytes())?;
        self.finding = finding;
        Ok(new)
    }
}

fn finding_json(path: &Path, finding: &Finding) -> Result<String, StoreError> {
    to_json(path, &Written { schema: SCHEMA, finding })
}

/// A name as that of a file or folder, whatever is in it.
pub(crate) fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}
