//! Whether a finding is a known issue, and which parts of a case its cause needs.
//!
//! Idea: both are decided by taking something away and looking whether it still shows ([`Edit`]). A known issue is
//! recognized by its cause and by the edits after which it vanishes; a clause or an action that the finding shows
//! without does not belong to its cause.

use anchorite_judge::level_of;
use anchorite_model::{Cause, Contrast, Finding, Part, Run};
use anchorite_reduce::known::{KnownIssue, Status};
use anchorite_reduce::{Edit, contrast};
use anchorite_stage::{Runner, StageError};

use crate::Examined;
use crate::naming::mechanism;
use crate::question::{Question, shows};

impl Question<'_> {
    /// What takes part is signal only if the finding does not show without it.
    pub(crate) fn drop_needless_parts(
        &self,
        fresh: &mut dyn Runner,
        tried: &mut Examined,
    ) -> Result<(), StageError> {
        for (part, edit) in
            [(Part::Conflict, Edit::QueryForConflict), (Part::Action, Edit::WithoutActions)]
        {
            let mut causes = tried.judgements.iter().flat_map(|said| &said.causes);
            if !causes.any(|cause| cause.part == Some(part)) {
                continue;
            }
            let run = &tried.run;
            let Some((case, level)) = edit.apply(&run.case, run.target.product, self.level) else {
                continue;
            };
            let without = self.by_it.examine_if_possible(fresh, &case, level)?;
            let is_needless = without.is_some_and(|without| shows(&without, &self.wanted));
            let causes = tried.judgements.iter_mut().flat_map(|said| &mut said.causes);
            causes
                .filter(|cause| is_needless && cause.part == Some(part))
                .for_each(|cause| cause.part = None);
        }
        Ok(())
    }

    /// Compares a finding with the known issues: it is one of them if its cause is that of the issue, and if it does
    /// not show any more after the issue's edits.
    pub(crate) fn recognize(
        &self,
        fresh: &mut dyn Runner,
        finding: &mut Finding,
        known: &[KnownIssue],
    ) -> Result<(), StageError> {
        let (target, level) = (&finding.run.target, level_of(&finding.run));
        let said = finding.judgements.iter().filter(|said| said.oracle == self.wanted.oracle);
        let causes = said.flat_map(|said| said.causes.iter().map(Cause::name));
        let names: Vec<String> = match mechanism(&self.wanted) {
            Some(mechanism) => vec![mechanism.to_owned()],
            None => causes.collect(),
        };
        let may_be =
            |issue: &&KnownIssue| names.iter().any(|name| issue.may_be(target, level, name));
        for issue in known.iter().filter(may_be) {
            if let Some(mut told) = self.vanishes(fresh, &finding.run, issue)? {
                told.append(&mut finding.contrast);
                finding.contrast = told;
                finding.known = Some(issue.name.clone());
                finding.unreported = issue.status == Status::Unreported;
                return Ok(());
            }
        }
        Ok(())
    }

    /// What each edit of an issue gives; `None` if the finding still shows after one of them, or if it cannot be made.
    fn vanishes(
        &self,
        fresh: &mut dyn Runner,
        run: &Run,
        issue: &KnownIssue,
    ) -> Result<Option<Vec<Contrast>>, StageError> {
        let mut told = Vec::new();
        for edit in &issue.vanishes {
            let level = self.level.or_else(|| level_of(run));
            let Some((case, level)) = edit.apply(&run.case, run.target.product, level) else {
                return Ok(None);
            };
            let Some(tried) = self.by_it.examine_if_possible(fresh, &case, level)? else {
                return Ok(None);
            };
            if !tried.signatures.is_empty() {
                return Ok(None);
            }
            let outcome = contrast::told(run, &tried.run);
            told.push(Contrast { change: edit.told(), outcome });
        }
        Ok(Some(told))
    }
}
