//! Names for schemas of our own: every product's schema, or database, gets one of these.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A name that no other run uses, on this machine or another; it needs no quotes.
pub(crate) fn unique_schema_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(count) >> 32;
    format!("anchorite_{}_{count}_{random:08x}", std::process::id())
}
