//! The same seed gives the same bytes, and what is made is a case like those in files.

use anchorite_generate::{Recipe, case, probe_cases};
use anchorite_model::{Case, Product, StatementKind};

/// Pinned byte for byte: a change here means that seeds of older releases no longer give the same cases.
#[test]
fn cases_are_the_same_in_every_release() {
    for product in Product::all() {
        let recipe = Recipe::new(product);
        let texts: Vec<String> = [(1, 0), (1, 1), (7, 400), (u64::MAX, u64::MAX)]
            .into_iter()
            .map(|(seed, number)| {
                let case = case(&recipe, seed, number);
                format!("-- {}\n{case}", case.name)
            })
            .collect();
        insta::assert_snapshot!(product.file_name(), texts.join("\n"));
    }
}

#[test]
fn tables_depend_on_the_group_only() {
    let recipe = Recipe::new(Product::named("mariadb"));
    let tables = |number: u64| -> Vec<String> {
        let setup = case(&recipe, 3, number).setup.into_iter();
        let ddl = setup.filter(|statement| StatementKind::of(&statement.sql) == StatementKind::Ddl);
        ddl.map(|statement| statement.sql).collect()
    };
    assert_eq!(tables(0), tables(99));
    assert_ne!(tables(0), tables(100));
    assert_ne!(case(&recipe, 3, 0).setup, case(&recipe, 3, 1).setup, "rows differ");
}

#[test]
fn what_is_printed_reads_as_the_same_case() {
    for product in Product::all() {
        let recipe = Recipe::new(product);
        for number in (0..40_000).step_by(401) {
            let made = case(&recipe, 5, number);
            let mut read = Case::parse(&made.name, &made.to_text()).expect("it is a case");
            let read_statements = read.setup.iter_mut();
            read_statements.for_each(|statement| statement.line = 0);
            read.steps.iter_mut().for_each(|step| step.statement.line = 0);
            assert_eq!(read, made, "{made}");
        }
    }
}

#[test]
fn every_statement_has_a_kind_and_its_place() {
    for product in Product::all() {
        let recipe = Recipe::new(product);
        for number in 0..150 {
            let case = case(&recipe, 11, number * 31);
            let kinds = case.setup.iter().map(|statement| StatementKind::of(&statement.sql));
            let is_row: Vec<bool> = kinds.map(|kind| kind == StatementKind::Insert).collect();
            assert!(is_row.is_sorted(), "DDL comes first:\n{case}");
            let mut is_open = vec![false; case.sessions.len()];
            let mut writes = 0;
            for step in &case.steps {
                let kind = StatementKind::of(&step.statement.sql);
                assert_ne!(kind, StatementKind::Other, "{}", step.statement.sql);
                let open = &mut is_open[step.session];
                writes += usize::from(kind.writes());
                match kind {
                    StatementKind::Begin | StatementKind::Autocommit(false) => {
                        assert!(!std::mem::replace(open, true), "{case}");
                    }
                    kind if kind.ends_transaction() => {
                        assert!(std::mem::replace(open, false), "{case}");
                    }
                    _ => (),
                }
            }
            assert!(is_open.iter().all(|open| !open), "everybody ends:\n{case}");
            assert!(writes > 0, "somebody writes:\n{case}");
        }
    }
}

#[test]
fn nothing_depends_on_chance_or_on_the_order_of_rows() {
    let banned = ["RAND", "UUID", "NOW(", "AUTO_INCREMENT", "SERIAL", "GROUP_CONCAT", " OVER "];
    for product in Product::all() {
        let recipe = Recipe::new(product);
        for number in 0..150 {
            let case = case(&recipe, 13, number * 61);
            let statements = case.steps.iter().map(|step| &step.statement.sql);
            for sql in statements.chain(case.setup.iter().map(|statement| &statement.sql)) {
                assert!(!banned.iter().any(|word| sql.contains(word)), "{sql}");
                assert!(!sql.contains("LIMIT") || sql.contains("ORDER BY"), "{sql}");
            }
        }
    }
}

