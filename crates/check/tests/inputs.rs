//! Inputs: recognition, errors with line and expectation, unpacking, pipes, conversions.

use anchorite_check::input::{self, Format, InputError, Source};
use anchorite_check::levels::LevelVerdict;
use anchorite_check::model::{Atom, History, HistoryBuilder};
use anchorite_check::output;
use anchorite_check::report::{Options, judge};
use anchorite_check::resolve::resolve;
use std::io::Read;

fn read(text: &str) -> Result<(Format, History), InputError> {
    input::read(text.as_bytes(), None)
}

fn fails_with(text: &str, line: u64, expected: &str) {
    match read(text) {
        Err(InputError::Syntax { line: found, expected: message }) => {
            assert_eq!((found, message.contains(expected)), (line, true), "{text:?}: {message}");
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn formats_are_recognised_by_content() {
    for (text, format) in [
        ("{:type :ok, :value [[:r :x nil]]}", Format::ElleEdn),
        ("; a comment\n[{:type :ok, :value []}]", Format::ElleEdn),
        ("[{\"type\":\"ok\",\"value\":[[\"w\",\"x\",2]]}]", Format::ElleJson),
        ("{\"type\":\"ok\",\"value\":[]}\n{\"type\":\"ok\",\"value\":[]}", Format::ElleJson),
        ("r(1,0,0,0)\n", Format::Plume),
        ("{\"params\":{\"id\":0},\"data\":[[]]}", Format::DbcopJson),
        ("[x:=1 y==?]\n", Format::DbcopHist),
        ("{\"anchorite\":\"history\",\"version\":1}\n", Format::Anchorite),
    ] {
        assert_eq!(read(text).expect(text).0, format, "{text}");
    }
    assert!(matches!(read(""), Err(InputError::Unrecognised)));
    assert!(matches!(read("hello"), Err(InputError::Unrecognised)));
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    fails_with("w(1,1,0,0)\nw(1,x,0,0)\n", 2, "with integers");
    fails_with("w(1,1,0,0)\nw(1,1,0", 2, "with integers");
    fails_with(
        "{:type :ok, :value [[:r :x nil]]}\n{:type :ok, :value [[:r :x",
        2,
        "before the end",
    );
    fails_with("{:type :huh, :value []}", 1, ":invoke, :ok, :fail or :info");
    fails_with("{:type :ok, :value [[:frob :x 1]]}", 1, "micro-operation");
    fails_with("[{\"type\":\"ok\",\"value\":[[\"r\",\"x\"", 1, "before the end");
    fails_with("[{\"type\" \"ok\"}]", 1, "\":\" after a key");
    fails_with(
        "{\"data\":[[{\"events\":[{\"Frob\":{}}],\"committed\":true}]]}",
        1,
        "a transaction",
    );
    fails_with("[x:=1]\n[x:1]", 2, "a transaction like");
    fails_with("{\"anchorite\":\"history\",\"version\":9}\n", 1, "\"version\": 1");
    fails_with("{\"anchorite\":\"history\",\"version\":1}\n{\"session\":1}", 2, "a transaction");
    fails_with(
        "{\"anchorite\":\"history\",\"version\":1}\n{\"session\":1,\"ops\":[{}]}",
        2,
        "an operation",
    );
}

#[test]
fn deep_and_long_values_are_refused() {
    let deep = format!("{{:type :ok, :value {}", "[".repeat(100_000));
    assert!(matches!(read(&deep), Err(InputError::Limit { .. })));
    let mut line = String::from("w(1,1,0,0)\n");
    line.push_str(&"9".repeat(40 << 20));
    assert!(read(&line).is_err());
}

/// A reader that hands out one byte at a time, as a slow pipe does.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
        into[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

#[test]
fn a_slow_pipe_gives_the_same_history() {
    let text = "w(1,1,0,0)\nr(1,1,1,1)\nr(1,0,0,0)\r\n\nw(2,3,1,-1)";
    let (_, slow) = input::read(Slow(text.as_bytes()), None).expect("a history");
    let (_, fast) = read(text).expect("a history");
    assert_eq!(slow.ops, fast.ops);
    assert_eq!(slow.txns.len(), 3);
}

/// Lines of all kinds: several of a transaction, with the same session and another one, odd numbers, aborted writes,
/// reads of earlier, later and missing values.
fn many_lines() -> String {
    let mut text = String::new();
    for line in 0..80_000_u64 {
        let (key, session, txn) = (line * 7919 % 100, line / 5 % 7, line / 5);
        let seen = (line * 104_729 + 1) % 100_000;
        text += &match line % 50 {
            7 => format!("w( {key}, {line}00000000000000000000 ,{session},{txn})\n"),
            8 => format!("w({key},{},{session},-1)\r\n", line + 1),
            9 => format!("r(-{key},0,{session},{txn})\n\n"),
            at if at % 2 == 0 => format!("w({key},{},{session},{txn})\n", line + 1),
            _ => format!("r({},{},{session},{txn})\r\n", seen * 7919 % 100, seen + 1),
        };
    }
    text
}

#[test]
fn threads_make_no_difference() {
    let mut text = many_lines();
    let (_, one) = input::read_threaded(text.as_bytes(), None, 1).expect("a history");
    let (_, two) = input::read_threaded(text.as_bytes(), None, 2).expect("a history");
    let (_, slow) = input::read(Slow(text.as_bytes()), None).expect("a history");
    let shown = |history: &History| format!("{:?} {:?}", history.keys, history.txns);
    for other in [&two, &slow] {
        assert_eq!(one.ops, other.ops);
        assert_eq!(shown(&one), shown(other));
    }
    let resolved = resolve(&one, 1);
    assert!(!resolved.faults.is_empty() && resolved.stale.contains(&true));
    for threads in [2, 3] {
        let again = resolve(&one, threads);
        assert_eq!((&again.seen, &again.stale), (&resolved.seen, &resolved.stale));
        assert_eq!((&again.faults, &again.included), (&resolved.faults, &resolved.included));
    }
    let lines = text.lines().count();
    text += "nonsense\n";
    let error = input::read_threaded(text.as_bytes(), None, 2).expect_err("nonsense");
    assert!(error.to_string().starts_with(&format!("line {}:", lines + 1)), "{error}");
}

#[test]
fn gzip_and_zstd_are_unpacked() {
    use std::io::Write;
    let plain = b"w(1,1,0,0)\nr(1,1,1,1)\n";
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(plain).expect("packing");
    let gzip = packer.finish().expect("packing");
    let level = ruzstd::encoding::CompressionLevel::Uncompressed;
    let zstd = ruzstd::encoding::compress_to_vec(plain.as_slice(), level);
    for packed in [gzip, zstd] {
        let reader = input::unpack(packed.as_slice()).expect("unpacking");
        let (format, history) = input::read(reader, None).expect("a history");
        assert_eq!((format, history.ops.len()), (Format::Plume, 2));
        let cut = &packed[..packed.len() - 9];
        let result = input::unpack(cut).and_then(|reader| input::read(reader, None));
        assert!(result.is_err() || packed[0] == 0x1f, "a truncated file was accepted");
    }
}

#[test]
fn cobra_logs_are_read_and_truncation_is_noticed() {
    let mut log = vec![b'S'];
    log.extend(1_u64.to_be_bytes());
    log.push(b'W');
    for word in [11_u64, 5, 99] {
        log.extend(word.to_be_bytes());
    }
    log.push(b'C');
    log.extend(1_u64.to_be_bytes());
    let (format, history) = input::read(log.as_slice(), None).expect("a history");
    assert_eq!((format, history.txns.len(), history.ops.len()), (Format::Cobra, 1, 1));
    let error = input::read(&log[..20], None).expect_err("truncated");
    assert!(error.to_string().contains("eight more bytes"), "{error}");
    log[9] = b'Z';
    assert!(input::read(log.as_slice(), None).is_err());
}

type Verdicts = Vec<(&'static str, LevelVerdict)>;

fn verdicts(history: &History) -> (Verdicts, Verdicts) {
    let report = judge(history, &Options::default());
    (report.levels, report.axiomatic)
}

#[test]
fn conversions_keep_the_verdicts() {
    let (_, history) =
        read("[1:=1 2:=1]\n[3:=9]!\n---\n[1==1 2==?]\n[2==1 2==1]\n").expect("a history");
    let expected = verdicts(&history);
    for format in Format::ALL {
        let lossy = matches!(format, Format::Cobra);
        let mut bytes = Vec::new();
        output::write(&history, format, lossy, None, &mut bytes).expect("it can be written");
        if format == Format::Cobra {
            // One log per session: all sessions in one log would be one session.
            let mut builder = HistoryBuilder::new();
            for session in 0..history.sessions.len() as u32 {
                let mut log = Vec::new();
                output::write(&history, format, true, Some(session), &mut log).expect("a log");
                let name = Atom::int(i64::from(session)).expect("a small number");
                input::read_as(&mut Source::new(log.as_slice()), format, &mut builder, name)
                    .expect("a log");
            }
            assert_eq!(verdicts(&builder.finish()), expected, "{format:?}");
            continue;
        }
        let (found, again) = input::read(bytes.as_slice(), None).expect("it can be read");
        assert_eq!(found, format);
        assert_eq!(verdicts(&again), expected, "{format:?}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_an_error() {
    let text = "{:type :invoke, :process 0, :value [[:append :x 1]]}\n{:type :ok, :process 0, :value [[:append :x 1]]}";
    let (_, lists) = read(text).expect("a history");
    let error =
        output::write(&lists, Format::Plume, false, None, &mut Vec::new()).expect_err("lists");
    assert!(
        error.to_string().contains("lists") && error.to_string().contains("real time"),
        "{error}"
    );
    assert!(output::write(&lists, Format::Plume, true, None, &mut Vec::new()).is_err());
    let mut bytes = Vec::new();
    output::write(&lists, Format::Anchorite, false, None, &mut bytes)
        .expect("our own format holds it");
    let (_, again) = input::read(bytes.as_slice(), None).expect("it can be read");
    assert_eq!((again.ops.len(), again.txns[0].invoked), (1, lists.txns[0].invoked));
}

#[test]
fn whatever_is_written_can_be_read_again() {
    let mixed = include_str!("../../../fuzz/corpus/anchorite_lines/mixed.jsonl");
    let (_, history) = read(mixed).expect("predicates beside lists");
    for format in Format::ALL {
        let mut bytes = Vec::new();
        if output::write(&history, format, true, None, &mut bytes).is_ok() {
            let again = input::read(bytes.as_slice(), Some(format.family()));
            assert!(again.is_ok(), "{format:?}: {again:?}");
        }
    }
}

#[test]
fn values_written_twice_are_unknown_only_if_read() {
    let (_, unread) = read("w(1,5,0,0)\nw(1,5,1,1)\n").expect("a history");
    assert_eq!(judge(&unread, &Options::default()).valid, LevelVerdict::Holds);
    let (_, read_once) = read("w(1,5,0,0)\nw(1,5,1,1)\nr(1,5,2,2)\n").expect("a history");
    assert!(matches!(judge(&read_once, &Options::default()).valid, LevelVerdict::Unknown(_)));
}

#[test]
fn predicate_reads_among_lists_are_judged() {
    let text = "{:type :ok, :process 0, :value [[:r y [1]]]}\n{:type :ok, :process 1, :value [[:rp :true {}]]}\n\
                {:type :ok, :process 2, :value [[:append y 1]]}\n";
    let (_, history) = read(text).expect("a history");
    let report = judge(&history, &Options::default());
    assert_eq!(report.valid, LevelVerdict::Holds);
}
