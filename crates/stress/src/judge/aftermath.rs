//! What the judge makes of a look at all rows: what is lost, what is torn, what came back.
//!
//! Idea: the ledger compares ([`crate::ledger`]). If nothing is wrong the look is a transaction like others. If
//! something is, the judge of running histories begins anew from the rows that are there: with a part of the history
//! gone, every later read would look like one of something old.
//!
//! Assumption: a lost commit is allowed only where the page of a setting says so, and only when the server, or the
//! whole machine, was stopped just before. Blind spot: whether what is lost is the last that was committed.

use std::collections::HashMap;

use super::{Judge, Recent, name_of};
use crate::ledger::{Damage, Wrong};
use crate::log::Look;
use crate::promise::{Standing, Weighed};
use crate::token::version;

/// Rows of a transaction that are named.
const SHOWN: usize = 6;

impl Judge {
    /// All rows were read, when nothing was open.
    pub fn look(&mut self, look: &Look, at: (u64, u64)) {
        self.counts.looks += 1;
        if let Some(fault) = look.after {
            *self.counts.faults.entry(fault).or_default() += 1;
        }
        let Some(mut ledger) = self.ledger.take() else { return };
        let account = ledger.settle(&look.record, |txn| self.live.has_aborted(txn));
        self.ledger = Some(ledger);
        let mut is_whole = account.damages.is_empty();
        for damage in &account.damages {
            self.damage(damage, look);
        }
        for (txn, is_there) in account.resolved {
            let place = usize::from(is_there);
            self.counts.resolved[place] += 1;
            if !is_there && self.live.has_committed(txn) {
                self.vanished(txn);
                is_whole = false;
            } else if is_whole {
                let found = self.live.resolve(txn, is_there);
                self.weigh(&found);
            }
        }
        self.blunders(&look.blunders, look.record.number);
        if is_whole {
            self.live.begin(look.record.number, at.0);
            let (session, seen) = (look.record.session, look.record.seen.clone());
            self.recent.insert(look.record.number, Recent { session, times: at, seen });
            let found = self.live.end(look.record.transaction(at.1));
            self.weigh(&found);
        } else {
            let rows = look.record.seen.iter().map(|seen| (seen.row, version(seen.token)));
            self.live.restart(rows);
            self.recent.clear();
            self.swept = 0;
        }
        self.forget();
    }

    /// Nothing follows.
    pub fn close(mut self) -> super::Counts {
        let live = std::mem::replace(&mut self.live, super::Live::new(super::Options::default()));
        let found = live.finish();
        self.weigh(&found);
        self.counts
    }

    fn damage(&mut self, damage: &Damage, look: &Look) {
        let after = look.after.filter(|_| damage.wrong == Wrong::Lost);
        let allowed = after.and_then(|fault| self.promises.loss(fault));
        let (name, explained) = match damage.wrong {
            Wrong::Lost => ("lost-commit", "COMMIT was answered, and the transaction is not there"),
            Wrong::Torn => ("torn-commit", "only a part of a transaction is there"),
            Wrong::Back => ("resurrected-abort", "a transaction that did not commit is there"),
        };
        let standing = if allowed.is_some() { Standing::Allowed } else { Standing::Violation };
        let page = allowed.as_ref().map(|(url, _)| url.clone());
        let weighed = Weighed { name, explained, shape: name, standing, page };
        if damage.wrong == Wrong::Lost && self.counts.pass > 0 {
            self.counts.pass -= 1;
            *self.counts.by_standing.entry(standing).or_default() += 1;
        }
        let mut because = sentences(damage, look);
        because.extend(allowed.map(|(_, words)| words));
        let told = self.told(damage.txn);
        self.count(weighed, || (because, vec![told]));
    }

    /// Somebody read what is not there any more, and whose COMMIT was never answered.
    fn vanished(&mut self, txn: u64) {
        let weighed = Weighed {
            name: "vanished-read",
            explained: "a committed transaction read from one that is not there any more",
            shape: "vanished-read",
            standing: Standing::Undecided,
            page: None,
        };
        let because = format!(
            "a committed transaction read or replaced what T{txn} wrote; the COMMIT of T{txn} was not answered, and \
             nothing of it is there"
        );
        let told = self.told(txn);
        self.count(weighed, || (vec![because], vec![told]));
    }
}

fn sentences(damage: &Damage, look: &Look) -> Vec<String> {
    let when = look.after.map_or("in the end".to_owned(), |fault| format!("after {fault}"));
    let there: HashMap<u64, u64> =
        look.record.seen.iter().map(|seen| (seen.row, seen.token)).collect();
    let txn = damage.txn;
    let now = |row: &u64| match there.get(row) {
        Some(0) => "is as it was at first".to_owned(),
        Some(token) => format!("is as T{} left it", version(*token).txn),
        None => "is not there".to_owned(),
    };
    let gone = damage
        .gone
        .iter()
        .map(|row| format!("T{txn} wrote {}; {when} the row {}", name_of(*row), now(row)));
    let kept = damage.kept.iter().map(|row| match damage.wrong {
        Wrong::Back => format!("T{txn} was rolled back; {when} {} is as it left it", name_of(*row)),
        _ => format!("what T{txn} wrote to {} is there", name_of(*row)),
    });
    gone.chain(kept).take(SHOWN).collect()
}
