//! Whatever a server does not show or answer, a run ends within its limits, says so, and an interrupt ends it at once.

#[path = "support/puppet.rs"]
mod puppet;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anchorite_model::{BlockingKnowledge, Case, Outcome, Run};
use anchorite_stage::limits::ENDINGS_PER_SESSION;
use anchorite_stage::{Arena, Limits, RunOptions, Runner, StageError, run_case};
use puppet::{Puppet, Shows};

const NOTHING: fn(usize, bool) -> bool = |_, _| false;

fn shows(waits: fn(usize, bool) -> bool, misses_waits: bool) -> Shows {
    Shows { waits, misses_waits, at_look: Arc::new(|_| {}) }
}

fn short() -> RunOptions {
    let ms = Duration::from_millis;
    let limits = Limits {
        statement: ms(200),
        cancel: ms(50),
        deadlock: ms(50),
        unseen: ms(20),
        ..Limits::default()
    };
    RunOptions { limits, ..RunOptions::default() }
}

fn case(steps: &str) -> Case {
    Case::parse("limits", steps).expect("a case")
}

/// `1 ok`, `2 blocked: why`, ... and the notes.
fn story(run: &Run) -> Vec<String> {
    let events = run.events.iter().map(|event| match &event.outcome {
        Outcome::Ok(_) => format!("{} ok", event.n),
        Outcome::Resumed(_) => format!("{} resumed", event.n),
        Outcome::Blocked { by, wait } => format!("{} blocked by {}: {wait}", event.n, by.len()),
        Outcome::Error(_) => format!("{} error", event.n),
        Outcome::Skipped { reason } => format!("{} skipped: {reason}", event.n),
    });
    events.chain(run.notes.iter().cloned()).collect()
}

/// The run, which took no longer than the limits allow.
fn run_in_time(puppet: &Puppet, case: &Case, options: &RunOptions) -> Run {
    let begun = Instant::now();
    let run = run_case(puppet, case, options).expect("it runs");
    let bound = options.limits.longest_schedule(case.steps.len(), case.sessions.len());
    assert!(begun.elapsed() < bound, "{:?}, more than {bound:?}", begun.elapsed());
    run
}

#[test]
fn a_wait_that_is_never_shown_is_guessed_and_the_run_says_so() {
    let puppet = Puppet::new(shows(NOTHING, true), false);
    let case = case("/* t1 */ BEGIN; /* t2 */ WAIT; /* t1 */ SELECT 1; /* t1 */ RELEASE;");
    let run = run_in_time(&puppet, &case, &short());
    assert_eq!(
        story(&run),
        [
            "1 ok",
            "2 blocked by 0: no answer for 20 ms",
            "3 ok",
            "4 ok",
            "2 resumed",
            "a statement of t2 was neither answered nor shown as waiting for 20 ms: \
             taken for blocked, which is a guess",
            "t1 was still in a transaction: rolled back",
        ]
    );
    let BlockingKnowledge::Timeout { silence_ms: 20, reason } = &run.blocking else {
        panic!("{:?}", run.blocking)
    };
    assert_eq!(reason, "the server does not show every wait");
}

#[test]
fn what_was_guessed_is_not_guessed_again_until_a_transaction_has_ended() {
    let puppet = Puppet::new(shows(NOTHING, true), false);
    let mut options = short();
    options.limits.unseen = Duration::from_millis(300);
    let reads = "/* t1 */ SELECT 1; ".repeat(20);
    let case = case(&format!("/* t1 */ BEGIN; /* t2 */ WAIT; {reads} /* t1 */ RELEASE;"));
    let begun = Instant::now();
    let run = run_in_time(&puppet, &case, &options);
    assert!(begun.elapsed() < 5 * options.limits.unseen, "{:?}", begun.elapsed());
    assert_eq!(run.notes.len(), 2, "{:?}", run.notes);
}

