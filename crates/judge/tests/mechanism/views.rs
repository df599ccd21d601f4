//! The second opinion about the views oracle: the same models, with plain reads in between.

use anchorite_model::Verdict;

use crate::schedule::random_run_with;
use crate::world::{Fault, Plan};
use crate::{Counts, MODELS, judged_by, runs, told};

/// Of the runs of a model in which a plain read went wrong so that it shows, at least so many of a hundred are
/// violations. The others end as some correct run does: a later read may be that of a row which the transaction has
/// written over.
const FLOOR: usize = 90;

#[test]
fn what_a_model_reads_is_never_a_violation() {
    for model in &MODELS {
        let mut counts = Counts::default();
        for seed in 0..runs() {
            let (run, _) = random_run_with(model, seed, None, true);
            let verdict = judged_by("views", &run);
            counts.add(&verdict);
            if let Verdict::Violation { because, .. } = &verdict {
                panic!("{}, seed {seed}: {because:#?}\n{}", model.name, told(&run));
            }
        }
        println!("{}: {counts:?}", model.name);
    }
}

#[test]
fn what_a_model_reads_wrongly_is_seen() {
    for model in MODELS.iter().filter(|model| !model.reads_lock()) {
        let (mut seen, mut all) = (0, 0);
        for fault in Fault::OF_READS {
            let mut counts = Counts::default();
            for seed in 0..runs() {
                let plan = Plan { fault, occasions_left: 1 };
                let (run, went_wrong) = random_run_with(model, seed, Some(plan), true);
                if went_wrong {
                    counts.add(&judged_by("views", &run));
                }
            }
            println!("{}, {fault:?}: {counts:?}", model.name);
            seen += counts.violation;
            all += counts.pass + counts.unexplained();
        }
        println!("{}: {seen} of {all}", model.name);
        assert!(all > 0 && seen * 100 >= all * FLOOR, "{}", model.name);
    }
}
