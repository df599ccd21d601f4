//! Feeds arbitrary bytes to the recogniser, unpacking included.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    anchorite_check_fuzz::recognise_and_judge(bytes);
});
