//! Findings on disk: one folder each, complete in itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anchorite_model::{Finding, FindingLine};
use serde::Serialize;

use crate::campaign::{SCHEMA, read_json, to_json};
use crate::{StoreError, atomic};

/// A report that goes beside a finding: its file name and its text.
pub type Page = (String, String);

/// The file to run a finding again with.
const REDUCED: &str = "reduced.case";

#[derive(Serialize)]
struct Written<'a> {
    schema: u32,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// The findings of a folder, by fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    listed: BTreeMap<String, FindingLine>,
}

impl Findings {
    /// Reads them all.
    pub(crate) fn read(folder: &Path) -> Result<Self, StoreError> {
        let mut findings = Self::default();
        for entry in fs::read_dir(folder).map_err(StoreError::io("list", folder))? {
            let path = entry.map_err(StoreError::io("list", folder))?.path();
            let finding = read_json::<Finding>(&path.join("finding.json"))?;
            findings.list(&finding, path);
        }
        Ok(findings)
    }

    /// Writes one, if it is the first of its fingerprint; says whether it was.
    pub(crate) fn write(
        &mut self,
        folder: &Path,
        finding: &Finding,
        pages: &[Page],
    ) -> Result<bool, StoreError> {
        if self.listed.contains_key(&finding.fingerprint) {
            return Ok(false);
        }
        let path = folder.join(file_name(&finding.fingerprint));
        let mut files = vec![
            ("finding.json".to_owned(), to_json(&path, &Written { schema: SCHEMA, finding })?),
            (REDUCED.to_owned(), finding.reduced_case().to_text()),
            ("original.case".to_owned(), finding.original_case().to_text()),
        ];
        files.extend_from_slice(pages);
        atomic::write_folder(&path, &files)?;
        self.list(finding, path);
        Ok(true)
    }

    /// Counts a hit.
    pub(crate) fn hit(&mut self, fingerprint: &str) {
        if let Some(listed) = self.listed.get_mut(fingerprint) {
            listed.hits += 1;
        }
    }

    /// In order of their fingerprints.
    pub(crate) fn listed(&self) -> Vec<FindingLine> {
        self.listed.values().cloned().collect()
    }

    fn list(&mut self, finding: &Finding, folder: PathBuf) {
        let listed = FindingLine {
            fingerprint: finding.fingerprint.clone(),
            title: finding.title.clone(),
            signature: finding.signature.clone(),
            known: finding.known.clone(),
            target: finding.run.target.clone(),
            level: finding.run.level,
            statements: finding.run.case.steps.len() as u64,
            hits: 0,
            file: folder.join(REDUCED).display().to_string(),
        };
        self.listed.insert(finding.fingerprint.clone(), listed);
    }
}

/// A fingerprint as the name of a folder, whatever is in it.
fn file_name(fingerprint: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    fingerprint.chars().map(plain).collect()
}
