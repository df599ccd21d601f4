//! What all fuzz targets do: read the bytes, judge what comes out, write it and read it again.

use anchorite_check::input::{self, Format, Source};
use anchorite_check::model::{Atom, History, HistoryBuilder};
use anchorite_check::output;
use anchorite_check::report::{Options, json, judge, text};
use std::io::Read;

/// Histories larger than this are only read: judging all levels is for the benchmark.
const JUDGED_OPS: usize = 200;

/// Reads bytes in a given format.
pub fn parse_and_judge(bytes: &[u8], format: Format) {
    let mut builder = HistoryBuilder::new();
    let mut source = Source::new(bytes);
    let session = Atom::int(0).expect("0 fits");
    if input::read_as(&mut source, format, &mut builder, session).is_ok() {
        judge_and_convert(&builder.finish());
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
