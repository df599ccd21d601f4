//! What a level promises about writes: which serial orders may explain them, and what a write sees. The deviations from
//! it are read in [`crate::exception`].
//!
//! ```toml
//! [level.writes]
//! order = "commit"                # or: any
//! reads = "serial"                # or: free, locked
//! sees = "latest"                 # or: retried, statement-snapshot, transaction-snapshot, late-snapshot
//! locking_reads = "https://…"     # optional: rows that a locking read returned stay as they are until its end
//! url = "https://…"
//! says = "Every row and gap that a write looks at stays locked until the transaction ends."
//!
//! [level.writes.absent_keys]       # optional: point queries lock their key even if there is no row
//! quote = "they still lock the given primary key or unique key, …"
//! copied = "2026-09-12"
//! url = "https://…"
//! says = "…"
//!
//! [level.writes.one_writer]        # optional, with the same keys: one writer at a time in the whole database
//! ```

use anchorite_model::sql::StatementKind;
use serde::Deserialize;
use toml::Spanned;

use crate::quote::Quote;
use crate::source::{ClaimsError, Source};

/// Which serial orders of the committed transactions may explain what they wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialOrder {
    /// Only commit order: what a write examines stays locked until the end.
    Commit,
    /// Any order in which what finished before something else began also comes before it.
    Any,
}

/// What a level promises about reads, in addition to writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPlace {
    /// They need not fit any serial order.
    Free,
    /// The serial order that explains the writes explains them too.
    Serial,
    /// In addition, what is read inside a transaction stays locked until its end, so commit order also applies to
    /// transactions that only read.
    Locked,
}

/// Which versions of the rows decide what a write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteView {
    /// The latest committed version of each row while the statement runs.
    Latest,
    /// Those of one moment between the statement's beginning and its end: after a conflict it is executed anew.
    Retried,
    /// Those at the statement's beginning; a row changed since then is checked again.
    StatementSnapshot,
    /// Those at the transaction's beginning; a row changed since then is an error.
    TransactionSnapshot,
    /// The same, but a first statement that has to wait may take the snapshot when its wait is over.
    LateSnapshot,
}

/// Why a row that a write left unchanged, or two statements of one transaction, differ from every serial order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deviation {
    /// Another transaction had changed the row, but not committed, when the write began.
    Locked,
    /// The row, or its key, was not there when the write began.
    Inserted,
    /// The write had examined the row, which did not match then, and another transaction changed it afterwards.
    Released,
    /// A query inside the write read what was committed before the write came to its end.
    Earlier,
    /// Another transaction committed between two statements of the transaction.
    Between,
    /// A query inside a write read what another transaction had not committed.
    Uncommitted,
    /// The write checked the row by a version that another transaction had not committed.
    Held,
    /// A locking query outside a transaction read the tables of its subqueries, which it does not lock, as they were
    /// when it began.
    Nested,
    /// An INSERT that found one key taken kept no lock where it had found another one free.
    Unkept,
    /// A statement failed as if another transaction had been in the way, although none was at its tables.
    Failed,
    /// A table that another transaction emptied was empty to a snapshot that was taken before.
    Emptied,
    /// A plain read saw the version of the snapshot of a row that an UPDATE of its own transaction had found in a newer
    /// version, and left as it was.
    Unchanged,
}

impl Deviation {
    pub(crate) const ALL: [Self; 12] = [
        Self::Locked,
        Self::Inserted,
        Self::Released,
        Self::Earlier,
        Self::Between,
        Self::Uncommitted,
        Self::Held,
        Self::Nested,
        Self::Unkept,
        Self::Failed,
        Self::Emptied,
        Self::Unchanged,
    ];

    /// Whether it is about what a write sees of rows, so that the mechanism has to be followed. The others are about
    /// locks that are not kept, about failures, about tables as a whole, and about plain reads.
    pub const fn is_of_rows(self) -> bool {
        !matches!(
            self,
            Self::Nested | Self::Unkept | Self::Failed | Self::Emptied | Self::Unchanged
        )
    }

