//! The end of a hunt, for people.
//!
//! Idea: a user who runs the first command of the README should understand what was done, what was found, where it is
//! and what to try next; the last line is the seed, so that it is never lost.

use anchorite_model::{FindingLine, HuntSummary, Level, Product};

use crate::TextOptions;
use crate::escape::visible;
use crate::finding::{anomaly_told, product_told, target_argument};
use crate::hunt_summary::{Found, capital, many, place_told, seen_by, told_in_sentences};
use crate::page::{INDENT, Page, paint, prose, section};
use crate::style::{Ink, Line};

/// A server of each dialect, the first that is listed.
fn servers_to_try() -> Vec<Product> {
    let mut servers: Vec<Product> = Vec::new();
    for product in Product::all().into_iter().filter(|one| !one.descriptor().is_embedded()) {
        if servers.iter().all(|server| server.dialect() != product.dialect()) {
            servers.push(product);
        }
    }
    servers
}

/// The summary as text.
pub fn text(summary: &HuntSummary, options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut out = Vec::new();
    out.push(Line::of(Ink::Title, "What was done"));
    for place in &summary.places {
        page.indented(Ink::Plain, &visible(&format!("Hunted on {}.", place_told(place))), &mut out);
    }
    for sentence in told_in_sentences(summary) {
        page.indented(Ink::Plain, &visible(&sentence), &mut out);
    }
    section("What was found", &mut out);
    found(summary, &page, &mut out);
    if let Some(folder) = &summary.folder {
        section("Where it is", &mut out);
        let told = format!(
            "{folder}: a folder per finding with report.md, report.html, lanes.svg and scripts."
        );
        page.indented(Ink::Plain, &visible(&told), &mut out);
    }
    section("What to try next", &mut out);
    next(summary, &mut out);
    out.push(Line::default());
    out.push(Line::of(Ink::Plain, format!("seed {}", summary.seed)));
    paint(&out, options.style)
}

fn found(summary: &HuntSummary, page: &Page, out: &mut Vec<Line>) {
    let found = Found::of(summary);
    let ink = match found {
        Found { new: 1.., .. } => Ink::Bad,
        _ if found.is_nothing() && is_clean(summary) => Ink::Good,
        _ => Ink::Warning,
    };
    page.indented(ink, &format!("{}.", capital(&found.told())), out);
    if summary.cases == 0 {
        page.indented(Ink::Warning, "No case was run.", out);
    } else if ink == Ink::Good {
        page.indented(Ink::Good, "No promise was seen broken.", out);
    }
    if found.new > 0 && found.new == found.undocumented {
        let told = "No promise was seen broken, but no page of the vendor documents what follows.";
        page.indented(Ink::Warning, told, out);
    }
    // Broken promises first.
    let mut lines: Vec<&FindingLine> = summary.new_findings().collect();
    lines.sort_by_key(|line| line.signature.rank);
    for (i, line) in lines.into_iter().enumerate() {
        finding(i + 1, line, page, out);
    }
    for (name, hits) in summary.known_issues() {
        let told = format!("Known issue {name}: seen {}.", many(hits, "time", "times"));
        page.indented(Ink::Plain, &visible(&told), out);
    }
    for (exception, count) in &summary.allowed_by {
        let times = many(*count, "time", "times");
        let told = format!("Allowed by the vendor's documentation: {exception}, {times}.");
        page.indented(Ink::Plain, &visible(&told), out);
    }
}

/// Whether the hunt was completed and examined everything.
fn is_clean(summary: &HuntSummary) -> bool {
    summary.cases > 0
        && summary.verdicts.violation == 0
        && summary.servers_lost == 0
        && summary.stopped.is_none()
}

fn finding(number: usize, line: &FindingLine, page: &Page, out: &mut Vec<Line>) {
    let level = line.level.map_or("default level", Level::name);
    let property = anomaly_told(&line.signature);
    let what = if line.title.is_empty() { &property } else { &line.title };
    let title = format!("{number}. {}, {level}: {what}", product_told(&line.target));
    page.indented(Ink::Bad, &visible(&title), out);
    // What does not recur has no reduced schedule.
    let length = match line.statements {
        0 => String::new(),
        count => format!(", {}", many(count, "statement", "statements")),
    };
    let seen = many(line.hits, "time", "times");
    let about = format!("{property}, found by {}{length}, seen {seen}", seen_by(line));
    let cause = line.cause.as_ref().map(|cause| format!("cause: {cause}"));
    let places = if line.seen_at.is_empty() { &line.levels } else { &line.seen_at };
    let seen_at = (places.len() > 1).then(|| format!("seen at {}", places.join(", ")));
    let ours = line.known.as_ref().map(|name| format!("found before as {name}, and in no tracker"));
    let about = std::iter::once(about).chain(cause).chain(seen_at).chain(ours);
    for text in about.chain([line.file.clone()]) {
        for piece in prose(Ink::Plain, &visible(&text), page.prose - 2 * INDENT) {
            out.push(piece.indented(2 * INDENT));
        }
    }
}

fn next(summary: &HuntSummary, out: &mut Vec<Line>) {
    let mut ideas: Vec<(String, &str)> = Vec::new();
    let first = summary.new_findings().next();
    if let (Some(folder), Some(_)) = (&summary.folder, first) {
        ideas.push((
            format!("anchorite report {folder} --html report.html"),
            "all findings on one page",
        ));
    }
    if first.is_some() {
        ideas.push((
            "anchorite export FINDING.json --to sql".to_owned(),
            "a script for two terminals",
        ));
    }
    let embedded =
        summary.places.iter().all(|place| place.target.product.descriptor().is_embedded());
    if embedded {
        let words = ["a private server, started for you", "another one"];
        let servers = servers_to_try().into_iter().zip(words);
        ideas.extend(servers.map(|(name, why)| (format!("anchorite hunt --on {name}"), why)));
    }
    let on = match summary.places.first() {
        Some(place) if !embedded => format!(" --on {}", target_argument(&place.on, &place.target)),
        _ => String::new(),
    };
    ideas
        .push((format!("anchorite selftest{on}"), "plants faults and sees whether they are found"));
    ideas.push((format!("anchorite probe{on}"), "which anomalies each level allows"));
    let widest = ideas.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, why) in ideas {
        let mut line = Line::of(Ink::Plain, " ".repeat(INDENT));
        line.push(Ink::Title, visible(&command));
        line.pad_to(INDENT + widest + INDENT);
        line.push(Ink::Faint, why);
        out.push(line);
    }
}
