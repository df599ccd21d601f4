//! What a statement does must not depend on the order in which rows are visited.
//!
//! Idea: each case is run serially twice, the second time with its initial rows in the opposite order and without its
//! secondary indexes. Every answer and the final state have to be the same. A difference would become a false alarm
//! sooner or later: a serial replay visits rows in another order than the concurrent run did.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, Weights, case};
use anchorite_model::{Case, Outcome, Run, Statement, StatementKind};
use anchorite_stage::{FreshTables, RunOptions, Runner};

/// One session after the other.
fn serial(case: &Case) -> Case {
    let mut steps = case.steps.clone();
    steps.sort_by_key(|step| step.session);
    Case { steps, ..case.clone() }
}

/// Rows in the opposite order, no secondary indexes.
fn turned(case: &Case) -> Case {
    let is_index = |statement: &Statement| statement.sql.starts_with("CREATE INDEX");
    let drops_index = case.steps.iter().any(|step| step.statement.sql.contains("DROP INDEX"));
    let kept = case.setup.iter().filter(|statement| drops_index || !is_index(statement));
    let setup =
        kept.map(|statement| Statement { sql: with_rows_reversed(&statement.sql), line: 0 });
    Case { setup: setup.collect(), ..case.clone() }
}

/// The tuples after VALUES in the opposite order; no value contains the text between two of them.
fn with_rows_reversed(sql: &str) -> String {
    match sql.split_once(" VALUES (") {
        Some((head, rows)) if StatementKind::of(sql) == StatementKind::Insert => {
            let rows: Vec<&str> = rows.strip_suffix(')').unwrap_or(rows).rsplit("), (").collect();
            format!("{head} VALUES ({})", rows.join("), ("))
        }
        _ => sql.to_owned(),
    }
}

/// What came out, without the order of rows.
fn outcomes(run: &Run) -> Vec<String> {
    let answers = run.events.iter().map(|event| match &event.outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => {
            let mut rows: Vec<String> = answer
                .results
                .iter()
                .flat_map(|result| result.rows.iter().map(|row| format!("{row:?}")))
                .collect();
            rows.sort();
            format!("{}: {:?} {}", event.sql, answer.affected, rows.join(" "))
        }
        Outcome::Error(error) => format!("{}: {}", event.sql, error.class.name()),
        other => format!("{}: {other:?}", event.sql),
    });
    let tables = run.final_state.iter().map(|(name, table)| {
        let mut rows: Vec<String> = table.rows.iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        format!("{name}: {}", rows.join(" "))
    });
    answers.chain(tables).collect()
}

fn check(target: &dyn Target, count: u64) {
    let weights = Weights::parse("test", "[case]\ngroup = 4").expect("the file is right");
    let recipe = Recipe { weights, ..Recipe::new(target.info().product) };
    let mut runner = FreshTables { target, options: RunOptions::default() };
    for number in 0..count {
        let case = serial(&case(&recipe, 21, number));
        let mut run = |case: &Case| {
            let run = runner.run(case, None);
            outcomes(&run.unwrap_or_else(|error| panic!("{error}\n{case}")))
        };
        assert_eq!(run(&case), run(&turned(&case)), "{}:\n{case}", target.info());
    }
    println!("{}: {count} cases", target.info());
}

#[test]
fn rows_may_come_in_any_order_on_sqlite() {
    check(open("sqlite").expect("SQLite is built in").as_ref(), 500);
}

#[test]
fn rows_may_come_in_any_order_on_servers() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    for url in urls.split_whitespace() {
        let target = open(url).unwrap_or_else(|error| panic!("ANCHORITE_TEST_URLS: {error}"));
        check(target.as_ref(), 30);
    }
}
