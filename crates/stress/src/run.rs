//! A run: sessions in threads of their own, the judge in another one, and the final state.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anchorite_drivers::{Schema, Target, execute, heed};
use anchorite_model::SessionInfo;

use crate::crew::{LOCK_WAIT, Shared, lock, open_session, perform};
use crate::durability::permits;
use crate::history;
use crate::judge::{Counts, Judge, Recipe};
use crate::log::{Event, Log};
use crate::options::{Options, Ran, StressError};
use crate::promise::Promises;
use crate::record::Record;
use crate::session::{Performer, STATEMENT_LIMIT};
use crate::shape::Shape;
use crate::status::Status;
use crate::text::Tongue;
use crate::trouble::{OwnServer, Trouble, level_of_looks, read_all};
use crate::workload::Workload;

/// Between two looks at what has been counted.
const WATCH: Duration = Duration::from_millis(200);

/// Runs it.
pub fn run(
    target: &dyn Target,
    options: &Options,
    history: Option<&mut (dyn Write + Send)>,
    watch: &mut dyn FnMut(&Status),
) -> Result<Ran, StressError> {
    run_on(target, options, None, history, watch)
}

/// Runs it on a server that was started for it, so that faults may be done to the server itself.
pub fn run_on(
    target: &dyn Target,
    options: &Options,
    server: Option<&mut dyn OwnServer>,
    history: Option<&mut (dyn Write + Send)>,
    watch: &mut dyn FnMut(&Status),
) -> Result<Ran, StressError> {
    let heeding = heed(Some(&options.interrupt));
    let schema = target.create_schema()?;
    let product = target.info().product;
    let tongue = if options.is_judged { Tongue::of(product) } else { Tongue::bare(product) };
    let tongue = tongue.on(Shape::of(&options.workloads, options.seed));
    // The table must outlive the server even where settings let it lose what sessions commit.
    let is_lost = options.faults.iter().any(|fault| fault.restarts());
    let server_data = product.descriptor().server.as_ref();
    let write_out = server_data.and_then(|data| data.write_out.as_deref()).filter(|_| is_lost);
    prepare(schema.as_ref(), &tongue, &options.workloads, write_out)?;
    let open = |number| open_session(schema.as_ref(), number, options.level);
    let opened = (0..options.sessions).map(open).collect::<Result<Vec<_>, _>>()?;
    let level_read_back = opened.first().map(|one| one.level_read_back.clone()).unwrap_or_default();
    let name = "s1".to_owned();
    let info = SessionInfo { name, level: options.level, level_read_back: level_read_back.clone() };
    let level = info.effective_level();
    let mut promises = Promises::new(target.info(), level, &level_read_back);
    if !options.faults.is_empty() {
        promises.loses(permits(schema.as_ref(), target.info())?);
    }
    let recipe = Recipe { workloads: options.workloads.clone(), seed: options.seed, tongue };
    let shared = Shared::new(schema, options, tongue, &opened);
    let trouble = Trouble::new(&shared, target, server, promises.forgets())?;
    let performers = opened.into_iter().zip(0..).map(|(opened, number)| Performer {
        session: opened.session,
        number,
        tongue: &shared.tongue,
        at_once: options.at_once,
        commit_apart: !options.faults.is_empty(),
        cut: None,
    });
    let mut judge = Judge::new(promises, recipe.clone());
    if !options.faults.is_empty() {
        judge = judge.with_ledger();
    }
    let (judge, history, took) =
        work(&shared, trouble, performers.collect(), judge, history, watch)?;
    drop(heeding);
    let lost = lock(&shared.lost).take();
    let committed = shared.committed.load(Ordering::Relaxed);
    let (series, counts) = (std::mem::take(&mut *lock(&shared.series)), Counts::default());
    let mut ran = Ran { level_read_back, level, counts, committed, took, recipe, series, lost };
    let is_whole = options.is_judged && ran.lost.is_none();
    ran.counts =
        if is_whole { finish(&shared, target, judge, history)? } else { judge.counts().clone() };
    Ok(ran)
}

