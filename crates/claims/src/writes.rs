//! What a level promises about writes: which serial orders may explain them, what a write sees, and the
//! documented deviations.
//!
//! ```toml
//! [level.writes]
//! order = "commit"                # or: any
//! reads = "serial"                # or: free, locked
//! sees = "latest"                 # or: statement-snapshot, transaction-snapshot, late-snapshot
//! locking_reads = "https://…"     # optional: rows that a locking read returned stay as they are until its end
//! url = "https://…"
//! says = "Every row and gap that a write looks at stays locked until the transaction ends."
//!
//! [[level.exception]]
//! name = "semi-consistent-read"
//! statements = ["update"]         # optional; left out: every write
//! rows = ["locked"]               # some of: locked, passed, between, uncommitted, held, nested, unkept
//! since = "11.6"                  # optional: the first version that does so
//! url = "https://…"
//! says = "An UPDATE judges a locked row by its last committed version and skips it if that does not match."
//! ```

use anchorite_model::sql::StatementKind;
use anchorite_model::{Level, TargetInfo};
use serde::Deserialize;
use toml::Spanned;

use crate::source::{ClaimsError, Source};
use crate::{Claims, Version};

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
    /// Another transaction changed the row after the write had begun.
    Passed,
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
}

impl Deviation {
    const ALL: [Self; 7] = [
        Self::Locked,
        Self::Passed,
        Self::Between,
        Self::Uncommitted,
        Self::Held,
        Self::Nested,
        Self::Unkept,
    ];

    /// The word of the claims files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Passed => "passed",
            Self::Between => "between",
            Self::Uncommitted => "uncommitted",
            Self::Held => "held",
            Self::Nested => "nested",
            Self::Unkept => "unkept",
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
    /// The vendor's page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
}

/// A deviation that the vendor documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Its name in verdicts.
    pub name: String,
    /// The kinds of writes that it is about; empty = all.
    pub statements: Vec<WriteWord>,
    /// What it excuses.
    pub rows: Vec<Deviation>,
    /// The first version that behaves so; `None` = all.
    pub since: Option<Version>,
    /// The vendor's page.
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
    const ALL: [(&'static str, Self); 4] = [
        ("insert", Self::Insert),
        ("update", Self::Update),
        ("delete", Self::Delete),
        ("replace", Self::Replace),
    ];

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

/// What is documented about the writes of one level.
#[derive(Debug, Clone)]
pub struct DocumentedWrites<'a> {
    /// The promise.
    pub claims: &'a WriteClaims,
    /// The exceptions from it.
    pub exceptions: Vec<&'a Exception>,
}

impl<'a> DocumentedWrites<'a> {
    /// The exception that excuses this deviation of this kind of write.
    pub fn excuse(&self, word: WriteWord, deviation: Deviation) -> Option<&'a Exception> {
        self.exceptions.iter().copied().find(|exception| {
            exception.rows.contains(&deviation)
                && (exception.statements.is_empty() || exception.statements.contains(&word))
        })
    }
}

impl Claims {
    /// What is documented about writes at a level of a target.
    pub fn writes(&self, target: &TargetInfo, level: Level) -> Option<DocumentedWrites<'_>> {
        let said = self.level(level).filter(|said| said.is_offered_by(target))?;
        let said = self.level(said.same_as.unwrap_or(level))?;
        let claims = said.writes.as_ref()?;
        let version = Version::of(target);
        let is_in_force =
            |exception: &&Exception| exception.since.as_ref().is_none_or(|since| version >= *since);
        let exceptions = said.exceptions.iter().filter(is_in_force).collect();
        Some(DocumentedWrites { claims, exceptions })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WritesText {
    order: Spanned<String>,
    reads: Spanned<String>,
    sees: Spanned<String>,
    locking_reads: Option<Spanned<String>>,
    url: Spanned<String>,
    says: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExceptionText {
    name: Spanned<String>,
    #[serde(default)]
    statements: Vec<Spanned<String>>,
    rows: Vec<Spanned<String>>,
    since: Option<Spanned<String>>,
    url: Spanned<String>,
    says: Spanned<String>,
}

impl Source<'_> {
    pub(crate) fn writes(self, text: &WritesText) -> Result<WriteClaims, ClaimsError> {
        let orders = [("commit", SerialOrder::Commit), ("any", SerialOrder::Any)];
        let views = [
            ("latest", WriteView::Latest),
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
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }

    pub(crate) fn exception(self, text: &ExceptionText) -> Result<Exception, ClaimsError> {
        let rows = Deviation::ALL.map(|deviation| (deviation.name(), deviation));
        Ok(Exception {
            name: text.name.get_ref().clone(),
            statements: text
                .statements
                .iter()
                .map(|word| self.one_of(word, &WriteWord::ALL))
                .collect::<Result<_, _>>()?,
            rows: text.rows.iter().map(|row| self.one_of(row, &rows)).collect::<Result<_, _>>()?,
            since: text.since.as_ref().map(|since| self.read(since)).transpose()?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }
}
