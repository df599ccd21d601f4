//! What the tests against real servers share: where the servers are, and a pinned random generator.

#![allow(dead_code, reason = "each test file uses its part")]

use anchorite_drivers::{Target, open};
use anchorite_model::{Case, Level, Product, Statement, Step};

/// The servers to test against: URLs in `ANCHORITE_TEST_URLS`, separated by blanks.
pub fn servers() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let targets: Vec<Box<dyn Target>> = urls
        .split_whitespace()
        .map(|url| open(url).unwrap_or_else(|error| panic!("ANCHORITE_TEST_URLS: {error}")))
        .collect();
    if targets.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    targets
}

/// Read committed where the target has it: no snapshot conflicts in the way of plain lock waits.
pub fn plain_level(target: &dyn Target) -> Option<Level> {
    target.levels().contains(&Level::ReadCommitted).then_some(Level::ReadCommitted)
}

/// SplitMix64: small, well distributed, the same on every machine.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// A case of these set-up statements and steps; sessions are named t1, t2, ...
pub fn case(name: &str, sessions: usize, setup: &[String], steps: Vec<(usize, String)>) -> Case {
    let statement = |sql: String| Statement { sql, line: 0 };
    Case {
        name: name.to_owned(),
        setup: setup.iter().cloned().map(statement).collect(),
        sessions: (1..=sessions).map(|n| format!("t{n}")).collect(),
        steps: steps
            .into_iter()
            .map(|(session, sql)| Step { session, statement: statement(sql) })
            .collect(),
        ..Case::default()
    }
}

/// Statements that take a few milliseconds without waiting for any lock: asleep, and busy.
pub fn slow_statements(product: Product) -> [&'static str; 2] {
    match product.name() {
        "postgres" | "cockroach" => {
            ["SELECT pg_sleep(0.004)", "SELECT count(*) FROM generate_series(1, 20000)"]
        }
        _ => ["SELECT SLEEP(0.004)", "SELECT BENCHMARK(20000, SHA2('anchorite', 256))"],
    }
}
