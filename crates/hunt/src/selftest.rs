//! Would we notice a fault? Faults are planted, and the oracles have to find them.
//!
//! Idea: each case is run honestly once, and judged: any violation there is a false alarm (or a real server bug: known
//! issues are counted separately). Then each sabotage acts in a wrapper around the same target: where it changed an
//! answer or the final state, compared with the honest run, a fault is *planted*; where the oracle calls the sabotaged
//! run a violation, it is *found*. Allowed and undecided are misses. Rehearsals are serial, where the sabotage never
//! acts, so they run on the bare target.
//!
//! Assumption: a run repeats. A difference counts only if the sabotage acted in that run.
//! Blind spot: faults that are not in the list.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anchorite_claims::Claims;
use anchorite_drivers::sabotage::{Sabotage, sabotaged};
use anchorite_drivers::{Target, TargetError};
use anchorite_judge::Oracle;
use anchorite_model::{
    Answer, Case, Ending, ErrorClass, Level, Origin, Outcome, Rows, Run, RunError, Signature,
    TargetInfo, Verdict,
};
use anchorite_reduce::known;
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner, StageError};

use crate::examiner::CaseRuns;
use crate::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};

/// What is tested, and how much.
pub struct SelfTest<'a> {
    /// Where.
    pub target: &'a dyn Target,
    /// The level of all sessions; `None` = the target's default.
    pub level: Option<Level>,
    /// The oracles to test.
    pub oracles: &'a [&'static dyn Oracle],
    /// The cases, in order.
    pub cases: &'a [Case],
    /// The most cases in which a sabotage is planted: enough to estimate the recall.
    pub plants: u64,
    /// How many sabotages run at the same time.
    pub jobs: usize,
    /// How cases are run.
    pub options: RunOptions,
    /// Told how many more runs are done, of [`SelfTest::runs`].
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// The results for one target and level.
#[derive(Debug, Clone)]
pub struct Findings {
    /// Where.
    pub target: TargetInfo,
    /// The level as it was asked for, or read back.
    pub level: String,
    /// One per oracle and sabotage.
    pub planted: Vec<Planted>,
    /// One per oracle.
    pub honest: Vec<Honest>,
}

/// One oracle and one sabotage.
#[derive(Debug, Clone)]
pub struct Planted {
    /// Who had to find it.
    pub oracle: &'static dyn Oracle,
    /// What was planted.
    pub sabotage: Sabotage,
    /// Whether the oracle says that it can see this.
    pub declared: bool,
    /// Cases in which it changed an answer or the final state.
    pub planted: u64,
    /// Cases in which the oracle called it a violation.
    pub found: u64,
    /// Misses: the oracle took it for a documented exception.
    pub allowed: u64,
    /// Misses: the oracle could not decide.
    pub undecided: u64,
    /// The number of the first case in which it was found.
    pub first_found_at_case: Option<u64>,
    /// The number of the first case in which it was planted and not found.
    pub first_missed_at_case: Option<u64>,
}

/// One oracle without any sabotage.
#[derive(Debug, Clone)]
pub struct Honest {
    /// Who judged.
    pub oracle: &'static dyn Oracle,
    /// Cases that ran.
    pub cases: u64,
    /// Violations without sabotage that are not known issues of the server.
    pub false_alarms: u64,
    /// Violations that are known issues of the server.
    pub known: u64,
    /// Documented exceptions.
    pub allowed: u64,
    /// Not decided.
    pub undecided: u64,
    /// The number of the first case with a false alarm, and what the oracle says about it.
    pub first_false_alarm: Option<(u64, Vec<String>)>,
}

impl Planted {
    /// Whether the oracle missed, in all cases, what it says it can see. What the vendor's documentation allows breaks
    /// no promise here, so it is no miss.
    pub fn is_blind(&self) -> bool {
        self.declared && self.planted > self.allowed && self.found == 0
    }
}

impl Findings {
    /// Whether the test failed: a false alarm, or an oracle that misses what it declares.
    pub fn failed(&self) -> bool {
        self.honest.iter().any(|line| line.false_alarms > 0)
            || self.planted.iter().any(Planted::is_blind)
    }
}

/// The answers and the final state of a run; order of rows and times do not count.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    answers: Vec<(usize, Option<Seen>)>,
    final_state: Vec<(String, Rows)>,
}

/// One answer.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Rows(Vec<Rows>, Option<u64>),
    Error(ErrorClass, bool),
}

