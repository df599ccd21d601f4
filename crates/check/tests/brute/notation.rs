//! The same tiny histories as text whose keys are vectors and maps.

use super::generate::{NOTHING, Random, Shape, Tiny, generate};
use super::judge::Judge;
use super::show;
use anchorite_check::analysis::Analysis;
use anchorite_check::input;
use anchorite_check::levels::{self, LevelVerdict};
use anchorite_check::model::Outcome;
use anchorite_check::polygraph::Limits;

/// EDN or JSON, with each key as a vector or as a map.
fn text(txns: &[Tiny], json: bool) -> String {
    let word = |word: &str| if json { format!("\"{word}\"") } else { format!(":{word}") };
    let (colon, comma) = if json { (":", ",") } else { (" ", " ") };
    let mut text = String::new();
    for tiny in txns {
        let steps = tiny.steps.iter().enumerate().map(|(at, step)| {
            let key = match (step.key, at % 2) {
                (0, _) => format!("[{}{comma}0]", word("k")),
                (key, 0) => format!("{{{}{colon}{key},{}{colon}[1]}}", word("a"), word("b")),
                (key, _) => format!("{{{}{colon}[1],{}{colon}{key}}}", word("b"), word("a")),
            };
            let name = word(if step.write { "w" } else { "r" });
            let nil = if json { "null" } else { "nil" }.to_owned();
            let value = if step.value == 0 { nil } else { step.value.to_string() };
            format!("[{name}{comma}{key}{comma}{value}]")
        });
        let kind = match tiny.outcome() {
            Outcome::Committed => "ok",
            Outcome::Aborted => "fail",
            Outcome::Unknown => "info",
        };
        let steps = steps.collect::<Vec<_>>().join(comma);
        let fields = [
            (word("process"), tiny.session.to_string()),
            (word("type"), word(kind)),
            (word("value"), format!("[{steps}]")),
        ];
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}{colon}{value}")).collect();
        text += &format!("{{{}}}\n", fields.join(if json { "," } else { ", " }));
    }
    text
}

#[test]
fn keys_that_are_vectors_and_maps() {
    let mut random = Random::new(9);
    let shape = Shape { txns: 4, keys: 3, sessions: 3, steps: 4, odd: 0 };
    for round in 0..1_000 {
        let txns = generate(&mut random, shape);
        assert!(txns.iter().flat_map(|tiny| &tiny.steps).all(|step| step.value != NOTHING));
        let text = text(&txns, round % 2 == 0);
        let (_, history) = input::read(text.as_bytes(), Some("elle")).expect(&text);
        let analysis = Analysis::new(&history, None, Limits::default());
        let judge = Judge::new(&txns);
        for (level, expected) in [
            ("serializable", judge.serializable(false, false)),
            ("strong-session-snapshot-isolation", judge.snapshot(true, false)),
            ("read-committed", judge.graph_level("read-committed", false, false)),
        ] {
            let found = levels::adya(&analysis, level);
            assert_eq!(found, LevelVerdict::of(expected), "{level}\n{}{text}", show(&txns));
        }
    }
}
