//! One case before all oracles.

use anchorite_claims::Claims;
use anchorite_judge::Oracle;
use anchorite_model::{Case, Judgement, Level, Run, Signature};
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
    /// What was found: the first violation.
    pub signature: Option<Signature>,
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
        let signature = judgements.iter().find_map(|judgement| judgement.signature(self.strict));
        Ok(Examined { run, judgements, signature })
    }
}
