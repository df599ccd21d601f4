//! Probes made by hand.

use anchorite_claims::{Anomaly, Claims};
use anchorite_judge::traced::cycles::Sighting;
use anchorite_judge::{How, Observation};
use anchorite_model::{BlockingKnowledge, Level, Product, TargetInfo};
use anchorite_report::probe::{CaseProbe, LevelProbe, Probe};

const CLAIMS: &str = r#"
product = "mysql"

[[level]]
level = "read committed"
spelling = "READ COMMITTED"
offered = true
url = "https://db.example/levels"
says = "Every read has a snapshot of its own."

[[level.anomaly]]
names = ["G0"]
claim = "prevented"
url = "https://db.example/locks#rows"
says = "Writes lock their rows."

[[level.anomaly]]
names = ["G1a", "G1b", "G1c", "OTV"]
claim = "prevented"
url = "https://db.example/levels"
says = "Only committed data is read."

[[level.anomaly]]
names = ["PMP", "G-single"]
claim = "possible"
url = "https://db.example/levels"
says = "Two reads may see different snapshots."

[[level.anomaly]]
names = ["P4", "G2-item", "G2"]
claim = "unspecified"
url = "https://db.example/levels"
says = "The page does not speak of it."

[[level]]
level = "serializable"
spelling = "SERIALIZABLE"
offered = true
url = "https://db.example/levels"
says = "Every read locks."

[[level.anomaly]]
names = ["G0", "G1a", "G1b", "G1c", "OTV", "PMP", "P4", "G-single", "G2-item", "G2"]
claim = "prevented"
url = "https://db.example/levels"
says = """Every read is a locking read, so nobody changes what a running transaction has read,
and what would have to wait for itself is a deadlock."""
"#;

fn target() -> TargetInfo {
    TargetInfo {
        product: Product::named("mysql"),
        version: "9.9.9".to_owned(),
        variant: String::new(),
    }
}

fn claims() -> &'static Claims {
    Box::leak(Box::new(Claims::parse("sample.toml", CLAIMS).expect("a valid file")))
}

/// A letter for each case: possible, deadlock, error, wait, snapshot, or `x` for one that could not run.
fn outcome(anomaly: Anomaly, letter: char) -> Result<Observation, String> {
    let how = match letter {
        'p' => How::Shown,
        'd' => How::Deadlock,
        'e' => How::Error,
        'w' => How::Wait,
        's' => How::Snapshot,
        _ => return Err("set-up failed: no such storage engine (1286): CREATE TABLE t".to_owned()),
    };
    let because = format!("step 3 returns (1, {})", anomaly.name().len());
    Ok(Observation { anomaly, possible: how == How::Shown, how, because })
}

fn level(level: Level, is_default: bool, letters: &str) -> LevelProbe {
    let variants = [("PMP-write", Anomaly::Pmp), ("P4-predicate", Anomaly::P4)];
    let names = Anomaly::ALL.map(|anomaly| (anomaly.name(), anomaly));
    let claims = claims();
    let case = |((name, anomaly), letter): ((&str, Anomaly), char)| CaseProbe {
        name: name.to_owned(),
        title: format!("{} as {name}", anomaly.explained()),
        anomaly,
        documented: claims.about(&target(), level, anomaly, name),
        outcome: outcome(anomaly, letter),
        graph: outcome(anomaly, letter).map(|seen| graph(&seen)),
    };
    LevelProbe {
        level: Some(level),
        is_default,
        read_back: Some(level.sql().replace(' ', "-")),
        blocking: Some(BlockingKnowledge::Asked("data_lock_waits".to_owned())),
        cases: names.into_iter().chain(variants).zip(letters.chars()).map(case).collect(),
    }
}

/// What the graph says about a case: what it is about, where that happened.
fn graph(seen: &Observation) -> Vec<Sighting> {
    let sighting = Sighting {
        anomaly: seen.anomaly,
        shape: seen.anomaly.name(),
        by_write: false,
        steps: Vec::new(),
        cycle: Vec::new(),
        because: vec!["t1 before t2: step 1 of t1 saw (1, 10) of t".to_owned()],
    };
    if seen.possible { vec![sighting] } else { Vec::new() }
}

/// Everything is as claimed.
pub fn honest() -> Probe {
    let levels = vec![
        level(Level::ReadCommitted, true, "wsssspppppp" /* P4-predicate was not probed */),
        level(Level::Serializable, false, "wwwdwwdwddwd"),
    ];
    Probe { target: target(), levels, incomplete: None }
}

/// Two promises are broken, one case could not run, and the server was lost in the end.
pub fn broken() -> Probe {
    let mut second = level(Level::Serializable, false, "wwpdwwdxddp");
    second.blocking = Some(BlockingKnowledge::Timeout {
        silence_ms: 2000,
        reason: "the server cannot be asked".to_owned(),
    });
    let levels = vec![level(Level::ReadCommitted, true, "wssssppppppp"), second];
    Probe { target: target(), levels, incomplete: Some("the server was lost".to_owned()) }
}

/// Text of strangers everywhere where some can stand.
pub fn hostile() -> Probe {
    const EVIL: &str = "<script>alert('|')</script>\u{1b}[31m\" onclick=\"x | y `z`\n# no";
    let mut level = level(Level::Serializable, false, "wwpdwwdxddpx");
    for case in &mut level.cases {
        case.title = EVIL.to_owned();
        case.outcome = match case.outcome.clone() {
            Ok(seen) => Ok(Observation { because: EVIL.to_owned(), ..seen }),
            Err(_) => Err(EVIL.to_owned()),
        };
        if case.name == "P4-predicate" {
            case.name = EVIL.to_owned();
        }
    }
    level.read_back = Some(EVIL.to_owned());
    level.blocking = Some(BlockingKnowledge::Asked(EVIL.to_owned()));
    let target = TargetInfo { version: EVIL.to_owned(), ..target() };
    Probe { target, levels: vec![level], incomplete: Some(EVIL.to_owned()) }
}
