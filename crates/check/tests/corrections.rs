//! Small histories that were once judged wrongly, each with the levels that hold and the anomalies to be named.

use anchorite_check::input::{self, Format};
use anchorite_check::levels::LevelVerdict;
use anchorite_check::model::{Atom, History, HistoryBuilder, NO_TIME, OpKind, Outcome, Workload};
use anchorite_check::output;
use anchorite_check::report::{ElleOptions, Options, Report, judge};

fn report(text: &str) -> Report {
    let (_, history) = input::read(text.as_bytes(), None).expect("a history");
    judge(&history, &Options { all_levels: true, ..Options::default() })
}

/// The names of all anomalies that a report has, without those of the axiomatic levels.
fn names(report: &Report) -> Vec<&'static str> {
    const AXIOMATIC: [&str; 3] = ["non-monotonic-read", "fractured-read", "causal-violation"];
    let all = report.anomalies.iter().chain(&report.others).map(|anomaly| anomaly.name);
    let mut names: Vec<&'static str> = all.filter(|name| !AXIOMATIC.contains(name)).collect();
    names.sort_unstable();
    names
}

fn level(report: &Report, name: &str) -> LevelVerdict {
    let found = report.levels.iter().find(|entry| entry.0 == name);
    found.unwrap_or_else(|| panic!("{name} is not in {:?}", report.levels)).1.clone()
}

/// Checks levels (`+` holds, `-` fails) and the names of all anomalies.
fn expect(text: &str, levels: &[&str], anomalies: &[&str]) {
    let report = report(text);
    for expected in levels {
        let (sign, name) = expected.split_at(1);
        assert_eq!(level(&report, name), LevelVerdict::of(sign == "+"), "{name}: {text}");
    }
    assert_eq!(names(&report), anomalies, "{text}");
}

fn as_elle(text: &str, options: &str) -> Vec<&'static str> {
    let (_, history) = input::read(text.as_bytes(), Some("elle")).expect("a history");
    let elle = ElleOptions::parse(options, &history).expect("options");
    let report = judge(&history, &Options { elle: Some(elle), ..Options::default() });
    let mut names: Vec<&'static str> = report.anomalies.iter().map(|found| found.name).collect();
    names.sort_unstable();
    names
}

const INIT: &str = "{:process 0, :type :invoke, :f :init, :value {:x 0, :z 0}}
    {:process 0, :type :ok, :f :init, :value {:x 0, :z 0}}\n";

fn after_init(operations: &[&str]) -> String {
    let mut text = INIT.to_owned();
    for (process, value) in operations.iter().enumerate() {
        text += &format!("{{:process {process}, :type :ok, :f :txn, :value {value}}}\n");
    }
    text
}

#[test]
fn a_read_of_nothing_is_older_than_an_initial_state_that_has_the_key() {
    let fails = ["+read-committed", "-consistent-view", "-repeatable-read", "-serializable"];
    let snapshot = ["-snapshot-isolation", "-strict-serializable"];
    for operations in [
        // Deletes x, which the initial operation created; the reader of y misses z.
        &["[[:delete :x] [:insert :y 1]]", "[[:r :y 1] [:r :z nil]]"][..],
        // The predicate read must have seen x = 0, the plain read did not.
        &["[[:rp [:mod 2 1] {}] [:r :x nil]]"],
        &["[[:r :z 0] [:r :x nil]]"],
    ] {
        let text = after_init(operations);
        expect(&text, &fails, &["G-single-item"]);
        expect(&text, &snapshot, &["G-single-item"]);
        let options = "{\"consistency-models\":[\"serializable\"]}";
        assert_eq!(as_elle(&text, options), ["G-single-item"], "{text}");
    }
    // Without a predecessor of its own it is only before the initial state: Elle sees nothing.
    let alone = after_init(&["[[:r :x nil] [:insert :y 1]]"]);
    expect(&alone, &["-consistent-view", "+read-committed"], &["G-single-item"]);
    let options = "{\"consistency-models\":[\"serializable\"]}";
    assert_eq!(as_elle(&alone, options), ["empty-transaction-graph"]);
    // What was deleted is read as nothing, too: here the cycle has only write-read dependencies.
    let dead =
        ["[[:r :z 3] [:delete :x]]", "[[:r :x nil] [:insert :y 2]]", "[[:r :y 2] [:w :z 3]]"];
    expect(&after_init(&dead), &["-read-committed", "-serializable"], &["G1c"]);
    let fine =
        ["[[:delete :x]]", "[[:r :x nil]]", "[[:r :x 0]]", "[[:r :q nil] [:rp :true {:z 0}]]"];
    expect(&after_init(&fine), &["+serializable"], &[]);
    // An aborted deletion explains it, but must not.
    let aborted = "{:process 1, :type :fail, :f :txn, :value [[:delete :x]]}";
    let aborted = after_init(&["[[:r :x nil]]"]) + aborted;
    expect(&aborted, &["-read-committed"], &["G1a"]);
}

