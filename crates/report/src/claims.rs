//! What a vendor promises, with the pages that say so: text, Markdown and JSON.
//!
//! Idea: a report refers to promises and to documented exceptions; here they can be read before anything is run. One
//! [`Sheet`] per product, with what applies to a version if one is named, else with the bounds of each entry.
//!
//! Blind spot: apart from the quotes the words are ours; the page decides.

use anchorite_claims::{
    Bounds, Claim, Claims, Exception, LevelClaims, LockPromise, Quote, ReadClaim, ReadPlace,
    SerialOrder, Setting, SnapshotTaken, Subject, Version, WriteClaims, WriteView,
};
use anchorite_model::{Level, Rank, TargetInfo};
use serde_json::{Value, json};

use crate::TextOptions;
use crate::markup::{link, plain};
use crate::page::{Page, paint, section};
use crate::style::{Ink, Line};

/// What is shown of one product.
#[derive(Debug, Clone)]
pub struct Sheet<'a> {
    /// The product; its version is empty if none was named.
    pub target: TargetInfo,
    /// What it promises.
    pub claims: &'a Claims,
    /// The levels to show; empty = all.
    pub levels: Vec<Level>,
}

/// An entry of a level: what it is about, what is said, and where.
struct Entry<'a> {
    head: String,
    says: &'a str,
    quote: Option<&'a Quote>,
    url: &'a str,
}

impl<'a> Entry<'a> {
    const fn new(head: String, says: &'a str, url: &'a str) -> Self {
        Self { head, says, quote: None, url }
    }
}

impl Sheet<'_> {
    fn title(&self) -> String {
        let name = self.target.product.title();
        match (self.target.version.as_str(), self.target.variant.as_str()) {
            ("", "") => name.to_owned(),
            ("", variant) => format!("{name} ({variant})"),
            (version, _) => format!("{name} {version}"),
        }
    }

    /// The levels to show.
    fn levels(&self) -> impl Iterator<Item = &LevelClaims> {
        let is_wanted =
            |one: &&LevelClaims| self.levels.is_empty() || self.levels.contains(&one.level);
        let fits = |one: &&LevelClaims| {
            one.variants.is_empty()
                || self.target.variant.is_empty()
                || one.variants.contains(&self.target.variant)
        };
        self.claims.levels.iter().filter(is_wanted).filter(fits)
    }

    /// Whether an entry with these bounds applies; without a version everything does.
    fn applies(&self, bounds: &Bounds) -> bool {
        self.target.version.is_empty() || bounds.include(&Version::of(&self.target))
    }

    fn anomalies<'c>(&self, level: &'c LevelClaims) -> Vec<&'c Claim> {
        let applies = |claim: &&Claim| self.applies(&claim.bounds);
        level.claims.iter().filter(applies).collect()
    }

    fn reads<'c>(&self, level: &'c LevelClaims) -> Vec<&'c ReadClaim> {
        let variant = &self.target.variant;
        let fits = |read: &&ReadClaim| {
            read.variants.is_empty() || variant.is_empty() || read.variants.contains(variant)
        };
        let applies = |read: &&ReadClaim| self.applies(&read.bounds) && fits(read);
        level.reads.iter().filter(applies).collect()
    }

    fn exceptions<'c>(&self, level: &'c LevelClaims) -> Vec<&'c Exception> {
        let applies = |exception: &&Exception| self.applies(&exception.bounds);
        level.exceptions.iter().filter(applies).collect()
    }

    /// Everything that is said about a level, in the order in which it is shown.
    fn entries<'c>(&self, level: &'c LevelClaims) -> Vec<Entry<'c>> {
        let mut entries = vec![Entry::new(offered(level), &level.says, &level.url)];
        if let Some(writes) = &level.writes {
            let head = format!("writes: {}", writes_told(writes));
            entries.push(Entry::new(head, &writes.says, &writes.url));
            let kept = "what a locking read returned stays as it is until its transaction ends";
            let locking = |url: &'c String| Entry::new(kept.to_owned(), "", url);
            entries.extend(writes.locking_reads.as_ref().map(locking));
            let absent = "a point query locks a key that is not there";
            let one = "there is one writer at a time";
            let promises = [(absent, &writes.absent_keys), (one, &writes.one_writer)];
            entries.extend(promises.into_iter().filter_map(|(head, promise)| {
                let LockPromise { says, quote, url } = promise.as_ref()?;
                Some(Entry { head: head.to_owned(), says, quote: Some(quote), url })
            }));
        }
        entries.extend(self.reads(level).into_iter().map(|read| Entry {
            head: read_told(read),
            says: &read.says,
            quote: Some(&read.quote),
            url: &read.url,
        }));
        entries.extend(self.anomalies(level).into_iter().map(|claim| Entry {
            head: format!("{}: {}{}", subjects(claim), claim.promise.name(), told(&claim.bounds)),
            says: &claim.says,
            quote: None,
            url: &claim.url,
        }));
        entries.extend(self.exceptions(level).into_iter().map(|exception| Entry {
            head: exception_told(exception),
            says: &exception.says,
            quote: exception.quote.as_ref(),
            url: &exception.url,
        }));
        entries
    }
}

