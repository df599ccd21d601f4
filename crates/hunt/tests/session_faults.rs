//! Rehearsals do not inherit what is wrong with the sessions of the run.

mod stale;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_hunt::Examiner;
use anchorite_judge::oracles;
use anchorite_model::{Case, Level, Run, RunError, Verdict};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner};

use stale::{Notices, Stale};

/// t1 sees that b was written, after a was, and does not see that a was written.
const CASE: &str = "\
/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);
/* setup */ INSERT INTO t VALUES (1, 0), (2, 0);
/* t1 */ SELECT v FROM t WHERE id = 1;
/* t2 */ UPDATE t SET v = 1 WHERE id = 1;
/* t2 */ UPDATE t SET v = (SELECT v FROM t WHERE id = 1) WHERE id = 2;
/* t1 */ BEGIN;
/* t1 */ SELECT v FROM t WHERE id = 2;
/* t1 */ SELECT v FROM t WHERE id = 1;
/* t1 */ COMMIT;
";

/// Rehearses in sessions like those of the run.
struct LikeTheRun<R>(R);

impl<R: Runner> Runner for LikeTheRun<R> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.0.run(case, level)
    }
}

fn verdict(runner: &mut dyn Runner, target: &dyn Target) -> Verdict {
    let case = Case::parse("stale", CASE).expect("a valid case");
    let oracles = [oracles::named("final-state").expect("there is one")];
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: &oracles, strict: false };
    let examined = examiner.examine(runner, &case, Some(Level::Serializable)).expect("it runs");
    examined.judgements[0].verdict.clone()
}

#[test]
fn a_fault_that_lives_in_a_session_does_not_repeat_itself_in_rehearsals() {
    let options = RunOptions::default;
    let stale = Stale::new(Notices::ItsOwn);
    let fresh = || FreshTables { target: &stale, options: options() };
    let arena = || Arena::new(&stale, options()).expect("an arena");
    for found in [verdict(&mut fresh(), &stale), verdict(&mut arena(), &stale)] {
        assert!(matches!(found, Verdict::Violation { .. }), "{found:?}");
    }
    for missed in
        [verdict(&mut LikeTheRun(fresh()), &stale), verdict(&mut LikeTheRun(arena()), &stale)]
    {
        assert_eq!(missed, Verdict::Pass, "the fault explains itself");
    }
    let honest = open("sqlite").expect("it is built in");
    let between_cases = Stale::new(Notices::ThoseOfCases);
    for target in [honest.as_ref(), &between_cases] {
        let mut fresh = FreshTables { target, options: options() };
        assert_eq!(verdict(&mut fresh, target), Verdict::Pass);
    }
}
