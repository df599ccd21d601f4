//! What read-modify-write says about version orders: a transaction that read a version and wrote the key wrote the next
//! one.

use super::Orders;
use crate::model::{History, KeyId, NONE, OpId, TxnId, Workload};
use crate::resolve::{FIRST_SPECIAL, INIT, Resolved, UNBORN};

/// Two transactions read the same version of a key and both wrote the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The key.
    pub key: KeyId,
    /// The write that both read; [`NONE`] for the initial state.
    pub version: OpId,
    /// One of them.
    pub first: TxnId,
    /// The other one.
    pub second: TxnId,
}

/// Who wrote the next version, by the version that it read.
struct Followers {
    of_write: Vec<OpId>,
    of_initial: Vec<OpId>,
}

/// Joins chains where a transaction read a version and wrote the key. Returns a pair that makes this impossible, if
/// there is one.
pub fn derive_from_updates(
    history: &History,
    resolved: &Resolved,
    orders: &Orders,
) -> (Orders, Option<Clash>) {
    let (followers, clash) = followers(history, resolved);
    if clash.is_some() || !orders.is_open() {
        return (orders.clone(), clash);
    }
    let mut joined = Orders::start();
    joined.ops.reserve(orders.ops.len());
    let mut place = vec![NONE; history.ops.len()];
    for key in 0..orders.keys() as KeyId {
        join(key, orders, &followers, &mut place, &mut joined);
    }
    (joined, None)
}

/// Passes every update to `visit`: transaction, key, the version it read ([`NONE`] for the initial one, [`UNBORN`] for
/// an older one) and the write that followed.
fn for_each_update(
    history: &History,
    resolved: &Resolved,
    mut visit: impl FnMut(TxnId, KeyId, OpId, OpId),
) {
    let mut written = vec![(NONE, NONE); history.keys.len()];
    let lists = history.workload == Workload::ListAppend;
    for txn in 0..history.txns.len() as TxnId {
        if !resolved.included[txn as usize] {
            continue;
        }
        // Of several writes the last is the version; of lists the first append comes right after the read.
        for op in history.range(txn).filter(|op| history.ops[*op].kind.is_write()) {
            let slot = &mut written[history.ops[op].key as usize];
            if !lists || slot.0 != txn {
                *slot = (txn, op as OpId);
            }
        }
        for read in history.range(txn) {
            let source = resolved.source(read);
            if source >= FIRST_SPECIAL && source != INIT && source != UNBORN {
                continue;
            }
            let key = history.ops[read].key;
            let (writer, write) = written[key as usize];
            if writer == txn {
                visit(txn, key, if source == INIT { NONE } else { source }, write);
            }
        }
    }
}

fn followers(history: &History, resolved: &Resolved) -> (Followers, Option<Clash>) {
    let mut followers = Followers {
        of_write: vec![NONE; history.ops.len()],
        of_initial: vec![NONE; history.keys.len()],
    };
    let mut clash = None;
    for_each_update(history, resolved, |txn, key, version, write| {
        let slot = if version == UNBORN {
            return;
        } else if version == NONE {
            &mut followers.of_initial[key as usize]
        } else {
            &mut followers.of_write[version as usize]
        };
        if *slot == NONE {
            *slot = write;
        } else if *slot != write && clash.is_none() {
            let first = resolved.op_txn[*slot as usize];
            clash = Some(Clash { key, version, first, second: txn });
        }
    });
    (followers, clash)
}

/// Whether every update wrote the version right after the one that it read.
pub fn updates_fit(history: &History, resolved: &Resolved, orders: &Orders) -> bool {
    const NOT_KNOWN: OpId = NONE - 1;
    let mut before = vec![NOT_KNOWN; history.ops.len()];
    for key in 0..orders.keys() as KeyId {
        for (at, chain) in orders.chains(key).enumerate() {
            before[chain[0] as usize] = if at == 0 { NONE } else { NOT_KNOWN };
            for pair in chain.windows(2) {
                before[pair[1] as usize] = pair[0];
            }
        }
    }
    let mut fit = true;
    for_each_update(history, resolved, |_, _, version, write| {
        fit &= before[write as usize] == version;
    });
    fit
}

/// Joins the chains of one key; `place` is scratch space with the chain that each write heads.
fn join(
    key: KeyId,
    orders: &Orders,
    followers: &Followers,
    place: &mut [u32],
    joined: &mut Orders,
) {
    let count = orders.chain_count(key);
    for (at, chain) in orders.chains(key).enumerate() {
        place[chain[0] as usize] = at as u32;
    }
    let next = |at: usize| {
        let chain = orders.chain(key, at);
        match followers.of_write[chain[chain.len() - 1] as usize] {
            NONE => None,
            op => Some(place[op as usize]).filter(|at| *at != NONE).map(|at| at as usize),
        }
    };
    let mut has_previous = vec![false; count];
    for to in (0..count).filter_map(next) {
        has_previous[to] = true;
    }
    // The transaction that updated the initial state comes first.
    let first = match followers.of_initial[key as usize] {
        NONE => None,
        op => Some(place[op as usize]).filter(|at| *at != NONE).map(|at| at as usize),
    };
    let first = first.filter(|at| !has_previous[*at] && !orders.first_is_first(key));
    let starts = first.into_iter().chain((0..count).filter(|at| !has_previous[*at]));
    let mut used = vec![false; count];
    // Updates that read each other in a circle have no start; they stay separate and show up as a cycle.
    for start in starts.chain(0..count) {
        let mut at = Some(start).filter(|at| !used[*at]);
        let any = at.is_some();
        while let Some(here) = at {
            used[here] = true;
            joined.ops.extend_from_slice(orders.chain(key, here));
            at = next(here).filter(|at| !used[*at]);
        }
        if any {
            joined.end_chain();
        }
    }
    joined.end_key(orders.first_is_first(key) || first.is_some());
    for chain in orders.chains(key) {
        place[chain[0] as usize] = NONE;
    }
}
