//! What holds for every run, however odd: JSON parses, XML is well-formed, plain text has no escape
//! sequence, and no line is wider than the terminal.

mod samples;

use anchorite_claims::{Anomaly, Promise};
use anchorite_judge::{Agreement, Comparison, Observed, Remark};
use anchorite_model::{
    Answer, Blocker, DbError, Ending, ErrorClass, Event, Notice, Outcome, Product, Rows, Run,
    Value, Verdict,
};
use anchorite_report::{Glyphs, RunResult, Runs, Style, TextOptions, json, junit, markdown, text};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use unicode_width::UnicodeWidthStr;

const SESSIONS: usize = 3;

/// Text as servers never send it, mixed with what they do send.
fn any_text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "\u{1b}[31m",
        "\r\n",
        "\t",
        "|",
        "`",
        "```",
        "</testcase>",
        "]]>",
        "\\|",
        "数据",
        "e\u{301}",
        "👩\u{200d}🔬",
        "☎\u{fe0f}",
        "🇩🇪",
        "\u{202e}",
        "\u{ffff}",
        "WHERE",
        "SELECT * FROM t",
        "--",
        " ",
        "x",
    ]);
    let piece = prop_oneof![3 => odd.prop_map(str::to_owned), 1 => any::<String>()];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        any_text().prop_map(Value::Decimal),
        any_text().prop_map(Value::Text),
        vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
    ]
}

fn any_rows() -> impl Strategy<Value = Rows> {
    // Rows of any length: a report must not lean on a server's word about its columns.
    (vec(any_text(), 0..4), vec(vec(any_value(), 0..5), 0..24))
        .prop_map(|(columns, rows)| Rows { columns, rows })
}

fn any_notices() -> impl Strategy<Value = Vec<Notice>> {
    let notice = (any_text(), any_text());
    vec(notice.prop_map(|(severity, message)| Notice { severity, message }), 0..2)
}

fn any_answer() -> impl Strategy<Value = Answer> {
    let flags = (option::of(any::<u64>()), option::of(any_text()), option::of(any::<bool>()));
    (vec(any_rows(), 0..3), flags, any_notices()).prop_map(|(results, flags, notices)| {
        let (affected, tag, in_transaction) = flags;
        Answer { results, affected, tag, notices, in_transaction }
    })
}

