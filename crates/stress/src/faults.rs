//! Faults: what is done to sessions and to the server while a run goes on, and when.
//!
//! Idea: a fault comes after a number of transactions that the seed chooses, not after a time, so that a busy machine
//! gets as many faults per transaction as an idle one. Which moment of a transaction it hits is left to chance.
//!
//! Source: Jepsen's nemeses. Blind spot: faults of a network; a disk that forgets what it was told to keep, or keeps
//! the later of two things without the earlier one.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::random::Random;

/// The streams of random choices below this number belong to transactions.
const STREAM: u64 = 1 << 63;

/// A pause lasts at least this long, and at most as long again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The server is told to end a connection.
    KillSession,
    /// The server is told to cancel what a connection executes.
    Cancel,
    /// We close a connection while it executes something.
    Cut,
    /// The server is killed and started again on its data.
    KillServer,
    /// The server's processes are stopped for a while.
    Pause,
    /// The disk with the data has no room for a while.
    FillDisk,
    /// The machine stops, and everything is gone that no disk was told to keep.
    LosePower,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::KillSession,
        Self::Cancel,
        Self::Cut,
        Self::KillServer,
        Self::Pause,
        Self::FillDisk,
        Self::LosePower,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KillSession => "kill-session",
            Self::Cancel => "cancel",
            Self::Cut => "cut",
            Self::KillServer => "kill-server",
            Self::Pause => "pause",
            Self::FillDisk => "fill-disk",
            Self::LosePower => "lose-power",
        }
    }

    /// Whether it is done to the server, which must have been started for the run.
    pub const fn needs_server(self) -> bool {
        matches!(self, Self::KillServer | Self::Pause | Self::FillDisk | Self::LosePower)
    }

    /// Whether the server may crash by it: only its safest settings keep everything then.
    pub const fn needs_durability(self) -> bool {
        matches!(self, Self::KillServer | Self::FillDisk)
    }

    /// Whether the server is started again afterwards, on what it finds: it knows none of its connections any more.
    pub const fn restarts(self) -> bool {
        matches!(self, Self::KillServer | Self::LosePower)
    }

    /// Whether the server is told to do it by a statement.
    pub const fn needs_statement(self) -> bool {
        matches!(self, Self::KillSession | Self::Cancel)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault '{0}'")]
pub struct UnknownFault(pub String);

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let found = Self::ALL.into_iter().find(|fault| fault.name() == text);
        found.ok_or_else(|| UnknownFault(text.to_owned()))
    }
}

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// While it executes a statement of the transaction.
    Body,
    /// While it executes the COMMIT.
    End,
}

/// One fault of a run, with the choices that it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// What.
    pub fault: Fault,
    /// When this many transactions have begun.
    pub after: u64,
    /// Whom, if it is done to a session: a number to be divided by that of the sessions.
    pub session: u64,
    /// Where, if a connection is cut.
    pub cut_at: CutAt,
    /// How long, if it has a length.
    pub length: Duration,
}

/// The faults of a run, one after the other.
#[derive(Debug, Clone)]
pub struct Schedule {
    faults: Vec<Fault>,
    every: u64,
    seed: u64,
    count: u64,
    after: u64,
}

impl Schedule {
    /// One fault for so many transactions on average, of these kinds.
    pub fn new(faults: &[Fault], every: u64, seed: u64) -> Self {
        Self { faults: faults.to_vec(), every: every.max(2), seed, count: 0, after: 0 }
    }
}

impl Iterator for Schedule {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        self.count += 1;
        let mut random = Random::new(self.seed, STREAM + self.count);
        let fault = *self.faults.get(random.below(self.faults.len() as u64) as usize)?;
        self.after += self.every / 2 + random.below(self.every);
        let more = random.below(PAUSE.as_millis() as u64);
        Some(Planned {
            fault,
            after: self.after,
            session: random.below(1 << 20),
            cut_at: if random.percent(60) { CutAt::End } else { CutAt::Body },
            length: PAUSE + Duration::from_millis(more),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_made_again_from_its_seed_and_keeps_its_rate() {
        let faults = |seed| Schedule::new(&Fault::ALL, 100, seed).take(400).collect::<Vec<_>>();
        assert_eq!(faults(7), faults(7));
        assert_ne!(faults(7), faults(8));
        let all = faults(7);
        let last = all.last().expect("faults without end").after;
        assert!((36_000..44_000).contains(&last), "{last}");
        assert!(all.is_sorted_by(|a, b| a.after < b.after));
        assert!(Fault::ALL.iter().all(|kind| all.iter().any(|one| one.fault == *kind)));
        assert_eq!(Schedule::new(&[], 100, 7).next(), None);
    }

    #[test]
    fn names_are_read_back() {
        for fault in Fault::ALL {
            assert_eq!(fault.name().parse(), Ok(fault));
        }
        assert!("earthquake".parse::<Fault>().is_err());
    }
}
