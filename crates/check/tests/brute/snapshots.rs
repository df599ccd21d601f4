//! Snapshot isolation by its definition: all interleavings of begins and commits, executed, first committer wins.

use super::judge::Judge;

impl Judge<'_> {
    /// Snapshots: every interleaving of begins and commits.
    pub fn snapshot(&self, session: bool, real_time: bool) -> bool {
        if self.faults.g1 || self.faults.internal {
            return false;
        }
        let mut state = Snapshots {
            judge: self,
            session,
            real_time,
            snapshot: vec![None; self.txns.len()],
            committed: vec![false; self.txns.len()],
            current: vec![None; self.keys],
            log: Vec::new(),
        };
        state.search()
    }
}

struct Snapshots<'j, 't> {
    judge: &'j Judge<'t>,
    session: bool,
    real_time: bool,
    snapshot: Vec<Option<Vec<Option<usize>>>>,
    committed: Vec<bool>,
    current: Vec<Option<usize>>,
    log: Vec<usize>,
}

impl Snapshots<'_, '_> {
    fn search(&mut self) -> bool {
        let count = self.judge.txns.len();
        if self.committed.iter().all(|done| *done) {
            return true;
        }
        for txn in 0..count {
            if self.committed[txn] {
                continue;
            }
            let found =
                if self.snapshot[txn].is_none() { self.begin(txn) } else { self.commit(txn) };
            if found {
                return true;
            }
        }
        false
    }

    fn begin(&mut self, txn: usize) -> bool {
        let judge = self.judge;
        let early = (0..judge.txns.len()).any(|other| {
            !self.committed[other]
                && (self.session && judge.session_before(other, txn)
                    || self.real_time && judge.real_time_before(other, txn))
        });
        let fits = judge.txns[txn].reads.iter().all(|(key, from)| self.current[*key] == *from);
        if early || !fits {
            return false;
        }
        self.snapshot[txn] = Some(self.current.clone());
        let found = self.search();
        self.snapshot[txn] = None;
        found
    }

    fn commit(&mut self, txn: usize) -> bool {
        let judge = self.judge;
        let snapshot = self.snapshot[txn].clone().unwrap();
        let overtaken =
            judge.txns[txn].writes.iter().any(|key| snapshot[*key] != self.current[*key]);
        let early = (0..judge.txns.len())
            .any(|other| !self.committed[other] && other != txn && judge.must_follow(txn, other));
        if overtaken || early {
            return false;
        }
        let before = self.current.clone();
        for &key in &judge.txns[txn].writes {
            self.current[key] = Some(txn);
        }
        self.committed[txn] = true;
        self.log.push(txn);
        let found = self.search();
        self.log.pop();
        self.committed[txn] = false;
        self.current = before;
        found
    }
}
