//! A server that went away, as a record and possibly a finding.
//!
//! Idea: the oracle is simple: SQL must not end a server. What distinguishes one crash from another is the last message
//! of the server, so the fingerprint is made from that line without its numbers and addresses; a server that ended
//! without a message has one fingerprint per product. One that was stopped from outside is recorded, but is not a
//! finding.
//!
//! Several cases were running. The finding's case is the one that crashed the server again when it was run alone; if
//! none did, or none could be tried, it is the one that noticed first, and the finding says so.

use std::time::UNIX_EPOCH;

use anchorite_model::{
    BlockingKnowledge, Case, Confirmed, Ending, Event, Finding, Judgement, Level, Origin, Outcome,
    Rank, Run, SessionInfo, Signature, TargetInfo, Verdict,
};
use anchorite_store::{Crash, RunningCase};

use crate::ending::Sort;
use crate::hash::Fnv;
use crate::retrial::Retrial;
use crate::supervisor::Down;

/// The name of the oracle.
pub use anchorite_judge::oracles::CRASH as ORACLE;

/// A loss, seen by one worker.
#[derive(Debug, Clone)]
pub struct Noticed {
    /// Which server.
    pub target: TargetInfo,
    /// As the command line named it, without its password.
    pub on: String,
    /// Whether we started it.
    pub is_ours: bool,
    /// The campaign's seed.
    pub seed: u64,
    /// How it was noticed, in words.
    pub how: String,
    /// What was running on the server, starting with the case that noticed.
    pub running: Vec<RunningCase>,
    /// The last run of each, as far as it got, if there is one.
    pub runs: Vec<Option<Run>>,
    /// The case that crashed it again, reduced, if that was tried.
    pub reduced: Option<Case>,
}

impl Noticed {
    /// The record of the incident, and the finding that it is a hit of, if it is one.
    pub fn record(self, down: &Down) -> (Crash, Option<Finding>) {
        let is_crash = down.cause.sort == Sort::Crash;
        let tried = if is_crash { self.tried(down.retrial) } else { String::new() };
        let crash = Crash {
            schema: Crash::SCHEMA,
            target: self.target.to_string(),
            at: down.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            seed: self.seed,
            noticed: self.how.clone(),
            said: down.signs.clone(),
            reason: down.cause.words.clone(),
            stopped: down.cause.sort == Sort::Stopped,
            afterwards: down.afterwards.clone(),
            tried: tried.clone(),
            running: self.running.clone(),
            log: down.log.clone(),
        };
        let finding = is_crash.then(|| self.finding(down, tried));
        (crash, finding)
    }

    /// The result of trying to find the case, in a sentence.
    fn tried(&self, retrial: Retrial) -> String {
        let running = match self.running.len() {
            1 => "1 case was running".to_owned(),
            count => format!("{count} cases were running"),
        };
        let is_embedded = self.target.product.descriptor().is_embedded();
        let (within, fresh, which) = match is_embedded {
            true => ("in", "fresh process", "one of them, and may have nothing to do with it"),
            false => ("on", "fresh server", "the one that noticed first"),
        };
        match retrial {
            Retrial::Again { shown, runs, .. } => format!(
                "{running}; this one crashed a {fresh} again when it was run alone, in {shown} of {runs} runs"
            ),
            Retrial::NoneAgain { tried } => format!(
                "{running}; {tried} of them were run again, one by one, {within} a {fresh}, and none crashed \
                 it again: this is {which}"
            ),
            Retrial::NotTried => {
                let why =
                    if self.is_ours { "could not be started" } else { "is not ours to start" };
                format!(
                    "{running}; none was run again, because the server {why} anew: this is the one that \
                     noticed first"
                )
            }
        }
    }

    fn finding(mut self, down: &Down, tried: String) -> Finding {
        let (n, confirmed) = match down.retrial {
            Retrial::Again { n, shown, runs } => (n, Confirmed { shown, runs }),
            Retrial::NoneAgain { tried } => (0, Confirmed { shown: 0, runs: u32::from(tried > 0) }),
            Retrial::NotTried => (0, Confirmed { shown: 0, runs: 0 }),
        };
        let of_it = self.running.get(n);
        let case = of_it.map(|running| running.case.clone()).unwrap_or_default();
        let level = of_it.and_then(|running| running.level);
        let number = of_it.map_or(0, |running| running.spot.number);
        let run = self.runs.get_mut(n).and_then(Option::take);
        let reduced = self.reduced.take().unwrap_or_else(|| case.clone());
        let mut because =
            vec![self.how.clone(), down.cause.words.clone(), down.afterwards.clone(), tried];
        let log = down.log.iter().flat_map(|log| log.lines()).map(str::trim);
        because.extend(log.filter(|line| !line.is_empty()).map(str::to_owned));
        let said = Said { anomaly: "server-crash", reason: &down.cause.words, because };
        let run = run.unwrap_or_else(|| unrun(reduced, self.target.clone(), level, &self.how));
        self.finding_of(said, number, case, run, confirmed)
    }