/// Everything is read once more.
fn finish(
    shared: &Shared<'_>,
    target: &dyn Target,
    mut judge: Judge,
    mut history: Option<&mut (dyn Write + Send)>,
) -> Result<Counts, StressError> {
    let (number, began, ended) = shared.log.last();
    let has_faults = !shared.options.faults.is_empty();
    let level = if has_faults { level_of_looks(target) } else { shared.options.level };
    let schema = lock(&shared.schema);
    let look = read_all(schema.as_ref(), level, &shared.tongue.everything(), number, None)?;
    if let Some(history) = &mut history {
        writeln!(history, "{}", history::line(&look.record, began, ended))?;
    }
    if has_faults {
        judge.look(&look, (began, ended));
        return Ok(judge.close());
    }
    judge.blunders(&look.blunders, look.record.number);
    Ok(judge.finish(&look.record, (began, ended)))
}

fn prepare(
    schema: &dyn Schema,
    tongue: &Tongue,
    workloads: &[Workload],
    write_out: Option<&str>,
) -> Result<(), StressError> {
    let mut session = schema.own_session(LOCK_WAIT)?;
    for sql in tongue.setup(workloads).into_iter().chain(write_out.map(str::to_owned)) {
        execute(session.as_mut(), &sql, STATEMENT_LIMIT)
            .map_err(|error| StressError::Statement { what: "cannot prepare the table", error })?;
    }
    Ok(())
}

/// The threads, until the last of them has ended.
fn work<'h>(
    shared: &Shared<'_>,
    mut trouble: Trouble<'_, '_>,
    performers: Vec<Performer<'_>>,
    mut judge: Judge,
    history: Option<&'h mut (dyn Write + Send)>,
    watch: &mut dyn FnMut(&Status),
) -> Result<(Judge, Option<&'h mut (dyn Write + Send)>, Duration), StressError> {
    let begun = Instant::now();
    let done = std::thread::scope(|scope| {
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
        let looking = Looking(&shared.log);
        while !shared.log.is_empty() && begun.elapsed() < shared.options.time {
            let left = shared.options.time.saturating_sub(begun.elapsed());
            if let Err(error) = trouble.wait_and_strike(WATCH.min(left)) {
                shared.fail(error);
            }
            watch(&status(shared, begun));
            if shared.options.interrupt.load(Ordering::Relaxed) {
                break;
            }
        }
        shared.log.close();
        while !shared.log.is_empty() {
            shared.log.reaches(u64::MAX, WATCH);
        }
        drop(looking);
        let took = begun.elapsed();
        let written = judging.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map(|history| (history, took))
    });
    if let Some(error) = lock(&shared.failed).take() {
        return Err(error);
    }
    let (history, took) = done?;
    Ok((judge, history, took))
}

/// Whoever makes the faults reads all rows after each of them; the judge waits for it, also if this thread panics.
struct Looking<'l>(&'l Log);

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.0.end_looks();
    }
}

fn status(shared: &Shared<'_>, begun: Instant) -> Status {
    let told = lock(&shared.status).clone();
    Status { elapsed: begun.elapsed(), lag: shared.log.unread(), ..told }
}

/// The judge's thread.
fn judge_all<'h>(
    shared: &Shared<'_>,
    judge: &mut Judge,
    mut history: Option<&'h mut (dyn Write + Send)>,
    begun: Instant,
) -> std::io::Result<Option<&'h mut (dyn Write + Send)>> {
    let mut begins = HashMap::new();
    if let Some(out) = &mut history {
        writeln!(out, "{}", history::header())?;
    }
    while let Some(events) = shared.log.take() {
        for (at, event) in events {
            let (record, began): (&Record, u64) = match &event {
                Event::Begin(number) => {
                    begins.insert(*number, at);
                    judge.begin(*number, at);
                    continue;
                }
                Event::End(record) => (record, begins.remove(&record.number).unwrap_or(at)),
                Event::Look(began, look) => (&look.record, *began),
            };
            if let Some(out) = &mut history {
                writeln!(out, "{}", history::line(record, began, at))?;
            }
            match &event {
                Event::Look(_, look) => judge.look(look, (began, at)),
                _ => {
                    lock(&shared.series).note(begun.elapsed(), record);
                    judge.end(record, at);
                }
            }
        }
        let told = Status { elapsed: begun.elapsed(), ..judge.status() };
        *lock(&shared.status) = told;
    }
    Ok(history)
}
