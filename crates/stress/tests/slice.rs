//! Races as cases: transactions of a witness are run statement by statement, and the same judge sees the same anomaly.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_drivers::{Target, open};
use anchorite_model::Level;
use anchorite_stage::{FreshTables, RunOptions, Runner};
use anchorite_stress::judge::Told;
use anchorite_stress::plan::{Change, End, Look, Op, Plan};
use anchorite_stress::text::Tongue;
use anchorite_stress::workload::plan;
use anchorite_stress::{Finding, Recipe, Slice, Standing, Weighed, Workload};

const SEED: u64 = 3;

/// Orders that are tried.
const ORDERS: usize = 12;

fn recipe(target: &dyn Target, workload: Workload) -> Recipe {
    let tongue = Tongue::of(target.info().product);
    Recipe { workloads: vec![workload], seed: SEED, tongue }
}

fn finding(name: &'static str, transactions: &[(u64, (u64, u64))]) -> Finding {
    let standing = Standing::Allowed;
    let weighed = Weighed { name, explained: "", shape: name, standing, page: None };
    let told = |(txn, times): &(u64, (u64, u64))| Told {
        txn: *txn,
        session: None,
        times: Some(*times),
        sql: Vec::new(),
    };
    Finding {
        weighed,
        because: Vec::new(),
        transactions: transactions.iter().map(told).collect(),
        repeated: None,
        case: None,
    }
}

fn first(workload: Workload, fits: impl Fn(&Plan) -> bool) -> u64 {
    (1..200_000).find(|n| fits(&plan(&[workload], SEED, *n))).expect("there is such a plan")
}

/// One that writes a row and rolls back, and one that reads that row.
fn dirty() -> (u64, u64) {
    let wrote = |plan: &Plan| match plan.ops.first() {
        Some(Op::Write(row, Change::Set(_))) if plan.end == End::Rollback => Some(*row),
        _ => None,
    };
    let writer = first(Workload::Register, |plan| wrote(plan).is_some());
    let row = wrote(&plan(&[Workload::Register], SEED, writer)).expect("it writes");
    let read = Op::Read(row, Look::Plain);
    let reader = first(Workload::Register, |plan| {
        let writes = plan.ops.iter().any(|op| matches!(op, Op::Write(..)));
        plan.ops.contains(&read) && !writes && plan.end == End::Commit
    });
    (writer, reader)
}

/// Two that read the same pair and write different rows of it.
fn skewed() -> (u64, u64) {
    let parts = |plan: &Plan| match plan.ops[..] {
        [Op::Read(a, _), Op::Read(b, _), Op::Write(row, _)] => Some((a, b, row)),
        _ => None,
    };
    let commits = |plan: &Plan| plan.end == End::Commit;
    let one = first(Workload::WriteSkew, |plan| commits(plan) && parts(plan).is_some());
    let (a, b, row) = parts(&plan(&[Workload::WriteSkew], SEED, one)).expect("it has three parts");
    let other = first(Workload::WriteSkew, |plan| {
        commits(plan) && parts(plan).is_some_and(|(x, y, z)| (x, y) == (a, b) && z != row)
    });
    (one, other)
}

/// What the cases of a finding show, each once.
fn shown(target: &dyn Target, level: Level, slice: &Slice<'_>) -> Vec<(Standing, &'static str)> {
    let mut fresh = FreshTables { target, options: RunOptions::default() };
    let mut all = Vec::new();
    for case in slice.cases(ORDERS) {
        let run = fresh.run(&case, Some(level)).unwrap_or_else(|error| panic!("{error}"));
        let counts = slice.counts(&run).expect("it ended as it should");
        all.extend(counts.anomalies.into_keys());
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_dirty_read_is_shown_where_the_level_allows_it_and_nowhere_else() {
    let (writer, reader) = dirty();
    for (name, level, expected) in [
        ("sqlite:shared-cache", Level::ReadUncommitted, vec![(Standing::Allowed, "G1a")]),
        ("sqlite:shared-cache", Level::Serializable, Vec::new()),
        ("sqlite:wal", Level::Serializable, Vec::new()),
        ("sqlite", Level::Serializable, Vec::new()),
    ] {
        let target = open(name).expect("built in");
        let recipe = recipe(target.as_ref(), Workload::Register);
        let finding = finding("G1a", &[(writer, (1, 5)), (reader, (2, 4))]);
        let slice = Slice::of(&recipe, &finding).expect("two transactions");
        assert_eq!(shown(target.as_ref(), level, &slice), expected, "{name} at {level}");
    }
}

#[test]
fn a_write_skew_is_shown_where_the_level_allows_it_and_nowhere_else() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server with write skews");
    }
    let (one, other) = skewed();
    for url in urls.split_whitespace() {
        let target = open(url).expect("a target");
        let recipe = recipe(target.as_ref(), Workload::WriteSkew);
        let finding = finding("G2-item", &[(one, (1, 9)), (other, (2, 8))]);
        let slice = Slice::of(&recipe, &finding).expect("two transactions");
        for level in target.levels() {
            let about = format!("{} at {level}", target.info());
            let all = shown(target.as_ref(), *level, &slice);
            println!("{about}: {all:?}");
            assert!(all.iter().all(|kind| kind.0 != Standing::Violation), "{about}: {all:?}");
            if *level == Level::ReadCommitted {
                assert!(all.iter().any(|kind| kind.1 == "G2-item"), "{about}: {all:?}");
            }
        }
    }
}

#[test]
fn orders_keep_real_time_and_are_bounded() {
    let target = open("sqlite").expect("built in");
    let recipe = recipe(target.as_ref(), Workload::Register);
    let (writer, reader) = dirty();
    let cases = |times: [(u64, u64); 2]| {
        let finding = finding("G1a", &[(writer, times[0]), (reader, times[1])]);
        Slice::of(&recipe, &finding).expect("two transactions").cases(ORDERS)
    };
    let apart = cases([(1, 2), (3, 4)]);
    let [only] = &apart[..] else { panic!("one order, not {}", apart.len()) };
    assert!(only.steps.is_sorted_by_key(|step| step.session));
    assert_eq!(only.sessions, [format!("t{writer}"), format!("t{reader}")]);
    let together = cases([(1, 4), (2, 3)]);
    assert!((2..=ORDERS).contains(&together.len()));
    assert_eq!(together, cases([(1, 4), (2, 3)]));
    let many: Vec<_> = (1..9).map(|n| (n, (1, 9))).collect();
    assert!(Slice::of(&recipe, &finding("G2", &many)).is_err());
    assert!(Slice::of(&recipe, &finding("lost-commit", &many[..1])).is_err());
}
