//! What a server that lives on says in its log: a failed assertion, a report of a sanitizer, something corrupt.
//!
//! Idea: SQL must not cause any of that. The end of the log is read after each block of cases; a line with one of the
//! product's words that was not there before is a finding, with the case that ran last, and the report says that it
//! need not be the one. The words are in the descriptor. Assumption: the server is one of ours, so that its log can be
//! read. Blind spot: lines that have left the end of the log before it was read again.

use std::collections::BTreeSet;

use anchorite_model::product::EndWords;

/// The lines that were there when they were read last.
#[derive(Debug, Default)]
pub(crate) struct LogAlarm {
    known: BTreeSet<String>,
}

impl LogAlarm {
    /// Takes note of what a log says by now.
    pub fn since(log: Option<&str>, words: &EndWords) -> Self {
        Self { known: alarming(log.unwrap_or_default(), words).collect() }
    }

    /// The lines that are new.
    pub fn read(&mut self, log: &str, words: &EndWords) -> Vec<String> {
        let found: Vec<String> = alarming(log, words).collect();
        found.into_iter().filter(|line| self.known.insert(line.clone())).collect()
    }
}

/// The lines that say that something is wrong; statements that a server repeats in its log are not among them.
fn alarming<'l>(log: &'l str, words: &'l EndWords) -> impl Iterator<Item = String> + 'l {
    let is_alarming = |line: &&str| {
        let lower = line.to_lowercase();
        let is_statement = lower.contains("statement:") || lower.contains("query:");
        !is_statement && words.log_alarm.iter().any(|word| lower.contains(word.as_str()))
    };
    log.lines().filter(is_alarming).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use anchorite_model::Product;

    use super::*;

    #[test]
    fn only_new_lines_with_the_words_of_the_product_are_alarming() {
        let words = |product| &Product::named(product).descriptor().ending;
        let old = "InnoDB: Assertion failure in file a.cc line 1";
        for (product, new) in [
            ("mariadb", "[ERROR] InnoDB: Index i of table t is corrupted"),
            ("mysql", "sql/x.cc:7: runtime error: signed integer overflow"),
            ("postgres", "TRAP: failed Assert(\"x\"), File: heapam.c"),
            ("tidb", "[ERROR] data inconsistency in table: t, index: i"),
            ("cockroach", "E assertion failed: span"),
        ] {
            let words = words(product);
            let mut alarm = LogAlarm::since(Some(old), words);
            assert_eq!(alarm.read("all is well", words), Vec::<String>::new(), "{product}");
            let log = format!("{old}\n  {new}\nSTATEMENT:  SELECT 'corrupt'\n");
            assert_eq!(alarm.read(&log, words), [new], "{product}");
            assert_eq!(alarm.read(&log, words), Vec::<String>::new(), "{product}: once");
        }
    }
}