    /// The finding that a line in the log of a server that lives on is.
    pub fn alarm(mut self, lines: &[String]) -> Finding {
        let of_it = self.running.first();
        let case = of_it.map(|running| running.case.clone()).unwrap_or_default();
        let (level, number) =
            of_it.map_or((None, 0), |running| (running.level, running.spot.number));
        let tried = "it is the case that ran last before the log was read; the line may be from one of \
                     those before it";
        let mut because = vec![self.how.clone(), tried.to_owned()];
        because.extend(lines.iter().cloned());
        let reason = lines.first().cloned().unwrap_or_default();
        let said = Said { anomaly: "server-log", reason: &reason, because };
        let run = self.runs.first_mut().and_then(Option::take);
        let run = run.unwrap_or_else(|| unrun(case.clone(), self.target.clone(), level, &self.how));
        self.finding_of(said, number, case, run, Confirmed { shown: 0, runs: 0 })
    }

    fn finding_of(
        self,
        said: Said<'_>,
        number: u64,
        case: Case,
        run: Run,
        confirmed: Confirmed,
    ) -> Finding {
        let Said { anomaly, reason, because } = said;
        let verdict = Verdict::broken(anomaly, because);
        let oracle = ORACLE.to_owned();
        let claim = match anomaly {
            "server-crash" => "A server does not end because of SQL that its clients send.",
            _ => "SQL that clients send breaks nothing inside the server.",
        };
        Finding {
            options: Vec::new(),
            fingerprint: fingerprint(&self.target, reason),
            title: String::new(),
            on: self.on,
            signature: Signature {
                oracle: oracle.clone(),
                anomaly: anomaly.to_owned(),
                exception: None,
                rank: Rank::Broken,
            },
            witnesses: vec![oracle.clone()],
            alike: Vec::new(),
            known: None,
            cause: None,
            unreported: false,
            origin: Origin::Generated { seed: self.seed, number },
            original: case,
            before: Vec::new(),
            run,
            judgements: vec![Judgement::new(&oracle, verdict)],
            covers: Vec::new(),
            confirmed,
            contrast: Vec::new(),
            claim: vec![claim.to_owned()],
        }
    }
}

/// What a finding says.
struct Said<'a> {
    anomaly: &'static str,
    /// What distinguishes it from others.
    reason: &'a str,
    because: Vec<String>,
}

/// The name of a crash with this reason.
pub(crate) fn fingerprint(target: &TargetInfo, reason: &str) -> String {
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

/// A run of which only the schedule is left.
fn unrun(case: Case, target: TargetInfo, level: Option<Level>, why: &str) -> Run {
    let reason = "what became of it is not known: the server went away".to_owned();
    let event = |(i, step): (usize, &anchorite_model::Step)| Event {
        n: i + 1,
        session: step.session,
        sql: step.statement.sql.clone(),
        outcome: Outcome::Skipped { reason: reason.clone() },
        at_us: 0,
        sent: None,
        answered: None,
    };
    let session =
        |name: &String| SessionInfo { name: name.clone(), level, level_read_back: String::new() };
    Run {
        events: case.steps.iter().enumerate().map(event).collect(),
        sessions: case.sessions.iter().map(session).collect(),
        case,
        target,
        level,
        blocking: BlockingKnowledge::Asked("nothing".to_owned()),
        final_state: Vec::new(),
        checks: Vec::new(),
        notes: Vec::new(),
        settings: Vec::new(),
        ending: Ending::TargetLost(why.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::telling_line;
    use anchorite_model::Product;

    #[test]
    fn a_fingerprint_is_made_of_words_and_not_of_numbers() {
        let target = TargetInfo {
            product: Product::named("mysql"),
            version: String::new(),
            variant: String::new(),
        };
        let log = |n: u32| format!("start\n{n} [ERROR] mysqld got signal {n} ;\nbye {n}\n");
        let words = &target.product.descriptor().ending;
        let of = |log: &str| fingerprint(&target, &telling_line(log, words).unwrap());
        assert_eq!(of(&log(6)), of(&log(11)));
        assert_ne!(of(&log(6)), of("12: Assertion failure: row0row.cc:1\n"));
    }
}
