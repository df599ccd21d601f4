//! The seam between cases and oracles, with an oracle that was made for it: what it prepares is run where the case was
//! run, everybody judges the same run, and a second target is asked where there is one.

use std::sync::Mutex;

use anchorite_claims::Claims;
use anchorite_drivers::open;
use anchorite_drivers::sabotage::Sabotage;
use anchorite_hunt::Examiner;
use anchorite_judge::oracles::{self, Needs, Unjudged};
use anchorite_judge::{Evidence, Laboratory, Oracle};
use anchorite_model::{Case, Judgement, Pair, Run, Verdict};
use anchorite_stage::{FreshTables, RunOptions};

/// Wants to see the case without its last step, and the case itself on another target.
struct Curious;

/// What it was shown: events of the run, of the prepared one, and of the one elsewhere.
static SHOWN: Mutex<Vec<(usize, usize, Option<usize>)>> = Mutex::new(Vec::new());

impl Oracle for Curious {
    fn name(&self) -> &'static str {
        "curious"
    }

    fn about(&self) -> &'static str {
        "nothing"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn prepare(&self, run: &Run, _: bool) -> Vec<Case> {
        let mut shorter = run.case.clone();
        shorter.steps.pop();
        vec![shorter]
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let [prepared] = evidence.prepared(self.name()) else {
            return Err(format!("{} runs were prepared", evidence.prepared(self.name()).len()))?;
        };
        let elsewhere = laboratory.run_elsewhere(&evidence.run.case).transpose()?;
        let elsewhere = elsewhere.map(|run| run.events.len());
        let counts = (
            evidence.run.events.len(),
            prepared.as_ref().map_or(0, |run| run.events.len()),
            elsewhere,
        );
        SHOWN.lock().expect("nobody panics").push(counts);
        Ok(Judgement::new(self.name(), Verdict::Pass))
    }
}

#[test]
fn an_oracle_sees_what_it_prepared_and_what_happens_elsewhere() {
    let text =
        "/* setup */ CREATE TABLE t (a INT);\n/* t1 */ SELECT * FROM t;\n/* t1 */ DELETE FROM t;\n";
    let case = Case::parse("small", text).expect("a valid case");
    let (here, there) = (open("sqlite").expect("built in"), open("sqlite:wal").expect("built in"));
    let options = RunOptions::default();
    let mut runner = FreshTables { target: here.as_ref(), options: options.clone() };
    let mut second = FreshTables { target: there.as_ref(), options };
    let oracles: [&'static dyn Oracle; 2] = [&Curious, oracles::ALL[0]];
    let claims = Claims::for_target(here.info());
    let examiner = Examiner { claims, oracles: &oracles, strict: false };
    let alone = examiner.examine(&mut runner, &case, None).expect("it runs");
    let mut pair = Pair { here: &mut runner, elsewhere: Some(&mut second) };
    let both = examiner.examine(&mut pair, &case, None).expect("it runs");
    for judged in [alone, both] {
        let names: Vec<&str> = judged.judgements.iter().map(|said| said.oracle.as_str()).collect();
        assert_eq!(names, ["curious", oracles::ALL[0].name()]);
        assert!(judged.judgements.iter().all(|said| said.verdict == Verdict::Pass));
    }
    assert_eq!(*SHOWN.lock().expect("nobody panics"), [(2, 1, None), (2, 1, Some(2))]);
}

#[test]
fn what_oracles_claim_to_find_can_be_planted() {
    for oracle in oracles::ALL {
        for name in oracle.sees().iter().flat_map(|sees| sees.sabotages) {
            assert!(name.parse::<Sabotage>().is_ok(), "{oracle}: {name} is no sabotage");
        }
    }
}
