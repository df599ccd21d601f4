//! The course of a campaign: its threads, and the one that supervises them.
//!
//! This thread only supervises the others: the budget, Ctrl-C, threads that are stuck, and the live line. There is one
//! investigator alongside the workers; when they have ended, one in place of each.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::worker_state::WorkerState;
use super::{Campaign, Stop};

/// How often this thread checks the others.
const TICK: Duration = Duration::from_millis(200);
/// A case that takes longer than this is abandoned: the limits of the stage should have ended it.
const STUCK: Duration = Duration::from_secs(240);
/// Cases that are running when the time is over get this long to end.
const LAST_CASE: Duration = Duration::from_secs(10);
/// After the last case the investigators take up suspects for this long, or for the rest of the hunt's time; the others
/// are kept.
const LAST_LOOKS: Duration = Duration::from_secs(60);
/// Investigations under way at that point get this long: on a slow server one takes more than a minute, and would start
/// from scratch the next time.
const IN_HAND: Duration = Duration::from_secs(120);

impl Campaign<'_> {
    /// Until all threads have ended.
    pub(super) fn run(&self) {
        let (workers, investigators) = self.worker_states.split_at(self.options.jobs);
        std::thread::scope(|scope| {
            let _supervised = Supervised(self);
            let (finished, news) = channel();
            let start = |finished: &Sender<Finished>, worker_state, role| {
                let finished = Finish(self, finished.clone(), role);
                scope.spawn(move || {
                    let _finished = finished;
                    match role {
                        Finished::Worker => self.work(worker_state),
                        Finished::Investigator => self.investigate_all(worker_state),
                    }
                })
            };
            let mut threads = Vec::new();
            threads.extend(
                workers.iter().map(|worker_state| start(&finished, worker_state, Finished::Worker)),
            );
            let first = investigators.iter().take(1);
            threads.extend(
                first.map(|worker_state| start(&finished, worker_state, Finished::Investigator)),
            );
            // Kept until the last thread is started: then the channel ends with the threads.
            let mut finished = Some(finished);
            let mut working = workers.len();
            let mut last_looks_end = None;
            loop {
                match news.recv_timeout(TICK) {
                    Ok(Finished::Worker) => working -= 1,
                    Ok(Finished::Investigator) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if working == 0
                    && let Some(finished) = finished.take()
                {
                    let worked = self.begun.elapsed();
                    let _ = self.worked.set(worked);
                    self.queue.close();
                    let left = self.options.time.unwrap_or_default().saturating_sub(worked);
                    last_looks_end = Some(Instant::now() + left.max(LAST_LOOKS));
                    let others = investigators.iter().skip(1);
                    threads.extend(others.map(|worker_state| {
                        start(&finished, worker_state, Finished::Investigator)
                    }));
                }
                self.look_after(workers, investigators, last_looks_end);
                self.audience.live(&self.summary());
            }
            for thread in threads {
                // A panic has been reported by its thread, and has stopped the hunt.
                let _ = thread.join();
            }
        });
    }

    /// Ctrl-C, the end of the time, and threads that are stuck.
    fn look_after(
        &self,
        workers: &[WorkerState],
        others: &[WorkerState],
        last_looks_end: Option<Instant>,
    ) {
        if self.options.run.interrupt.load(Ordering::Relaxed) {
            self.stop(Stop::Interrupted);
        }
        if self.is_stopped() {
            self.worker_states.iter().for_each(WorkerState::interrupt);
            return;
        }
        if let Some(time) = self.options.time {
            if self.begun.elapsed() > time {
                self.is_over.store(true, Ordering::SeqCst);
            }
            if self.begun.elapsed() > time + LAST_CASE {
                workers.iter().for_each(WorkerState::interrupt);
            }
        }
        if let Some(end) = last_looks_end {
            if Instant::now() > end {
                self.queue.shut();
            }
            if Instant::now() > end + IN_HAND {
                others.iter().for_each(WorkerState::interrupt);
            }
        }
        for worker_state in workers {
            if let Some(spot) = worker_state.stuck_for(STUCK) {
                let (seconds, name) = (STUCK.as_secs(), &worker_state.name);
                self.audience.say(&format!(
                    "{name} has made no progress for {seconds} s in case {}; the case is given up",
                    spot.number
                ));
                worker_state.interrupt();
            }
        }
    }
}

/// Ends the other threads if the one that supervises them panics: nobody else would, and the scope waits for them.
struct Supervised<'c, 'a>(&'c Campaign<'a>);

impl Drop for Supervised<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(Stop::Panicked);
            self.0.queue.close();
            self.0.worker_states.iter().for_each(WorkerState::interrupt);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finished {
    Worker,
    Investigator,
}

/// Reports that a thread has ended, however it ended.
struct Finish<'c, 'a>(&'c Campaign<'a>, Sender<Finished>, Finished);

impl Drop for Finish<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(Stop::Panicked);
        }
        // The receiver exists until all senders are gone.
        let _ = self.1.send(self.2);
    }
}
