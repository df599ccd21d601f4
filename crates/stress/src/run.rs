//! A run: sessions in threads of their own, the judge in another one, and the final state.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anchorite_check::model::Outcome;
use anchorite_drivers::{
    Schema, SessionOptions, Target, TargetError, execute, heed, wait_for_interrupt,
};
use anchorite_model::{DbError, Level, SessionInfo};

use crate::history;
use crate::judge::{Counts, Judge, Recipe};
use crate::log::{Event, Log};
use crate::promise::Promises;
use crate::record::{Blunder, Record, final_state};
use crate::session::{Performer, STATEMENT_LIMIT};
use crate::status::Status;
use crate::text::Tongue;
use crate::workload::{Workload, plan};

/// Between two looks at what has been counted.
const WATCH: Duration = Duration::from_millis(200);

/// The server's own limit on waits for locks.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What to do.
pub struct Options {
    /// The level; `None` = the target's default.
    pub level: Option<Level>,
    /// How many sessions.
    pub sessions: usize,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The seed.
    pub seed: u64,
    /// For how long.
    pub time: Duration,
    /// How many transactions at most.
    pub transactions: u64,
    /// Whether several statements may be sent as one text.
    pub at_once: bool,
    /// Whether what happens is recorded and judged; without, only the load is made.
    pub is_judged: bool,
    /// Ends the run.
    pub interrupt: Arc<AtomicBool>,
}

/// How a run went.
#[derive(Debug)]
pub struct Ran {
    /// The level, in the server's words.
    pub level_read_back: String,
    /// The level that the sessions had.
    pub level: Option<Level>,
    /// What was counted.
    pub counts: Counts,
    /// Transactions that committed, also where nothing was judged.
    pub committed: u64,
    /// From the first transaction to the end of the last.
    pub took: Duration,
    /// Why it ended early.
    pub lost: Option<DbError>,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub enum StressError {
    /// The target could not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The table could not be made or read.
    #[error("{what}: {} ({})", .error.message, .error.code)]
    Statement {
        /// What was to be done.
        what: &'static str,
        /// The server's answer.
        error: DbError,
    },
    /// The history could not be written.
    #[error("cannot write the history: {0}")]
    History(#[from] std::io::Error),
}

struct Shared<'r> {
    log: Log,
    options: &'r Options,
    tongue: Tongue,
    status: Mutex<Status>,
    lost: Mutex<Option<DbError>>,
    committed: std::sync::atomic::AtomicU64,
}

/// Runs it.
pub fn run(
    target: &dyn Target,
    options: &Options,
    history: Option<&mut (dyn Write + Send)>,
    watch: &mut dyn FnMut(&Status),
) -> Result<Ran, StressError> {
    let heeding = heed(Some(&options.interrupt));
    let schema = target.create_schema()?;
    let product = target.info().product;
    let tongue = if options.is_judged { Tongue::of(product) } else { Tongue::bare(product) };
    prepare(schema.as_ref(), &tongue, &options.workloads)?;
    let names = (1..=options.sessions).map(|number| format!("s{number}"));
    let open = |name: String| {
        schema.open(&SessionOptions { name, level: options.level, lock_wait: LOCK_WAIT })
    };
    let opened = names.map(open).collect::<Result<Vec<_>, _>>()?;
    let level_read_back = opened.first().map(|one| one.level_read_back.clone()).unwrap_or_default();
    let info = SessionInfo {
        name: "s1".to_owned(),
        level: options.level,
        level_read_back: level_read_back.clone(),
    };
    let level = info.effective_level();
    let promises = Promises::new(target.info(), level, &level_read_back);
    let recipe = Recipe { workloads: options.workloads.clone(), seed: options.seed, tongue };
    let shared = Shared {
        log: Log::new(options.sessions),
        options,
        tongue,
        status: Mutex::default(),
        lost: Mutex::default(),
        committed: std::sync::atomic::AtomicU64::new(0),
    };
    let performers = opened.into_iter().zip(0..).map(|(opened, number)| Performer {
        session: opened.session,
        number,
        tongue: &shared.tongue,
        at_once: options.at_once,
    });
    let judge = Judge::new(promises, recipe);
    let (mut judge, mut history, took) =
        work(&shared, performers.collect(), judge, history, watch)?;
    let lost = shared.lost.into_inner().unwrap_or_else(PoisonError::into_inner);
    drop(heeding);
    let committed = shared.committed.into_inner();
    let mut ran = Ran { level_read_back, level, counts: Counts::default(), committed, took, lost };
    if options.is_judged && ran.lost.is_none() {
        let times = shared.log.last();
        let (last, blunders) = look_at_the_end(schema.as_ref(), options.level, &tongue, times.0)?;
        if let Some(history) = &mut history {
            writeln!(history, "{}", history::line(&last, times.1, times.2))?;
        }
        judge.blunders(&blunders, last.number);
        ran.counts = judge.finish(&last, (times.1, times.2));
    } else {
        ran.counts = judge.counts().clone();
    }
    Ok(ran)
}

fn prepare(
    schema: &dyn Schema,
    tongue: &Tongue,
    workloads: &[Workload],
) -> Result<(), StressError> {
    let mut session = schema.own_session(LOCK_WAIT)?;
    for sql in tongue.setup(workloads) {
        execute(session.as_mut(), &sql, STATEMENT_LIMIT)
            .map_err(|error| StressError::Statement { what: "cannot prepare the table", error })?;
    }
    Ok(())
}

/// The threads, until the last of them has ended.
fn work<'h>(
    shared: &Shared<'_>,
    performers: Vec<Performer<'_>>,
    mut judge: Judge,
    history: Option<&'h mut (dyn Write + Send)>,
    watch: &mut dyn FnMut(&Status),
) -> Result<(Judge, Option<&'h mut (dyn Write + Send)>, Duration), StressError> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for performer in performers {
            scope.spawn(move || perform(shared, performer));
        }
        let judge = &mut judge;
        let judging = scope.spawn(move || {
            let written = judge_all(shared, judge, history, begun);
            if written.is_err() {
                shared.log.close();
            }
            written
        });
        while !shared.log.is_empty() && begun.elapsed() < shared.options.time {
            wait_for_interrupt(WATCH.min(shared.options.time.saturating_sub(begun.elapsed())));
            watch(&status(shared, begun));
            if shared.options.interrupt.load(Ordering::Relaxed) {
                break;
            }
        }
        shared.log.close();
        while !shared.log.is_empty() {
            wait_for_interrupt(WATCH / 20);
        }
        let took = begun.elapsed();
        let written = judging.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map(|history| (history, took))
    })
    .map(|(history, took)| (judge, history, took))
    .map_err(StressError::History)
}

