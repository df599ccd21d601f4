//! `anchorite check` as its users see it: files, pipes and packed files, every output, conversions, exit codes.

#![allow(clippy::print_stdout, reason = "tells what it skips")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// One write skew: valid for snapshot isolation, invalid for serializable.
const WRITE_SKEW: &str = "[x==? y:=1]\n---\n[y==? x:=1]\n";
const SERIAL: &str = "w(1,1,0,0)\nr(1,1,1,1)\n";

fn anchorite(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.arg("check").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Writes the texts into a pipe, one after the other.
fn piped(texts: &[&str], arguments: &[&str]) -> Output {
    let mut child = anchorite(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    for text in texts {
        // One that refuses its arguments does not read to the end.
        if input.write_all(text.as_bytes()).is_err() {
            break;
        }
    }
    drop(input);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("written");
    path.to_str().expect("a plain path").to_owned()
}

/// What the only history came to.
fn judged(output: &Output) -> Value {
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    document["results"][0].take()
}

/// Packs a text with the command of the system.
fn packed(with: &str, input: &str) -> Option<Vec<u8>> {
    let child = Command::new(with)
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then_some(output.stdout)
}

#[test]
fn the_exit_code_answers_for_the_level() {
    for (level, code) in [("serializable", 1), ("si", 0), ("strict", 1), ("rc", 0)] {
        let output = piped(&[WRITE_SKEW], &["-", "--level", level]);
        assert_eq!(output.status.code(), Some(code), "{level}: {}", text(&output.stdout));
    }
    assert_eq!(piped(&[SERIAL], &["-"]).status.code(), Some(0));
}

#[test]
fn a_pipe_is_read_while_it_is_written() {
    let lines: Vec<String> = (0..20_000).map(|n| format!("w({n},1,{},{n})\n", n % 7)).collect();
    let parts: Vec<&str> = lines.iter().map(String::as_str).collect();
    let output = piped(&parts, &["-", "--format", "json"]);
    let document = judged(&output);
    assert_eq!(document["valid"], true, "{document}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn packed_files_are_read_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let unpacked = file(folder.path(), "plain.hist", WRITE_SKEW.as_bytes());
    let verdict = |name: &str| {
        let output = anchorite(&[name, "--format", "json"]).output().expect("it runs");
        (output.status.code(), judged(&output)["levels"].clone())
    };
    let expected = verdict(&unpacked);
    assert_eq!(expected.0, Some(1));
    for (command, name) in [("gzip", "packed.gz"), ("zstd", "packed.zst")] {
        match packed(command, WRITE_SKEW) {
            Some(bytes) => assert_eq!(verdict(&file(folder.path(), name, &bytes)), expected),
            None => println!("skipped: no {command} here"),
        }
    }
}

#[test]
fn every_output_names_the_transactions() {
    for (format, word) in
        [("text", "T1"), ("json", "\"anomalies\""), ("dot", "digraph"), ("html", "<!")]
    {
        let output = piped(&[WRITE_SKEW], &["-", "--format", format]);
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert!(text(&output.stdout).contains(word), "{format}: {}", text(&output.stdout));
    }
    let output = piped(&[WRITE_SKEW], &["-", "--format", "json"]);
    let document = judged(&output);
    assert_eq!(document["levels"]["snapshot-isolation"], true, "{document}");
    assert_eq!(document["levels"]["serializable"], false, "{document}");
    assert_eq!(document["axiomatic"]["causal"], true, "{document}");
}

#[test]
fn both_families_are_told_apart() {
    // A session that does not see its own write: serializable without session order only.
    let history = "[x:=1]\n[x==?]\n";
    let output = piped(&[history], &["-"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("-: valid for serializable of Adya and Elle ("), "{told}");
    assert!(told.contains("it does not satisfy the serializable of Biswas and Enea"), "{told}");
    assert!(told.contains("levels of Adya and Elle ("), "{told}");
    assert!(told.contains("levels of Biswas and Enea (with session order)"), "{told}");
    let page = text(&piped(&[history], &["-", "--format", "html"]).stdout);
    assert!(page.contains("serializable of Adya and Elle"), "{page}");
    for (level, family) in [("serializable", "adya"), ("causal", "axiomatic")] {
        let document = judged(&piped(&[history], &["-", "--format", "json", "--level", level]));
        assert_eq!(document["level"][0], level);
        assert_eq!(document["family"][0], family);
    }
    let told = text(&piped(&[history], &["-", "--level", "causal"]).stdout);
    assert!(told.contains("INVALID for causal of Biswas and Enea"), "{told}");
}

#[test]
fn a_lost_update_is_no_write_skew_and_what_is_ruled_out_is_listed() {
    let lost_update = "[x==? x:=1]\n---\n[x==? x:=2]\n";
    let document = judged(&piped(&[lost_update], &["-", "--format", "json"]));
    let cycle = document["anomalies"].as_array().expect("anomalies").iter();
    let cycle = cycle.clone().find(|anomaly| anomaly["name"] == "G2-item").expect("a cycle");
    assert_eq!(cycle["also"], serde_json::json!(["lost update"]));
    for name in document["not"].as_array().expect("names") {
        let name = name.as_str().expect("a name");
        assert_eq!(document["levels"][name], false, "{name} is not in the list");
    }
    let document = judged(&piped(&[WRITE_SKEW], &["-", "--format", "json"]));
    assert_eq!(document["anomalies"][0]["also"], serde_json::json!(["write skew"]));
}

#[test]
fn levels_have_several_names_and_unknown_ones_are_answered_with_all() {
    for level in ["snapshot", "SI", "snapshot isolation", "Snapshot-Isolation"] {
        let output = piped(&[WRITE_SKEW], &["-", "--level", level]);
        assert_eq!(output.status.code(), Some(0), "{level}: {}", text(&output.stderr));
    }
    let output = piped(&[WRITE_SKEW], &["-", "--level", "snapshoot"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("snapshoot") && told.contains("si = snapshot-isolation"), "{told}");
}

#[test]
fn hostile_text_stays_text_on_the_page() {
    let evil = "</text></svg><script>alert(1)</script>";
    let read = |key: &str| serde_json::json!({"r": key, "v": null});
    let write = |key: &str| serde_json::json!({"w": key, "v": 1, "sql": evil});
    let history = [
        serde_json::json!({"anchorite": "history", "version": 1}),
        serde_json::json!({"txn": 1, "session": evil, "ops": [read("x"), write(evil)]}),
        serde_json::json!({"txn": 2, "session": "b", "ops": [read(evil), write("x")]}),
    ];
    let history = history.map(|line| format!("{line}\n")).concat();
    let page = text(&piped(&[&history], &["-", "--format", "html"]).stdout);
    assert!(page.contains("<svg") && page.contains("&lt;script&gt;"), "{page}");
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn what_is_converted_is_judged_alike() {
    for format in ["elle-edn", "elle-json", "dbcop-hist", "anchorite"] {
        let converted = piped(&[WRITE_SKEW], &["-", "--convert-to", format]);
        assert_eq!(converted.status.code(), Some(0), "{format}: {}", text(&converted.stderr));
        let again = piped(&[&text(&converted.stdout)], &["-"]);
        assert_eq!(again.status.code(), Some(1), "{format}: {}", text(&converted.stdout));
    }
    let lists = "{:process 0, :type :ok, :f :txn, :value [[:append :x 1]]}\n";
    let refused = piped(&[lists], &["-", "--convert-to", "plume"]);
    assert_ne!(refused.status.code(), Some(0));
    assert!(refused.stdout.is_empty(), "{}", text(&refused.stdout));
}

#[test]
fn bad_input_is_told_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = file(folder.path(), "broken.txt", b"w(1,1,0,0)\nw(1,2,0\n");
    let cut = file(folder.path(), "cut.edn", b"{:process 0, :type :ok, :value [[:r :x");
    let noise = file(folder.path(), "noise.bin", &[0xFF, 0xFE, 0x00, 0x01].repeat(64));
    let empty = file(folder.path(), "empty.edn", b"");
    for (name, place) in
        [(&broken, "line 2"), (&cut, "line 1"), (&noise, "noise.bin"), (&empty, "empty.edn")]
    {
        let output = anchorite(&[name]).output().expect("it runs");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {told}");
        assert!(told.contains(name.as_str()) && told.contains(place), "{told}");
    }
    let unknown = piped(&[SERIAL], &["-", "--level", "perfect"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("perfect"), "{}", text(&unknown.stderr));
}
