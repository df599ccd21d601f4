//! The HTML page of a run: from what was counted to what the page shows.

use std::path::Path;

use anchorite_report::stress::{Kind, Lane, Moment, Sheet, Witness, page};
use anchorite_stress::{Finding, Interval, Ran};
use anyhow::Context;

use super::output::{About, anomalies, names, rate};

/// Writes it.
pub fn write(path: &Path, about: &About<'_>, ran: &Ran) -> anyhow::Result<()> {
    let text = page(&sheet(about, ran), env!("CARGO_PKG_VERSION"));
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn sheet(about: &About<'_>, ran: &Ran) -> Sheet {
    let kinds = anomalies(ran).map(|(standing, name, tally)| {
        let first = tally.findings.first().map(|finding| &finding.weighed);
        Kind {
            name: name.to_owned(),
            explained: first.map_or("", |one| one.explained).to_owned(),
            verdict: standing.name(),
            count: tally.count,
            page: first.and_then(|one| one.page.clone()),
            witnesses: tally.findings.iter().map(witness).collect(),
        }
    });
    let seconds = ran.series.seconds;
    Sheet {
        target: about.info.to_string(),
        level: ran.level_read_back.clone(),
        facts: facts(about, ran),
        seconds,
        moments: ran.series.intervals.iter().map(|one| moment(one, seconds as f64)).collect(),
        kinds: kinds.collect(),
    }
}

fn facts(about: &About<'_>, ran: &Ran) -> Vec<(String, String)> {
    let counts = &ran.counts;
    let by_name = |all: Vec<String>| match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    };
    let aborts = counts.aborts.iter().map(|(class, count)| format!("{count} {}", class.name()));
    let faults = counts.faults.iter().map(|(fault, count)| format!("{count} {fault}"));
    let latencies = ran.series.latencies();
    let millis = |share: f64| match latencies.share(share) {
        Some(us) => format!("{:.1} ms", us as f64 / 1000.0),
        None => "-".to_owned(),
    };
    let mut facts = vec![
        ("seed".to_owned(), about.seed.to_string()),
        ("workloads".to_owned(), names(about.workloads).join(", ")),
        ("sessions".to_owned(), about.sessions.to_string()),
        ("time".to_owned(), format!("{:.1} s", ran.took.as_secs_f64())),
        ("committed".to_owned(), format!("{} ({} per second)", ran.committed, rate(ran))),
        ("statements".to_owned(), counts.statements.to_string()),
        (
            "latency".to_owned(),
            format!(
                "half {}, 99 of 100 {}, 999 of 1000 {}",
                millis(0.5),
                millis(0.99),
                millis(0.999)
            ),
        ),
        ("rolled back".to_owned(), counts.rolled_back.to_string()),
        ("aborts".to_owned(), by_name(aborts.collect())),
        ("faults".to_owned(), by_name(faults.collect())),
    ];
    if counts.unknown > 0 {
        let [gone, there] = counts.resolved;
        let told = format!("{}; {there} were there, {gone} were not", counts.unknown);
        facts.push(("commits that were not answered".to_owned(), told));
    }
    if let Some(error) = &ran.lost {
        facts.push(("ended early".to_owned(), error.message.clone()));
    }
    facts
}

fn moment(interval: &Interval, seconds: f64) -> Moment {
    Moment {
        rate: interval.committed as f64 / seconds,
        failures: interval.failed as f64 / seconds,
        median: interval.latencies.share(0.5),
        high: interval.latencies.share(0.99),
    }
}

fn witness(finding: &Finding) -> Witness {
    let lanes = finding.transactions.iter().map(|told| Lane {
        name: format!("T{}", told.txn),
        session: told.session.map_or(String::new(), |session| format!("session {}", session + 1)),
        times: told.times,
        sql: told.sql.clone(),
    });
    Witness {
        because: finding.because.clone(),
        lanes: lanes.collect(),
        repeated: finding.repeated.clone().unwrap_or_default(),
    }
}
