//! Running cases on targets, several at once if requested; the order of results does not depend on timing.
//!
//! Idea: a regression run is a list of jobs, each a case at a level, done by [`at_once`]. A case that cannot be set up
//! on a target does not end a run of many cases: it is a failure among the results.
//!
//! With `--same-tables` the cases are a sequence: they run in the given order in one arena, one for each level and
//! repetition.

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_hunt::{Examined, Examiner};
use anchorite_judge::{Oracle, compare, observed, readable};
use anchorite_model::{Case, Judgement, Level, Pair};
use anchorite_report::{RunFailure, RunResult};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner, StageError};

use super::RunArgs;
use crate::at_once::at_once;
use crate::exit::BadInput;
use crate::files::Script;
use crate::interrupt::Interrupt;
use crate::levels::chosen;
use crate::login::Login;
use crate::output::tell;
use crate::second::Second;
use crate::targets::OpenTarget;

/// Up to this many skipped cases of a target are named one by one.
const SKIPPED_NAMED_MAX: usize = 5;

/// What one invocation of the command has to do.
pub struct RunTask<'a> {
    pub arguments: &'a RunArgs,
    pub scripts: &'a [Script],
    pub oracles: Vec<&'static dyn Oracle>,
    pub options: RunOptions,
    pub login: Login,
    pub second: Option<Second>,
    pub interrupt: Interrupt,
}

/// What has been done so far.
#[derive(Default)]
pub struct Done {
    pub results: Vec<RunResult>,
    pub failures: Vec<RunFailure>,
}

/// A case at a level.
struct Job<'c> {
    case: &'c Case,
    level: Option<Level>,
    /// The repetition that it belongs to.
    round: u32,
}

type Outcome = Result<RunResult, StageError>;

