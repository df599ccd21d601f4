//! `anchorite hunt` as its users see it: output, exit codes, interruption, resuming.

#[path = "../../hunt/tests/until/mod.rs"]
mod until;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(120);
/// Few cases share their tables, so that progress is written down often.
const SMALL_BLOCKS: &str = "[case]\ngroup = 4\n";

fn anchorite(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.current_dir(folder).arg("hunt").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    anchorite(folder, arguments).output().expect("the command starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}\n{}", stderr(output)))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_newcomer_reads_what_was_done_and_what_to_try_next() {
    let folder = folder();
    let output = run(folder.path(), &["--cases", "40", "--seed", "7"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Hunting for broken isolation on sqlite "), "{text}");
    assert!(lines[0].contains("serializable") && lines[0].ends_with("seed 7"), "{text}");
    assert_eq!(lines.last(), Some(&"seed 7"), "{text}");
    assert!(text.contains("anchorite hunt --on") && text.contains("anchorite probe"), "{text}");
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "a hunt that finds nothing leaves nothing");
}

#[test]
fn the_same_seed_gives_the_same_hunt_whatever_the_number_of_workers() {
    let folder = folder();
    let hunt = |jobs: &str| {
        let arguments = [
            "--cases",
            "450",
            "--seed",
            "11",
            "--jobs",
            jobs,
            "--format",
            "json",
            "--on",
            "sqlite:wal",
        ];
        let output = run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        document(&output)
    };
    let (one, three) = (hunt("1"), hunt("3"));
    for field in ["seed", "cases", "statements", "blocked", "deadlocks", "verdicts", "findings"] {
        assert_eq!(one[field], three[field], "{field}");
    }
    assert_eq!(one["cases"], 450);
    assert!(one["blocked"].as_u64() > Some(0), "{one}");
    assert!(one["seconds"].is_number() && one["cases_per_second"].is_number());
}

/// How many lines the journal has.
fn journalled(out: &Path) -> usize {
    let bytes = std::fs::read(out.join("progress")).unwrap_or_default();
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Waits until the journal is so long, or the child has ended.
fn wait_for_lines(child: &Child, out: &Path, lines: usize) {
    let folder = out.parent().expect("a folder");
    until::is_written("the hunt gets on", folder, child.id(), LIMIT, || journalled(out) >= lines);
}

#[test]
fn a_hunt_that_is_killed_twenty_times_does_every_case_once() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::write(folder.path().join("weights.toml"), SMALL_BLOCKS).expect("written");
    let first = [
        "--cases",
        "300",
        "--seed",
        "5",
        "--jobs",
        "2",
        "--out",
        "out",
        "--weights",
        "weights.toml",
    ];
    let again = ["--out", "out", "--resume"];
    for kill in 0..20 {
        let is_begun = out.join("campaign.json").exists();
        let arguments: &[&str] = if is_begun { &again } else { &first };
        let before = journalled(&out);
        let mut child = anchorite(folder.path(), arguments).spawn().expect("it starts");
        wait_for_lines(&child, &out, before + 1 + kill % 3);
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let output = run(folder.path(), &["--out", "out", "--resume", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let resumed = document(&output);
    let undisturbed = [&first[..6], &["--weights", "weights.toml", "--format", "json"]].concat();
    let undisturbed = document(&run(folder.path(), &undisturbed));
    for field in ["seed", "cases", "statements", "blocked", "deadlocks", "verdicts"] {
        assert_eq!(resumed[field], undisturbed[field], "{field}");
    }
    assert_eq!(resumed["cases"], 300);
}

#[test]
fn an_interrupted_hunt_ends_with_its_summary_and_can_be_resumed() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::write(folder.path().join("weights.toml"), SMALL_BLOCKS).expect("written");
    let arguments = ["--time", "10m", "--seed", "3", "--out", "out", "--weights", "weights.toml"];
    let child = anchorite(folder.path(), &arguments).spawn().expect("it starts");
    wait_for_lines(&child, &out, 3);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::INT).expect("it can be interrupted");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(130), "{text}{}", stderr(&output));
    assert!(
        text.contains("Ended early: it was interrupted") && text.ends_with("seed 3\n"),
        "{text}"
    );
    let hint = "to continue: anchorite hunt --out out --resume";
    assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    let output =
        run(folder.path(), &["--out", "out", "--resume", "--cases", "40", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(document(&output)["cases"].as_u64() >= Some(8));
}

#[test]
fn one_case_of_a_seed_is_shown_in_full() {
    let folder = folder();
    let alone = |number: &str, more: &[&str]| {
        let arguments = [&["--seed", "7", "--case", number], more].concat();
        let output = run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        output
    };
    let text = String::from_utf8_lossy(&alone("3", &[]).stdout).into_owned();
    assert!(text.starts_with("-- case 3 of seed 7 for sqlite "), "{text}");
    assert!(text.contains("/* setup */ CREATE TABLE") && text.contains("Verdicts"), "{text}");
    assert_eq!(text, String::from_utf8_lossy(&alone("3", &[]).stdout), "the same each time");
    assert_ne!(text, String::from_utf8_lossy(&alone("4", &[]).stdout));
    // One by one the cases wait as often as in a hunt.
    let blocked = |number: u64| {
        let alone = document(&alone(&number.to_string(), &["--format", "json"]));
        let events = alone["results"][0]["events"].as_array().expect("events").clone();
        events.iter().filter(|event| event["outcome"] == "blocked").count() as u64
    };
    let hunt = document(&run(folder.path(), &["--seed", "7", "--cases", "6", "--format", "json"]));
    assert_eq!(hunt["blocked"].as_u64(), Some((0..6).map(blocked).sum()));
    for (mistake, told) in [
        (&["--case", "3"][..], "--seed"),
        (&["--seed", "7", "--case", "3", "--cases", "9"], "cannot be used with"),
    ] {
        let output = run(folder.path(), mistake);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "nothing is kept");
}

#[test]
fn a_campaign_of_an_oracle_that_is_not_known_is_not_resumed_without_it() {
    let folder = folder();
    run(folder.path(), &["--cases", "4", "--seed", "1", "--out", "out"]);
    let file = folder.path().join("out/campaign.json");
    let text = std::fs::read_to_string(&file).expect("the campaign");
    let renamed = text.replace("\"final-state\"", "\"tea-leaves\"");
    assert_ne!(text, renamed, "{text}");
    std::fs::write(&file, renamed).expect("a writable file");
    let output = run(folder.path(), &["--out", "out", "--resume"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("out/campaign.json: unknown oracle 'tea-leaves'"), "{told}");
}

#[test]
fn a_resumed_campaign_ends_with_its_cases_and_not_after_a_minute() {
    let folder = folder();
    let budget = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        let first = text.lines().next().unwrap_or_default().to_owned();
        first
            .split(": ")
            .nth(1)
            .unwrap_or_default()
            .split(',')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(budget(&["--cases", "8", "--seed", "3", "--out", "out"]), "8 cases");
    assert_eq!(budget(&["--out", "out", "--resume"]), "8 cases");
    assert_eq!(budget(&["--out", "out", "--resume", "--cases", "12"]), "12 cases");
    assert_eq!(budget(&["--out", "out", "--resume", "--time", "5m"]), "8 cases or 5 min");
}

#[test]
fn mistakes_are_told_with_exit_code_2() {
    let folder = folder();
    std::fs::write(folder.path().join("weights.toml"), "[case]\ngruop = 4\n").expect("written");
    std::fs::create_dir(folder.path().join("foreign")).expect("a folder");
    std::fs::write(folder.path().join("foreign/thesis.tex"), "years").expect("written");
    let begun = run(folder.path(), &["--cases", "4", "--seed", "1", "--out", "out"]);
    assert_eq!(begun.status.code(), Some(0), "{}", stderr(&begun));
    let mistakes: [(&[&str], &str); 9] = [
        (&["--out", "out", "--cases", "4"], "already contains a campaign"),
        (&["--out", "out", "--resume", "--seed", "2"], "--seed 1, and the command line says 2"),
        (&["--out", "out", "--resume", "--on", "sqlite:wal"], "--on sqlite, and the command line"),
        (
            &["--out", "out", "--resume", "--strict"],
            "--strict false, and the command line says true",
        ),
        (&["--out", "nowhere", "--resume"], "contains no campaign to resume"),
        (&["--out", "foreign", "--cases", "4"], "thesis.tex"),
        (&["--cases", "4", "--weights", "weights.toml"], "weights.toml:2:"),
        (&["--level", "rc", "--cases", "4"], "has no isolation level 'read committed'"),
        (&["--time", "soon"], "expected a time like 90s"),
    ];
    for (arguments, expected) in mistakes {
        let output = run(folder.path(), arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    std::fs::write(folder.path().join("out/progress"), "not a journal\n").expect("written");
    let output = run(folder.path(), &["--out", "out", "--resume"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("progress:1: expected"), "{}", stderr(&output));
}

#[test]
fn where_nothing_is_judged_nothing_is_proved() {
    let folder = folder();
    let output = run(folder.path(), &["--cases", "10", "--oracle", "none", "--seed", "1"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing could be judged"), "{}", stderr(&output));
}

#[test]
fn when_nobody_meets_anybody_the_hunt_says_so() {
    let folder = folder();
    // Only reads, which nobody has to wait for in write-ahead mode.
    let weights = "[case]\nshape_percent = 0\n[transactions]\nbegin_immediate_percent = 0\n\
                   [statement]\nupdate = 0\ndelete = 0\ninsert = 0\nreplace = 0\nddl = 0\n";
    std::fs::write(folder.path().join("reads.toml"), weights).expect("written");
    let arguments =
        ["--on", "sqlite:wal", "--weights", "reads.toml", "--cases", "260", "--seed", "1"];
    let output = run(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("nobody ever waited"), "{}", stderr(&output));
}

/// A known issue of SQLite with this case.
fn entry(name: &str, case: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"a lost update\"\nurl = \"https://example.org/1\"\nstatus = \"open\"\n\
         tracker = \"1\"\ncauses = [\"version-lost\"]\nvanishes = [\"without-transactions\"]\n\
         case = \"{case}.case\"\n[[affected]]\nproduct = \"sqlite\"\nsince = \"3.0\"\n"
    )
}

#[test]
fn a_known_issue_that_does_not_show_any_more_is_told() {
    let folder = folder();
    let known = folder.path().join("known");
    std::fs::create_dir(&known).expect("a folder");
    let entry = |name, level: &str| format!("levels = [\"{level}\"]\n{}", entry(name, "fine"));
    let case = "/* setup */ CREATE TABLE t (a INT);\n/* t1 */ INSERT INTO t VALUES (1);\n";
    std::fs::write(known.join("fine.case"), case).expect("written");
    std::fs::write(known.join("HERE.toml"), entry("HERE", "ser")).expect("written");
    // SQLite has no such level, so nothing is said about it.
    std::fs::write(known.join("ELSEWHERE.toml"), entry("ELSEWHERE", "rr")).expect("written");
    let arguments = ["--known", "known", "--cases", "20", "--seed", "1"];
    let told = run(folder.path(), &arguments);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(text.contains("HERE") && !text.contains("ELSEWHERE"), "{text}{}", stderr(&told));
    let told = run(folder.path(), &[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(document(&told)["known_gone"], serde_json::json!(["HERE"]));
}

#[test]
fn a_known_issue_belongs_to_the_releases_that_it_was_measured_on() {
    let folder = folder();
    let known = folder.path().join("known");
    std::fs::create_dir(&known).expect("a folder");
    let here = sqlite_release();
    // Three entries whose case shows nothing: measured on an old release, on this one as present, on this one as
    // absent.
    for (name, measured) in [
        ("OLD", "-- manifests: sqlite 3.1.0 ser\n".to_owned()),
        ("HERE", format!("-- manifests: sqlite {here} ser\n")),
        ("ABSENT", format!("-- manifests: sqlite 3.1.0 ser\n-- absent: sqlite {here} ser\n")),
    ] {
        let entry = entry(name, name);
        let case = "/* setup */ CREATE TABLE t (a INT);\n/* t1 */ INSERT INTO t VALUES (1);\n";
        std::fs::write(known.join(format!("{name}.toml")), entry).expect("written");
        std::fs::write(known.join(format!("{name}.case")), measured + case).expect("written");
    }
    let arguments = ["--known", "known", "--cases", "20", "--seed", "1", "--format", "json"];
    let document = document(&run(folder.path(), &arguments));
    assert_eq!(document["known_gone"], serde_json::json!(["HERE", "OLD"]));
    let because = &document["known_gone_because"];
    let old = format!("measured on 3.1.0: shows; here on {here}: does not");
    assert_eq!(because["OLD"], old);
    assert_eq!(because["HERE"], format!("measured on {here}: shows; here on {here}: does not"));
    let told = run(folder.path(), &arguments[..6]);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(text.contains("The known issue OLD did not show: measured on 3.1.0: shows;"), "{text}");
}

/// The release of the SQLite that is built in.
fn sqlite_release() -> String {
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    anchorite_claims::Version::of(target.info()).to_string()
}
