//! What the reads of a level see: of which moment, and whose versions.
//!
//! ```toml
//! [[level.read]]
//! statement = "plain"             # or: single, optimistic, locking
//! sees = "transaction-snapshot"   # or: uncommitted, statement-snapshot, refreshed, latest, checked-again, retried
//! taken = "first-read"            # when a transaction's snapshot is taken; or: begin, first-statement, late
//! since = "11.6"                  # optional: as for anomalies; also before, with, without
//! variants = ["shared-cache"]     # optional: the variants of an embedded engine; such an entry comes before others
//! quote = "All consistent reads …"   # the page's own words, at most 40
//! copied = "2026-09-12"           # when they were copied; the day may be left out
//! url = "https://…"
//! says = "Plain reads of one transaction see the snapshot of the first one."
//! ```
//!
//! Where the manual is silent there is no entry, and such reads are not judged.

use serde::Deserialize;
use toml::Spanned;

use crate::Bounds;
use crate::bounds::BoundsText;
use crate::quote::Quote;
use crate::source::{ClaimsError, Source};

/// A kind of read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadKind {
    /// A SELECT without a locking clause, in a transaction.
    Plain,
    /// The same outside of a transaction, where it differs.
    Single,
    /// The same in a transaction that leaves all conflicts to its COMMIT, where it differs.
    Optimistic,
    /// A SELECT with a locking clause, in a transaction.
    Locking,
}

impl ReadKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Single, Self::Optimistic, Self::Locking];

    /// The word of the claims files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Single => "single",
            Self::Optimistic => "optimistic",
            Self::Locking => "locking",
        }
    }
}

/// Which versions a read sees, in addition to those of its own transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadView {
    /// The latest ones, committed or not.
    Uncommitted,
    /// Those that were committed when the statement began.
    StatementSnapshot,
    /// Those that were committed at one moment of the transaction.
    TransactionSnapshot,
    /// Those that were committed at one moment since the transaction began; it may be a later one for later reads, as
    /// long as nothing that was read before has changed.
    Refreshed,
    /// The latest committed version of each row, which is locked then.
    Latest,
    /// Those that were committed when the statement began; a row that was changed since is checked again.
    CheckedAgain,
    /// Those of one moment between the statement's beginning and its end: after a conflict it is executed anew.
    Retried,
}

impl ReadView {
    const ALL: [Self; 7] = [
        Self::Uncommitted,
        Self::StatementSnapshot,
        Self::TransactionSnapshot,
        Self::Refreshed,
        Self::Latest,
        Self::CheckedAgain,
        Self::Retried,
    ];

    /// The word of the claims files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncommitted => "uncommitted",
            Self::StatementSnapshot => "statement-snapshot",
            Self::TransactionSnapshot => "transaction-snapshot",
            Self::Refreshed => "refreshed",
            Self::Latest => "latest",
            Self::CheckedAgain => "checked-again",
            Self::Retried => "retried",
        }
    }
}

/// When the snapshot of a transaction is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SnapshotTaken {
    /// By BEGIN.
    Begin,
    /// By the first plain read.
    FirstRead,
    /// By the first statement that looks at rows, whether it reads or writes.
    FirstStatement,
    /// By the first plain read, or by a statement before it that had to look at rows.
    Late,
}

impl SnapshotTaken {
    const ALL: [Self; 4] = [Self::Begin, Self::FirstRead, Self::FirstStatement, Self::Late];

    /// The word of the claims files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::FirstRead => "first-read",
            Self::FirstStatement => "first-statement",
            Self::Late => "late",
        }
    }
}

/// What a level promises about one kind of read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadClaim {
    /// The kind.
    pub kind: ReadKind,
    /// What it sees.
    pub sees: ReadView,
    /// When the snapshot is taken, if the transaction has one.
    pub taken: Option<SnapshotTaken>,
    /// Where it holds.
    pub bounds: Bounds,
    /// The variants of the engine that it is about; empty = all that no other entry is about.
    pub variants: Vec<String>,
    /// The words of the vendor's manual.
    pub quote: Quote,
    /// The vendor's page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
}

impl ReadClaim {
    /// Whether both may apply to one read.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.bounds.meet(&other.bounds)
            && self.variants.is_empty() == other.variants.is_empty()
            && (self.variants.is_empty()
                || self.variants.iter().any(|variant| other.variants.contains(variant)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadText {
    statement: Spanned<String>,
    sees: Spanned<String>,
    taken: Option<Spanned<String>>,
    since: Option<Spanned<String>>,
    before: Option<Spanned<String>>,
    with: Option<String>,
    without: Option<String>,
    #[serde(default)]
    variants: Vec<String>,
    quote: Spanned<String>,
    copied: Spanned<String>,
    url: Spanned<String>,
    says: Spanned<String>,
}

impl Source<'_> {
    pub(crate) fn read_claim(self, text: &ReadText) -> Result<ReadClaim, ClaimsError> {
        let bounds = BoundsText {
            since: text.since.as_ref(),
            before: text.before.as_ref(),
            with: text.with.as_ref(),
            without: text.without.as_ref(),
        };
        let sees = self.one_of(&text.sees, &ReadView::ALL.map(|view| (view.name(), view)))?;
        let moments = SnapshotTaken::ALL.map(|moment| (moment.name(), moment));
        let taken = text.taken.as_ref().map(|taken| self.one_of(taken, &moments)).transpose()?;
        let has_snapshot = matches!(sees, ReadView::TransactionSnapshot | ReadView::Refreshed);
        if has_snapshot != taken.is_some() {
            let reason = "expected taken = \"...\" with transaction-snapshot and refreshed, and nowhere else";
            return Err(self.error(text.sees.span(), reason.to_owned()));
        }
        let kinds = ReadKind::ALL.map(|kind| (kind.name(), kind));
        Ok(ReadClaim {
            kind: self.one_of(&text.statement, &kinds)?,
            sees,
            taken,
            bounds: self.bounds(&bounds, text.statement.span())?,
            variants: text.variants.clone(),
            quote: self.words(&text.quote, &text.copied)?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }
}
