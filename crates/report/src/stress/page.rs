//! The page of a run: numbers, charts, anomalies.

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::chart::{Curve, chart};
use super::lanes::lanes;
use super::{Kind, Moment, Sheet, Witness};
use crate::escape::visible;

/// That of findings, and what is different here.
const STYLE: &str = concat!(include_str!("../finding/style.css"), include_str!("style.css"));

/// The page. `version` is Anchorite's own.
pub fn page(sheet: &Sheet, version: &str) -> String {
    let heading = format!("{} at {}", sheet.target, sheet.level);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(&heading)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (visible(&heading)) }
                dl { @for (name, value) in &sheet.facts {
                    dt { (visible(name)) } dd { (visible(value)) }
                } }
                (over_time(sheet))
                (overview(&sheet.kinds))
                @for kind in &sheet.kinds { (kind_told(kind)) }
                footer { "anchorite " (version) }
            }
        }
    };
    page.into_string() + "\n"
}

fn over_time(sheet: &Sheet) -> Markup {
    let values = |value: fn(&Moment) -> Option<f64>| sheet.moments.iter().map(value).collect();
    let rates = [
        Curve { name: "committed", class: "main", values: values(|moment| Some(moment.rate)) },
        Curve { name: "failed", class: "other", values: values(|moment| Some(moment.failures)) },
    ];
    let latencies = [
        Curve {
            name: "median",
            class: "main",
            values: values(|moment| moment.median.map(|us| us as f64)),
        },
        Curve {
            name: "99 of 100",
            class: "other",
            values: values(|moment| moment.high.map(|us| us as f64)),
        },
    ];
    markup! {
        h2 { "Transactions per second" }
        (chart(&rates, sheet.seconds, |value| format!("{value:.0} / s")))
        h2 { "Latency of a transaction" }
        (chart(&latencies, sheet.seconds, |value| format!("{:.1} ms", value / 1000.0)))
    }
}

fn overview(kinds: &[Kind]) -> Markup {
    markup! {
        h2 { "Anomalies" }
        @if kinds.is_empty() { p { "None was seen." } }
        @else {
            div.wide { table.list {
                thead { tr { th { "anomaly" } th { "what it is" } th { "verdict" } th { "count" } th { "page" } } }
                tbody { @for kind in kinds { tr {
                    td { a href={ "#" (anchor(kind)) } { (visible(&kind.name)) } }
                    td { (visible(&kind.explained)) }
                    td class=(kind.verdict) { (kind.verdict) }
                    td { (kind.count) }
                    td { (link(kind.page.as_deref())) }
                } } }
            } }
        }
    }
}

fn anchor(kind: &Kind) -> String {
    format!("{}-{}", kind.verdict, kind.name)
}

fn link(page: Option<&str>) -> Markup {
    let page = page.map(visible).unwrap_or_default();
    markup! { @if page.starts_with("https://") { a href=(page) { (page) } } @else { (page) } }
}

fn kind_told(kind: &Kind) -> Markup {
    markup! {
        section id=(anchor(kind)) {
            h2 class=(kind.verdict) {
                (kind.count) " × " (visible(&kind.name)) " (" (visible(&kind.explained)) "): " (kind.verdict)
            }
            @for witness in &kind.witnesses { (witness_told(witness)) }
        }
    }
}

fn witness_told(witness: &Witness) -> Markup {
    markup! {
        ul.because { @for sentence in &witness.because { li { (visible(sentence)) } } }
        (lanes(&witness.lanes))
        @if !witness.repeated.is_empty() { p.repeated { (visible(&witness.repeated)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::Lane;

    fn sheet() -> Sheet {
        let lane = |name: &str, times| Lane {
            name: name.to_owned(),
            session: "session 1".to_owned(),
            times,
            sql: vec!["BEGIN".to_owned(), "SELECT '<b>'".to_owned()],
        };
        let lanes = vec![lane("T1", Some((3, 9))), lane("T2", Some((4, 7))), lane("T3", None)];
        let because = vec!["T1 < T2, because of <script>".to_owned()];
        let witness = Witness { because, lanes, repeated: "shown by a case".to_owned() };
        let moment =
            |rate: f64| Moment { rate, failures: 1.0, median: Some(900), high: Some(4_000) };
        Sheet {
            target: "postgres 15".to_owned(),
            level: "read committed".to_owned(),
            facts: vec![("seed".to_owned(), "7".to_owned())],
            seconds: 1,
            moments: vec![moment(100.0), moment(200.0), moment(150.0)],
            kinds: vec![Kind {
                name: "P4".to_owned(),
                explained: "lost update".to_owned(),
                verdict: "allowed",
                count: 3,
                page: Some("https://example.org/levels".to_owned()),
                witnesses: vec![witness],
            }],
        }
    }

    #[test]
    fn a_page_needs_nothing_else_and_escapes_what_it_shows() {
        let page = page(&sheet(), "1.0");
        for part in
            ["200 / s", "4.0 ms", "3 × P4 (lost update): allowed", "&lt;script&gt;", "polyline"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("href=\"https://example.org/levels\""));
        for forbidden in ["<script", "src=", "<link", "@import", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn transactions_that_overlap_stand_beside_each_other() {
        let page = page(&sheet(), "1.0");
        // The moments are 3, 4, 7 and 9: rows 2 to 5.
        for place in ["grid-column: 1; grid-row: 2 / 5", "grid-column: 2; grid-row: 3 / 4"] {
            assert!(page.contains(place), "{place}: {page}");
        }
    }

    #[test]
    fn a_run_that_is_too_short_has_no_picture() {
        let page = page(&Sheet { moments: Vec::new(), kinds: Vec::new(), ..sheet() }, "1.0");
        assert!(page.contains("too short for a picture") && page.contains("None was seen."));
    }
}