#[test]
fn nothing_and_initial_values_of_json_lines() {
    let lines = |ops: &str| {
        format!(
            "{{\"anchorite\":\"history\",\"version\":1,\"initial_of\":[[\"x\",5]]}}\n\
             {{\"session\":1,\"ops\":[{ops}]}}\n"
        )
    };
    let older = lines("{\"r\":\"y\",\"v\":null},{\"r\":\"x\",\"v\":null}");
    expect(&older, &["-consistent-view", "-monotonic-atomic-view"], &["G-single-item"]);
    expect(&lines("{\"r\":\"x\",\"v\":null}"), &["+monotonic-atomic-view"], &["G-single-item"]);
    let update = lines("{\"r\":\"x\",\"v\":null},{\"w\":\"x\",\"v\":1}");
    expect(&update, &["-cursor-stability", "+read-committed"], &["G-single-item"]);
    expect(&lines("{\"r\":\"x\",\"v\":5},{\"r\":\"y\",\"v\":null}"), &["+serializable"], &[]);
}

#[test]
fn real_time_and_anti_dependencies_between_the_same_transactions() {
    // T1 was answered before T2 was invoked, and each missed the row that the other inserted.
    let phantom = "
        {:process 0, :type :invoke, :f :txn, :value [[:rp :true nil] [:insert :x 1]]}
        {:process 0, :type :ok, :f :txn, :value [[:rp :true {}] [:insert :x 1]]}
        {:process 1, :type :invoke, :f :txn, :value [[:rp :true nil] [:insert :y 2]]}
        {:process 1, :type :ok, :f :txn, :value [[:rp :true {}] [:insert :y 2]]}";
    let levels = ["+snapshot-isolation", "-serializable", "-strong-snapshot-isolation"];
    expect(phantom, &levels, &["G-single-realtime", "G2"]);
    // The same with single keys.
    let items = "
        {:process 0, :type :invoke, :f :txn, :value [[:r :y nil] [:w :x 1]]}
        {:process 0, :type :ok, :f :txn, :value [[:r :y nil] [:w :x 1]]}
        {:process 1, :type :invoke, :f :txn, :value [[:r :x nil] [:w :y 2]]}
        {:process 1, :type :ok, :f :txn, :value [[:r :x nil] [:w :y 2]]}";
    expect(items, &levels, &["G-single-item-realtime", "G2-item"]);
    // Concurrent ones, as before.
    let overlapping = "
        {:process 0, :type :invoke, :f :txn, :value [[:r :y nil] [:w :x 1]]}
        {:process 1, :type :invoke, :f :txn, :value [[:r :x nil] [:w :y 2]]}
        {:process 0, :type :ok, :f :txn, :value [[:r :y nil] [:w :x 1]]}
        {:process 1, :type :ok, :f :txn, :value [[:r :x nil] [:w :y 2]]}";
    expect(overlapping, &["+strong-snapshot-isolation", "-serializable"], &["G2-item"]);
}