fn status(shared: &Shared<'_>, begun: Instant) -> Status {
    let told = shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Status { elapsed: begun.elapsed(), lag: shared.log.unread(), ..told }
}

/// One session, until the run ends or its connection does.
fn perform(shared: &Shared<'_>, mut performer: Performer<'_>) {
    let _heeding = heed(Some(&shared.options.interrupt));
    let _leaving = Leaving(&shared.log);
    let options = shared.options;
    while let Some(number) = shared.log.begin(options.transactions, options.is_judged) {
        let plan = plan(&options.workloads, options.seed, number);
        let (record, lost) = performer.perform(&plan, number);
        if record.outcome == Outcome::Committed {
            shared.committed.fetch_add(1, Ordering::Relaxed);
        }
        if options.is_judged {
            shared.log.end(Box::new(record));
        }
        if lost.is_some() {
            let mut first = shared.lost.lock().unwrap_or_else(PoisonError::into_inner);
            *first = first.take().or(lost);
            shared.log.close();
        }
    }
}

/// A session that leaves, also by a panic, which ends the run.
struct Leaving<'l>(&'l Log);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
        self.0.leave();
    }
}

/// The judge's thread.
fn judge_all<'h>(
    shared: &Shared<'_>,
    judge: &mut Judge,
    mut history: Option<&'h mut (dyn Write + Send)>,
    begun: Instant,
) -> std::io::Result<Option<&'h mut (dyn Write + Send)>> {
    let mut begins = std::collections::HashMap::new();
    if let Some(out) = &mut history {
        writeln!(out, "{}", history::header())?;
    }
    while let Some(events) = shared.log.take() {
        for (at, event) in events {
            match event {
                Event::Begin(number) => {
                    begins.insert(number, at);
                    judge.begin(number, at);
                }
                Event::End(record) => {
                    let began = begins.remove(&record.number).unwrap_or(at);
                    if let Some(out) = &mut history {
                        writeln!(out, "{}", history::line(&record, began, at))?;
                    }
                    judge.end(&record, at);
                }
            }
        }
        let told = Status { elapsed: begun.elapsed(), ..judge.status() };
        *shared.status.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }
    Ok(history)
}

/// Reads everything, when all sessions have ended.
fn look_at_the_end(
    schema: &dyn Schema,
    level: Option<Level>,
    tongue: &Tongue,
    number: u64,
) -> Result<(Record, Vec<Blunder>), StressError> {
    let _unheeded = heed(None);
    let options = SessionOptions { name: "final".to_owned(), level, lock_wait: LOCK_WAIT };
    let mut session = schema.open(&options)?.session;
    let answer = execute(session.as_mut(), &tongue.everything(), STATEMENT_LIMIT);
    let answer = answer
        .map_err(|error| StressError::Statement { what: "cannot read the final state", error })?;
    Ok(final_state(number, answer.results.into_iter().next().unwrap_or_default()))
}
