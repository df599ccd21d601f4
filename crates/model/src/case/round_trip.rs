//! Printing is the inverse of reading, even for strings that look like the end of a statement.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use crate::{Case, Header, Level, Product, Statement};

const NAMES: [&str; 5] = ["t1", "T1", "a-b.c_d", "größe", "7"];

/// Text that tries to end a statement early or late, in quotes that these products understand.
fn quoted(targets: &'static [&'static str]) -> impl Strategy<Value = String> {
    let pieces = vec![
        "'", "\"", "`", "\\", ";", "--", "-- ", "#", "/*", "*/", "/* t1 */", "$$", "$a$", "\n",
        "\r\n", " ", "é", "END", "[", "]", "\u{feff}",
    ];
    let mysql = targets[0] == "mysql";
    (vec(select(pieces), 0..6), 0..5).prop_map(move |(pieces, form)| {
        let text = pieces.concat();
        match form {
            0 if mysql => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            1 if mysql => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            0 => format!("'{}'", text.replace('\'', "''")),
            1 => format!("\"{}\"", text.replace('"', "\"\"")),
            2 => format!("`{}`", text.replace('`', "``")),
            3 => format!("$é1${text}$é1$"),
            _ => format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        }
    })
}

fn statement(targets: &'static [&'static str]) -> impl Strategy<Value = Statement> {
    let head = select(vec!["", "/* t9 */ ", "-- why;\n", "/*+ x; */ "]);
    let tail =
        select(vec!["", " -- end; of it", " /* ; ' */", "\n  FROM t", " /*! x; */", "\r\n, 1"]);
    let parts = (head, vec(quoted(targets), 1..4), tail, any::<bool>());
    parts.prop_map(|(head, quoted, tail, in_routine)| {
        let query = format!("{head}SELECT {}{tail}", quoted.join(", "));
        let sql = if in_routine {
            format!("CREATE PROCEDURE p() BEGIN IF a THEN {query}\n; END IF; SELECT CASE 1 WHEN 1 THEN 2 END; END")
        } else {
            query
        };
        Statement { sql, line: 0 }
    })
}

fn header(targets: &'static [&'static str]) -> impl Strategy<Value = Header> {
    let level = || option::of(select(Level::ALL.to_vec()));
    let text = || "[a-z;:'/*-]([a-z ;:'/*-]{0,10}[a-z;:'/*-])?";
    let other = ("x-[a-z]{1,5}", prop_oneof![Just(String::new()), text()]);
    (option::of(text()), vec(text(), 0..3), level(), level(), vec(text(), 0..3), vec(other, 0..3))
        .prop_map(move |(title, source, level, own, expect, other)| Header {
            title,
            source,
            level,
            session_levels: own.map(|level| (NAMES[0].to_owned(), level)).into_iter().collect(),
            targets: targets.iter().map(|name| Product::named(name)).collect(),
            expect,
            other,
        })
}

fn case(targets: &'static [&'static str]) -> impl Strategy<Value = Case> {
    let section = || vec(statement(targets), 0..3);
    let steps = vec((0..NAMES.len(), statement(targets)), 0..6);
    (header(targets), section(), statement(targets), steps, section(), section()).prop_map(
        |(header, setup, first, rest, check, teardown)| {
            let name = "x".to_owned();
            let mut case = Case { name, header, setup, check, teardown, ..Case::default() };
            for (name, statement) in std::iter::once((0, first)).chain(rest) {
                case.add(NAMES[name], statement);
            }
            case
        },
    )
}

fn any_case() -> impl Strategy<Value = Case> {
    prop_oneof![case(&["mysql", "tidb"]), case(&["postgres"]), case(&["sqlite"]),]
}

fn without_lines(mut case: Case) -> Case {
    let sections = [&mut case.setup, &mut case.check, &mut case.teardown].into_iter().flatten();
    let statements = sections.chain(case.steps.iter_mut().map(|step| &mut step.statement));
    statements.for_each(|statement| statement.line = 0);
    case
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 1_000,
        rng_seed: RngSeed::Fixed(3),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_printed_reads_back_the_same(case in any_case()) {
        let text = case.to_text();
        let read = Case::parse("x", &text).map(without_lines);
        prop_assert_eq!(read.as_ref(), Ok(&case), "{}", text);
        prop_assert_eq!(read.map(|read| read.to_text()), Ok(text));
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        text in "(/\\* t1 \\*/|[-'\"`$#;:a\\\\\n é\r]|BEGIN|END|CREATE TRIGGER|/\\*|\\*/){0,20}"
    ) {
        let _ = Case::parse("x", &text);
    }
}