#[test]
fn keys_may_be_any_value() {
    for (write, read) in [
        ("[:w [1 2] 1]", "[:r [1 2] 1]"),
        ("[:w (1 2) 1]", "[:r [1, 2] 1]"),
        ("[:w {:a 1, :b [2]} 1]", "[:r {:b [2] :a 1} 1]"),
        ("[:w #{1 2} 1]", "[:r #{2 1} 1]"),
        ("[:w nil 1]", "[:r nil 1]"),
        ("[:w \"a\" 1]", "[:r \"a\" 1]"),
    ] {
        let edn = |seen: &str| {
            format!(
                "{{:process 0, :type :ok, :value [{write} [:w :y 1]]}}\n\
                 {{:process 1, :type :ok, :value [[:r :y 1] {seen}]}}"
            )
        };
        expect(&edn(read), &["+serializable"], &[]);
        let missed = read.replace(" 1]", " nil]").replace("[1 nil]", "[1 2]");
        let missed = if missed.contains("#{2") { "[:r #{2 1} nil]" } else { &missed };
        expect(&edn(missed), &["+read-committed", "-snapshot-isolation"], &["G-single-item"]);
    }
    let json = "[{\"process\":0,\"type\":\"ok\",\"value\":[[\"w\",[\"t\",1],1],[\"w\",{\"id\":1,\"t\":\"a\"},1]]},
        {\"process\":1,\"type\":\"ok\",\"value\":[[\"r\",[\"t\",1],1],[\"r\",{\"t\":\"a\",\"id\":1},null]]}]";
    expect(json, &["+read-committed", "-serializable"], &["G-single-item"]);
    let rows = "{:process 0, :type :ok, :f :init, :value {[:t 1] 0, [:t 2] 0}}
        {:process 0, :type :ok, :f :txn, :value [[:rp [:= 0] {[:t 2] 0}] [:w [:t 2] 1]]}
        {:process 1, :type :ok, :f :txn, :value [[:rp [:= 0] {[:t 1] 0}] [:w [:t 1] 1]]}";
    expect(rows, &["-read-committed"], &["G1c"]);
}

#[test]
fn keys_of_any_value_survive_conversion() {
    let edn =
        "{:process 0, :type :ok, :f :txn, :value [[:w [\"t\" 1] 1] [:w {\"a\" [2 nil]} 2]]}\n";
    let (_, history) = input::read(edn.as_bytes(), None).expect("a history");
    for format in [Format::ElleEdn, Format::ElleJson, Format::Anchorite] {
        let mut text = Vec::new();
        output::write(&history, format, false, None, &mut text).expect("it can be written");
        let (found, again) = input::read(&text[..], None).expect("a history again");
        assert_eq!(found, format);
        let keys = |history: &History| -> Vec<String> {
            history.keys.iter().map(|key| history.symbols.show(*key)).collect()
        };
        assert_eq!(keys(&again), ["[\"t\" 1]", "{\"a\" [2 nil]}"], "{format:?}");
        assert_eq!(again.ops.len(), 2);
    }
    let mut text = Vec::new();
    assert!(output::write(&history, Format::Plume, false, None, &mut text).is_err());
}

/// JSON Lines of list operations: session, outcome, operations.
fn lists(txns: &[(u32, &str, &str)]) -> String {
    let mut text = "{\"anchorite\":\"history\",\"version\":1}\n".to_owned();
    for (session, outcome, ops) in txns {
        text += &format!("{{\"session\":{session},\"outcome\":\"{outcome}\",\"ops\":[{ops}]}}\n");
    }
    text
}

#[test]
fn what_a_transaction_of_unknown_outcome_read_counts_if_it_committed() {
    let torn = "{\"append\":\"x\",\"v\":1},{\"r\":\"y\",\"list\":[5]},{\"r\":\"y\",\"list\":[]}";
    let writer = (2, "commit", "{\"append\":\"y\",\"v\":5}");
    let seen = lists(&[(1, "unknown", torn), writer, (3, "commit", "{\"r\":\"x\",\"list\":[1]}")]);
    expect(&seen, &["-snapshot-isolation", "+read-committed"], &["G-single-item", "internal"]);
    let unseen = lists(&[(1, "unknown", torn), writer, (3, "commit", "{\"r\":\"x\",\"list\":[]}")]);
    expect(&unseen, &["+serializable"], &[]);
    let registers = torn.replace("append", "w").replace("\"list\":[5]", "\"v\":5");
    let registers = registers.replace("\"list\":[]", "\"v\":null");
    let writer = (2, "commit", "{\"w\":\"y\",\"v\":5}");
    let seen = lists(&[(1, "unknown", &registers), writer, (3, "commit", "{\"r\":\"x\",\"v\":1}")]);
    expect(&seen, &["-snapshot-isolation", "+read-committed"], &["G-single-item", "internal"]);
}

#[test]
fn lists_of_transactions_that_do_not_count_say_nothing_about_the_order() {
    for outcome in ["abort", "unknown"] {
        // It read its own append, which was undone: 3 has the place of 9.
        let undone = "{\"append\":\"x\",\"v\":9},{\"r\":\"x\",\"list\":[1,9]}";
        let longer =
            "{\"append\":\"x\",\"v\":9},{\"append\":\"x\",\"v\":8},{\"r\":\"x\",\"list\":[1,9,8]}";
        for own in [undone, longer] {
            let text = lists(&[
                (1, "commit", "{\"append\":\"x\",\"v\":1}"),
                (2, outcome, own),
                (3, "commit", "{\"append\":\"x\",\"v\":3}"),
                (4, "commit", "{\"r\":\"x\",\"list\":[1,3]}"),
            ]);
            expect(&text, &["+serializable"], &[]);
        }
    }
    // Of two unknown ones that read each other's elements one was read by a third: all three count.
    let chain = lists(&[
        (1, "unknown", "{\"append\":\"x\",\"v\":1},{\"append\":\"y\",\"v\":1}"),
        (
            2,
            "unknown",
            "{\"r\":\"x\",\"list\":[1]},{\"append\":\"y\",\"v\":2},{\"append\":\"z\",\"v\":2}",
        ),
        (3, "commit", "{\"r\":\"z\",\"list\":[2]},{\"r\":\"x\",\"list\":[]}"),
    ]);
    expect(&chain, &["+read-committed", "-serializable"], &["G-single-item"]);
}

#[test]
fn times_that_contradict_a_session_prove_nothing() {
    let text = "{\"anchorite\":\"history\",\"version\":1}
        {\"txn\":1,\"session\":1,\"begin\":50,\"end\":60,\"ops\":[{\"w\":\"x\",\"v\":1}]}
        {\"txn\":2,\"session\":1,\"begin\":10,\"end\":20,\"ops\":[{\"r\":\"x\",\"v\":1}]}";
    expect(text, &["+strong-session-serializable"], &[]);
    let found = level(&report(text), "strict-serializable");
    let reason = "T1 comes before T2 in session 1, but its time is later".to_owned();
    assert_eq!(found, LevelVerdict::Unknown(reason));
    // What fails without the times fails.
    let stale = text.replace("{\"r\":\"x\",\"v\":1}", "{\"r\":\"x\",\"v\":null}");
    expect(
        &stale,
        &["-strong-session-serializable", "-strict-serializable", "+serializable"],
        &["G-single-item-process"],
    );
}

#[test]
fn a_transaction_may_append_to_very_many_keys_twice() {
    // With work that grows with the square this would take hours.
    const KEYS: usize = 150_000;
    let mut builder = HistoryBuilder::new();
    builder.set_workload(Workload::ListAppend);
    let session = builder.session(Atom::int(0).unwrap());
    builder.begin(session, 1, Outcome::Committed, (NO_TIME, NO_TIME));
    let name = |key: usize| Atom::int(key as i64).unwrap();
    let value = |number: i64| Atom::int(number).unwrap();
    for round in 1..3 {
        for at in 0..KEYS {
            let key = builder.key(name(at));
            builder.push(OpKind::Append, key, value(round)).expect("few operations");
        }
    }
    for at in 0..KEYS {
        let key = builder.key(name(at));
        let list = [value(1), value(2)];
        let shown = if at == KEYS - 1 { &list[..1] } else { &list[..] };
        builder.push_list(key, shown).expect("few operations");
    }
    let report = judge(&builder.finish(), &Options::default());
    assert_eq!(names(&report), ["internal"]);
    assert_eq!(report.anomalies[0].ops, [3 * KEYS as u32 - 1, 2 * KEYS as u32 - 1]);
}
