//! What all models share: the versions of rows, who holds what, and the fault that may be planted.

use crate::statement::{Change, Condition, Statement, Values};

/// A transaction's number.
pub type Who = usize;

#[derive(Debug, Clone, Copy)]
pub struct Version {
    pub values: Option<Values>,
    pub who: Who,
    /// The statement that made it.
    pub n: usize,
    pub committed: Option<usize>,
}

#[derive(Debug, Clone, Default)]
pub struct Row {
    pub versions: Vec<Version>,
}

/// What is done wrong, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A row that matches is missed.
    Missed,
    /// A row that does not match is changed.
    Extra,
    /// A version is made from one that is not the latest.
    Lost,
    /// A row is judged by a version that is not the latest.
    Stale,
    /// A row that another transaction holds is changed at once.
    NoWait,
    /// A version that is not committed is used.
    Dirty,
    /// A plain read sees what others have not committed.
    ReadsDirty,
    /// A plain read sees an older state than it should.
    ReadsStale,
    /// A plain read sees what was committed after its snapshot.
    ReadsLater,
    /// A plain read does not see what its own transaction has written.
    ReadsNotOwn,
    /// A plain read misses a row.
    ReadsLess,
}

impl Fault {
    pub const ALL: [Self; 6] =
        [Self::Missed, Self::Extra, Self::Lost, Self::Stale, Self::NoWait, Self::Dirty];

    /// Those of plain reads.
    pub const OF_READS: [Self; 5] =
        [Self::ReadsDirty, Self::ReadsStale, Self::ReadsLater, Self::ReadsNotOwn, Self::ReadsLess];
}

/// A plan to do something wrong at one of the occasions.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub fault: Fault,
    pub occasions_left: usize,
}

/// How a statement goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Done,
    WaitsFor(Who),
    DuplicateKey,
    Conflict,
}

/// A statement that is being executed.
#[derive(Debug, Clone)]
pub struct Running {
    pub who: Who,
    /// Its number in the schedule.
    pub n: usize,
    pub statement: Statement,
    /// The moment of its snapshot.
    pub snapshot: usize,
    pub affected: u64,
    pub rows_read: Vec<Values>,
    /// The rows that it is done with.
    pub seen: Vec<usize>,
    /// How far a scan has come.
    pub position: i128,
}

pub struct World {
    pub rows: Vec<Row>,
    pub moment: usize,
    /// Rows that a transaction has locked; whether others may share the lock.
    pub locks: Vec<(Who, usize, bool)>,
    /// Keys that a transaction has locked, from and below, and whether others may share.
    pub ranges: Vec<(Who, i128, i128)>,
    /// An UPDATE that does not change a row leaves no version and is not counted.
    pub counts_changes: bool,
    pub plan: Option<Plan>,
}

impl World {
    pub fn new(rows: &[Values], counts_changes: bool, plan: Option<Plan>) -> Self {
        let first = |values: &Values| Row {
            versions: vec![Version {
                values: Some(*values),
                who: Who::MAX,
                n: 0,
                committed: Some(0),
            }],
        };
        let rows = rows.iter().map(first).collect();
        let (locks, ranges) = (Vec::new(), Vec::new());
        Self { rows, moment: 0, locks, ranges, counts_changes, plan }
    }

    /// Whether to do this wrong now.
    pub fn goes_wrong(&mut self, fault: Fault) -> bool {
        let Some(plan) = self.plan.as_mut().filter(|plan| plan.fault == fault) else {
            return false;
        };
        let now = plan.occasions_left == 1;
        plan.occasions_left = plan.occasions_left.saturating_sub(1);
        now
    }

    pub fn own(&self, row: usize, who: Who) -> Option<Version> {
        let is_own = |version: &&Version| version.who == who && version.committed.is_none();
        self.rows[row].versions.iter().rev().find(is_own).copied()
    }

    pub fn committed(&self, row: usize, until: usize) -> Option<Version> {
        let versions = self.rows[row].versions.iter();
        let done = versions.filter(|version| version.committed.is_some_and(|at| at <= until));
        done.max_by_key(|version| version.committed).copied()
    }

    /// What a transaction sees of a row at a moment.
    pub fn visible(&self, row: usize, who: Who, until: usize) -> Option<Values> {
        self.own(row, who).or_else(|| self.committed(row, until))?.values
    }

    pub fn latest(&self, row: usize, who: Who) -> Option<Values> {
        self.visible(row, who, usize::MAX)
    }

    /// The version that another transaction has not committed.
    pub fn uncommitted(&self, row: usize, who: Who) -> Option<Version> {
        let versions = self.rows[row].versions.iter().rev();
        versions.copied().find(|version| version.committed.is_none() && version.who != who)
    }

    /// The other transaction that holds a row.
    pub fn holder(&self, row: usize, who: Who, to_share: bool) -> Option<Who> {
        let writer = self.uncommitted(row, who).map(|version| version.who);
        let is_in_the_way =
            |lock: &&(Who, usize, bool)| lock.1 == row && lock.0 != who && !(lock.2 && to_share);
        writer.or_else(|| self.locks.iter().find(is_in_the_way).map(|lock| lock.0))
    }

