//! Runs with what is said about them, and the labels that every form shows the same way.
//!
//! Assumption: a session index may be invalid (a run made by hand), and there is still a report.

use std::time::Duration;

use anchorite_judge::{Agreement, Comparison, Observed};
use anchorite_model::{
    Blocker, BlockingKnowledge, Cause, Covers, Disagreement, Ending, Level, Run, SessionIndex,
    Stance, TargetInfo, Verdict, disagreements,
};

/// A run with all that is said about it: the input of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// What happened.
    pub run: Run,
    /// The oracles' names with what each says; empty where none judged the run.
    pub verdicts: Vec<(String, Verdict)>,
    /// What the verdicts cover, by the oracles' names.
    pub covers: Vec<(String, Covers)>,
    /// What went wrong, by the oracles that say violation.
    pub causes: Vec<(String, Cause)>,
    /// The run compared with the header of its case.
    pub compared: Comparison,
    /// The classic anomalies that its rows prove.
    pub observed: Vec<Observed>,
}

impl From<Run> for RunResult {
    fn from(run: Run) -> Self {
        Self {
            run,
            verdicts: Vec::new(),
            covers: Vec::new(),
            causes: Vec::new(),
            compared: Comparison::default(),
            observed: Vec::new(),
        }
    }
}

impl RunResult {
    /// What the verdict of the oracle of this name covers.
    pub fn covered_by(&self, oracle: &str) -> Option<Covers> {
        self.covers.iter().find(|(name, _)| name == oracle).map(|(_, covers)| *covers)
    }

    /// What the oracle of this name has seen go wrong, if that was looked for.
    pub fn cause_of(&self, oracle: &str) -> Option<&Cause> {
        self.causes.iter().find(|(name, _)| name == oracle).map(|(_, cause)| cause)
    }

    /// Where the oracles contradict each other.
    pub fn disagreements(&self) -> Vec<Disagreement<'_>> {
        let stances = self.verdicts.iter().map(|(oracle, verdict)| {
            let covers = self.covered_by(oracle);
            Stance { oracle, verdict, covers }
        });
        disagreements(&stances.collect::<Vec<_>>(), false)
    }

    /// Whether there is a violation that the case does not announce.
    pub fn is_violation(&self) -> bool {
        let is_violation = |verdict: &Verdict| matches!(verdict, Verdict::Violation { .. });
        !self.compared.announced && self.verdicts.iter().any(|(_, verdict)| is_violation(verdict))
    }

    /// Whether something differs from what the case says.
    pub fn differs(&self) -> bool {
        self.compared.agreement() == Some(Agreement::Differs)
    }

    /// Whether this needs attention: something new, a difference, or a lost server.
    pub fn is_bad(&self) -> bool {
        self.is_violation() || self.differs() || self.run.ending != Ending::Complete
    }
}

/// A case that could not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFailure {
    /// The case's name.
    pub case: String,
    /// Where.
    pub target: TargetInfo,
    /// At which level, if one was asked for.
    pub level: Option<Level>,
    /// Why.
    pub message: String,
}

/// Everything that one invocation of the command ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct Runs<'a> {
    /// The runs, in the order of the files.
    pub results: &'a [RunResult],
    /// The cases that could not be run.
    pub failures: &'a [RunFailure],
    /// How long it took.
    pub elapsed: Option<Duration>,
    /// Whether runs that need no attention are reduced to a line.
    pub brief: bool,
}

impl<'a> From<&'a [RunResult]> for Runs<'a> {
    fn from(results: &'a [RunResult]) -> Self {
        Self { results, ..Self::default() }
    }
}

impl<'a> From<&'a Vec<RunResult>> for Runs<'a> {
    fn from(results: &'a Vec<RunResult>) -> Self {
        results.as_slice().into()
    }
}

impl<'a, const N: usize> From<&'a [RunResult; N]> for Runs<'a> {
    fn from(results: &'a [RunResult; N]) -> Self {
        results.as_slice().into()
    }
}

/// The name of a session, or a placeholder for one that the run does not list.
pub(crate) fn session_name(run: &Run, session: SessionIndex) -> String {
    match run.sessions.get(session) {
        Some(info) => info.name.clone(),
        None => format!("session {}", session + 1),
    }
}

/// The names of all sessions that the run lists or that its events belong to.
pub(crate) fn session_names(run: &Run) -> Vec<String> {
    let used = run.events.iter().map(|event| event.session + 1).max().unwrap_or(0);
    (0..run.sessions.len().max(used)).map(|session| session_name(run, session)).collect()
}

/// The name of a blocker: a session's own, `outside:1234` for a connection that is not ours, `prepared:'a'` for a
/// prepared transaction.
pub(crate) fn blocker_name(run: &Run, blocker: &Blocker) -> String {
    match blocker {
        Blocker::Session(session) => session_name(run, *session),
        Blocker::Outside(id) => format!("outside:{id}"),
        Blocker::Prepared(id) => format!("prepared:{id}"),
    }
}

/// The level that the run ran at: the one that was asked for, else the one that every session read
/// back; `mixed` where they differ, `default` where the server's words name no level.
pub(crate) fn level_label(run: &Run) -> &'static str {
    if let Some(level) = run.level {
        return level.name();
    }
    let mut levels = run.sessions.iter().map(|session| session.effective_level());
    match levels.next() {
        Some(first) if levels.any(|level| level != first) => "mixed",
        Some(Some(level)) => level.name(),
        _ => "default",
    }
}

/// Sessions at the same level: their names, and the level as read back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LevelGroup {
    /// The names, in the order of the case.
    pub names: Vec<String>,
    /// The server's words.
    pub read_back: String,
    /// `the default`, or `asked for …` if the server reports a level other than the one asked for.
    pub remark: Option<String>,
    /// Whether the server runs a level other than the one asked for.
    pub differs: bool,
}

/// The sessions by the level that they really ran at.
pub(crate) fn level_groups(run: &Run) -> Vec<LevelGroup> {
    let mut groups: Vec<LevelGroup> = Vec::new();
    for session in &run.sessions {
        let read_back = match session.level_read_back.as_str() {
            "" => "not read back",
            words => words,
        };
        let spoken = session.level_read_back.parse::<Level>().ok();
        let differs = session.level.is_some() && spoken.is_some() && session.level != spoken;
        let remark = match session.level {
            None => Some("the default".to_owned()),
            Some(level) if differs => Some(format!("asked for {level}")),
            Some(_) => None,
        };
        let alike =
            groups.iter_mut().find(|group| group.read_back == read_back && group.remark == remark);
        match alike {
            Some(group) => group.names.push(session.name.clone()),
            None => groups.push(LevelGroup {
                names: vec![session.name.clone()],
                read_back: read_back.to_owned(),
                remark,
                differs,
            }),
        }
    }
    groups
}

/// How blocking was detected, in a sentence.
pub(crate) fn blocking_label(blocking: &BlockingKnowledge) -> String {
    match blocking {
        BlockingKnowledge::Asked(how) => format!("asked of the server ({how})"),
        BlockingKnowledge::Timeout { silence_ms, reason } => {
            format!("guessed: {silence_ms} ms of silence counted as blocked, because {reason}")
        }
    }
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}
