//! The words that all forms of a finding share.

use anchorite_claims::{Anomaly, Version};
use anchorite_model::{Finding, Judgement, Origin, Product, Rank, Signature, TargetInfo, Verdict};

use crate::blame::{Blame, blame};
use crate::export::Form;

/// What was found, in words, with its name in parentheses if that differs.
pub(crate) fn anomaly(signature: &Signature) -> String {
    if let Some(exception) = &signature.exception {
        return format!("{} (a documented exception)", exception.replace('-', " "));
    }
    let name = &signature.anomaly;
    if !signature.rank.is_broken() {
        return format!("{} (undocumented)", name.replace('-', " "));
    }
    match name.parse::<Anomaly>() {
        Ok(anomaly) => format!("{} ({name})", anomaly.explained()),
        Err(_) if name.contains(' ') => name.clone(),
        Err(_) => name.replace('-', " "),
    }
}

/// The product in the vendor's spelling, and the version number.
pub(crate) fn product_and_version(target: &TargetInfo) -> String {
    let name = target.product.title();
    let variant = match target.variant.as_str() {
        "" => String::new(),
        variant => format!(" ({variant})"),
    };
    format!("{name} {}{variant}", version_number(target))
}

/// The numbers in a server's own words: `8.5.0` of `8.0.11-TiDB-v8.5.0-alpha`.
fn version_number(target: &TargetInfo) -> String {
    match Version::of(target).to_string() {
        none if none.is_empty() => target.version.clone(),
        numbers => numbers,
    }
}

/// The judgement that made it a finding.
pub(crate) fn deciding(finding: &Finding) -> Option<&Judgement> {
    let by_it = |judgement: &&Judgement| judgement.oracle == finding.signature.oracle;
    let violation = |judgement: &&Judgement| {
        judgement.signature(true).is_some_and(|signature| signature == finding.signature)
    };
    finding.judgements.iter().find(violation).or_else(|| finding.judgements.iter().find(by_it))
}

/// The oracles that see it: `final-state oracle`, `final-state and differential oracles`.
pub(crate) fn seen_by(finding: &Finding) -> String {
    let names = finding.seen_by();
    format!("{} {}", names.join(" and "), if names.len() == 1 { "oracle" } else { "oracles" })
}

/// The judgements of the other oracles.
pub(crate) fn others(finding: &Finding) -> impl Iterator<Item = &Judgement> {
    let deciding = deciding(finding);
    let is_deciding = move |judgement: &Judgement| {
        deciding.is_some_and(|deciding| std::ptr::eq(deciding, judgement))
    };
    finding.judgements.iter().filter(move |judgement| !is_deciding(judgement))
}

/// Why, in sentences.
pub(crate) fn because(verdict: &Verdict) -> &[String] {
    match verdict {
        Verdict::Violation { because, .. } | Verdict::Allowed { because, .. } => because,
        Verdict::Pass => &[],
        Verdict::Undecided { reason } => std::slice::from_ref(reason),
    }
}

/// A verdict in a few words.
pub(crate) fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Violation { anomaly, rank: Rank::Broken, .. } => format!("violation: {anomaly}"),
        Verdict::Violation { anomaly, rank: Rank::Undocumented, .. } => {
            format!("violation (undocumented): {anomaly}")
        }
        Verdict::Allowed { exception, .. } => format!("allowed: {exception}"),
        Verdict::Undecided { .. } => "undecided".to_owned(),
    }
}

/// The statement that is to blame, where one is.
pub(crate) fn blamed(finding: &Finding) -> Option<Blame> {
    let judgement = deciding(finding)?;
    match &judgement.verdict {
        Verdict::Violation { because, .. } => blame(&finding.run, because, &judgement.expected),
        _ => None,
    }
}

/// The page of an issue, if its name implies one.
pub(crate) fn issue_address(name: &str) -> Option<String> {
    let (tracker, number) = name.split_once('-')?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    let address = Product::all()
        .into_iter()
        .find_map(|product| product.descriptor().scripts.tracker.get(tracker))?;
    is_number.then(|| format!("{address}{number}"))
}

/// How many times it recurred.
pub(crate) fn rate(finding: &Finding) -> String {
    let confirmed = finding.confirmed;
    if confirmed.runs == 0 {
        return "seen once, not run again".to_owned();
    }
    format!("shown in {} of {} runs of the reduced case", confirmed.shown, confirmed.runs)
}

/// Where the case came from.
pub(crate) fn origin(finding: &Finding) -> String {
    match &finding.origin {
        Origin::Generated { seed, number } => format!("case {number} of seed {seed}"),
        Origin::File(name) => name.clone(),
    }
}

/// The command that shows it again.
pub(crate) fn replay(finding: &Finding) -> String {
    // A documented exception is a finding only in strict mode.
    let strict = if finding.signature.exception.is_some() { " --strict" } else { "" };
    let on = again(&finding.on, &finding.run.target);
    let options = options(finding);
    let before: String =
        finding.cases_before().into_iter().map(|(name, _)| format!("{name} ")).collect();
    let same_tables = if before.is_empty() { "" } else { " --same-tables" };
    let level = level_argument(finding);
    format!("anchorite run {before}reduced.case{same_tables} --on {on}{level}{options}{strict}")
}

/// What else the command needs.
fn options(finding: &Finding) -> String {
    finding.options.iter().map(|option| format!(" {option}")).collect()
}

fn level_argument(finding: &Finding) -> String {
    let level = finding.run.level;
    level.map(|level| format!(" --level {}", level.short())).unwrap_or_default()
}

