//! A server that went away, as a finding.
//!
//! Idea: the oracle is simple: a server does not end because of SQL. What distinguishes one crash from
//! another is what the server said last, so the fingerprint is made of that line without its numbers and
//! addresses; a server that ended without a word has one fingerprint per product.
//! Blind spot: several cases were running; the one that noticed first is the finding's case, the others
//! are kept beside it.

use anchorite_model::{
    BlockingKnowledge, Case, Confirmed, Ending, Finding, Judgement, Level, Origin, Run, Signature,
    TargetInfo, Verdict,
};
use anchorite_store::{Crash, RunningCase};

use crate::hash::Fnv;
use crate::post::Crashed;

/// The name of the oracle.
pub const ORACLE: &str = "crash";

/// Words in a log line that tell why a server ended, the more telling ones first.
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

/// A loss, seen by one worker.
#[derive(Debug, Clone)]
pub struct Noticed {
    /// Which server.
    pub target: TargetInfo,
    /// The campaign's seed.
    pub seed: u64,
    /// How it was noticed, in words.
    pub how: String,
    /// The run as far as it came, if there is one.
    pub run: Option<Run>,
    /// What was running on the server; the one that noticed stands first.
    pub running: Vec<RunningCase>,
}

impl Noticed {
    /// The record of the incident, and the finding that it is a hit of.
    pub fn record(self, crashed: &Crashed) -> (Crash, Finding) {
        let reason = crashed.log.as_deref().and_then(telling_line);
        let reason = reason.unwrap_or_else(|| "the server ended without a word".to_owned());
        let crash = Crash {
            schema: Crash::SCHEMA,
            target: self.target.to_string(),
            seed: self.seed,
            noticed: self.how.clone(),
            reason: reason.clone(),
            afterwards: crashed.afterwards.clone(),
            running: self.running.clone(),
            log: crashed.log.clone(),
        };
        let first = self.running.first();
        let case = first.map(|running| running.case.clone()).unwrap_or_default();
        let level = first.and_then(|running| running.level);
        let number = first.map_or(0, |running| running.spot.number);
        let mut because = vec![self.how.clone(), reason.clone(), crashed.afterwards.clone()];
        because.extend(crashed.log.clone());
        let anomaly = "server-crash".to_owned();
        let verdict = Verdict::Violation { anomaly: anomaly.clone(), because };
        let oracle = ORACLE.to_owned();
        let finding = Finding {
            fingerprint: fingerprint(&self.target, &reason),
            title: String::new(),
            on: String::new(),
            signature: Signature { oracle: oracle.clone(), anomaly, exception: None },
            known: None,
            origin: Origin::Generated { seed: self.seed, number },
            original: case.clone(),
            run: self.run.unwrap_or_else(|| unrun(case, self.target, level, &self.how)),
            judgements: vec![Judgement { oracle, verdict, expected: Vec::new() }],
            confirmed: Confirmed { shown: 1, runs: 1 },
            contrast: Vec::new(),
            claim: vec!["A server does not end because of SQL that its clients send.".to_owned()],
        };
        (crash, finding)
    }
}

fn fingerprint(target: &TargetInfo, reason: &str) -> String {
    let mut hash = Fnv::default();
    hash.add(target.product.name().as_bytes());
    let word = |word: &str| {
        if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word }.to_owned()
    };
    for part in reason.split_whitespace().map(word) {
        hash.add(part.as_bytes());
    }
    format!("crash-{:012x}", hash.finish() >> 16)
}

fn telling_line(log: &str) -> Option<String> {
    TELLING.iter().find_map(|telling| {
        let line = log.lines().rev().find(|line| line.to_lowercase().contains(telling))?;
        Some(line.trim().to_owned())
    })
}

/// A run of which nothing is left.
fn unrun(case: Case, target: TargetInfo, level: Option<Level>, why: &str) -> Run {
    Run {
        case,
        target,
        level,
        sessions: Vec::new(),
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("nothing".to_owned()),
        events: Vec::new(),
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::TargetLost(why.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::Product;

    #[test]
    fn a_fingerprint_is_made_of_words_and_not_of_numbers() {
        let target =
            TargetInfo { product: Product::Mysql, version: String::new(), variant: String::new() };
        let log = |n: u32| format!("start\n{n} [ERROR] mysqld got signal {n} ;\nbye {n}\n");
        let of = |log: &str| fingerprint(&target, &telling_line(log).unwrap());
        assert_eq!(of(&log(6)), of(&log(11)));
        assert_ne!(of(&log(6)), of("12: Assertion failure: row0row.cc:1\n"));
        assert_eq!(telling_line("all is well\n"), None);
    }
}
