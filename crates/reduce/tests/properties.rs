//! Whatever is asked for: the result is still interesting, no bigger, and nothing was asked twice.

use std::collections::HashSet;
use std::convert::Infallible;

use anchorite_model::{Case, Product, Statement, StatementKind, Step};
use anchorite_reduce::{Budget, contrasts, reduce};
use proptest::prelude::*;

const STATEMENTS: [&str; 16] = [
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO SAVEPOINT s",
    "SELECT a, b FROM t WHERE a > 3 ORDER BY b",
    "SELECT * FROM t, u WHERE t.a = u.a FOR UPDATE",
    "SELECT COUNT(*) FROM t LOCK IN SHARE MODE",
    "INSERT INTO t VALUES (4, 7, 'x'), (5, 8, NULL)",
    "INSERT INTO t (a, c) SELECT a, 'y' FROM u WHERE a IN (SELECT b FROM t)",
    "UPDATE t SET a = a + 10, b = 3 WHERE c LIKE 'x%' AND b BETWEEN 1 AND 20",
    "UPDATE t SET b = CASE WHEN a > 4 THEN 1 ELSE (SELECT MAX(a) FROM u) END",
    "DELETE FROM t WHERE a = 7 OR b IS NULL",
    "DELETE FROM u",
    "ALTER TABLE t ADD COLUMN d INT",
    "NONSENSE (that, nobody) can parse",
];

const SETUP: [&str; 7] = [
    "CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(10) DEFAULT 'q', CHECK (b > 0))",
    "CREATE TABLE u (a INT, b INT, UNIQUE KEY k (a))",
    "CREATE INDEX i ON t (b)",
    "CREATE UNIQUE INDEX j ON t (c, b)",
    "INSERT INTO t VALUES (1, 2, 'x'), (2, 3, NULL), (30, 40, 'z')",
    "INSERT INTO t VALUES (77, 5, 'y')",
    "INSERT INTO u VALUES (1, 2)",
];

fn cases() -> impl Strategy<Value = Case> {
    let steps = prop::collection::vec((0..3_usize, 0..STATEMENTS.len()), 1..16);
    let setup = prop::sample::subsequence(SETUP.to_vec(), 0..=SETUP.len());
    (setup, steps).prop_map(|(setup, steps)| {
        let statement = |sql: &str| Statement { sql: sql.to_owned(), line: 0 };
        let mut used: Vec<usize> = Vec::new();
        let mut place = |session: usize| {
            used.iter().position(|other| *other == session).unwrap_or_else(|| {
                used.push(session);
                used.len() - 1
            })
        };
        let steps = steps
            .iter()
            .map(|(session, at)| Step {
                session: place(*session),
                statement: statement(STATEMENTS[*at]),
            })
            .collect();
        Case {
            name: "random".to_owned(),
            setup: setup.into_iter().map(statement).collect(),
            sessions: used.iter().map(|session| format!("s{session}")).collect(),
            steps,
            ..Case::default()
        }
    })
}

/// Something that is true of a case and can be lost: as many statements of each of some kinds.
fn count(case: &Case, kinds: &[StatementKind]) -> Vec<usize> {
    let of = |step: &Step| StatementKind::of(&step.statement.sql);
    kinds.iter().map(|kind| case.steps.iter().filter(|step| of(step) == *kind).count()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_result_is_interesting_and_no_bigger(case in cases(), which in 0..4_usize, most in 0..400_usize) {
        let kinds = [
            vec![StatementKind::Delete],
            vec![StatementKind::Update, StatementKind::Begin],
            vec![StatementKind::Select { locking: true }, StatementKind::Insert],
            vec![StatementKind::Other, StatementKind::Rollback { chain: false }],
        ];
        let wanted = count(&case, &kinds[which]);
        let mut asked = HashSet::new();
        let mut still = |candidate: &Case| {
            let text = candidate.to_text();
            let again = Case::parse("random", &text).expect("what is asked can be read");
            assert_eq!(again.to_text(), text);
            assert!(asked.insert(text), "asked twice");
            Ok::<bool, Infallible>(count(candidate, &kinds[which]) == wanted)
        };
        let budget = Budget { questions: most, time_left: &mut || true };
        let reduced = reduce(&case, Product::named("mysql"), budget, &mut still).unwrap_or_else(|e| match e {});
        prop_assert_eq!(count(&reduced.case, &kinds[which]), wanted);
        prop_assert!(reduced.questions <= most);
        prop_assert_eq!(reduced.questions, asked.len());
        let statements = |case: &Case| case.setup.len() + case.steps.len();
        prop_assert!(statements(&reduced.case) <= statements(&case));
    }

    #[test]
    fn contrasts_of_everything_can_be_read(case in cases()) {
        for product in Product::all() {
            for variant in contrasts(&case, product, &[], None) {
                let text = variant.case.to_text();
                prop_assert!(Case::parse("variant", &text).is_ok(), "{}", text);
            }
        }
    }
}

#[test]
fn an_error_ends_the_reduction() {
    let case = Case::parse("x", "/* a */ SELECT 1;\n/* b */ SELECT 2;\n").expect("a case");
    let budget = Budget { questions: 100, time_left: &mut || true };
    let result = reduce(&case, Product::named("sqlite"), budget, &mut |_| Err("lost"));
    assert_eq!(result, Err("lost"));
}

#[test]
fn no_time_means_no_questions() {
    let case = Case::parse("x", "/* a */ SELECT 1;\n/* b */ SELECT 2;\n").expect("a case");
    let budget = Budget { questions: 100, time_left: &mut || false };
    let result =
        reduce(&case, Product::named("sqlite"), budget, &mut |_| Ok::<bool, Infallible>(true));
    let reduced = result.unwrap_or_else(|never| match never {});
    assert_eq!((reduced.questions, reduced.complete, reduced.case), (0, false, case));
}
