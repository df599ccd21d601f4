//! SQLite, in this process.
//!
//! Idea: SQLite itself says when it would wait: it calls the connection's busy handler. So each session has its own
//! thread, and its busy handler does what waiting means: it reports "blocked" and stays inside the call until another
//! session may have released something; then SQLite tries again by itself. The statement is run once, the locks that
//! SQLite keeps while it waits (PENDING, for instance) stay as they are, and a wait in the middle of a statement (a
//! cache spill) is a wait like any other. There are no timers. Only one thread runs at a time: `submit` returns when
//! its statement is answered or waits, so the same schedule gives the same run.
//!
//! Source: <https://www.sqlite.org/c3ref/busy_handler.html>, <https://www.sqlite.org/lockingv3.html>,
//! <https://www.sqlite.org/sharedcache.html>, <https://www.sqlite.org/unlock_notify.html>.
//!
//! What is an error instead of a wait, because SQLite refuses to wait:
//!
//! * SQLITE_BUSY without a call of the busy handler: waiting could never end (a reader that wants to
//!   write while a writer waits for readers). Class deadlock; the transaction stays open.
//! * SQLITE_BUSY_SNAPSHOT (WAL): the transaction has read an old snapshot and wants to write. Class conflict; the
//!   transaction stays open, but only ROLLBACK helps.
//!
//! Shared cache: a table lock does not call the busy handler but fails with SQLITE_LOCKED_SHAREDCACHE, before the
//! statement has done anything (all table locks are taken by its first instructions). The documented way to
//! wait for it, `sqlite3_unlock_notify`, runs the statement again; so does the session's thread here, and a
//! wait that would close a circle is refused with class deadlock, as that function does.
//!
//! Settings that differ from SQLite's own: `synchronous = OFF` (the file lives as long as the run),
//! `foreign_keys = ON` (as in every other product).
//!
//! Blind spots: databases added with ATTACH are not looked at when blockers are named; `PRAGMA
//! busy_timeout` in a case has no effect, the limit is [`crate::SessionOptions::lock_wait`].

mod apart;
mod error;
mod folder;
mod holding;
mod marked;
mod schema;
mod session;
mod shared_state;
mod worker;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use apart::{SqliteApart, serve};

use anchorite_model::{Level, Product, TargetInfo};

use crate::mark::Marked;
use crate::{Schema, Target, TargetError};

/// How SQLite is set up, where that changes its behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Rollback journal: `sqlite`.
    Journal,
    /// Write-ahead log: `sqlite:wal`.
    Wal,
    /// All sessions share one cache, and lock tables in it: `sqlite:shared-cache`.
    SharedCache,
}

impl Variant {
    /// The word after `sqlite:`, empty for the rollback journal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Journal => "",
            Self::Wal => "wal",
            Self::SharedCache => "shared-cache",
        }
    }

    const fn levels(self) -> &'static [Level] {
        match self {
            Self::Journal | Self::Wal => &[Level::Serializable],
            Self::SharedCache => &[Level::ReadUncommitted, Level::Serializable],
        }
    }
}

/// The embedded engine in one of its variants.
#[derive(Debug)]
pub struct Sqlite {
    variant: Variant,
    info: TargetInfo,
}

impl Sqlite {
    /// The engine in the variant that a target names: `""`, `"wal"` or `"shared-cache"`.
    pub fn connect(variant: &str) -> Result<Self, TargetError> {
        let known = [Variant::Journal, Variant::Wal, Variant::SharedCache];
        let found = known.into_iter().find(|known| known.name() == variant);
        let variant = found.ok_or_else(|| TargetError::Connect {
            endpoint: format!("sqlite:{variant}"),
            reason: "expected sqlite, sqlite:wal or sqlite:shared-cache".to_owned(),
        })?;
        Ok(Self::new(variant))
    }

    /// The engine in this variant.
    pub fn new(variant: Variant) -> Self {
        let info = TargetInfo {
            product: Product::named("sqlite"),
            version: rusqlite::version().to_owned(),
            variant: variant.name().to_owned(),
        };
        Self { variant, info }
    }
}

impl Target for Sqlite {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn levels(&self) -> &[Level] {
        self.variant.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        Ok(Box::new(schema::SqliteSchema::create(self.variant, self.info.clone())?))
    }

    fn marked(&self) -> Result<Vec<Marked>, TargetError> {
        Ok(marked::list())
    }

    fn remove_marked(&self, marked: &Marked) -> Result<(), TargetError> {
        marked::remove(marked).map_err(|error| TargetError::Prepare {
            target: self.info.to_string(),
            reason: format!("cannot remove {}: {error}", marked.name),
        })
    }
}

/// A folder that is removed with the value.
#[derive(Debug)]
pub struct ScratchFolder(tempfile::TempDir);

impl ScratchFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A folder for files that belong to this process, beside those of databases and like them removed by a later command
/// if this process is killed.
pub fn scratch_folder() -> std::io::Result<ScratchFolder> {
    marked::create().map(ScratchFolder)
}

/// Where database files are created: in memory if the system supports that.
fn folder_for_databases() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}