/// A savepoint that a statement names is there, and whoever says that it only reads does.
#[test]
fn transactions_keep_to_what_they_say() {
    let mut seen = [0; 3];
    for product in Product::all() {
        let recipe = Recipe::new(product);
        for number in 0..300 {
            let case = case(&recipe, 17, number * 31);
            let mut savepoints: Vec<Vec<String>> = vec![Vec::new(); case.sessions.len()];
            let mut only_reads = vec![false; case.sessions.len()];
            for step in &case.steps {
                let existing = &mut savepoints[step.session];
                let kind = StatementKind::of(&step.statement.sql);
                match &kind {
                    StatementKind::Savepoint(name) => {
                        seen[0] += usize::from(!existing.is_empty());
                        existing.push(name.clone());
                    }
                    StatementKind::RollbackTo(name) | StatementKind::Release(name) => {
                        let at = existing.iter().rposition(|known| known == name);
                        let at = at.unwrap_or_else(|| panic!("no {name}:\n{case}"));
                        existing.truncate(
                            at + usize::from(matches!(kind, StatementKind::RollbackTo(_))),
                        );
                    }
                    StatementKind::Begin => {
                        existing.clear();
                        only_reads[step.session] = step.statement.sql.contains("READ ONLY");
                        seen[1] += usize::from(only_reads[step.session]);
                    }
                    StatementKind::Autocommit(_) => seen[2] += 1,
                    kind if kind.ends_transaction() => only_reads[step.session] = false,
                    kind => {
                        let is_query = matches!(kind, StatementKind::Select { locking: false });
                        assert!(!only_reads[step.session] || is_query, "{case}");
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// What is rare is made nevertheless, for those who have it.
#[test]
fn every_option_occurs() {
    let innodb = ["mariadb", "mysql"];
    let table: [(&str, &[&str]); 22] = [
        ("SKIP LOCKED", &["mariadb", "mysql", "postgres"]),
        ("NOWAIT", &["mariadb", "mysql", "postgres", "tidb"]),
        (" FOR UPDATE OF ", &["mysql", "postgres"]),
        ("FOR KEY SHARE", &["postgres"]),
        ("READ ONLY", &["mariadb", "mysql", "postgres"]),
        ("DEFERRABLE", &["postgres", "sqlite"]),
        ("SET autocommit = 0", &innodb),
        (" a JOIN t", &innodb),
        (" AS a SET ", &["postgres", "sqlite"]),
        ("DELETE a FROM", &innodb),
        ("MERGE INTO", &["postgres"]),
        (" INDEX (PRIMARY)", &innodb),
        ("NOT INDEXED", &["sqlite"]),
        ("COLLATE", &["mariadb", "mysql", "sqlite"]),
        (" SET('a'", &innodb),
        ("REPEAT(", &["mariadb", "mysql", "postgres"]),
        ("JSON", &["mariadb", "mysql", "postgres", "sqlite", "tidb"]),
        ("REFERENCES t0 (k0, k1)", &["mysql", "postgres"]),
        ("(2))", &innodb),
        ("CREATE UNIQUE INDEX", &["mysql", "postgres", "sqlite"]),
        (" FROM v", &["mariadb", "mysql", "postgres", "sqlite", "tidb"]),
        ("CREATE TRIGGER", &["mariadb", "mysql", "postgres", "sqlite"]),
    ];
    for product in Product::all() {
        let recipe = Recipe::new(product);
        let name = product.name();
        let mut missing: Vec<&str> = table
            .iter()
            .filter(|(_, products)| products.contains(&name))
            .map(|(words, _)| *words)
            .collect();
        for number in 0..6_000 {
            if missing.is_empty() {
                break;
            }
            let case = case(&recipe, 19, number * 31);
            let steps = case.steps.iter().map(|step| &step.statement.sql);
            let texts: Vec<&String> = case.setup.iter().map(|one| &one.sql).chain(steps).collect();
            missing.retain(|words| !texts.iter().any(|sql| sql.contains(words)));
        }
        assert!(missing.is_empty(), "{name} never has {missing:?}");
    }
}

#[test]
fn a_table_may_have_many_rows() {
    let recipe = Recipe::new(Product::named("mysql"));
    let rows = |number: u64| {
        let setup = case(&recipe, 23, number).setup.into_iter();
        let of_tables = setup.filter(|one| one.sql.starts_with("INSERT"));
        of_tables.map(|one| one.sql.matches("), (").count() + 1).max().unwrap_or(0)
    };
    let counts: Vec<usize> = (0..2_000).map(rows).collect();
    let many = counts.iter().filter(|count| **count >= 150).count();
    assert!((2..60).contains(&many), "{many} of {}", counts.len());
    assert!(counts.iter().all(|count| *count <= 2_000));
}

#[test]
fn probes_have_names_of_their_own() {
    let mut names: Vec<&str> =
        probe_cases(Product::named("mysql")).map(|(feature, _)| feature.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
