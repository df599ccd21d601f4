//! Which classic anomalies rows prove, by runs made by hand: what must be named, and what must not.

mod common;

use anchorite_claims::{Claims, Promise};
use anchorite_judge::observed;
use anchorite_model::{Case, Level, Product, Rows, Run, TargetInfo, Value};
use common::{change_answer, quiet_run};

/// A schedule with what each statement answered behind `->`: rows, or a count; then the rows at the end.
struct Sample {
    what: &'static str,
    steps: &'static [&'static str],
    end: &'static [&'static [i128]],
    named: &'static [&'static str],
}

const SAMPLES: &[Sample] = &[
    Sample {
        what: "a lost update is that and no write skew",
        steps: &[
            "t1 BEGIN",
            "t2 BEGIN",
            "t1 SELECT * FROM t WHERE id = 1 -> 1 10",
            "t2 SELECT * FROM t WHERE id = 1 -> 1 10",
            "t1 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t1 COMMIT",
            "t2 UPDATE t SET v = 12 WHERE id = 1 -> 1",
            "t2 COMMIT",
        ],
        end: &[&[1, 12], &[2, 20]],
        named: &["P4"],
    },
    Sample {
        what: "an UPDATE that computes with the new value loses nothing, but saw another state than the query",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT * FROM t WHERE id = 1 -> 1 10",
            "t2 UPDATE t SET v = 50 WHERE id = 1 -> 1",
            "t1 UPDATE t SET v = v + 1 WHERE id = 1 -> 1",
            "t1 COMMIT",
        ],
        end: &[&[1, 51], &[2, 20]],
        named: &["G-single"],
    },
    Sample {
        what: "increments in either order give the same",
        steps: &[
            "t1 BEGIN",
            "t2 BEGIN",
            "t1 UPDATE t SET v = v + 1 WHERE id = 1 -> 1",
            "t2 SELECT * FROM t WHERE id = 2 -> 2 20",
            "t1 UPDATE t SET v = 21 WHERE id = 2 -> 1",
            "t1 COMMIT",
            "t2 UPDATE t SET v = v + 1 WHERE id = 1 -> 1",
            "t2 COMMIT",
        ],
        end: &[&[1, 12], &[2, 21]],
        named: &[],
    },
    Sample {
        what: "write skew",
        steps: &[
            "t1 BEGIN",
            "t2 BEGIN",
            "t1 SELECT * FROM t -> 1 10, 2 20",
            "t2 SELECT * FROM t -> 1 10, 2 20",
            "t1 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t2 UPDATE t SET v = 21 WHERE id = 2 -> 1",
            "t1 COMMIT",
            "t2 COMMIT",
        ],
        end: &[&[1, 11], &[2, 21]],
        named: &["G2-item"],
    },
    Sample {
        what: "write skew on a condition",
        steps: &[
            "t1 BEGIN",
            "t2 BEGIN",
            "t1 SELECT id FROM t WHERE v > 25 ->",
            "t2 SELECT id FROM t WHERE v > 25 ->",
            "t1 INSERT INTO t VALUES (3, 30) -> 1",
            "t2 INSERT INTO t (v, id) VALUES (40, 4) -> 1",
            "t1 COMMIT",
            "t2 COMMIT",
        ],
        end: &[&[1, 10], &[2, 20], &[3, 30], &[4, 40]],
        named: &["G2"],
    },
    Sample {
        what: "a value that was rolled back",
        steps: &[
            "t1 BEGIN",
            "t1 UPDATE t SET v = 99 WHERE id = 1 -> 1",
            "t2 SELECT * FROM t -> 1 99, 2 20",
            "t1 ROLLBACK",
        ],
        end: &[&[1, 10], &[2, 20]],
        named: &["G1a"],
    },
    Sample {
        what: "a value that its writer changed again",
        steps: &[
            "t1 BEGIN",
            "t1 UPDATE t SET v = 99 WHERE id = 1 -> 1",
            "t2 SELECT * FROM t -> 1 99, 2 20",
            "t1 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t1 COMMIT",
        ],
        end: &[&[1, 11], &[2, 20]],
        named: &["G1b"],
    },
    Sample {
        what: "each reads what the other wrote",
        steps: &[
            "t1 BEGIN",
            "t2 BEGIN",
            "t1 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t2 UPDATE t SET v = 22 WHERE id = 2 -> 1",
            "t1 SELECT * FROM t WHERE id = 2 -> 2 22",
            "t2 SELECT * FROM t WHERE id = 1 -> 1 11",
            "t1 COMMIT",
            "t2 COMMIT",
        ],
        end: &[&[1, 11], &[2, 22]],
        named: &["G1c"],
    },
    Sample {
        what: "a non-repeatable read",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT v FROM t WHERE id = 1 -> 10",
            "t2 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t1 SELECT v FROM t WHERE id = 1 -> 11",
            "t1 COMMIT",
        ],
        end: &[&[1, 11], &[2, 20]],
        named: &["G-single"],
    },
    Sample {
        what: "a phantom",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT * FROM t WHERE v BETWEEN 15 AND 40 -> 2 20",
            "t2 INSERT INTO t VALUES (3, 30) -> 1",
            "t1 SELECT * FROM t WHERE v BETWEEN 15 AND 40 -> 2 20, 3 30",
            "t1 COMMIT",
        ],
        end: &[&[1, 10], &[2, 20], &[3, 30]],
        named: &["PMP"],
    },
    Sample {
        what: "a snapshot that stays as it was",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT * FROM t -> 1 10, 2 20",
            "t2 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t1 SELECT * FROM t -> 1 10, 2 20",
            "t1 COMMIT",
        ],
        end: &[&[1, 11], &[2, 20]],
        named: &[],
    },
    Sample {
        what: "values that do not tell who wrote them",
        steps: &[
            "t1 BEGIN",
            "t1 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t2 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t3 SELECT * FROM t WHERE id = 1 -> 1 11",
            "t1 ROLLBACK",
        ],
        end: &[&[1, 11], &[2, 20]],
        named: &[],
    },
    Sample {
        what: "an UPDATE whose count shows that it saw what the query did not",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT * FROM t -> 1 10, 2 20",
            "t2 UPDATE t SET v = 15 WHERE id = 2 -> 1",
            "t1 UPDATE t SET v = 0 WHERE v = 20 -> 0",
            "t1 COMMIT",
        ],
        end: &[&[1, 10], &[2, 15]],
        named: &["G-single"],
    },
    Sample {
        what: "the same query twice, beside a write that is not understood",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT * FROM t WHERE id = 1 -> 1 10",
            "t2 UPDATE t SET v = abs(-11) WHERE id = 1 -> 1",
            "t1 SELECT * FROM t WHERE id = 1 -> 1 11",
            "t1 COMMIT",
        ],
        end: &[&[1, 11], &[2, 20]],
        named: &["G-single"],
    },
    Sample {
        what: "a final state that is not that of the writes: nothing is understood",
        steps: &[
            "t1 BEGIN",
            "t2 BEGIN",
            "t1 SELECT * FROM t WHERE id = 1 -> 1 10",
            "t2 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t2 COMMIT",
            "t1 UPDATE t SET v = 12 WHERE id = 1 -> 1",
            "t1 COMMIT",
        ],
        end: &[&[1, 11], &[2, 20]],
        named: &[],
    },
    Sample {
        what: "one after the other",
        steps: &[
            "t1 BEGIN",
            "t1 SELECT * FROM t -> 1 10, 2 20",
            "t1 UPDATE t SET v = 11 WHERE id = 1 -> 1",
            "t1 COMMIT",
            "t2 BEGIN",
            "t2 SELECT * FROM t -> 1 11, 2 20",
            "t2 DELETE FROM t WHERE id = 1 -> 1",
            "t2 COMMIT",
        ],
        end: &[&[2, 20]],
        named: &[],
    },
];