#[test]
fn a_guess_in_one_case_leaves_the_next_one_of_the_arena_exact() {
    let puppet = Puppet::new(shows(NOTHING, true), false);
    let mut arena = Arena::new(&puppet, short()).expect("an arena");
    let guessed = case("/* t1 */ BEGIN; /* t2 */ WAIT; /* t1 */ RELEASE;");
    let exact = case("/* t1 */ BEGIN; /* t2 */ SELECT 1; /* t1 */ COMMIT;");
    let asked = BlockingKnowledge::Asked("a puppet".to_owned());
    assert_ne!(arena.run(&guessed, None).expect("it runs").blocking, asked);
    assert_eq!(arena.run(&exact, None).expect("it runs").blocking, asked);
}

/// A wait that is shown until somebody ends a transaction and then no more, although it goes on: so a waiter for a
/// reservation looks on CockroachDB.
#[test]
fn a_wait_that_is_not_shown_any_more_has_a_limit() {
    for (misses_waits, told) in [(true, "taken for blocked"), (false, "ran for more than 200 ms")] {
        let puppet = Puppet::new(shows(|_, released| !released, misses_waits), false);
        let case = case("/* t1 */ BEGIN; /* t2 */ HANG; /* t1 */ RELEASE; /* t1 */ COMMIT;");
        let run = run_in_time(&puppet, &case, &short());
        assert_eq!(story(&run)[..2], ["1 ok", "2 blocked by 0: lock"]);
        assert!(run.notes.iter().any(|note| note.contains(told)), "{:?}", run.notes);
        assert!(run.events.iter().any(|event| matches!(event.outcome, Outcome::Error(_))));
    }
}

#[test]
fn a_statement_that_ignores_everything_loses_its_connection() {
    for misses_waits in [true, false] {
        let puppet = Puppet::new(shows(NOTHING, misses_waits), true);
        let case = case("/* t1 */ HANG; /* t2 */ HANG; /* t3 */ SELECT 1; /* t1 */ SELECT 2;");
        let run = run_in_time(&puppet, &case, &short());
        assert!(story(&run).contains(&"3 ok".to_owned()), "{:?}", story(&run));
        let told = |words: &str| run.notes.iter().filter(|note| note.contains(words)).count();
        assert_eq!(told("connection was given up"), 2, "{:?}", run.notes);
    }
}

#[test]
fn a_transaction_that_refuses_to_end_is_told_so_a_few_times() {
    let puppet = Puppet::new(shows(NOTHING, false), false);
    let case = case("/* t1 */ BEGIN; /* t2 */ BEGIN; /* t1 */ REFUSE;");
    let run = run_in_time(&puppet, &case, &short());
    assert_eq!(puppet.rollbacks(), 2 * ENDINGS_PER_SESSION);
    let told = |name| {
        format!(
            "{name} was still in a transaction that could not be rolled back: its connection was closed"
        )
    };
    assert_eq!(run.notes, [told("t1"), told("t2")]);
}

#[test]
fn waits_that_look_different_each_time_have_a_limit() {
    let puppet = Puppet::new(shows(|look, _| look % 2 == 0, false), false);
    let case = case("/* t1 */ HANG; /* t2 */ SELECT 1; /* t1 */ SELECT 2;");
    let run = run_in_time(&puppet, &case, &short());
    assert!(!run.events.is_empty());
}

#[test]
fn an_interrupt_ends_a_run_that_shows_nothing_at_once() {
    for (misses_waits, is_deaf) in [(true, true), (false, true), (false, false)] {
        let options = RunOptions::default();
        let flag: Arc<AtomicBool> = Arc::clone(&options.interrupt);
        let raise = move |look| flag.store(look >= 5, Ordering::SeqCst);
        let watched = Shows { waits: NOTHING, misses_waits, at_look: Arc::new(raise) };
        let puppet = Puppet::new(watched, is_deaf);
        let begun = Instant::now();
        let ended = run_case(&puppet, &case("/* t1 */ HANG;"), &options);
        assert!(matches!(ended, Err(StageError::Interrupted)), "{ended:?}");
        assert!(begun.elapsed() < options.limits.unseen, "{:?}", begun.elapsed());
    }
}
