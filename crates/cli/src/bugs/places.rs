//! Running bugs on targets at levels.
//!
//! Idea: a bug at a level is a case that is run once, on fresh tables, without oracles: whether it shows is what the
//! `shows` lines of its header say. What a target cannot run (another product's SQL, a level that it does not have) is
//! an answer too, not an error.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anchorite_claims::Version;
use anchorite_drivers::Target;
use anchorite_judge::{Agreement, Remark, remarks, shows};
use anchorite_model::{Case, Level, Run};
use anchorite_report::bugs::{Bug, Cell, Matrix, Shown};
use anchorite_stage::{RunOptions, StageError, run_case};

use crate::at_once::at_once;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::levels::LevelChoice;
use crate::login::Login;
use crate::probe::progress;
use crate::targets::OpenTarget;

/// How bugs are run.
pub struct Places {
    /// At which levels.
    pub levels: Vec<LevelChoice>,
    /// How many at once.
    pub jobs: NonZeroUsize,
    /// How to log in.
    pub login: Login,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

/// Runs the bugs on these targets, one target after the other.
pub fn at_places<'b>(
    targets: &[String],
    bugs: &[&'b Bug],
    places: &Places,
) -> anyhow::Result<Matrix<'b>> {
    let mut matrix = Matrix::default();
    for on in targets {
        at_place(on, bugs, places, &mut matrix)?;
    }
    Ok(matrix)
}

/// Runs the bugs on this target; those that concern the whole server run on servers of their own.
pub fn at_place<'b>(
    on: &str,
    bugs: &[&'b Bug],
    places: &Places,
    matrix: &mut Matrix<'b>,
) -> anyhow::Result<Vec<Vec<Cell>>> {
    let open = OpenTarget::open(on, &places.login)?;
    let target = open.target.as_ref();
    let info = target.info();
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); bugs.len()];
    let mut groups: Vec<(Option<Vec<String>>, Vec<usize>)> = vec![(None, Vec::new())];
    for (at, bug) in bugs.iter().enumerate() {
        let needed = bug.server_arguments().filter(|_| bug.is_for(info.product));
        match groups.iter_mut().find(|(arguments, _)| *arguments == needed) {
            Some((_, group)) => group.push(at),
            None => groups.push((needed, vec![at])),
        }
    }
    for (arguments, group) in groups {
        let chosen: Vec<&Bug> = group.iter().map(|at| bugs[*at]).collect();
        let found = match arguments {
            None => places.interrupt.attend(|| on_target(target, &chosen, places))?,
            Some(_) if open.server.is_none() => unsuited(target, &chosen, places),
            Some(arguments) => {
                let own = OpenTarget::open_with(on, &places.login, arguments)?;
                let target = own.target.as_ref();
                places.interrupt.attend(|| on_target(target, &chosen, places))?
            }
        };
        group.into_iter().zip(found).for_each(|(at, found)| cells[at] = found);
    }
    let version = Version::of(info);
    for (bug, cells) in bugs.iter().zip(&cells) {
        for cell in cells {
            matrix.add(bug, info.product, &version, cell.clone());
        }
    }
    Ok(cells)
}

/// What is said about bugs that a running server is not made for.
fn unsuited(target: &dyn Target, bugs: &[&Bug], places: &Places) -> Vec<Vec<Cell>> {
    let cells = |bug: &&Bug| {
        let arguments = bug.server_arguments().unwrap_or_default().join(" ");
        let reason = format!(
            "it concerns the whole server and needs one of its own, started with {arguments}: name a product"
        );
        let cell = |level| Cell {
            level,
            shown: Shown::NotApplicable { reason: reason.clone() },
            expected: None,
        };
        levels(&places.levels, &bug.case, target).map(cell).collect()
    };
    bugs.iter().map(cells).collect()
}

