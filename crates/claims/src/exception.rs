//! Deviations that the vendor documents, with the sentence of the manual that says so; and deviations that only a
//! tracker or the source explains.
//!
//! ```toml
//! [[level.exception]]
//! name = "semi-consistent-read"
//! statements = ["update"]         # optional; left out: every write
//! rows = ["locked"]               # what it is about: some words of `Deviation`
//! scan = true                     # optional: only where the table is scanned, and not with a unique condition
//! since = "11.6"                  # optional: the first version that does so; before = first version no more
//! without = "some_setting=ON"     # optional: as for anomalies; or: with
//! quote = "If a row is already locked, …"   # the page's own words, at most 40
//! copied = "2026-09-12"           # when they were copied; the day may be left out
//! url = "https://…"
//! says = "An UPDATE judges a locked row by its last committed version and skips it if that does not match."
//! ```
//!
//! With `rank = "undocumented"` no page of a manual says so: `url` is that of the tracker or of the commit, and what
//! the entry explains is a violation of that rank. A quote of the manual would contradict it, so there is none.

use anchorite_model::Rank;
use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

use crate::Bounds;
use crate::bounds::BoundsText;
use crate::quote::Quote;
use crate::source::{ClaimsError, Source};
use crate::writes::{Deviation, WriteWord};

/// The most words of a quote.
const QUOTE_WORDS_MAX: usize = 40;

/// A deviation from what is promised whose cause is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Its name in verdicts.
    pub name: String,
    /// The kinds of writes that it is about; empty = all.
    pub statements: Vec<WriteWord>,
    /// What it is about.
    pub rows: Vec<Deviation>,
    /// Whether it is only about statements that scan their table, and not about unique conditions.
    pub scan: bool,
    /// Where it holds.
    pub bounds: Bounds,
    /// The words of the vendor's manual; `None` if the manual does not say it.
    pub quote: Option<Quote>,
    /// The vendor's page; without a quote, the tracker or the commit.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
}

impl Exception {
    /// The rank of a violation that it explains; `None` if it excuses what it explains.
    pub const fn rank(&self) -> Option<Rank> {
        if self.quote.is_some() { None } else { Some(Rank::Undocumented) }
    }

    /// Whether it excuses what it explains.
    pub const fn is_documented(&self) -> bool {
        self.quote.is_some()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExceptionText {
    name: Spanned<String>,
    #[serde(default)]
    statements: Vec<Spanned<String>>,
    rows: Vec<Spanned<String>>,
    #[serde(default)]
    scan: bool,
    since: Option<Spanned<String>>,
    before: Option<Spanned<String>>,
    with: Option<String>,
    without: Option<String>,
    rank: Option<Spanned<String>>,
    quote: Option<Spanned<String>>,
    copied: Option<Spanned<String>>,
    url: Spanned<String>,
    says: Spanned<String>,
}

impl Source<'_> {
    pub(crate) fn exception(self, text: &ExceptionText) -> Result<Exception, ClaimsError> {
        let rows = Deviation::ALL.map(|deviation| (deviation.name(), deviation));
        let words = WriteWord::ALL.map(|word| (word.name(), word));
        let bounds = BoundsText {
            since: text.since.as_ref(),
            before: text.before.as_ref(),
            with: text.with.as_ref(),
            without: text.without.as_ref(),
        };
        Ok(Exception {
            name: text.name.get_ref().clone(),
            statements: text
                .statements
                .iter()
                .map(|word| self.one_of(word, &words))
                .collect::<Result<_, _>>()?,
            rows: text.rows.iter().map(|row| self.one_of(row, &rows)).collect::<Result<_, _>>()?,
            scan: text.scan,
            bounds: self.bounds(&bounds, text.name.span())?,
            quote: self.quote(text)?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }

    /// The words of the manual: they are there if and only if the rank does not say that there are none.
    fn quote(self, text: &ExceptionText) -> Result<Option<Quote>, ClaimsError> {
        if let Some(rank) = &text.rank {
            self.one_of(rank, &[(Rank::Undocumented.name(), ())])?;
        }
        match (&text.rank, &text.quote, &text.copied) {
            (Some(_), None, None) => Ok(None),
            (None, Some(quote), Some(copied)) => Ok(Some(self.words(quote, copied)?)),
            (Some(rank), _, _) => {
                let reason = "what a manual says is not undocumented: expected no quote";
                Err(self.error(rank.span(), reason.to_owned()))
            }
            (None, _, _) => {
                let reason = format!(
                    "'{}' needs the page's words and when they were copied: expected quote = \"...\" and \
                     copied = \"2026-09-12\", or rank = \"undocumented\"",
                    text.name.get_ref()
                );
                Err(self.error(text.name.span(), reason))
            }
        }
    }

    /// The words of a page, and when they were copied.
    pub(crate) fn words(
        self,
        quote: &Spanned<String>,
        copied: &Spanned<String>,
    ) -> Result<Quote, ClaimsError> {
        Ok(Quote { words: self.verbatim(quote)?, copied: self.date(copied)? })
    }

    fn verbatim(self, text: &Spanned<String>) -> Result<String, ClaimsError> {
        let words: Vec<&str> = text.get_ref().split_whitespace().collect();
        if words.is_empty() || words.len() > QUOTE_WORDS_MAX {
            let reason =
                format!("a quote of {} words: expected 1 to {QUOTE_WORDS_MAX}", words.len());
            return Err(self.error(text.span(), reason));
        }
        Ok(words.join(" "))
    }

    /// A day, or a month.
    fn date(self, text: &Spanned<String>) -> Result<String, ClaimsError> {
        let is_day = |text: &str| {
            let read = text.parse::<Datetime>();
            read.is_ok_and(|read| read.date.is_some() && read.time.is_none())
        };
        let date = text.get_ref();
        if is_day(date) || is_day(&format!("{date}-01")) {
            return Ok(date.clone());
        }
        let reason = format!("'{date}' is not a date: expected 2026-09-12 or 2026-09");
        Err(self.error(text.span(), reason))
    }
}