fn offered(level: &LevelClaims) -> String {
    let mut told = if level.offered { "offered".to_owned() } else { "not offered".to_owned() };
    told += &since(level.since.as_ref());
    if let Some(other) = level.same_as {
        told += &format!(", another name of {}", other.name());
    }
    format!("{told} ({})", level.spelling)
}

fn since(version: Option<&Version>) -> String {
    version.map(|version| format!(", since {version}")).unwrap_or_default()
}

fn told(bounds: &Bounds) -> String {
    let mut told = since(bounds.since.as_ref());
    if let Some(before) = &bounds.before {
        told += &format!(", before {before}");
    }
    if let Some(setting) = &bounds.setting {
        let with = if setting.is_on { "with" } else { "without" };
        told += &format!(", {with} {}", setting.read_back);
    }
    told
}

/// `plain reads: transaction-snapshot, taken: first-read`.
fn read_told(read: &ReadClaim) -> String {
    let taken = read.taken.map(|taken| format!(", taken: {}", taken.name())).unwrap_or_default();
    let variants = match read.variants.as_slice() {
        [] => String::new(),
        variants => format!(" ({})", variants.join(", ")),
    };
    let (kind, sees) = (read.kind.name(), read.sees.name());
    format!("{kind} reads{variants}: {sees}{taken}{}", told(&read.bounds))
}

/// `exception semi-consistent-read (update by a scan), before 11.6.2`, `undocumented: dirty-look (update)`.
fn exception_told(exception: &Exception) -> String {
    let statements = words_of(exception).join(", ");
    let statements = match (statements.as_str(), exception.scan) {
        ("", false) => String::new(),
        ("", true) => " (by a scan)".to_owned(),
        (words, false) => format!(" ({words})"),
        (words, true) => format!(" ({words} by a scan)"),
    };
    let kind = if exception.is_documented() { "exception" } else { "undocumented:" };
    format!("{kind} {}{statements}{}", exception.name, told(&exception.bounds))
}

/// The kinds of writes that an exception is about; empty = all.
fn words_of(exception: &Exception) -> Vec<&'static str> {
    exception.statements.iter().map(|word| word.name()).collect()
}

/// The page's own words, and when they were copied.
fn quoted(quote: &Quote) -> String {
    format!("\u{201c}{}\u{201d} (copied {})", quote.words, quote.copied)
}

fn subject(subject: &Subject) -> &str {
    match subject {
        Subject::Anomaly(anomaly) => anomaly.name(),
        Subject::Case(name) => name,
    }
}

fn subjects(claim: &Claim) -> String {
    claim.subjects.iter().map(subject).collect::<Vec<_>>().join(", ")
}

const fn order(writes: &WriteClaims) -> &'static str {
    match writes.order {
        SerialOrder::Commit => "commit",
        SerialOrder::Any => "any",
    }
}

const fn reads(writes: &WriteClaims) -> &'static str {
    match writes.reads {
        ReadPlace::Free => "free",
        ReadPlace::Serial => "serial",
        ReadPlace::Locked => "locked",
    }
}

const fn sees(writes: &WriteClaims) -> &'static str {
    match writes.sees {
        WriteView::Latest => "latest",
        WriteView::Retried => "retried",
        WriteView::StatementSnapshot => "statement-snapshot",
        WriteView::TransactionSnapshot => "transaction-snapshot",
        WriteView::LateSnapshot => "late-snapshot",
    }
}

/// `as in commit order, reads free, each sees latest`.
fn writes_told(writes: &WriteClaims) -> String {
    let order = match writes.order {
        SerialOrder::Commit => "as in the order of the commits",
        SerialOrder::Any => "as in some serial order",
    };
    let reads = match writes.reads {
        ReadPlace::Free => "reads need not fit it",
        ReadPlace::Serial | ReadPlace::Locked => "reads fit it too",
    };
    let sees = match writes.sees {
        WriteView::Latest => "a write sees the latest committed rows",
        WriteView::Retried => "a write sees one committed state, a newer one after each conflict",
        WriteView::StatementSnapshot => "a write sees the rows of its beginning and checks again",
        WriteView::TransactionSnapshot => "a write sees the rows of its transaction's beginning",
        WriteView::LateSnapshot => "a write sees the rows of its transaction's first read",
    };
    format!("{order}; {reads}; {sees}")
}