impl Shown {
    fn by(run: &Run) -> Self {
        let sorted = |rows: &Rows| {
            let mut rows = rows.clone();
            rows.rows.sort();
            rows
        };
        let seen = |answer: &Answer| {
            Some(Seen::Rows(answer.results.iter().map(sorted).collect(), answer.affected))
        };
        let mut answers: Vec<(usize, Option<Seen>)> = run
            .events
            .iter()
            .filter_map(|event| match &event.outcome {
                Outcome::Ok(answer) | Outcome::Resumed(answer) => Some((event.n, seen(answer))),
                Outcome::Error(error) => {
                    Some((event.n, Some(Seen::Error(error.class, error.transaction_gone))))
                }
                Outcome::Skipped { .. } => Some((event.n, None)),
                Outcome::Blocked { .. } => None,
            })
            .collect();
        answers.sort_by_key(|(n, _)| *n);
        let tables = run.final_state.iter().map(|(table, rows)| (table.clone(), sorted(rows)));
        Self { answers, final_state: tables.collect() }
    }
}

/// The honest runs.
struct Baseline {
    /// By the case's index; `None`: the target cannot run the case, or shows a violation without sabotage.
    shown: Vec<Option<Shown>>,
    level: Option<Level>,
    words: String,
    honest: Vec<Honest>,
}

