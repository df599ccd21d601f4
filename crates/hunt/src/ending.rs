//! Why a server ended: by itself, or because it was stopped?
//!
//! Idea: SQL must not end a server, so one that ended by itself is a finding. One that was stopped from outside is not:
//! a scheduler ends the whole job with SIGTERM, the kernel's out-of-memory killer sends SIGKILL, an administrator shuts
//! a server down. The evidence is considered in this order: the end of the log (an assertion is a crash however the
//! process ended), how the process ended, what the server told its clients, and whether it removed its Unix socket,
//! which only an orderly shutdown does. If none of this is known, and the product tells its clients nothing when it is
//! shut down (MariaDB, TiDB), nothing is claimed.
//!
//! Blind spots: an external server that is killed with SIGKILL looks as if it had crashed. A server that runs out of
//! memory because of SQL looks as if it had been stopped.

use anchorite_drivers::Trace;
use anchorite_model::TargetInfo;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Unknown: a container, for instance.
    Unknown,
}

/// What kind of end it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// By itself: this is a finding.
    Crash,
    /// From outside: not a finding.
    Stopped,
    /// Unknown: not a finding.
    Unknown,
}

/// Why a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// What kind of end it was.
    pub sort: Sort,
    /// In words: the decisive line of its log, or how it ended.
    pub words: String,
}

/// Words in a log line that say why a server ended, most specific first.
const TELLING: [&str; 9] = [
    "assertion",
    "addresssanitizer",
    "undefinedbehavior",
    "got signal",
    "terminated by signal",
    "panic",
    "fatal error",
    "[fatal]",
    "segmentation",
];

/// Log lines with these words mean that someone sent a signal.
const KILLED: [&str; 3] =
    ["terminated by signal 9:", "terminated by signal 15:", "terminated by signal 2:"];

/// What a server tells its clients when a part of it has crashed.
const CRASHED: [&str; 3] = ["57p02", "crash of another server process", "in recovery mode"];

/// What a server tells its clients when it is shut down.
const SHUT_DOWN: [&str; 5] = [
    "57p01",
    "administrator command",
    "immediate shutdown command",
    "shutdown in progress",
    "shutting down",
];

/// The signals that come from outside.
const FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 9, 15];

const SIGNAL_NAMES: [(i32, &str); 11] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

/// Everything that is known about the end of a server.
#[derive(Debug, Clone, Copy)]
pub struct Clues<'a> {
    /// How the process ended; `None`: it did not, or it is not ours.
    pub end: Option<End>,
    /// Its log, where we can read it.
    pub log: Option<&'a str>,
    /// What its clients were told.
    pub signs: &'a [String],
    /// What is left of its Unix socket, where it had one on this machine.
    pub trace: Option<Trace>,
    /// Whether such a server tells its clients when it is shut down.
    pub announces: bool,
}

impl Clues<'_> {
    /// Why the server ended.
    pub fn cause(&self) -> Cause {
        let log = self.log.unwrap_or_default();
        let crash = |words: String| Cause { sort: Sort::Crash, words };
        if let Some(line) = telling_line(log) {
            return crash(line);
        }
        if let Some(line) = log.lines().rev().find(|line| has(line, &KILLED)) {
            return stopped(line.trim());
        }
        match self.end {
            Some(End::Code(0)) => stopped("it ended in an orderly way"),
            Some(End::Code(code)) => crash(format!("its process ended with exit code {code}")),
            Some(End::Signal(signal)) if FROM_OUTSIDE.contains(&signal) => {
                stopped(&format!("it was sent {}", signal_name(signal)))
            }
            Some(End::Signal(signal)) => {
                crash(format!("its process ended with {}", signal_name(signal)))
            }
            Some(End::Unknown) | None => self.cause_by_hearsay(),
        }
    }

    /// If neither the process nor the log is accessible.
    fn cause_by_hearsay(&self) -> Cause {
        let sign = |words: &[&str]| self.signs.iter().find(|sign| has(sign, words)).cloned();
        let told = |sort, words: &str| Cause { sort, words: words.to_owned() };
        match (sign(&CRASHED), sign(&SHUT_DOWN), self.trace) {
            (Some(said), ..) => told(Sort::Crash, &said),
            (None, Some(said), _) => stopped(&said),
            (None, None, Some(Trace::Removed)) => {
                stopped("it took its socket away in an orderly way")
            }
            (None, None, Some(Trace::Left)) => {
                told(Sort::Crash, "the server ended without a word, and left its socket behind")
            }
            (None, None, None) if self.announces => {
                told(Sort::Crash, "the server ended without a word")
            }
            (None, None, None) => {
                let why = "whether it crashed or was stopped is not known: its log tells";
                told(Sort::Unknown, &format!("the server ended without a word; {why}"))
            }
        }
    }
}

fn stopped(how: &str) -> Cause {
    Cause { sort: Sort::Stopped, words: format!("it was stopped from outside: {how}") }
}

