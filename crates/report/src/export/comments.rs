//! Our own `.case` text, with remarks about what blocked and what was answered.
//!
//! Idea: the form in which TiDB's developers write schedules (`/* t1 */ statement`), and which `anchorite run` reads:
//! statements in submission order, and between them, as comments, what happened. The level is that of the run, so
//! running it again needs no option. Assumption: remarks are line comments between statements; the reader drops them.

use anchorite_model::{Case, Event, Header, Outcome};

use super::Script;
use super::moves::{told, waits_for};
use super::setup::opening;
use crate::escape::visible;

/// The script.
pub(super) fn comments(script: &Script<'_>) -> String {
    let mut header = script.case.header.clone();
    let texts = header.title.iter_mut().chain(&mut header.source).chain(&mut header.expect);
    // A header's value is one line of safe text, even if the case was not read from a file.
    texts.chain(header.other.iter_mut().map(|(_, value)| value)).for_each(|t| *t = visible(t));
    if let Some(run) = script.run
        && let Some(level) = run.level
    {
        header.level = Some(level);
        header.session_levels.clear();
    }
    let mut out = String::new();
    for line in opening(script).iter().filter(|line| !repeats_the_header(line, &header)) {
        // Not `key: value`, which would become part of the header.
        out += &format!("-- * {line}\n");
    }
    let top = Case { header, setup: script.case.setup.clone(), ..Case::default() };
    out += &top.to_text();
    out += "\n";
    let mut events = script.run.map_or(&[][..], |run| run.events.as_slice());
    for n in 1..=script.case.steps.len() {
        let step = script.case.steps[n - 1].clone();
        // One step alone prints as its line; the sessions keep their indexes.
        let sessions = script.case.sessions.clone();
        out += &Case { sessions, steps: vec![step], ..Case::default() }.to_text();
        let happened = events.iter().take_while(|event| event.n <= n).count();
        let (now, later) = events.split_at(happened);
        if now.iter().all(|event| event.n != n) && script.run.is_some() {
            out += &format!("-- {n} is not sent yet, because its session waits\n");
        }
        now.iter().filter_map(|event| remark(script, event)).for_each(|line| out += &line);
        events = later;
    }
    events.iter().filter_map(|event| remark(script, event)).for_each(|line| out += &line);
    for (name, rows) in script.run.iter().flat_map(|run| &run.final_state) {
        let rows = super::setup::rows_told(rows);
        out += &format!("-- at the end, {} has {rows}\n", visible(name));
    }
    let (check, teardown) = (script.case.check.clone(), script.case.teardown.clone());
    let end = Case { check, teardown, ..Case::default() }.to_text();
    if !end.is_empty() {
        out += &format!("\n{end}");
    }
    out
}

fn repeats_the_header(line: &str, header: &Header) -> bool {
    let title = header.title.as_ref().is_some_and(|title| visible(title) == line);
    title || header.source.iter().any(|source| format!("Source: {}", visible(source)) == line)
}

fn remark(script: &Script<'_>, event: &Event) -> Option<String> {
    let n = event.n;
    let text = match &event.outcome {
        Outcome::Blocked { by, .. } => format!("blocked: {n} waits{}", waits_for(script, by)),
        Outcome::Resumed(_) => format!("{n} resumes: {}", told(&event.sql, &event.outcome)),
        Outcome::Skipped { reason } => format!("{n} was never sent: {reason}"),
        Outcome::Ok(answer) => {
            let silent = answer.results.is_empty() && answer.affected.unwrap_or(0) == 0;
            let told = told(&event.sql, &event.outcome);
            return (!silent || told != "ok").then(|| format!("-- {n}: {}\n", visible(&told)));
        }
        Outcome::Error(_) => format!("{n} fails: {}", told(&event.sql, &event.outcome)),
    };
    Some(format!("-- {}\n", visible(&text)))
}