/// What each bug does on this target.
fn on_target(
    target: &dyn Target,
    bugs: &[&Bug],
    places: &Places,
) -> Result<Vec<Vec<Cell>>, StageError> {
    let mut jobs: Vec<(usize, Level)> = Vec::new();
    for (at, bug) in bugs.iter().enumerate() {
        jobs.extend(levels(&places.levels, &bug.case, target).map(|level| (at, level)));
    }
    let progress = progress(target.info(), jobs.len());
    let cases: Vec<&Case> = jobs.iter().map(|(at, _)| &bugs[*at].case).collect();
    let work = |job: usize| {
        let (at, level) = jobs[job];
        let outcome = places.cell(target, bugs[at], level);
        progress.inc(1);
        let ends = outcome.is_err();
        (outcome, ends)
    };
    let outcomes = at_once(&cases, places.jobs, &work);
    progress.finish_and_clear();
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); bugs.len()];
    for ((at, _), outcome) in jobs.iter().zip(outcomes) {
        // Nothing where another one has failed before.
        if let Some(outcome) = outcome {
            cells[*at].push(outcome?);
        }
    }
    Ok(cells)
}

/// The levels that are meant, each once: those of the target, and single ones whether it has them or not.
fn levels(
    choices: &[LevelChoice],
    case: &Case,
    target: &dyn Target,
) -> impl Iterator<Item = Level> + use<> {
    let mut levels: Vec<Level> = Vec::new();
    for choice in choices {
        match choice {
            LevelChoice::All => levels.extend(target.levels()),
            LevelChoice::One(level) => levels.push(*level),
            LevelChoice::Default => levels.extend(case.header.level),
        }
    }
    levels.sort();
    levels.dedup();
    levels.into_iter()
}

impl Places {
    fn cell(&self, target: &dyn Target, bug: &Bug, level: Level) -> Result<Cell, StageError> {
        let info = target.info();
        let not_applicable =
            |reason: String| Cell { level, shown: Shown::NotApplicable { reason }, expected: None };
        if !bug.is_for(info.product) {
            let products: Vec<&str> = bug.case.header.targets.iter().map(|p| p.name()).collect();
            return Ok(not_applicable(format!("its case is for {}", products.join(", "))));
        }
        if !target.levels().contains(&level) {
            return Ok(not_applicable(format!("{} has no level {level}", info.product)));
        }
        let interrupt = Arc::clone(&self.interrupt.flag);
        let options = RunOptions { level: Some(level), interrupt, ..RunOptions::default() };
        match run_case(target, &bug.case, &options) {
            Ok(run) => Ok(cell_of(bug, &run, level)),
            Err(error @ StageError::Setup { .. }) => Ok(not_applicable(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

fn cell_of(bug: &Bug, run: &Run, level: Level) -> Cell {
    // A header that cannot be read was refused when the collection was read, or by its tests.
    let conditions = shows(&bug.case).unwrap_or_default();
    let holds =
        !conditions.is_empty() && conditions.iter().all(|condition| condition.is_true_of(run));
    let shown = match holds {
        true => bug.shown(run.target.product, &Version::of(&run.target), level),
        false => Shown::Absent,
    };
    let said = remarks(&bug.case, run, level).unwrap_or_default();
    let rank = |agreement: Agreement| match agreement {
        Agreement::AsExpected => 0,
        Agreement::OtherVersion => 1,
        Agreement::Differs => 2,
    };
    let worst = said.into_iter().max_by_key(|remark| rank(remark.agreement));
    let expected = worst.map(|Remark { agreement, sentence }| (agreement, sentence));
    Cell { level, shown, expected }
}

/// The exit code: a bug that does something else than was measured on its release is news.
pub fn exit(matrix: &Matrix<'_>) -> Exit {
    let differs = |cell: &Cell| matches!(cell.expected, Some((Agreement::Differs, _)));
    let is_open = |cell: &Cell| matches!(cell.shown, Shown::NotApplicable { .. });
    if matrix.cells().any(|(_, _, cell)| differs(cell)) {
        Exit::Violation
    } else if matrix.cells().all(|(_, _, cell)| is_open(cell)) {
        Exit::NothingJudged
    } else {
        Exit::Fine
    }
}
