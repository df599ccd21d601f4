//! A process that crashes starts itself over.
//!
//! Idea: an engine that lives in our process takes us with it. `execve` may be called in a signal handler: it replaces
//! the crashed program by a fresh one in the same process, with the same number, terminal, parent and standard streams.
//! So whoever waits for the process, or sends it a signal, does not notice; no second process has to pass on signals
//! and exit codes. The kernel ends all other threads and closes our files, which releases their locks. All that the
//! handler needs is prepared before: at that moment memory may be damaged, and nothing may be allocated.
//!
//! Source: signal-safety(7), execve(2). Rust gives each thread an alternate stack, on which the handler runs, so that a
//! stack overflow is caught as well.
//! Blind spots: an engine that damages just the memory that is needed here, or that calls `exit`; then the process ends
//! as it would have without this.

use std::ffi::{CString, OsStr, OsString, c_char, c_int};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

/// What an engine that crashes ends with.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// What the handler needs.
struct Prepared {
    /// This program by its path and, if that is another file by now, by its open file.
    programs: [CString; 2],
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// Where the signal's number goes.
    told: RawFd,
}

static PREPARED: AtomicPtr<Prepared> = AtomicPtr::new(null_mut());
/// The thread that crashed first; 0 = none.
static FIRST: AtomicI64 = AtomicI64::new(0);

/// While this value lives, a crash starts the program over.
#[derive(Debug)]
pub struct Armed {
    before: Vec<(c_int, libc::sigaction)>,
    _told: File,
}

/// From now on, a crash of this process writes the signal's number, a byte, to `told` and starts the same program with
/// these arguments.
pub fn start_over_on_crash(arguments: &[OsString], told: File) -> io::Result<Armed> {
    let program = std::env::current_exe()?;
    let programs = [text(program.as_os_str())?, text(OsStr::new("/proc/self/exe"))?];
    let arguments = arguments.iter().map(|word| text(word)).collect::<io::Result<Vec<_>>>()?;
    let pair = |(name, value): (OsString, OsString)| {
        let mut pair = name;
        pair.push("=");
        pair.push(value);
        text(&pair)
    };
    let environment = std::env::vars_os().map(pair).collect::<io::Result<Vec<_>>>()?;
    let told_to = told.as_raw_fd();
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    let prepared = Box::new(Prepared { programs, arguments, environment, told: told_to });
    // A handler may be using the earlier one, so it is not freed.
    PREPARED.store(Box::into_raw(prepared), Ordering::SeqCst);
    let mut armed = Armed { before: Vec::new(), _told: told };
    for signal in SIGNALS {
        armed.before.push((signal, handle(signal)?));
    }
    Ok(armed)
}

impl Drop for Armed {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: `before` is what the system returned for this signal.
            unsafe { libc::sigaction(*signal, before, null_mut()) };
        }
        PREPARED.store(null_mut(), Ordering::SeqCst);
    }
}

/// Installs the handler; returns what was there before.
fn handle(signal: c_int) -> io::Result<libc::sigaction> {
    let handler: extern "C" fn(c_int) = crashed;
    // SAFETY: a zeroed `sigaction` is a valid value, and both pointers are to values that live during the calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        // NODEFER: a signal that is blocked here would stay blocked in the new program.
        action.sa_flags = libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        match libc::sigaction(signal, &action, &mut before) {
            0 => Ok(before),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The handler: async-signal-safe calls only.
extern "C" fn crashed(signal: c_int) {
    // SAFETY: system calls with pointers that were prepared before the handler was installed and are never freed.
    unsafe {
        let us = libc::syscall(libc::SYS_gettid);
        let first = FIRST.compare_exchange(0, us, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_err_and(|first| first != us) {
            // Another thread crashed a moment before, and is about to replace us all.
            loop {
                libc::pause();
            }
        }
        let prepared = PREPARED.load(Ordering::SeqCst);
        if first.is_ok() && !prepared.is_null() {
            let Prepared { programs, arguments, environment, told } = &*prepared;
            let byte = [signal as u8];
            libc::write(*told, byte.as_ptr().cast(), byte.len());
            for program in programs {
                libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            }
        }
        // It cannot be started over: end as if there were no handler.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

fn text(word: &OsStr) -> io::Result<CString> {
    CString::new(word.as_bytes()).map_err(io::Error::other)
}

/// As `execve` wants them: never freed, with a null pointer at the end.
fn pointers(texts: Vec<CString>) -> Vec<*const c_char> {
    texts.into_iter().map(|text| text.into_raw().cast_const()).chain([null()]).collect()
}