    /// The word of the claims files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Inserted => "inserted",
            Self::Released => "released",
            Self::Earlier => "earlier",
            Self::Between => "between",
            Self::Uncommitted => "uncommitted",
            Self::Held => "held",
            Self::Nested => "nested",
            Self::Unkept => "unkept",
            Self::Failed => "failed",
            Self::Emptied => "emptied",
            Self::Unchanged => "unchanged",
        }
    }
}

/// What a level promises about writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteClaims {
    /// Which serial orders may explain the final state.
    pub order: SerialOrder,
    /// Whether reads belong to that serial order too.
    pub reads: ReadPlace,
    /// What a write sees.
    pub sees: WriteView,
    /// The page on which the vendor says that no other transaction can change a row that a locking read returned until
    /// its transaction ends.
    pub locking_reads: Option<String>,
    /// Whether a statement whose condition is exactly a primary or unique key locks it even if there is no row.
    pub absent_keys: Option<LockPromise>,
    /// Whether there is one writer at a time in the whole database.
    pub one_writer: Option<LockPromise>,
    /// The vendor's page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
}

/// A promise about locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockPromise {
    /// The words of the vendor's page.
    pub quote: Quote,
    /// The page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
}

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteWord {
    /// `INSERT`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
    /// `REPLACE`
    Replace,
}

impl WriteWord {
    pub(crate) const ALL: [Self; 4] = [Self::Insert, Self::Update, Self::Delete, Self::Replace];

    /// The word of the claims files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Replace => "replace",
        }
    }

    /// The word for a statement that writes rows.
    pub const fn of(kind: &StatementKind) -> Option<Self> {
        match kind {
            StatementKind::Insert => Some(Self::Insert),
            StatementKind::Update => Some(Self::Update),
            StatementKind::Delete => Some(Self::Delete),
            StatementKind::Replace => Some(Self::Replace),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WritesText {
    order: Spanned<String>,
    reads: Spanned<String>,
    sees: Spanned<String>,
    locking_reads: Option<Spanned<String>>,
    absent_keys: Option<LockPromiseText>,
    one_writer: Option<LockPromiseText>,
    url: Spanned<String>,
    says: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockPromiseText {
    quote: Spanned<String>,
    copied: Spanned<String>,
    url: Spanned<String>,
    says: Spanned<String>,
}

impl Source<'_> {
    pub(crate) fn writes(self, text: &WritesText) -> Result<WriteClaims, ClaimsError> {
        let orders = [("commit", SerialOrder::Commit), ("any", SerialOrder::Any)];
        let views = [
            ("latest", WriteView::Latest),
            ("retried", WriteView::Retried),
            ("statement-snapshot", WriteView::StatementSnapshot),
            ("transaction-snapshot", WriteView::TransactionSnapshot),
            ("late-snapshot", WriteView::LateSnapshot),
        ];
        let reads = [
            ("free", ReadPlace::Free),
            ("serial", ReadPlace::Serial),
            ("locked", ReadPlace::Locked),
        ];
        Ok(WriteClaims {
            order: self.one_of(&text.order, &orders)?,
            reads: self.one_of(&text.reads, &reads)?,
            sees: self.one_of(&text.sees, &views)?,
            locking_reads: text.locking_reads.as_ref().map(|url| self.url(url)).transpose()?,
            absent_keys: text.absent_keys.as_ref().map(|it| self.lock_promise(it)).transpose()?,
            one_writer: text.one_writer.as_ref().map(|it| self.lock_promise(it)).transpose()?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }

    fn lock_promise(self, text: &LockPromiseText) -> Result<LockPromise, ClaimsError> {
        Ok(LockPromise {
            quote: self.words(&text.quote, &text.copied)?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }
}
