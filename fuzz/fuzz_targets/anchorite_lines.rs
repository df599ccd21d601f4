//! Feeds arbitrary bytes to the parser and, if they are a history, to the judge.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    anchorite_check_fuzz::parse_and_judge(bytes, anchorite_check::input::Format::Anchorite);
});
