//! CockroachDB: one node, everything in memory, without TLS.
//!
//! Assumption: `start-single-node`, that is v19.2 or later.

use super::{Launch, ServerFiles};
use crate::version::numbers;

/// From v20.1 on there are two storage engines to choose from, since v21.1 only one.
const ENGINE_CHOICE: std::ops::Range<[u32; 2]> = [20, 1]..[21, 1];

pub(crate) fn launch(files: &ServerFiles<'_>, port: u16) -> Launch {
    let mut args = settings(files.version);
    args.extend([
        format!("--listen-addr=127.0.0.1:{port}"),
        "--http-addr=127.0.0.1:0".to_owned(),
        format!("--log-dir={}", files.in_run("logs")),
        format!("--temp-dir={}", files.in_run("tmp")),
    ]);
    // Nothing is sent to the maker.
    let env = vec![
        ("COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING", "true".to_owned()),
        ("COCKROACH_CRASH_REPORTS", String::new()),
    ];
    Launch { args, env, ..Launch::default() }
}

/// Settings that do not depend on where the server is: also for containers.
pub(crate) fn settings(version: &str) -> Vec<String> {
    let mut args = vec!["start-single-node", "--insecure", "--store=type=mem,size=1GiB"];
    args.extend(["--cache=128MiB", "--max-sql-memory=256MiB"]);
    if numbers(version).get(..2).is_some_and(|two| ENGINE_CHOICE.contains(&[two[0], two[1]])) {
        args.push("--storage-engine=pebble");
    }
    args.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_chosen_where_there_is_a_choice() {
        let chooses = |version| settings(version).contains(&"--storage-engine=pebble".to_owned());
        assert!(chooses("20.1.17") && chooses("20.2.1"));
        assert!(!chooses("19.2.0") && !chooses("21.1.0") && !chooses("22.2.6"));
    }
}
