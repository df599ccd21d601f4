//! Which versions a wrong read saw and which it should have seen: a picture on a page, a table in Markdown.
//!
//! Idea: one line per row, its versions from left to right in the order in which they were made; the one that was seen
//! is framed in red, the one that should have been in green, and both say so in words.

use anchorite_model::{Finding, RowVersions, Value, VersionSeen, VersionsSeen};
use maud::{Markup, html as markup};

use crate::escape::visible;
use crate::markup::{plain, row};
use crate::tuples::tuple;

/// The width of a character, the height of a box, and the space around it.
const CHARACTER: usize = 8;
const BOX: usize = 40;
const GAP: usize = 24;
/// From one row to the next.
const LINE: usize = 84;

/// What the wrong read of a finding saw, if that is known.
pub(super) fn versions_seen(finding: &Finding) -> Option<&VersionsSeen> {
    finding.judgements.iter().find_map(|judgement| judgement.seen.as_deref())
}

/// As a picture.
pub(super) fn picture(seen: &VersionsSeen) -> Markup {
    let width = seen.rows.iter().map(|row| places(row).1).max().unwrap_or_default();
    let height = seen.rows.len() * LINE + GAP;
    markup! {
        h3 { (heading(seen)) }
        div.wide {
            svg xmlns="http://www.w3.org/2000/svg" role="img" width=(width) height=(height)
                font-family="monospace" font-size="13" {
                title { (heading(seen)) }
                @for (at, row) in seen.rows.iter().enumerate() { (line(row, at * LINE + GAP)) }
            }
        }
    }
}

/// The versions of one row.
fn line(row: &RowVersions, y: usize) -> Markup {
    let (places, _) = places(row);
    markup! {
        @for (i, (version, (x, width))) in row.versions.iter().zip(places).enumerate() {
            @if i > 0 {
                line x1=(x - GAP) y1=(y + BOX / 2) x2=(x) y2=(y + BOX / 2) stroke="var(--faint)" {}
            }
            rect x=(x) y=(y) width=(width) height=(BOX) rx="4" fill="var(--box)"
                stroke=(colour(version)) stroke-width=(if is_marked(version) { 3 } else { 1 }) {}
            text x=(x + CHARACTER) y=(y + 17) fill="var(--ink)" { (visible(&values(version))) }
            text x=(x + CHARACTER) y=(y + 33) fill="var(--faint)" { (visible(&origin(version))) }
            text x=(x) y=(y - 6) fill=(colour(version)) { (mark(version)) }
        }
    }
}

/// Where the boxes begin and how wide they are; and where the last one ends.
fn places(row: &RowVersions) -> (Vec<(usize, usize)>, usize) {
    let mut x = 2;
    let mut places = Vec::new();
    for version in &row.versions {
        let texts = [values(version), origin(version), mark(version).to_owned()];
        let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
        let width = (longest + 2) * CHARACTER;
        places.push((x, width));
        x += width + GAP;
    }
    (places, x)
}

/// As a table.
pub(super) fn table(seen: &VersionsSeen) -> String {
    let mut out = format!("\n## {}\n\n", plain(&heading(seen)));
    let names = ["table", "version", "made by", "state", "the read"];
    out += &row(names.into_iter());
    out += &row(names.iter().map(|_| "---"));
    for of_row in &seen.rows {
        for version in &of_row.versions {
            let values = values(version);
            let cells: [&str; 5] =
                [&of_row.table, &values, &version.made_by, &version.state, mark(version)];
            let cells = cells.map(plain);
            out += &row(cells.iter().map(String::as_str));
        }
    }
    out
}

fn heading(seen: &VersionsSeen) -> String {
    format!("What step {} of {} saw", seen.n, seen.transaction)
}

fn values(version: &VersionSeen) -> String {
    let told = |values: &Vec<Value>| tuple(values);
    version.values.as_ref().map_or_else(|| "no row".to_owned(), told)
}

fn origin(version: &VersionSeen) -> String {
    format!("by {}, {}", version.made_by, version.state)
}

const fn is_marked(version: &VersionSeen) -> bool {
    version.saw || version.should_see
}

const fn mark(version: &VersionSeen) -> &'static str {
    match (version.saw, version.should_see) {
        (true, false) => "saw this",
        (false, true) => "should have seen this",
        (true, true) => "saw this, as it should",
        (false, false) => "",
    }
}

const fn colour(version: &VersionSeen) -> &'static str {
    match (version.saw, version.should_see) {
        (true, false) => "var(--bad)",
        (_, true) => "var(--good)",
        (false, false) => "var(--line)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(value: i128, saw: bool, should_see: bool) -> VersionSeen {
        let (made_by, state) = ("t2".to_owned(), "committed".to_owned());
        VersionSeen { values: Some(vec![Value::Int(value)]), made_by, state, saw, should_see }
    }

    #[test]
    fn what_was_seen_is_marked_in_the_picture_and_in_the_table() {
        let versions = vec![version(1, true, false), version(2, false, true)];
        let rows = vec![RowVersions { table: "t".to_owned(), versions }];
        let seen = VersionsSeen { n: 3, transaction: "t1".to_owned(), rows };
        let drawn = picture(&seen).into_string();
        for text in ["What step 3 of t1 saw", "(1)", "saw this", "should have seen this"] {
            assert!(drawn.contains(text), "{text}: {drawn}");
        }
        let listed = table(&seen);
        assert!(
            listed.contains("| t | (2) | t2 | committed | should have seen this |"),
            "{listed}"
        );
    }
}
