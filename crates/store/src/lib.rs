//! The findings folder: the only crate that writes it.
//!
//! Idea: a campaign can be killed at any moment without losing anything that was seen. A suspected violation is on disk
//! before it is examined; its outcome follows as a line in a journal. Every file is written to a temporary file,
//! synchronised and renamed, so a reader sees it complete or not at all. Journals grow, and are shortened to a
//! checkpoint now and then; a kill may leave a torn last line, which is dropped.
//!
//! ```text
//! DIR/campaign.json              seed, targets, levels, oracles, options: what `--resume` continues DIR/progress
//! journal: ranges of case numbers that are done, with their counts DIR/outcomes                   journal: what became
//! of each suspect; a second hit of a finding is a line here DIR/suspects/PLACE-NUMBER-ORACLE.*  violations not yet
//! examined (.case to read, .json to resume from) DIR/findings/FINGERPRINT/      finding.json, reduced.case,
//! original.case and the reports DIR/flaky/PLACE-NUMBER-ORACLE.* violations that recurred only sometimes, or never
//! DIR/crashes/NUMBER/            what was running when a server went away, and the last lines of its log
//! DIR/summary.json               the numbers at the end of the last session DIR/lock                       held while
//! a hunt works here; the kernel releases it when the hunt dies
//! ```
//!
//! Assumption: a local file system (`flock`, atomic `rename`).
//! Blind spot: after a power cut the last second of progress may be missing; those cases are run again.

mod atomic;
mod campaign;
mod checkpoint;
mod crash;
mod error;
mod findings;
mod folder;
mod journal;
mod lock;
mod ranges;
mod running;
mod settled;
mod store;
mod suspect;

pub use campaign::{Campaign, CampaignTarget};
pub use checkpoint::Counts;
pub use crash::{Crash, RunningCase};
pub use error::StoreError;
pub use findings::{Filed, Page, Pages};
pub use journal::{Conclusion, Outcome, Progress};
pub use ranges::Ranges;
pub use running::{RunningFile, RunsFor, still_running};
pub use store::{Past, Store};
pub use suspect::{Spot, Suspect};