/// For people.
pub fn text(sheets: &[Sheet<'_>], options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut out: Vec<Line> = Vec::new();
    for sheet in sheets {
        page.rule(&mut out);
        out.push(Line::of(Ink::Title, sheet.title()));
        for level in sheet.levels() {
            section(level.level.name(), &mut out);
            for Entry { head, says, quote, url } in sheet.entries(level) {
                let said = if says.is_empty() { head } else { format!("{head}. {says}") };
                page.indented(Ink::Plain, &said, &mut out);
                if let Some(quote) = quote {
                    page.indented(Ink::Plain, &quoted(quote), &mut out);
                }
                page.indented(Ink::Faint, url, &mut out);
            }
        }
    }
    paint(&out, options.style)
}

/// For pasting.
pub fn markdown(sheets: &[Sheet<'_>]) -> String {
    let mut out = String::new();
    for sheet in sheets {
        out += &format!("# What {} promises\n", plain(&sheet.title()));
        for level in sheet.levels() {
            out += &format!("\n## {}\n\n", level.level.name());
            for Entry { head, says, quote, url } in sheet.entries(level) {
                let said =
                    if says.is_empty() { String::new() } else { format!(" {}", plain(says)) };
                let quote = quote.map(|quote| format!(" {}", plain(&quoted(quote))));
                let quote = quote.unwrap_or_default();
                out += &format!("- **{}.**{said}{quote} {}\n", plain(&head), link(url));
            }
        }
        out.push('\n');
    }
    out
}

/// For scripts.
pub fn json(sheets: &[Sheet<'_>], version: &str) -> String {
    let products: Vec<Value> = sheets.iter().map(product_json).collect();
    let document = json!({ "anchorite": version, "products": products });
    format!("{document:#}\n")
}

fn product_json(sheet: &Sheet<'_>) -> Value {
    let levels: Vec<Value> = sheet.levels().map(|level| level_json(sheet, level)).collect();
    json!({
        "product": sheet.target.product.name(),
        "version": (!sheet.target.version.is_empty()).then_some(&sheet.target.version),
        "manual": sheet.claims.manual.as_ref().map(ToString::to_string),
        "levels": levels,
    })
}

fn setting(bounds: &Bounds) -> Option<Value> {
    let told = |setting: &Setting| json!({"read_back": setting.read_back, "is_on": setting.is_on});
    bounds.setting.as_ref().map(told)
}

fn written(version: &Option<Version>) -> Option<String> {
    version.as_ref().map(ToString::to_string)
}

fn read_json(read: &ReadClaim) -> Value {
    json!({
        "statement": read.kind.name(),
        "sees": read.sees.name(),
        "taken": read.taken.map(SnapshotTaken::name),
        "variants": read.variants,
        "since": written(&read.bounds.since),
        "before": written(&read.bounds.before),
        "setting": setting(&read.bounds),
        "quote": read.quote.words,
        "copied": read.quote.copied,
        "url": read.url,
        "says": read.says,
    })
}

fn promise_json(promise: &LockPromise) -> Value {
    json!({
        "quote": promise.quote.words,
        "copied": promise.quote.copied,
        "url": promise.url,
        "says": promise.says,
    })
}

fn level_json(sheet: &Sheet<'_>, level: &LevelClaims) -> Value {
    let anomalies = sheet.anomalies(level).into_iter().map(|claim| {
        json!({
            "names": claim.subjects.iter().map(subject).collect::<Vec<_>>(),
            "claim": claim.promise.name(),
            "since": written(&claim.bounds.since),
            "before": written(&claim.bounds.before),
            "setting": setting(&claim.bounds),
            "url": claim.url,
            "says": claim.says,
        })
    });
    let exceptions = sheet.exceptions(level).into_iter().map(|exception| {
        json!({
            "name": exception.name,
            "rank": exception.rank().map(Rank::name),
            "statements": words_of(exception),
            "rows": exception.rows.iter().map(|row| row.name()).collect::<Vec<_>>(),
            "scan": exception.scan,
            "since": written(&exception.bounds.since),
            "before": written(&exception.bounds.before),
            "setting": setting(&exception.bounds),
            "quote": exception.quote.as_ref().map(|quote| &quote.words),
            "copied": exception.quote.as_ref().map(|quote| &quote.copied),
            "url": exception.url,
            "says": exception.says,
        })
    });
    let writes = level.writes.as_ref().map(|writes| {
        json!({
            "order": order(writes),
            "reads": reads(writes),
            "sees": sees(writes),
            "locking_reads": writes.locking_reads,
            "absent_keys": writes.absent_keys.as_ref().map(promise_json),
            "one_writer": writes.one_writer.as_ref().map(promise_json),
            "url": writes.url,
            "says": writes.says,
        })
    });
    json!({
        "level": level.level.name(),
        "spelling": level.spelling,
        "offered": level.offered,
        "since": written(&level.since),
        "same_as": level.same_as.map(Level::name),
        "url": level.url,
        "says": level.says,
        "anomalies": anomalies.collect::<Vec<_>>(),
        "writes": writes,
        "reads": sheet.reads(level).into_iter().map(read_json).collect::<Vec<_>>(),
        "exceptions": exceptions.collect::<Vec<_>>(),
    })
}