impl SelfTest<'_> {
    /// How many runs there will be at most, rehearsals not counted.
    pub fn runs(&self) -> u64 {
        self.cases.len() as u64 * (1 + self.sabotages(self.level).len() as u64)
    }

    fn sabotages(&self, level: Option<Level>) -> Vec<Sabotage> {
        Sabotage::ALL.into_iter().filter(|sabotage| sabotage.applies(level)).collect()
    }

    /// Runs everything.
    pub fn perform(&self) -> Result<Findings, StageError> {
        let baseline = self.baseline()?;
        let sabotages = self.sabotages(baseline.level.or(self.level));
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Vec<Planted>)>> = Mutex::default();
        let work = || -> Result<(), StageError> {
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                let Some(sabotage) = sabotages.get(turn) else { return Ok(()) };
                let planted = self.plant(*sabotage, &baseline)?;
                done.lock().expect("no worker panics").push((turn, planted));
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })?;
        let mut done = done.into_inner().expect("no worker panics");
        done.sort_by_key(|(turn, _)| *turn);
        Ok(Findings {
            target: self.target.info().clone(),
            level: baseline.words,
            planted: done.into_iter().flat_map(|(_, planted)| planted).collect(),
            honest: baseline.honest,
        })
    }

    fn examiner(&self) -> Examiner<'_> {
        let claims = Claims::for_target(self.target.info());
        Examiner { claims, oracles: self.oracles, strict: false }
    }

    fn baseline(&self) -> Result<Baseline, StageError> {
        let mut runner = Honestly(Arena::new(self.target, self.options.clone())?);
        let new = |oracle: &&'static dyn Oracle| Honest {
            oracle: *oracle,
            cases: 0,
            false_alarms: 0,
            known: 0,
            allowed: 0,
            undecided: 0,
            first_false_alarm: None,
        };
        let honest = self.oracles.iter().map(new).collect();
        let mut baseline =
            Baseline { shown: Vec::new(), level: self.level, words: String::new(), honest };
        for (number, case) in (0..).zip(self.cases) {
            (self.progress)(1);
            let Some(runs) = self.run(&mut runner, case)? else {
                baseline.shown.push(None);
                continue;
            };
            let run = &runs.run;
            let shown = Shown::by(run);
            if baseline.words.is_empty()
                && let Some(session) = run.sessions.first()
            {
                baseline.level = self.level.or_else(|| session.effective_level());
                let name = baseline.level.map(|level| level.name().to_owned());
                baseline.words = name.unwrap_or_else(|| session.level_read_back.clone());
            }
            let tried = self.examiner().judge(&mut runner, runs)?;
            let mut known = Vec::new();
            for signature in &tried.signatures {
                if self.is_known(&mut runner, case, signature)? {
                    known.push(signature.oracle.clone());
                }
            }
            // What is already a violation would be found for a reason other than the sabotage.
            baseline.shown.push(tried.signatures.is_empty().then_some(shown));
            for (line, judgement) in baseline.honest.iter_mut().zip(tried.judgements) {
                line.note(number, judgement.verdict, known.contains(&judgement.oracle));
            }
        }
        Ok(baseline)
    }

    /// Whether a violation without sabotage is a known issue of the server.
    fn is_known(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
        signature: &Signature,
    ) -> Result<bool, StageError> {
        let origin = Origin::File(case.name.clone());
        let signature = Some(signature.clone());
        let suspect =
            Suspicion { case, level: self.level, signature, origin, on: "", against: None };
        let mut fresh = FreshTables { target: self.target, options: self.options.clone() };
        let effort = Effort { confirmations: 1, contrasts: 0, ..Effort::default() };
        let known = Recorded { known: known::built_in(), found: &[] };
        let outcome = investigate(&self.examiner(), runner, &mut fresh, &suspect, &effort, known)?;
        Ok(matches!(outcome, Investigation::Confirmed { finding, .. } if finding.known.is_some()))
    }

    fn plant(&self, sabotage: Sabotage, baseline: &Baseline) -> Result<Vec<Planted>, StageError> {
        let target = sabotaged(self.target, sabotage);
        let mut runner = Arena::new(&target, self.options.clone())?;
        let mut rehearsals = Honestly(Arena::new(self.target, self.options.clone())?);
        let new = |oracle: &&'static dyn Oracle| Planted {
            oracle: *oracle,
            sabotage,
            declared: oracle.declares(sabotage.name(), baseline.level),
            planted: 0,
            found: 0,
            allowed: 0,
            undecided: 0,
            first_found_at_case: None,
            first_missed_at_case: None,
        };
        let mut lines: Vec<Planted> = self.oracles.iter().map(new).collect();
        let mut planted = 0;
        let mut left = self.cases.len() as u64;
        for (number, (case, honest)) in (0..).zip(self.cases.iter().zip(&baseline.shown)) {
            if planted >= self.plants {
                break;
            }
            (self.progress)(1);
            left -= 1;
            let Some(honest) = honest else { continue };
            let acts = target.acts();
            let Some(runs) = self.run(&mut runner, case)? else { continue };
            let acted = sabotage.is_always_on() || target.acts() > acts;
            if !acted || Shown::by(&runs.run) == *honest {
                continue;
            }
            planted += 1;
            let tried = self.examiner().judge(&mut rehearsals, runs)?;
            for (line, judgement) in lines.iter_mut().zip(tried.judgements) {
                line.note(number, &judgement.verdict);
            }
        }
        (self.progress)(left);
        Ok(lines)
    }

    /// Runs a case; `None` if the target cannot set it up.
    fn run(&self, runner: &mut dyn Runner, case: &Case) -> Result<Option<CaseRuns>, StageError> {
        match self.examiner().perform(runner, case, self.level) {
            Ok(CaseRuns {
                run: Run { ending: Ending::TargetLost(reason), target, .. }, ..
            }) => {
                let endpoint = target.to_string();
                Err(TargetError::Connect { endpoint, reason }.into())
            }
            Ok(runs) => Ok(Some(runs)),
            Err(StageError::Setup { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The bare target, which is also what runs are compared with: only one side is sabotaged.
struct Honestly<'t>(Arena<'t>);

impl Runner for Honestly<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.0.run(case, level)
    }

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.0.rehearse(case, level)
    }

    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        self.0.rehearse_all(cases, level)
    }

    fn has_elsewhere(&self) -> bool {
        true
    }

    fn run_elsewhere(
        &mut self,
        case: &Case,
        level: Option<Level>,
    ) -> Option<Result<Run, RunError>> {
        Some(self.0.run(case, level))
    }
}

impl Honest {
    fn note(&mut self, number: u64, verdict: Verdict, is_known: bool) {
        self.cases += 1;
        match verdict {
            Verdict::Pass => {}
            Verdict::Violation { .. } if is_known => self.known += 1,
            Verdict::Violation { because, .. } => {
                self.false_alarms += 1;
                self.first_false_alarm.get_or_insert((number, because));
            }
            Verdict::Allowed { .. } => self.allowed += 1,
            Verdict::Undecided { .. } => self.undecided += 1,
        }
    }
}

impl Planted {
    fn note(&mut self, number: u64, verdict: &Verdict) {
        self.planted += 1;
        match verdict {
            Verdict::Pass => {}
            Verdict::Violation { .. } => {
                self.found += 1;
                self.first_found_at_case.get_or_insert(number);
                return;
            }
            Verdict::Allowed { .. } => self.allowed += 1,
            Verdict::Undecided { .. } => self.undecided += 1,
        }
        self.first_missed_at_case.get_or_insert(number);
    }
}
