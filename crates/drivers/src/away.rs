//! A server that is away when schemas are to be dropped.
//!
//! Idea: a worker has a dozen schemas. If a server's machine does not answer at all, each attempt to connect runs into
//! its limit, and a dozen of them take minutes in which the user learns nothing. So after a failed attempt, schemas on
//! the same server are not dropped for a while: their names say whose they are, and they are removed later
//! ([`crate::mark`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::TargetError;
use crate::endpoint::Endpoint;

/// How long there is no further attempt.
const PAUSE: Duration = Duration::from_secs(10);

/// When connecting to each server last failed.
static FAILED: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// Connects in order to drop something; `None` if the server is away.
pub(crate) fn reach<T>(
    endpoint: &Endpoint,
    connect: impl FnOnce(&Endpoint) -> Result<T, TargetError>,
) -> Option<T> {
    let failed = || FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    let name = endpoint.to_string();
    if failed().get(&name).is_some_and(|last| last.elapsed() < PAUSE) {
        return None;
    }
    let connected = connect(endpoint).ok();
    match connected {
        Some(_) => failed().remove(&name),
        None => failed().insert(name, Instant::now()),
    };
    connected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_away_is_tried_once() {
        let endpoint = Endpoint::parse("mysql://root@away.invalid:1").unwrap();
        let other = Endpoint::parse("mysql://root@there.invalid:1").unwrap();
        let refused = || {
            let (endpoint, reason) = (String::new(), "refused".to_owned());
            Err::<(), _>(TargetError::Connect { endpoint, reason })
        };
        let mut attempts = 0;
        for _ in 0..12 {
            let connect = |_: &Endpoint| {
                attempts += 1;
                refused()
            };
            assert_eq!(reach(&endpoint, connect), None);
        }
        assert_eq!(attempts, 1);
        assert_eq!(reach(&other, |_| Ok(())), Some(()));
    }
}
