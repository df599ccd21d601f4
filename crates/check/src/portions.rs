//! Portions of the work, each on its own thread.

use std::ops::Range;

/// The portion with this number when the numbers from zero are divided into this many portions.
pub(crate) fn cut(whole: usize, portion: usize, portions: usize) -> Range<u32> {
    (whole * portion / portions) as u32..(whole * (portion + 1) / portions) as u32
}

/// Runs `work` for every portion; results are in order. A single portion needs no thread.
pub(crate) fn in_portions<T: Send>(portions: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    if portions == 1 {
        return vec![work(0)];
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..portions).map(|portion| scope.spawn(move || work(portion))).collect();
        // A portion whose thread failed is done again here.
        let threads = threads.into_iter().enumerate();
        threads.map(|(portion, done)| done.join().unwrap_or_else(|_| work(portion))).collect()
    })
}
