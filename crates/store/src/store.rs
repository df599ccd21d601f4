//! The open findings folder.
//!
//! The order of writing makes it safe: a suspect is removed only after its finding is there and the journal has its
//! line; after a kill in between, it is investigated once more with the same result. Hits are counted by where they
//! occurred, so nothing counts twice. A suspect is a case and the oracle that suspects it.
//!
//! A hunt without `--out` creates its folder only when there is something to keep: until then the journal is held in
//! memory, and, where the process may crash, in a spare folder as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anchorite_model::{Finding, FindingLine, HuntSummary};
use serde::Serialize;
use serde_json::Value;

use crate::campaign::{SCHEMA, write_json};
use crate::checkpoint::{self, Counts, Sum};
use crate::findings::Findings;
use crate::folder::Folder;
use crate::journal::Journal;
use crate::lock::Lock;
use crate::settled::Settled;
use crate::{
    Campaign, Conclusion, Crash, Filed, Outcome, Pages, Progress, Spot, StoreError, Suspect,
};

/// A findings folder that is ours until this value is dropped.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
    campaign: Campaign,
    open: Option<Open>,
    /// Progress held until the folder is created.
    waiting: Vec<Value>,
    /// Where held progress is also written.
    spare: Option<Journal>,
    findings: Findings,
    settled: Settled,
    /// Those that wait, by case and oracle.
    suspects: BTreeSet<(Spot, String)>,
    crashes: u64,
    stops: u64,
}

#[derive(Debug)]
struct Open {
    progress: Journal,
    /// At this many lines it is shortened.
    checkpoint_at: usize,
    outcomes: Journal,
    _lock: Lock,
}

impl Open {
    fn new(progress: Journal, outcomes: Journal, lock: Lock) -> Self {
        let checkpoint_at = checkpoint::LINES;
        Self { progress, checkpoint_at, outcomes, _lock: lock }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    schema: u32,
    #[serde(flatten)]
    summary: &'a HuntSummary,
}

/// The contents of a folder when it was opened again.
#[derive(Debug)]
pub struct Past<T> {
    /// What is done, summed up in a few lines; those with ranges are in order of place and number.
    pub progress: Vec<Progress<T>>,
    /// Violations that have not been examined yet.
    pub suspects: Vec<Suspect>,
}

impl Store {
    /// A new campaign; `at_once`: the folder is created now, not only when there is something to keep.
    pub fn begin(path: &Path, campaign: Campaign, at_once: bool) -> Result<Self, StoreError> {
        Folder::check_new(path)?;
        let mut store = Self {
            folder: Folder(path.to_owned()),
            campaign,
            open: None,
            waiting: Vec::new(),
            spare: None,
            findings: Findings::default(),
            settled: Settled::default(),
            suspects: BTreeSet::new(),
            crashes: 0,
            stops: 0,
        };
        if at_once {
            store.open()?;
        }
        Ok(store)
    }

    /// Resumes the campaign of a folder.
    pub fn resume<T: Counts>(path: &Path) -> Result<(Self, Past<T>), StoreError> {
        if !Campaign::file(path).exists() {
            return Err(StoreError::NoCampaign(path.to_owned()));
        }
        let lock = Lock::take(path)?;
        let campaign = Campaign::read(path)?;
        let folder = Folder(path.to_owned());
        folder.make()?;
        folder.sweep()?;
        let mut sum = Sum::<T>::new();
        let mut progress = Journal::open(&folder.progress(), |line| sum.add(&line))?;
        let done = sum.into_lines();
        if progress.lines() >= checkpoint::LINES {
            progress.replace(&done)?;
        }
        let mut past_outcomes = Vec::new();
        let outcomes = Journal::open(&folder.outcomes(), |line| past_outcomes.push(line))?;
        let mut findings = Findings::read(&folder.findings())?;
        let (mut crashes, mut stops) = (0, 0);
        let mut settled = Settled::default();
        for Outcome { spot, oracle, conclusion } in past_outcomes {
            match &conclusion {
                // A crash proves nothing about a suspect that was being examined at the time.
                Conclusion::Crash(fingerprint) => {
                    crashes += 1;
                    findings.hit(fingerprint, spot.place);
                    continue;
                }
                Conclusion::Stopped | Conclusion::Lost => {
                    stops += u64::from(conclusion == Conclusion::Stopped);
                    crashes += u64::from(conclusion == Conclusion::Lost);
                    continue;
                }
                Conclusion::Confirmed(_) | Conclusion::Flaky | Conclusion::Counted => {
                    let hit = settled.note(spot, oracle, conclusion);
                    hit.iter().for_each(|fingerprint| findings.hit(fingerprint, spot.place));
                }
            }
        }
        let mut suspects = Suspect::read_all(&folder.suspects())?;
        // The hunt was killed between the journal's line and the removal: nothing is left to do for these.
        let is_settled =
            |suspect: &mut Suspect| settled.knows(suspect.spot, &suspect.signature.oracle);
        for suspect in suspects.extract_if(.., is_settled) {
            suspect.remove(&folder.suspects())?;
        }
        let store = Self {
            folder,
            campaign,
            open: Some(Open::new(progress, outcomes, lock)),
            waiting: Vec::new(),
            spare: None,
            findings,
            settled,
            suspects: suspects.iter().map(Suspect::key).collect(),
            crashes,
            stops,
        };
        Ok((store, Past { progress: done, suspects }))
    }