/// Whether such a server tells its clients when it is shut down. Measured: PostgreSQL 15 and MySQL 9.7 do, MariaDB
/// 10.11 closes the connections silently. MySQL: since 8.0.24, by its release notes.
pub fn announces_shutdown(target: &TargetInfo) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        numbers.map_while(|number| number.parse().ok()).take(3).collect()
    };
    let since = target.product.descriptor().version.announces_shutdown.as_deref();
    since.is_some_and(|since| numbers(&target.version) >= numbers(since))
}

/// Whether a client was told that a part of the server has crashed.
pub(crate) fn says_crash(signs: &[String]) -> bool {
    signs.iter().any(|sign| has(sign, &CRASHED))
}

/// Whether a log says that the server, or a part of it, has ended.
pub(crate) fn tells_end(log: &str) -> bool {
    telling_line(log).is_some() || log.lines().any(|line| has(line, &KILLED))
}

/// The line of a log that best explains why a server crashed.
pub(crate) fn telling_line(log: &str) -> Option<String> {
    TELLING.iter().find_map(|telling| {
        let is_telling = |line: &&str| has(line, &[telling]) && !has(line, &KILLED);
        log.lines().rev().find(is_telling).map(|line| line.trim().to_owned())
    })
}

/// Whether one of these words, in lower case, is in the text.
fn has(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

fn signal_name(signal: i32) -> String {
    let known = SIGNAL_NAMES.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use anchorite_model::Product;

    use super::*;

    #[test]
    fn only_what_came_from_outside_is_no_crash() {
        let segfault =
            "LOG:  server process (PID 7) was terminated by signal 11: Segmentation fault";
        let killed = "LOG:  server process (PID 7) was terminated by signal 9: Killed";
        let assertion = "InnoDB: Assertion failure in file row0sel.cc line 3";
        let removed = Some(Trace::Removed);
        let table = [
            (Some(End::Signal(15)), "", "", None, Sort::Stopped),
            (Some(End::Signal(9)), "shutting down\n", "", None, Sort::Stopped),
            (Some(End::Signal(9)), assertion, "", None, Sort::Crash),
            (Some(End::Signal(11)), "", "57P01: administrator command", None, Sort::Crash),
            (Some(End::Signal(6)), "", "", None, Sort::Crash),
            (Some(End::Code(0)), "Normal shutdown", "", None, Sort::Stopped),
            (Some(End::Code(0)), assertion, "", None, Sort::Crash),
            (Some(End::Code(1)), "", "", None, Sort::Crash),
            (None, segfault, "57P02: crash of another server process", None, Sort::Crash),
            (None, killed, "57P02: crash of another server process", None, Sort::Stopped),
            (None, "", "57P01: due to administrator command", Some(Trace::Left), Sort::Stopped),
            (None, "", "57P02: crash of another server process", removed, Sort::Crash),
            (None, "", "1053: Server shutdown in progress", None, Sort::Stopped),
            (None, "", "the server closed the connection", None, Sort::Unknown),
            (None, "", "the server closed the connection", Some(Trace::Left), Sort::Crash),
            (None, "", "the server closed the connection", removed, Sort::Stopped),
            (Some(End::Unknown), "", "the server closed the connection", None, Sort::Unknown),
        ];
        for (end, log, sign, trace, sort) in table {
            let signs = [sign.to_owned()];
            let mut clues = Clues { end, log: Some(log), signs: &signs, trace, announces: false };
            assert_eq!(clues.cause().sort, sort, "{clues:?}");
            clues.announces = true;
            let sort = if sort == Sort::Unknown { Sort::Crash } else { sort };
            assert_eq!(clues.cause().sort, sort, "{clues:?}");
        }
    }

    #[test]
    fn who_tells_its_clients_depends_on_product_and_version() {
        for (product, version, announces) in [
            (Product::named("mysql"), "8.0.24", true),
            (Product::named("mysql"), "9.7.4-2", true),
            (Product::named("mysql"), "8.0.23", false),
            (Product::named("mysql"), "5.6.24", false),
            (Product::named("mariadb"), "10.11.18-MariaDB", false),
            (Product::named("postgres"), "15.18", true),
        ] {
            let (version, variant) = (version.to_owned(), String::new());
            let target = TargetInfo { product, version, variant };
            assert_eq!(announces_shutdown(&target), announces, "{target}");
        }
    }

    #[test]
    fn the_most_telling_line_is_the_reason() {
        let log = "start\n7 [ERROR] mysqld got signal 6 ;\nbye\n";
        assert_eq!(telling_line(log).as_deref(), Some("7 [ERROR] mysqld got signal 6 ;"));
        assert_eq!(telling_line("all is well\n"), None);
        let killed = "LOG:  server process (PID 7) was terminated by signal 9: Killed\n";
        assert_eq!([log, killed, "all is well\n"].map(tells_end), [true, true, false]);
        assert_eq!(telling_line(killed), None);
    }
}
