//! One case before all oracles.

use anchorite_claims::Claims;
use anchorite_judge::{Oracle, covers};
use anchorite_model::{Case, Covers, Judgement, Level, Run, Signature, Stance};
use anchorite_stage::{Runner, StageError};

/// Who judges, by which promises.
#[derive(Debug, Clone, Copy)]
pub struct Examiner<'a> {
    /// What the target promises.
    pub claims: &'a Claims,
    /// Who judges.
    pub oracles: &'a [Oracle],
    /// Whether documented exceptions count as violations.
    pub strict: bool,
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
        let run = runner.run(case, level)?;
        self.judge(runner, run)
    }

    /// Lets every oracle judge a run that was made elsewhere; rehearsals go to `runner`.
    pub fn judge(&self, runner: &mut dyn Runner, run: Run) -> Result<Examined, StageError> {
        let level = run.level;
        let mut rehearse = |case: &Case| runner.run(case, level);
        let judgements = self
            .oracles
            .iter()
            .map(|oracle| oracle.judge(&run, self.claims, &mut rehearse))
            .collect::<Result<Vec<_>, _>>()?;
        let covers = self.oracles.iter().zip(&judgements).filter_map(|(oracle, said)| {
            let covers = covers(*oracle, &said.verdict, &run, self.claims)?;
            Some((said.oracle.clone(), covers))
        });
        let covers = covers.collect();
        let signatures = judgements.iter().filter_map(|said| said.signature(self.strict)).collect();
        Ok(Examined { run, judgements, covers, signatures })
    }
}
