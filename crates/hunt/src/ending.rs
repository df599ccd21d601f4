//! Why a server ended: by itself, or because it was stopped?
//!
//! Idea: SQL must not end a server, so one that ended by itself is a finding. One that was stopped from outside is not:
//! a scheduler ends the whole job with SIGTERM, the kernel's out-of-memory killer sends SIGKILL, an administrator shuts
//! a server down. The evidence is considered in this order: the end of the log (an assertion is a crash however the
//! process ended), how the process ended, what the server told its clients, and whether it removed its Unix socket,
//! which only an orderly shutdown does. If none of this is known, and the product tells its clients nothing when it is
//! shut down (MariaDB, TiDB), nothing is claimed. The words of each product are in its descriptor.
//!
//! Blind spots: an external server that is killed with SIGKILL looks as if it had crashed. A server that runs out of
//! memory because of SQL looks as if it had been stopped.

use anchorite_drivers::Trace;
use anchorite_model::TargetInfo;
use anchorite_model::product::EndWords;

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

/// Words in a log line that say why a server ended, whatever the product: before its own words, and after them.
const TELLING_FIRST: [&str; 3] = ["assertion", "addresssanitizer", "undefinedbehavior"];
const TELLING_LAST: [&str; 1] = ["segmentation"];

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
    /// The words of its product.
    pub words: &'a EndWords,
}

impl Clues<'_> {
    /// Why the server ended.
    pub fn cause(&self) -> Cause {
        let log = self.log.unwrap_or_default();
        let crash = |words: String| Cause { sort: Sort::Crash, words };
        if let Some(line) = telling_line(log, self.words) {
            return crash(line);
        }
        if let Some(line) = log.lines().rev().find(|line| has(line, &self.words.log_killed)) {
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
        let sign = |words: &[String]| self.signs.iter().find(|sign| has(sign, words)).cloned();
        let told = |sort, words: &str| Cause { sort, words: words.to_owned() };
        match (sign(&self.words.told_crashed), sign(&self.words.told_stopped), self.trace) {
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
pub(crate) fn says_crash(signs: &[String], words: &EndWords) -> bool {
    signs.iter().any(|sign| has(sign, &words.told_crashed))
}

/// Whether a log says that the server, or a part of it, has ended.
pub(crate) fn tells_end(log: &str, words: &EndWords) -> bool {
    telling_line(log, words).is_some() || log.lines().any(|line| has(line, &words.log_killed))
}

/// The line of a log that best explains why a server crashed.
pub(crate) fn telling_line(log: &str, words: &EndWords) -> Option<String> {
    let own = words.log_crashed.iter().map(String::as_str);
    let mut telling = TELLING_FIRST.into_iter().chain(own).chain(TELLING_LAST);
    telling.find_map(|telling| {
        let is_telling = |line: &&str| has(line, &[telling]) && !has(line, &words.log_killed);
        log.lines().rev().find(is_telling).map(|line| line.trim().to_owned())
    })
}

/// Whether one of these words, in lower case, is in the text.
fn has(text: &str, words: &[impl AsRef<str>]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word.as_ref()))
}

/// The name of a signal.
pub fn signal_name(signal: i32) -> String {
    let known = SIGNAL_NAMES.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use anchorite_model::Product;

    use super::*;

    #[test]
    fn only_what_came_from_outside_is_no_crash() {
        let postgres = &Product::named("postgres").descriptor().ending;
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
            (None, "", "the server closed the connection", None, Sort::Unknown),
            (None, "", "the server closed the connection", Some(Trace::Left), Sort::Crash),
            (None, "", "the server closed the connection", removed, Sort::Stopped),
            (Some(End::Unknown), "", "the server closed the connection", None, Sort::Unknown),
        ];
        for (end, log, sign, trace, sort) in table {
            let signs = [sign.to_owned()];
            let (log, words) = (Some(log), postgres);
            let mut clues = Clues { end, log, signs: &signs, trace, announces: false, words };
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
        let words = |product| &Product::named(product).descriptor().ending;
        let line = |product, log| telling_line(log, words(product));
        let signal = "7 [ERROR] mysqld got signal 6 ;";
        let log = format!("start\n{signal}\nbye\n");
        for product in ["mysql", "mariadb", "mariadb:rocksdb"] {
            assert_eq!(line(product, &log).as_deref(), Some(signal), "{product}");
            assert_eq!(line(product, "all is well\n"), None);
        }
        let assertion = "InnoDB: Assertion failure in file row0sel.cc line 3";
        let both = format!("{assertion}\n{log}");
        assert_eq!(line("mariadb", &both).as_deref(), Some(assertion));
        let fatal = "[2026/01/01] [FATAL] [main.go:7]";
        assert_eq!(line("tidb", fatal).as_deref(), Some(fatal));
        assert_eq!(line("cockroach", "fatal error: stack").as_deref(), Some("fatal error: stack"));
        let killed = "LOG:  server process (PID 7) was terminated by signal 9: Killed\n";
        let ends = |product, log| tells_end(log, words(product));
        assert!(ends("mysql", &log) && ends("postgres", killed) && !ends("mysql", "well\n"));
        assert_eq!(line("postgres", killed), None);
    }

    #[test]
    fn what_clients_are_told_is_known_by_product() {
        let words = |product| &Product::named(product).descriptor().ending;
        let signs = ["1053: Server shutdown in progress".to_owned()];
        let cause = |words| {
            Clues { end: None, log: None, signs: &signs, trace: None, announces: false, words }
                .cause()
        };
        assert_eq!(cause(words("mysql")).sort, Sort::Stopped);
        assert_eq!(cause(words("postgres")).sort, Sort::Unknown);
        assert!(says_crash(&["57P02: crash of another".to_owned()], words("postgres")));
    }
}