    /// The keys at which a row stands, for everybody: of the latest committed version, and of those that are not.
    pub fn keys(&self, row: usize) -> Vec<i128> {
        let open = self.rows[row].versions.iter().filter(|version| version.committed.is_none());
        let versions = self.committed(row, usize::MAX).into_iter().chain(open.copied());
        versions.filter_map(|version| Some(version.values?[0])).collect()
    }

    /// Whether a key can be used: it is free, taken, or another transaction decides.
    /// A key that is taken stays locked.
    pub fn key(&mut self, key: i128, who: Who) -> Progress {
        let locked = self
            .ranges
            .iter()
            .find(|(other, from, below)| *other != who && (*from..*below).contains(&key));
        if let Some((other, ..)) = locked {
            return Progress::WaitsFor(*other);
        }
        for row in 0..self.rows.len() {
            if let Some(open) = self.uncommitted(row, who) {
                if self.keys(row).contains(&key) {
                    return Progress::WaitsFor(open.who);
                }
            } else if self.latest(row, who).is_some_and(|values| values[0] == key) {
                if let Some(holder) = self.holder(row, who, true) {
                    return Progress::WaitsFor(holder);
                }
                self.locks.push((who, row, true));
                return Progress::DuplicateKey;
            }
        }
        Progress::Done
    }

    /// Changes a row, which is locked: from this version.
    pub fn change(
        &mut self,
        running: &mut Running,
        row: usize,
        from: Values,
        change: Change,
    ) -> Progress {
        let to = change.of(from);
        if let Some(new) = to.filter(|new| new[0] != from[0]) {
            match self.key(new[0], running.who) {
                Progress::Done => {}
                other => return other,
            }
        }
        running.seen.push(row);
        if to != Some(from) || !self.counts_changes {
            running.affected += 1;
            let Running { who, n, .. } = *running;
            self.rows[row].versions.push(Version { values: to, who, n, committed: None });
        }
        Progress::Done
    }

    /// Puts a row there.
    pub fn insert(&mut self, running: &mut Running, values: Values) -> Progress {
        let free = self.key(values[0], running.who);
        if free == Progress::Done {
            let Running { who, n, .. } = *running;
            let version = Version { values: Some(values), who, n, committed: None };
            self.rows.push(Row { versions: vec![version] });
            running.affected = 1;
        }
        free
    }

    /// The values by which a row is judged and from which it is changed, if nobody else holds it; a planted fault may
    /// take older ones.
    pub fn current(
        &mut self,
        row: usize,
        who: Who,
        condition: Condition,
    ) -> (Option<Values>, Option<Values>) {
        let latest = self.latest(row, who);
        let newest = self.committed(row, usize::MAX).and_then(|version| version.committed);
        let is_changed = self.own(row, who).is_none() && newest.is_some_and(|at| at > 0);
        if !is_changed {
            return (latest, latest);
        }
        let older =
            newest.and_then(|at| self.committed(row, at - 1)).and_then(|older| older.values);
        let Some(older) = older else { return (latest, latest) };
        let holds = |values: Option<Values>| values.is_some_and(|values| condition.holds(values));
        if latest.is_some() && holds(latest) != holds(Some(older)) && self.goes_wrong(Fault::Stale)
        {
            return (Some(older), latest);
        }
        if latest != Some(older) && condition.holds(older) && self.goes_wrong(Fault::Lost) {
            return (Some(older), Some(older));
        }
        (latest, latest)
    }

    /// Whether a row is to be changed, unless that goes wrong.
    pub fn matches(&mut self, condition: Condition, values: Values) -> bool {
        if condition.holds(values) {
            !self.goes_wrong(Fault::Missed)
        } else {
            self.goes_wrong(Fault::Extra)
        }
    }

    /// Instead of waiting for whom holds a row: the values to go on with, if that goes wrong.
    pub fn without_waiting(&mut self, row: usize, who: Who) -> Option<Option<Values>> {
        if self.goes_wrong(Fault::NoWait) {
            return Some(self.latest(row, who));
        }
        let open = self.uncommitted(row, who)?;
        self.goes_wrong(Fault::Dirty).then_some(open.values)
    }

    /// Takes back what a statement has done.
    pub fn undo(&mut self, running: &mut Running) {
        for row in &mut self.rows {
            row.versions.retain(|version| version.n != running.n);
        }
        running.seen.clear();
        running.affected = 0;
    }

    pub fn end(&mut self, who: Who, commits: bool) {
        self.moment += 1;
        for row in &mut self.rows {
            if !commits {
                row.versions.retain(|version| version.who != who || version.committed.is_some());
            }
            for version in &mut row.versions {
                if version.who == who && version.committed.is_none() {
                    version.committed = Some(self.moment);
                }
            }
        }
        self.locks.retain(|lock| lock.0 != who);
        self.ranges.retain(|range| range.0 != who);
    }
}
