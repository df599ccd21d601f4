//! What `selftest` prints: the matrix as a table, and as JSON (a contract with scripts).

use std::fmt::Write as _;

use anchorite_hunt::selftest::{Findings, Honest, Planted};
use anchorite_model::TargetInfo;
use anchorite_report::hunt_summary::many;
use serde_json::{Value as Json, json};

/// The matrix as one JSON document.
pub fn json(findings: &[Findings], seed: u64) -> String {
    let results: Vec<Json> = findings
        .iter()
        .flat_map(|found| found.planted.iter().map(move |line| planted_json(found, line)))
        .collect();
    let honest: Vec<Json> = findings
        .iter()
        .flat_map(|found| found.honest.iter().map(move |line| honest_json(found, line)))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{}\n",
        json!({"anchorite": version, "seed": seed, "results": results, "honest": honest})
    )
}

fn planted_json(found: &Findings, line: &Planted) -> Json {
    json!({
        "target": target_json(&found.target),
        "level": found.level,
        "oracle": line.oracle.name(),
        "sabotage": line.sabotage.name(),
        "planted": line.planted,
        "found": line.found,
        "first_found_at_case": line.first_found_at_case,
        "first_missed_at_case": line.first_missed_at_case,
        "missed_as_allowed": line.allowed,
        "missed_as_undecided": line.undecided,
        "declared": line.declared,
    })
}

fn honest_json(found: &Findings, line: &Honest) -> Json {
    json!({
        "target": target_json(&found.target),
        "level": found.level,
        "oracle": line.oracle.name(),
        "cases": line.cases,
        "false_alarms": line.false_alarms,
        "known": line.known,
        "allowed": line.allowed,
        "undecided": line.undecided,
        "first_false_alarm_at_case": line.first_false_alarm.as_ref().map(|(number, _)| number),
    })
}

fn target_json(target: &TargetInfo) -> Json {
    let mut json = json!({"product": target.product.name(), "version": target.version});
    if !target.variant.is_empty() {
        json["variant"] = json!(target.variant);
    }
    json
}

/// The matrix for people.
pub fn text(findings: &[Findings], seed: u64) -> String {
    let mut text = String::from(
        "Faults are planted on purpose: each sabotage breaks isolation in its own way, where transactions overlap.\n\
         planted: cases in which it changed an answer or the final state    found: the oracle called it a violation\n",
    );
    for found in findings {
        table(found, seed, &mut text);
    }
    text
}

fn table(found: &Findings, seed: u64, out: &mut String) {
    for honest in &found.honest {
        let oracle = honest.oracle;
        line(out, &format!("\n{oracle} on {} at {}, seed {seed}\n", found.target, found.level));
        line(out, "  sabotage              found/planted  recall  first at case");
        let lines = found.planted.iter().filter(|line| line.oracle == oracle);
        let (declared, others): (Vec<&Planted>, Vec<&Planted>) =
            lines.partition(|line| line.declared);
        declared.iter().for_each(|planted| line(out, &row(planted)));
        if !others.is_empty() {
            line(out, &format!("  what {oracle} does not look at here:"));
            others.iter().for_each(|planted| line(out, &row(planted)));
        }
        line(
            out,
            &format!(
                "  without sabotage: {}, {}, {}, {} allowed by the vendor's documentation, {} undecided",
                many(honest.cases, "case", "cases"),
                many(honest.false_alarms, "false alarm", "false alarms"),
                many(honest.known, "known issue", "known issues"),
                honest.allowed,
                honest.undecided
            ),
        );
        if let Some((number, because)) = &honest.first_false_alarm {
            line(out, &format!("  first false alarm at case {number}: {}", because.join(" ")));
        }
        line(out, &format!("  {}", verdict(honest, &declared)));
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

fn row(line: &Planted) -> String {
    let share = format!("{}/{}", line.found, line.planted);
    let recall = match line.planted {
        0 => "-".to_owned(),
        planted => format!("{} %", line.found * 100 / planted),
    };
    let first = line.first_found_at_case.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let sentence = line.sabotage.sentence();
    let blind = if line.is_blind() { "MISSED: " } else { "" };
    format!("  {:<20}  {share:>13}  {recall:>6}  {first:>13}  {blind}{sentence}", line.sabotage)
}

/// The outcome, in a sentence.
fn verdict(honest: &Honest, declared: &[&Planted]) -> String {
    let names = |wanted: &dyn Fn(&Planted) -> bool| -> Vec<&str> {
        let lines = declared.iter().filter(|line| wanted(line));
        lines.map(|line| line.sabotage.name()).collect()
    };
    let missed = names(&Planted::is_blind);
    let never = names(&|line| line.planted == 0);
    let found = declared.len() - missed.len() - never.len();
    let mut sentence = match (honest.false_alarms, missed.is_empty()) {
        (0, true) if found == 1 => "good: 1 kind of fault was planted, and found".to_owned(),
        (0, true) => format!("good: {found} kinds of faults were planted and all of them found"),
        (0, false) => format!("FAILED: never found: {}", missed.join(", ")),
        (_, true) => "FAILED: honest runs were called violations".to_owned(),
        (_, false) => format!("FAILED: false alarms, and never found: {}", missed.join(", ")),
    };
    if !never.is_empty() {
        let _ = write!(sentence, "; never had an effect here: {}", never.join(", "));
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_drivers::sabotage::Sabotage;
    use anchorite_judge::oracles;

    #[test]
    fn what_could_not_be_planted_has_no_recall() {
        let planted = |planted, found| Planted {
            oracle: oracles::ALL[0],
            sabotage: Sabotage::ALL[0],
            declared: true,
            planted,
            found,
            allowed: 0,
            undecided: 0,
            first_found_at_case: None,
            first_missed_at_case: None,
        };
        let words = |line: &Planted| {
            row(line).split_whitespace().skip(1).take(3).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(&planted(0, 0)), ["0/0", "-", "-"]);
        assert_eq!(words(&planted(4, 3)), ["3/4", "75", "%"]);
    }
}
