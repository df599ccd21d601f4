//! Levels are set and read back.

use anchorite_drivers::{SessionOptions, TargetError};
use anchorite_model::{Level, Product};

use crate::bed::{on_each_server, run};

fn options(level: Option<Level>) -> SessionOptions {
    SessionOptions { name: "t".to_owned(), level, lock_wait: std::time::Duration::from_secs(7) }
}

#[test]
fn every_level_is_read_back_and_others_are_refused() {
    on_each_server(|bed| {
        let levels = bed.target.levels();
        for level in Level::ALL {
            let opened = bed.schema.open(&options(Some(level)));
            if !levels.contains(&level) {
                let error = opened.err().expect("refused");
                assert!(matches!(error, TargetError::UnsupportedLevel { .. }), "{error}");
                continue;
            }
            let words = opened.unwrap_or_else(|error| panic!("{error}")).level_read_back;
            let base = if level == Level::Snapshot { Level::RepeatableRead } else { level };
            assert!(words.starts_with(&base.sql().replace(' ', "-")), "{level}: {words}");
            if level == Level::Snapshot {
                assert!(words.ends_with("(innodb_snapshot_isolation=ON)"), "{words}");
            }
            if bed.is(Product::named("tidb")) {
                assert!(words.ends_with("(pessimistic)"), "{words}");
            }
        }
    });
}

#[test]
fn a_session_starts_with_the_settings_that_were_asked_for() {
    on_each_server(|bed| {
        let mut session = bed.schema.open(&options(None)).expect("opens").session;
        let answer = run(
            &mut *session,
            "SELECT @@autocommit, @@innodb_lock_wait_timeout, @@lock_wait_timeout, DATABASE()",
        );
        let shown: Vec<_> = answer.results[0].rows[0].iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["1", "7", "7", bed.schema.name()]);
    });
}