    /// As long as there is no folder, the campaign and its progress are also written to this one, from which
    /// [`Store::restore`] makes the folder after a crash of this process.
    pub fn keep_spare(&mut self, spare: &Path) -> Result<(), StoreError> {
        if self.open.is_none() {
            self.campaign.write(spare)?;
            let mut journal = Journal::create(&Folder(spare.to_owned()).progress())?;
            self.waiting.iter().try_for_each(|line| journal.append(line))?;
            self.spare = Some(journal);
        }
        Ok(())
    }

    /// Resumes a campaign whose process has crashed: from its folder or, if there was nothing to keep before, from the
    /// spare one.
    pub fn restore<T: Counts>(path: &Path, spare: &Path) -> Result<(Self, Past<T>), StoreError> {
        if !Campaign::file(path).exists() {
            let mut store = Self::begin(path, Campaign::read(spare)?, false)?;
            let progress = Folder(spare.to_owned()).progress();
            Journal::open(&progress, |line| store.waiting.push(line))?;
            store.open()?;
        }
        Self::resume(path)
    }

    /// The folder, if it has been made.
    pub fn folder(&self) -> Option<&Path> {
        self.open.is_some().then_some(self.folder.0.as_path())
    }

    /// Where the folder is, or will be.
    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    /// The campaign.
    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// Changes the total number of cases, for this session.
    pub fn set_cases(&mut self, cases: Option<u64>) {
        self.campaign.cases = cases;
    }

    /// Notes a range of cases as done.
    pub fn progress<T: Counts>(&mut self, progress: &Progress<T>) -> Result<(), StoreError> {
        let Some(open) = &mut self.open else { return self.hold(progress) };
        open.progress.append(progress)?;
        if open.progress.lines() >= open.checkpoint_at {
            let mut sum = Sum::<T>::new();
            Journal::open(&self.folder.progress(), |line| sum.add(&line))?;
            open.progress.replace(&sum.into_lines())?;
            open.checkpoint_at = checkpoint::next_at(open.progress.lines());
        }
        Ok(())
    }

    /// Holds progress in memory, until there is something to keep.
    fn hold<T: Counts>(&mut self, progress: &Progress<T>) -> Result<(), StoreError> {
        let bad = |error: serde_json::Error| StoreError::json(&self.folder.0, 1, &error);
        let value = serde_json::to_value(progress).map_err(bad)?;
        self.spare.as_mut().map_or(Ok(()), |spare| spare.append(&value))?;
        self.waiting.push(value);
        if self.waiting.len() >= checkpoint::LINES {
            let mut sum = Sum::<T>::new();
            for line in self.waiting.drain(..) {
                sum.add(&serde_json::from_value(line).map_err(bad)?);
            }
            let lines = sum.into_lines().iter().map(serde_json::to_value).collect::<Result<_, _>>();
            self.waiting = lines.map_err(bad)?;
            self.spare.as_mut().map_or(Ok(()), |spare| spare.replace(&self.waiting))?;
        }
        Ok(())
    }

    /// Whether a suspect of this oracle is waiting or settled already.
    pub fn knows(&self, spot: Spot, oracle: &str) -> bool {
        self.suspects.contains(&(spot, oracle.to_owned())) || self.settled.knows(spot, oracle)
    }

    /// Keeps a suspected violation until it has been examined.
    pub fn suspect(&mut self, suspect: &Suspect) -> Result<(), StoreError> {
        self.open()?;
        suspect.write(&self.folder.suspects())?;
        self.suspects.insert(suspect.key());
        Ok(())
    }

    /// A suspect is a finding, perhaps one that another oracle has found already; says which.
    pub fn confirmed(
        &mut self,
        suspect: &Suspect,
        finding: &Finding,
        pages: Pages<'_>,
    ) -> Result<Filed, StoreError> {
        let filed = self.findings.write(&self.folder.findings(), finding, pages)?;
        self.settle(suspect, Conclusion::Confirmed(filed.fingerprint.clone()))?;
        Ok(filed)
    }

    /// A suspect recurred only sometimes, or never: kept separately.
    pub fn flaky(&mut self, suspect: &Suspect) -> Result<(), StoreError> {
        suspect.write(&self.folder.flaky())?;
        self.settle(suspect, Conclusion::Flaky)
    }

