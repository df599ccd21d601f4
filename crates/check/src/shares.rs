//! Shares of the work, each on a thread of its own.

use std::ops::Range;

/// The share with this number when numbers from zero are cut into so many.
pub(crate) fn cut(whole: usize, share: usize, shares: usize) -> Range<u32> {
    (whole * share / shares) as u32..(whole * (share + 1) / shares) as u32
}

/// Runs `work` for every share; results come in order. A single one needs no thread.
pub(crate) fn in_shares<T: Send>(shares: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    if shares == 1 {
        return vec![work(0)];
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..shares).map(|share| scope.spawn(move || work(share))).collect();
        // A share whose thread was lost is done again here.
        let threads = threads.into_iter().enumerate();
        threads.map(|(share, done)| done.join().unwrap_or_else(|_| work(share))).collect()
    })
}