fn any_error() -> impl Strategy<Value = DbError> {
    let class = prop::sample::select(vec![
        ErrorClass::Deadlock,
        ErrorClass::Constraint,
        ErrorClass::ConnectionLost,
        ErrorClass::Other,
    ]);
    let texts = (any_text(), any_text(), any_text());
    let flags = (any::<bool>(), option::of(any::<bool>()));
    (class, texts, flags, any_notices(), vec(any_rows(), 0..2)).prop_map(
        |(
            class,
            (code, message, severity),
            (transaction_gone, in_transaction),
            notices,
            results,
        )| DbError {
            class,
            code,
            message,
            severity,
            transaction_gone,
            in_transaction,
            notices,
            results,
        },
    )
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let blocker = prop_oneof![
        (0..SESSIONS + 1).prop_map(Blocker::Session),
        any_text().prop_map(Blocker::Outside),
        any_text().prop_map(Blocker::Prepared),
    ];
    prop_oneof![
        any_answer().prop_map(Outcome::Ok),
        any_answer().prop_map(Outcome::Resumed),
        (vec(blocker, 0..3), any_text()).prop_map(|(by, wait)| Outcome::Blocked { by, wait }),
        any_error().prop_map(Outcome::Error),
        any_text().prop_map(|reason| Outcome::Skipped { reason }),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    (0..2000_usize, 0..SESSIONS + 1, any_text(), any_outcome(), any::<u64>()).prop_map(
        |(n, session, sql, outcome, at_us)| Event {
            n,
            session,
            sql,
            outcome,
            at_us,
            sent: None,
            answered: None,
        },
    )
}

fn any_run() -> impl Strategy<Value = Run> {
    let check = (any_text(), prop_oneof![any_answer().prop_map(Ok), any_error().prop_map(Err)]);
    let tail = (vec(check, 0..2), vec(any_text(), 0..2), option::of(any_text()));
    let names = vec(any_text(), SESSIONS);
    (names, vec(any_event(), 0..6), vec((any_text(), any_rows()), 0..2), tail).prop_map(
        |(names, events, final_state, (checks, notes, lost))| {
            let mut run = samples::build::run(
                &names[0],
                Product::named("sqlite"),
                &names[1],
                &["a", "b", "c"],
            );
            for (session, name) in run.sessions.iter_mut().zip(&names) {
                session.name.clone_from(name);
                session.level_read_back.clone_from(name);
            }
            Run {
                events,
                final_state,
                checks,
                notes,
                ending: lost.map_or(Ending::Complete, Ending::TargetLost),
                ..run
            }
        },
    )
}

fn any_results() -> impl Strategy<Value = Vec<RunResult>> {
    let because = vec(any_text(), 0..3);
    let verdict = prop_oneof![
        Just(Verdict::Pass),
        (any_text(), because).prop_map(|(anomaly, because)| Verdict::broken(&anomaly, because)),
        any_text().prop_map(|reason| Verdict::Undecided { reason }),
    ];
    let agreement = prop_oneof![
        Just(Agreement::AsExpected),
        Just(Agreement::Differs),
        Just(Agreement::OtherVersion)
    ];
    let remark =
        (agreement, any_text()).prop_map(|(agreement, sentence)| Remark { agreement, sentence });
    let compared = (vec(remark, 0..3), any::<bool>())
        .prop_map(|(remarks, announced)| Comparison { remarks, announced });
    let observed = vec(any_text(), 1..3).prop_map(|because| Observed {
        anomaly: Anomaly::P4,
        promise: Promise::Prevented,
        url: Some("https://example.org/".to_owned()),
        because,
    });
    let result = (any_run(), vec((any_text(), verdict), 0..3), compared, vec(observed, 0..2))
        .prop_map(|(run, verdicts, compared, observed)| RunResult {
            verdicts,
            compared,
            observed,
            ..run.into()
        });
    vec(result, 0..3)
}

/// The same runs every time: a report is a pure function, so a failure must come back by itself.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 100,
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn plain_text_fits_and_steers_no_terminal(results in any_results(), width in 40..200_usize) {
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            let options = TextOptions { width, style: Style::Plain, glyphs };
            for brief in [false, true] {
                let runs = Runs { brief, ..Runs::from(&results) };
                let told = text(runs, &options);
                for line in told.lines() {
                    prop_assert!(line.width() <= width, "{} > {width}: {line:?}", line.width());
                    prop_assert_eq!(line.trim_end_matches(' '), line);
                }
                prop_assert!(!told.chars().any(|c| c.is_control() && c != '\n'));
                prop_assert_eq!(told, text(runs, &options), "the same twice");
            }
        }
    }

    #[test]
    fn colour_changes_nothing_but_colour(results in any_results(), width in 40..200_usize) {
        let drawn = |style| text(&results, &TextOptions { width, style, glyphs: Glyphs::Unicode });
        let mut bare = String::new();
        for (i, piece) in drawn(Style::Ansi).split("\u{1b}[").enumerate() {
            bare += if i == 0 { piece } else { piece.split_once('m').map_or("", |(_, rest)| rest) };
        }
        prop_assert_eq!(bare, drawn(Style::Plain));
    }

    #[test]
    fn json_parses(results in any_results()) {
        let document: serde_json::Value = serde_json::from_str(&json(&results, "v")).expect("JSON");
        prop_assert_eq!(document["results"].as_array().map(Vec::len), Some(results.len()));
    }

    #[test]
    fn xml_is_well_formed(results in any_results()) {
        let xml = junit(&results);
        let document = roxmltree::Document::parse(&xml);
        prop_assert!(document.is_ok(), "{:?}", document.err());
        let nodes = document.iter().flat_map(|document| document.descendants());
        let tests = nodes.filter(|node| node.has_tag_name("testcase")).count();
        prop_assert_eq!(tests, results.len());
    }

    #[test]
    fn markdown_has_no_control_characters(results in any_results()) {
        let told = markdown(&results, &|case| case.name.clone());
        prop_assert!(!told.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{told:?}");
    }
}