/// Where to run it again: an external server by its address, anything else by product and version.
pub(crate) fn again(named: &str, target: &TargetInfo) -> String {
    if !named.contains("://") {
        return on(target);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || ":/@._-%+,=".contains(c);
    match named.chars().all(plain) {
        true => named.to_owned(),
        false => format!("'{}'", named.replace('\'', "'\\''")),
    }
}

/// The command that repeats the hunt, if it was found by one.
pub(crate) fn hunt_again(finding: &Finding) -> Option<String> {
    let on = again(&finding.on, &finding.run.target);
    match finding.origin {
        Origin::Generated { seed, .. } => {
            let (level, options) = (level_argument(finding), options(finding));
            Some(format!("anchorite hunt --on {on}{level}{options} --seed {seed}"))
        }
        Origin::File(_) => None,
    }
}

/// A target as `--on` takes it: `mariadb@10.11`, `postgres@15`, `sqlite:wal`.
pub(crate) fn on(target: &TargetInfo) -> String {
    let version = version_number(target);
    let numbers: Vec<&str> = version.split('.').collect();
    let descriptor = target.product.descriptor();
    if descriptor.is_embedded() {
        let known = descriptor.variants.contains(&target.variant);
        let variant = if known { format!(":{}", target.variant) } else { String::new() };
        return format!("{}{variant}", target.product);
    }
    let parts = descriptor.version.series;
    format!("{}@{}", target.product, numbers[..numbers.len().min(parts)].join("."))
}

/// A word that contains a web address: what precedes it, the address, what follows; the address is empty if there is
/// none.
pub(crate) fn address_in(word: &str) -> (&str, &str, &str) {
    let rest = word.trim_start_matches(['(', '<', '[']);
    let address = rest.trim_end_matches(['.', ',', ';', ':', ')', '>', ']']);
    let safe = |c: char| c.is_ascii_graphic() && !"<>|`\"\\".contains(c);
    if !address.starts_with("https://") || !address.chars().all(safe) {
        return (word, "", "");
    }
    (&word[..word.len() - rest.len()], address, &rest[address.len()..])
}

/// What a script is, for its heading.
pub(crate) fn script_title(form: Form) -> String {
    match form {
        Form::Sql => "SQL, one terminal per session".to_owned(),
        Form::Mtr => format!("mtr test ({})", users_of(form)),
        Form::Spec => format!("isolationtester spec ({})", users_of(form)),
        Form::Comments => "Script for `anchorite run`".to_owned(),
        Form::Svg => "Picture".to_owned(),
        Form::Dot => "Graph of the dependencies".to_owned(),
    }
}

/// The products whose own developers use a form.
fn users_of(form: Form) -> String {
    let is_one = |product: &Product| {
        product.descriptor().like.is_none() && Form::native_to(*product) == Some(form)
    };
    let users = Product::all().into_iter().filter(is_one);
    users.map(Product::title).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_short_in_titles_and_targets() {
        let target = |product, version: &str| TargetInfo {
            product,
            version: version.to_owned(),
            variant: String::new(),
        };
        let mariadb = target(Product::named("mariadb"), "10.11.18-MariaDB-deb12");
        assert_eq!(product_and_version(&mariadb), "MariaDB 10.11.18");
        assert_eq!(on(&mariadb), "mariadb@10.11");
        let postgres =
            target(Product::named("postgres"), "PostgreSQL 15.18 (Debian 15.18-1) on x86_64");
        assert_eq!(product_and_version(&postgres), "PostgreSQL 15.18");
        assert_eq!(on(&postgres), "postgres@15");
        assert_eq!(on(&target(Product::named("tidb"), "8.0.11-TiDB-v8.5.0-gac41d7")), "tidb@8.5");
        assert_eq!(product_and_version(&target(Product::named("tidb"), "nightly")), "TiDB nightly");
    }

    #[test]
    fn a_server_of_somebody_else_is_named_by_its_address() {
        let target = TargetInfo {
            product: Product::named("mariadb"),
            version: "10.11.18-MariaDB".to_owned(),
            variant: String::new(),
        };
        for (named, told) in [
            ("mariadb://root@127.0.0.1:3307/test", "mariadb://root@127.0.0.1:3307/test"),
            ("postgres://a@h/d?sslmode=require&x=1", "'postgres://a@h/d?sslmode=require&x=1'"),
            ("mysql://o'b@[::1]:1", "'mysql://o'\\''b@[::1]:1'"),
            ("mariadb", "mariadb@10.11"),
            ("", "mariadb@10.11"),
        ] {
            assert_eq!(again(named, &target), told);
        }
    }

    #[test]
    fn anomalies_are_told_in_words() {
        let told = |anomaly: &str, exception: Option<&str>| {
            super::anomaly(&Signature {
                oracle: "final-state".to_owned(),
                anomaly: anomaly.to_owned(),
                exception: exception.map(str::to_owned),
                rank: Rank::Broken,
            })
        };
        assert_eq!(told("P4", None), "lost update (P4)");
        assert_eq!(told("lost update", None), "lost update");
        assert_eq!(told("lost-write", None), "lost write");
        let excused = told("same-value-update", Some("same-value-update"));
        assert_eq!(excused, "same value update (a documented exception)");
        let undocumented = Signature {
            oracle: "final-state".to_owned(),
            anomaly: "dirty-look".to_owned(),
            exception: None,
            rank: Rank::Undocumented,
        };
        assert_eq!(anomaly(&undocumented), "dirty look (undocumented)");
    }
}
