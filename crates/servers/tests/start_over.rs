//! A process that crashes, in whatever way, is started over with the same number.
//!
//! The test starts itself as a child that crashes; what is started over says so by its exit code.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::Command;

use anchorite_servers::start_over_on_crash;

/// Tells the child how to crash.
const HOW: &str = "ANCHORITE_TEST_CRASH";
/// Tells the child where to write.
const FILE: &str = "ANCHORITE_TEST_FILE";
/// What it ends with after it was started over.
const STARTED_OVER: i32 = 42;

#[expect(unconditional_recursion, reason = "this is how a stack overflows")]
fn deeper(n: u64) -> u64 {
    let wide = std::hint::black_box([n; 512]);
    deeper(n + 1) + wide[7]
}

fn crash(how: &str) {
    match how {
        "abort" => std::process::abort(),
        "overflow" => drop(deeper(0)),
        // SAFETY: none; this is the point.
        "null" => unsafe { std::ptr::null_mut::<u8>().write_volatile(1) },
        _ => panic!("{how}"),
    }
}

/// Not a test by itself: the child.
#[test]
fn child() {
    let (Some(how), Some(file)) = (std::env::var_os(HOW), std::env::var_os(FILE)) else { return };
    let pid = File::options().append(true).open(&file);
    writeln!(pid.expect("a file"), "{}", std::process::id()).expect("written");
    let arguments: Vec<_> = std::env::args_os().collect();
    let how = how.to_string_lossy().into_owned();
    let told = format!("{}.signal", file.to_string_lossy());
    if fs::metadata(&told).is_ok() {
        std::process::exit(STARTED_OVER);
    }
    let told = OpenOptions::new().create_new(true).write(true).open(told).expect("a file");
    let _armed = start_over_on_crash(&arguments, told).expect("it is armed");
    // In another thread, as the sessions of an engine are.
    let crashed = std::thread::spawn(move || crash(&how)).join();
    panic!("it did not crash: {crashed:?}");
}

#[test]
fn a_crash_of_any_kind_starts_the_program_over() {
    let folder = tempfile::tempdir().expect("a folder");
    for (how, signal) in [("abort", 6), ("overflow", 11), ("null", 11)] {
        let file = folder.path().join(how);
        File::create(&file).expect("a file");
        let mut command = Command::new(std::env::current_exe().expect("our own path"));
        command.args(["--exact", "child"]).env(HOW, how).env(FILE, &file);
        let status = command.status().expect("it starts");
        assert_eq!(status.code(), Some(STARTED_OVER), "{how}");
        let told = fs::read(format!("{}.signal", file.display())).expect("a file");
        assert_eq!(told, [signal], "{how}");
        let pids = fs::read_to_string(&file).expect("a file");
        let pids: Vec<&str> = pids.lines().collect();
        assert!(pids.len() == 2 && pids[0] == pids[1], "the same process: {pids:?}");
    }
}