fn numbers(text: &str) -> Vec<Value> {
    text.split_whitespace().map(|word| Value::Int(word.parse().expect("a number"))).collect()
}

fn run_of(sample: &Sample, product: Product) -> Run {
    let mut text = "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                    /* setup */ INSERT INTO t VALUES (1, 10), (2, 20);\n"
        .to_owned();
    for step in sample.steps {
        let (session, rest) = step.split_once(' ').expect("a session");
        let sql = rest.split(" ->").next().unwrap_or_default();
        text += &format!("/* {session} */ {sql};\n");
    }
    let mut run = quiet_run(&Case::parse("sample", &text).expect("a valid case"));
    for (n, step) in (1..).zip(sample.steps) {
        let answer = step.split_once("->").map(|(_, answer)| answer.trim());
        change_answer(&mut run, n, |given| {
            given.results.clear();
            let Some(answer) = answer else { return };
            if step.contains("SELECT") {
                let rows = answer.split(',').map(numbers).filter(|row| !row.is_empty());
                given.results = vec![Rows { columns: Vec::new(), rows: rows.collect() }];
            } else {
                given.affected = Some(answer.parse().expect("a count"));
            }
        });
    }
    let columns = ["id", "v"].map(str::to_owned).to_vec();
    let rows = sample.end.iter().map(|row| row.iter().copied().map(Value::Int).collect());
    run.final_state = vec![("t".to_owned(), Rows { columns, rows: rows.collect() })];
    run.target = TargetInfo { product, version: "15.18".to_owned(), variant: String::new() };
    run.level = Some(Level::ReadCommitted);
    for session in &mut run.sessions {
        session.level = Some(Level::ReadCommitted);
        "read committed".clone_into(&mut session.level_read_back);
    }
    run
}

#[test]
fn rows_prove_these_names_and_no_others() {
    for sample in SAMPLES {
        for product in
            [Product::named("postgres"), Product::named("mysql"), Product::named("sqlite")]
        {
            let run = run_of(sample, product);
            let told = observed(&run, Claims::for_target(&run.target));
            let named: Vec<&str> = told.iter().map(|observed| observed.anomaly.name()).collect();
            assert_eq!(named, sample.named, "{product}: {}: {told:#?}", sample.what);
        }
    }
}

#[test]
fn the_promise_and_the_proof_stand_beside_the_name() {
    let run = run_of(&SAMPLES[0], Product::named("postgres"));
    let told = observed(&run, Claims::for_target(&run.target));
    assert_eq!(told[0].promise, Promise::Possible);
    assert!(told[0].url.as_ref().is_some_and(|url| url.starts_with("https://")));
    let expected = [
        "step 7 of t2 overwrote (1, 11), which t1 wrote in step 5",
        "step 4 of t2 saw (1, 10), which t1 changed in step 5",
    ];
    assert_eq!(told[0].because, expected);
    // A write that is promised less than a query is held to its own promise.
    let run = run_of(&SAMPLES[12], Product::named("mysql"));
    let because = &observed(&run, Claims::for_target(&run.target))[0].because;
    assert_eq!(
        because[0],
        "the count of step 4 of t1 shows that it saw (2, 15), which t2 wrote in step 3"
    );
}
