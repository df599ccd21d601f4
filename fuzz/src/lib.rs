//! What all fuzz targets do: read the bytes, at once and one by one, judge what comes out, write it and read it again.

use anchorite_check::input::{self, Format, Source};
use anchorite_check::model::{Atom, History, HistoryBuilder};
use anchorite_check::output;
use anchorite_check::report::{Options, json, judge, text};
use std::io::Read;

/// Histories larger than this are only read: judging all levels is for the benchmark.
const JUDGED_OPS: usize = 200;

/// Gives one byte at a time, so that nothing lies in the buffer as a whole.
struct Drops<'b>(&'b [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = into.len().min(1);
        self.0.read(&mut into[..count])
    }
}

fn read(reader: impl Read, format: Format) -> Result<History, String> {
    let mut builder = HistoryBuilder::new();
    let session = Atom::int(0).expect("0 fits");
    let read = input::read_as(&mut Source::new(reader), format, &mut builder, session);
    read.map(|()| builder.finish()).map_err(|error| error.to_string())
}

/// Reads bytes in a given format.
pub fn parse_and_judge(bytes: &[u8], format: Format) {
    let at_once = read(bytes, format);
    let one_by_one = read(Drops(bytes), format);
    let shown = |history: &History| format!("{history:?}");
    assert_eq!(at_once.as_ref().map(shown), one_by_one.as_ref().map(shown));
    if let Ok(history) = at_once {
        judge_and_convert(&history);
    }
}

/// Unpacks and recognises bytes; what is unpacked is limited, as a bomb would be.
pub fn recognise_and_judge(bytes: &[u8]) {
    let Ok(reader) = input::unpack(bytes) else { return };
    if let Ok((_, history)) = input::read(reader.take(1 << 20), None) {
        judge_and_convert(&history);
    }
}

fn judge_and_convert(history: &History) {
    if history.ops.len() > JUDGED_OPS {
        return;
    }
    let report = judge(history, &Options::default());
    let _ = json::result(history, &report, "file", "input").to_string();
    let _ = text::render(history, &report, "file", "input", text::Style { colour: false });
    for format in Format::ALL {
        let mut bytes = Vec::new();
        if output::write(history, format, false, None, &mut bytes).is_ok() {
            let again = input::read(bytes.as_slice(), Some(format.family()));
            assert!(again.is_ok() || history.txns.is_empty(), "{format:?}: {again:?}");
        }
    }
}