    /// A suspect is a further hit of a finding that is there.
    pub fn hit(&mut self, suspect: &Suspect, fingerprint: &str) -> Result<(), StoreError> {
        self.settle(suspect, Conclusion::Confirmed(fingerprint.to_owned()))
    }

    /// A suspect is not examined, because others like it gave nothing new.
    pub fn counted(&mut self, suspect: &Suspect) -> Result<(), StoreError> {
        self.settle(suspect, Conclusion::Counted)
    }

    /// Writes a finding about a server that lives on, which no suspect led to; returns whether it is new.
    pub fn alarm(
        &mut self,
        finding: &Finding,
        place: usize,
        pages: Pages<'_>,
    ) -> Result<bool, StoreError> {
        self.open()?;
        let is_new = self.findings.write(&self.folder.findings(), finding, pages)?.is_new;
        self.findings.hit(&finding.fingerprint, place);
        Ok(is_new)
    }

    /// A server went away; returns whether this is a new finding. Without a finding it is only recorded.
    pub fn crash(
        &mut self,
        crash: &Crash,
        finding: Option<&Finding>,
        pages: Pages<'_>,
    ) -> Result<bool, StoreError> {
        self.open()?;
        crash.write(&self.folder.crashes())?;
        let is_new = match finding {
            Some(finding) => self.findings.write(&self.folder.findings(), finding, pages)?.is_new,
            None => false,
        };
        let Some(running) = crash.running.first() else { return Ok(is_new) };
        let conclusion = match finding {
            Some(finding) => Conclusion::Crash(finding.fingerprint.clone()),
            None if crash.stopped => Conclusion::Stopped,
            None => Conclusion::Lost,
        };
        let outcome = Outcome { spot: running.spot, oracle: None, conclusion };
        self.open()?.outcomes.append(&outcome)?;
        self.stops += u64::from(crash.stopped);
        self.crashes += u64::from(!crash.stopped);
        if let Some(finding) = finding {
            self.findings.hit(&finding.fingerprint, running.spot.place);
        }
        Ok(is_new)
    }

    /// Writes the numbers of the campaign next to its findings, if there is a folder.
    pub fn summary(&self, summary: &HuntSummary) -> Result<(), StoreError> {
        match self.open {
            Some(_) => write_json(&self.folder.summary(), &Summary { schema: SCHEMA, summary }),
            None => Ok(()),
        }
    }

    /// The findings so far, with their hits; those that more oracles see come first.
    pub fn findings(&self) -> Vec<FindingLine> {
        self.findings.listed()
    }

    /// The fingerprints of the findings so far.
    pub fn fingerprints(&self) -> Vec<String> {
        self.findings.fingerprints()
    }

    /// How many suspects had this outcome.
    pub fn count(&self, wanted: impl Fn(&Conclusion) -> bool) -> u64 {
        self.settled.count(wanted)
    }

    /// The place and the oracle of most suspects that did not recur; `None` for the oracle in folders of earlier
    /// releases.
    pub fn flakiest(&self) -> Option<(usize, Option<&str>)> {
        self.settled.flakiest()
    }

    /// Where suspects are kept that did not recur.
    pub fn flaky_folder(&self) -> PathBuf {
        self.folder.flaky()
    }

    /// How many suspects have not been examined yet.
    pub fn suspects(&self) -> u64 {
        self.suspects.len() as u64
    }

    /// How many times a server was stopped from outside.
    pub fn stops(&self) -> u64 {
        self.stops
    }

    /// How many times a server crashed or was lost.
    pub fn crashes(&self) -> u64 {
        self.crashes
    }

    fn settle(&mut self, suspect: &Suspect, conclusion: Conclusion) -> Result<(), StoreError> {
        let (spot, oracle) = suspect.key();
        let outcome = Outcome { spot, oracle: Some(oracle), conclusion };
        self.open()?.outcomes.append(&outcome)?;
        let hit = self.settled.note(spot, outcome.oracle, outcome.conclusion);
        hit.iter().for_each(|fingerprint| self.findings.hit(fingerprint, spot.place));
        suspect.remove(&self.folder.suspects())?;
        self.suspects.remove(&suspect.key());
        Ok(())
    }

    /// Creates the folder, if that has not been done yet. The campaign's file comes last: with it, the folder is
    /// complete.
    fn open(&mut self) -> Result<&mut Open, StoreError> {
        if self.open.is_none() {
            self.folder.make()?;
            let lock = Lock::take(&self.folder.0)?;
            Folder::check_new(&self.folder.0)?;
            let mut progress = Journal::create(&self.folder.progress())?;
            let outcomes = Journal::create(&self.folder.outcomes())?;
            for value in self.waiting.drain(..) {
                progress.append(&value)?;
            }
            self.campaign.write(&self.folder.0)?;
            self.open = Some(Open::new(progress, outcomes, lock));
            self.spare = None;
        }
        Ok(self.open.as_mut().expect("it was just made"))
    }
}
