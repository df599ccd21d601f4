//! A cycle of dependencies: arrows over the timeline, a list in Markdown, and text for Graphviz.
//!
//! Idea: a step of the cycle leads from the statement of one transaction to that of the one after it, with the kind of
//! dependency as its label (Adya's `ww`, `wr`, `rw`, `-predicate` if it goes through a condition). On a page the arrow
//! is stretched over the rows and lanes between both boxes; nothing has to be computed by a script. Assumption: lanes
//! have the same width. Blind spot: a transaction with several statements is one lane, not one box.

use anchorite_model::{Case, Dependency, Finding};
use maud::{Markup, html as markup};

use crate::entries::Entry;
use crate::escape::visible;
use crate::markup::{code, plain};

/// Where labels stand on their arrows, as parts of the way: not all in the middle, where arrows cross.
const LABELS: [f64; 4] = [0.25, 0.75, 0.45, 0.6];

/// The cycle that a finding is about; empty if it is about none.
pub(crate) fn cycle_of(finding: &Finding) -> &[Dependency] {
    let mut cycles = finding.judgements.iter().map(|judgement| judgement.cycle.as_slice());
    cycles.find(|cycle| !cycle.is_empty()).unwrap_or_default()
}

/// Both ends of a step among the entries of a timeline.
pub(crate) fn ends(entries: &[Entry<'_>], step: &Dependency) -> Option<(usize, usize)> {
    let place = |n: usize| entries.iter().rposition(|entry| entry.n == n);
    Some((place(step.from_step)?, place(step.to_step)?))
}

/// Where the label of a step stands on its arrow.
pub(crate) fn label_at(number: usize) -> f64 {
    LABELS[number % LABELS.len()]
}

/// A step in words.
pub(crate) fn told(step: &Dependency) -> String {
    let Dependency { from, to, kind, from_step, to_step } = step;
    format!("{from} before {to}: {kind}, by steps {from_step} and {to_step}")
}

/// The cycle as arrows in the grid of a page, whose first entry is in row `first_row`.
pub(crate) fn arrows(cycle: &[Dependency], entries: &[Entry<'_>], first_row: usize) -> Markup {
    markup! {
        @for (number, step) in cycle.iter().enumerate() {
            @if let Some((from, to)) = ends(entries, step) {
                (arrow(number, step, (entries[from].session, from), (entries[to].session, to), first_row))
            }
        }
    }
}

/// An arrow between two boxes, each a lane and a row.
fn arrow(
    number: usize,
    step: &Dependency,
    from: (usize, usize),
    to: (usize, usize),
    first_row: usize,
) -> Markup {
    let (left, right) = (from.0.min(to.0), from.0.max(to.0));
    let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
    let across = |lane: usize| ((lane - left) as f64 + 0.5) * 100.0 / ((right - left + 1) as f64);
    let down = |row: usize| if row == top { 0.0 } else { 100.0 };
    let ((x1, y1), (x2, y2)) = ((across(from.0), down(from.1)), (across(to.0), down(to.1)));
    let part = label_at(number);
    let (x, y) = (x1 + (x2 - x1) * part, y1 + (y2 - y1) * part);
    let place = format!(
        "grid-column: {} / {}; grid-row: {} / {}",
        left + 1,
        right + 2,
        top + first_row,
        bottom + first_row + 1
    );
    let head = format!("head-{number}");
    let percent = |value: f64| format!("{value:.1}%");
    markup! {
        div.edge style=(place) title=(visible(&told(step))) {
            svg xmlns="http://www.w3.org/2000/svg" role="img" {
                title { (visible(&told(step))) }
                marker id=(head) viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"
                    orient="auto" { path d="M0 0 L10 5 L0 10 z" fill="currentColor" {} }
                line x1=(percent(x1)) y1=(percent(y1)) x2=(percent(x2)) y2=(percent(y2))
                    marker-end=(format!("url(#{head})")) {}
                text x=(percent(x)) y=(percent(y)) text-anchor="middle" { (visible(&step.kind)) }
            }
        }
    }
}

/// The cycle as a section of Markdown.
pub(crate) fn markdown(cycle: &[Dependency]) -> String {
    if cycle.is_empty() {
        return String::new();
    }
    let line = |step: &Dependency| {
        let Dependency { from, to, kind, from_step, to_step } = step;
        let (from, to) = (plain(from), plain(to));
        format!("- {from} (step {from_step}) → {to} (step {to_step}): {}\n", code(kind))
    };
    let lines: String = cycle.iter().map(line).collect();
    format!("\n## The cycle\n\n{lines}")
}

/// The cycle as text for Graphviz.
pub fn dot(cycle: &[Dependency], case: &Case) -> String {
    let mut names: Vec<&str> =
        cycle.iter().flat_map(|step| [step.from.as_str(), step.to.as_str()]).collect();
    names.sort_unstable();
    names.dedup();
    let mut out = "digraph cycle {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  \
                   edge [fontname=\"sans-serif\", fontsize=10];\n"
        .to_owned();
    for name in names {
        let ends = cycle.iter().flat_map(|step| {
            [(step.from.as_str(), step.from_step), (step.to.as_str(), step.to_step)]
        });
        let mut steps: Vec<usize> =
            ends.filter(|(of, _)| *of == name).map(|(_, step)| step).collect();
        steps.sort_unstable();
        steps.dedup();
        let line = |n: &usize| {
            let step = n.checked_sub(1).and_then(|at| case.steps.get(at));
            format!("{n}  {}\\l", step.map_or("", |step| step.statement.sql.as_str()))
        };
        let lines: String = steps.iter().map(line).collect();
        out += &format!("  {} [label={}];\n", quoted(name), quoted(&format!("{name}\\n{lines}")));
    }
    for step in cycle {
        let (from, to) = (quoted(&step.from), quoted(&step.to));
        let label = quoted(&format!("{}\\n{} → {}", step.kind, step.from_step, step.to_step));
        out += &format!("  {from} -> {to} [label={label}];\n");
    }
    out + "}\n"
}

/// A text of Graphviz, in which `\n` and `\l` end lines.
fn quoted(text: &str) -> String {
    let text = text.replace('"', "\\\"").replace('\n', " ");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_text_for_graphviz() {
        let case = "/* t1 */ SELECT 1;\n/* t2 */ UPDATE t SET a = 'x\"y';\n";
        let case = Case::parse("c", case).expect("a case");
        let step = |from: &str, to: &str, kind: &str, from_step, to_step| Dependency {
            from: from.to_owned(),
            to: to.to_owned(),
            kind: kind.to_owned(),
            from_step,
            to_step,
        };
        let cycle = [step("t1", "t2", "rw-predicate", 1, 2), step("t2", "t1", "wr", 2, 1)];
        let graph = dot(&cycle, &case);
        for line in [
            r#"  "t1" [label="t1\n1  SELECT 1\l"];"#,
            r#"  "t2" [label="t2\n2  UPDATE t SET a = 'x\"y'\l"];"#,
            r#"  "t1" -> "t2" [label="rw-predicate\n1 → 2"];"#,
            r#"  "t2" -> "t1" [label="wr\n2 → 1"];"#,
        ] {
            assert!(graph.lines().any(|told| told == line), "{line}\n{graph}");
        }
        assert_eq!(markdown(&[]), "");
        let list =
            "- t1 (step 1) → t2 (step 2): `rw-predicate`\n- t2 (step 2) → t1 (step 1): `wr`\n";
        assert!(markdown(&cycle).ends_with(list), "{}", markdown(&cycle));
    }
}
