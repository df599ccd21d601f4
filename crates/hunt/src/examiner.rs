//! One case, judged by all oracles.
//!
//! A case is run once, and every oracle judges that run. An oracle that prepares runs of its own
//! ([`Oracle::prepare`]) gets them beside it; they are made where the run was made,
//! and before anything is judged.

use anchorite_claims::Claims;
use anchorite_judge::evidence::Prepared;
use anchorite_judge::{Evidence, Laboratory, Oracle, causes, covers};
use anchorite_model::{
    Case, Covers, Ending, Judgement, Level, Run, RunError, Runner, Signature, Stance,
};
use anchorite_stage::StageError;

/// Which oracles judge, by which promises.
#[derive(Debug, Clone, Copy)]
pub struct Examiner<'a> {
    /// What the target promises.
    pub claims: &'a Claims,
    /// Who judges.
    pub oracles: &'a [&'static dyn Oracle],
    /// Whether documented exceptions count as violations.
    pub strict: bool,
}

/// A case that was run, with everything that the oracles want to see.
#[derive(Debug, Clone)]
pub struct CaseRuns {
    /// What happened.
    pub run: Run,
    /// The further runs that oracles prepared, by their names.
    pub prepared: Prepared,
}

impl From<Run> for CaseRuns {
    /// A run for which no oracle has prepared anything.
    fn from(run: Run) -> Self {
        Self { run, prepared: Prepared::new() }
    }
}

/// A case that was run and judged.
#[derive(Debug, Clone)]
pub struct Examined {
    /// What happened.
    pub run: Run,
    /// What each oracle says.
    pub judgements: Vec<Judgement>,
    /// What their verdicts cover, by their names.
    pub covers: Vec<(String, Covers)>,
    /// What was found: every violation, one per oracle at most.
    pub signatures: Vec<Signature>,
}

impl Examined {
    /// What each oracle says, and about what.
    pub fn stances(&self) -> Vec<Stance<'_>> {
        self.judgements.iter().map(|said| Stance::of(said, &self.covers)).collect()
    }
}

impl Examiner<'_> {
    /// Runs a case once and lets every oracle judge the run.
    pub fn examine(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
        level: Option<Level>,
    ) -> Result<Examined, StageError> {
        let runs = self.perform(runner, case, level)?;
        self.judge(runner, runs)
    }

    /// The same for a case that was made from another one; `None` if it cannot be set up.
    pub(crate) fn examine_if_possible(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
        level: Option<Level>,
    ) -> Result<Option<Examined>, StageError> {
        match self.examine(runner, case, level) {
            Ok(tried) => Ok(Some(tried)),
            Err(StageError::Setup { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a case once, and what the oracles have prepared for it.
    pub fn perform(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
        level: Option<Level>,
    ) -> Result<CaseRuns, StageError> {
        let run = runner.run(case, level)?;
        let mut prepared = Prepared::new();
        if run.ending == Ending::Complete {
            for oracle in self.oracles {
                let mut runs = Vec::new();
                for case in oracle.prepare(&run, runner.has_elsewhere()) {
                    // What another oracle wants, too, is run once.
                    let known = prepared.values().flatten().flatten();
                    let known = known.into_iter().find(|run: &&Run| run.case == case).cloned();
                    runs.push(match known {
                        Some(known) => Some(known),
                        None => unless_refused(runner.run(&case, level))?,
                    });
                }
                prepared.insert(oracle.name(), runs);
            }
        }
        Ok(CaseRuns { run, prepared })
    }

    /// Lets every oracle judge what was run, here or elsewhere; what they want to try goes to `runner`.
    pub fn judge(&self, runner: &mut dyn Runner, runs: CaseRuns) -> Result<Examined, StageError> {
        let CaseRuns { run, prepared } = runs;
        let evidence = Evidence::new(&run, self.claims, prepared);
        let mut laboratory = Laboratory::new(runner, run.level);
        let judgements = self
            .oracles
            .iter()
            .map(|oracle| oracle.judgement(&evidence, &mut laboratory))
            .collect::<Result<Vec<_>, _>>()?;
        drop(evidence);
        let covers = self.oracles.iter().zip(&judgements).filter_map(|(oracle, said)| {
            let covers = covers(*oracle, &said.verdict, &run, self.claims)?;
            Some((said.oracle.clone(), covers))
        });
        let covers = covers.collect();
        let signatures = judgements.iter().filter_map(|said| said.signature(self.strict)).collect();
        Ok(Examined { run, judgements, covers, signatures })
    }

    /// Looks for the causes of the violations in a run that was judged.
    pub fn diagnose(
        &self,
        runner: &mut dyn Runner,
        tried: &mut Examined,
    ) -> Result<(), StageError> {
        let evidence = Evidence::new(&tried.run, self.claims, Prepared::new());
        let mut laboratory = Laboratory::new(runner, tried.run.level);
        for said in &mut tried.judgements {
            said.causes = causes(&evidence, said, &mut laboratory)?;
        }
        Ok(())
    }
}

/// A run; `None` where the target refuses the tables of a case that an oracle has made.
fn unless_refused(run: Result<Run, RunError>) -> Result<Option<Run>, RunError> {
    match run {
        Ok(run) => Ok(Some(run)),
        Err(error) if error.is_refusal() => Ok(None),
        Err(error) => Err(error),
    }
}