impl RunTask<'_> {
    /// Runs every case on every target; what is done is kept, even if an error ends the work.
    pub fn run_cases(&self, done: &mut Done) -> anyhow::Result<()> {
        let cases: Vec<Case> = self.scripts.iter().flat_map(Script::cases).collect();
        for case in &cases {
            readable(case).map_err(|error| BadInput(error.to_string()))?;
        }
        for on in &self.arguments.on {
            let open = OpenTarget::open(on, &self.login)?;
            let target = open.target.as_ref();
            self.second.as_ref().map(|second| second.must_be_like(target)).transpose()?;
            let jobs = self.jobs(target, &cases)?;
            self.interrupt.attend(|| self.work(target, &jobs, cases.len() > 1, done))?;
            if let Some(path) = &self.arguments.history {
                self.interrupt.attend(|| self.write_history(target, &cases, path))?;
            }
        }
        Ok(())
    }

    /// The jobs for a target, in order.
    fn jobs<'c>(&self, target: &dyn Target, cases: &'c [Case]) -> anyhow::Result<Vec<Job<'c>>> {
        let levels = chosen(&self.arguments.level, target)?;
        let info = target.info();
        let mut jobs: Vec<Job<'c>> = Vec::new();
        let mut skipped = Vec::new();
        for case in cases {
            if !case.header.targets.is_empty() && !case.header.targets.contains(&info.product) {
                let targets: Vec<&str> = case.header.targets.iter().map(|p| p.name()).collect();
                skipped.push(format!("{} is for {}", case.name, targets.join(", ")));
                continue;
            }
            if case.header.other.iter().any(|(key, _)| key == "server") {
                skipped.push(format!(
                    "{0} needs a server of its own, which anchorite bugs test {0} starts",
                    case.name
                ));
                continue;
            }
            let lacking = lacking_level(case, target).filter(|_| cases.len() > 1);
            for level in &levels {
                match lacking.filter(|_| level.is_none()) {
                    Some(own) => skipped.push(format!("{} needs {own}", case.name)),
                    None => {
                        let repeats = 0..self.arguments.repeat;
                        jobs.extend(repeats.map(|round| Job { case, level: *level, round }));
                    }
                }
            }
        }
        if self.arguments.same_tables {
            // Stable: within a round the order is that of the cases.
            jobs.sort_by_key(|job| (job.level, job.round));
        }
        if skipped.len() > SKIPPED_NAMED_MAX {
            tell(&format!(
                "skipped on {info}: {} cases for other products or levels",
                skipped.len()
            ));
        } else {
            skipped.iter().for_each(|why| tell(&format!("skipped on {info}: {why}")));
        }
        Ok(jobs)
    }

    /// Runs the jobs, as many at once as requested. With `keep_going`, a case that cannot be set up is a failure among
    /// the results; every other error ends the work.
    fn work(
        &self,
        target: &dyn Target,
        jobs: &[Job<'_>],
        keep_going: bool,
        done: &mut Done,
    ) -> anyhow::Result<()> {
        let outcomes = match self.arguments.same_tables {
            true => self.outcomes_in_sequence(target, jobs)?,
            false => self.outcomes(target, jobs, keep_going),
        };
        for (job, outcome) in jobs.iter().zip(outcomes) {
            match outcome {
                // Not started, because another one has failed.
                None => {}
                Some(Ok(result)) => done.results.push(result),
                Some(Err(error)) if keep_going && is_of_the_case(&error) => {
                    let case = job.case.name.clone();
                    let level = job.level.or(job.case.header.level);
                    let (target, message) = (target.info().clone(), error.to_string());
                    done.failures.push(RunFailure { case, target, level, message });
                }
                Some(Err(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The outcomes of sequences, each on its own set of kept tables.
    fn outcomes_in_sequence(
        &self,
        target: &dyn Target,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Option<Outcome>>, StageError> {
        let mut outcomes = Vec::new();
        let is_same =
            |one: &Job<'_>, next: &Job<'_>| (one.level, one.round) == (next.level, next.round);
        for sequence in jobs.chunk_by(is_same) {
            let mut here = Arena::new(target, self.options.clone())?;
            for job in sequence {
                outcomes.push(Some(self.try_case(&mut here, target, job)));
            }
        }
        Ok(outcomes)
    }

    fn outcomes(
        &self,
        target: &dyn Target,
        jobs: &[Job<'_>],
        keep_going: bool,
    ) -> Vec<Option<Outcome>> {
        let cases: Vec<&Case> = jobs.iter().map(|job| job.case).collect();
        let work = |index: usize| {
            let job = &jobs[index];
            let options = RunOptions { level: job.level, ..self.options.clone() };
            let outcome = self.try_case(&mut FreshTables { target, options }, target, job);
            let ends = |error: &StageError| !(keep_going && is_of_the_case(error));
            let is_last = outcome.as_ref().is_err_and(ends);
            (outcome, is_last)
        };
        at_once(&cases, self.arguments.jobs, &work)
    }

    fn try_case(&self, here: &mut dyn Runner, target: &dyn Target, job: &Job<'_>) -> Outcome {
        let options = RunOptions { level: job.level, ..self.options.clone() };
        let claims = Claims::for_target(target.info());
        let examiner = Examiner { claims, oracles: &self.oracles, strict: self.arguments.strict };
        let mut elsewhere = self.second.as_ref().map(|second| second.fresh(options));
        let mut runner = Pair::new(here, elsewhere.as_mut());
        let mut tried = examiner.examine(&mut runner, job.case, job.level)?;
        examiner.diagnose(&mut runner, &mut tried)?;
        Ok(judged(tried, &examiner))
    }
}

/// A run with its verdicts, comparison and observed anomalies.
pub fn judged(examined: Examined, examiner: &Examiner<'_>) -> RunResult {
    let Examined { run, judgements, covers, .. } = examined;
    // A header that cannot be read was refused before anything ran.
    let compared = compare(&run, &judgements).unwrap_or_default();
    let first = |said: &Judgement| Some((said.oracle.clone(), said.causes.first()?.clone()));
    let causes = judgements.iter().filter_map(first).collect();
    let verdicts = judgements.into_iter().map(|judgement| {
        let verdict =
            if examiner.strict { judgement.verdict.strictly() } else { judgement.verdict };
        (judgement.oracle, verdict)
    });
    let verdicts = verdicts.collect();
    let observed = observed(&run, examiner.claims);
    RunResult { verdicts, covers, causes, compared, observed, ..run.into() }
}

/// Whether an error concerns only the case, not the target.
const fn is_of_the_case(error: &StageError) -> bool {
    matches!(error, StageError::Setup { .. })
}

/// A level that the case names and the target does not have.
fn lacking_level(case: &Case, target: &dyn Target) -> Option<Level> {
    let mut named = (0..case.sessions.len()).filter_map(|session| case.level_of(session));
    named.find(|level| !target.levels().contains(level))
}
