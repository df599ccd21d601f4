//! Every kind of wait, and every refusal to wait.

use anchorite_model::Level;

use super::super::Variant;
use super::check;

#[test]
fn journal_second_writer_waits_for_the_first() {
    check(
        Variant::Journal,
        None,
        "t0 BEGIN => t0 ok
         t0 UPDATE a SET x = 2 => t0 ok 1
         t1 SELECT x FROM a => t1 ok [1]
         t1 BEGIN IMMEDIATE => t1 waits for t0: RESERVED lock on the database
         t2 UPDATE a SET x = x + 10 => t2 waits for t0: RESERVED lock on the database
         t0 ROLLBACK => t0 ok; t1 ok
         t1 COMMIT => t1 ok; t2 ok 1
         t1 SELECT x FROM a => t1 ok [11]",
    );
}

#[test]
fn journal_commit_waits_for_readers_and_keeps_new_ones_out() {
    check(
        Variant::Journal,
        None,
        "t1 BEGIN => t1 ok
         t1 SELECT x FROM a => t1 ok [1]
         t0 BEGIN => t0 ok
         t0 UPDATE a SET x = 2 => t0 ok 1
         t2 SELECT x FROM a => t2 ok [1]
         t0 COMMIT => t0 waits for t1: EXCLUSIVE lock on the database
         t2 SELECT x FROM a => t2 waits for t0: SHARED lock on the database
         t3 DELETE FROM a => t3 waits for t0: SHARED lock on the database
         t1 SELECT x FROM a => t1 ok [1]
         t1 COMMIT => t1 ok; t0 ok; t2 ok [2]; t3 ok 1",
    );
}

#[test]
fn journal_autocommit_write_waits_for_readers_and_keeps_its_place() {
    check(
        Variant::Journal,
        None,
        "t1 BEGIN => t1 ok
         t1 SELECT x FROM a => t1 ok [1]
         t0 UPDATE a SET x = 2 => t0 waits for t1: EXCLUSIVE lock on the database
         t2 SELECT x FROM a => t2 waits for t0: SHARED lock on the database
         t3 BEGIN IMMEDIATE => t3 waits for t0: SHARED lock on the database
         t1 ROLLBACK => t1 ok; t0 ok 1; t2 ok [2]; t3 ok",
    );
}

#[test]
fn journal_exclusive_begin_waits_for_readers_and_keeps_its_place() {
    check(
        Variant::Journal,
        None,
        "t1 BEGIN => t1 ok
         t1 SELECT x FROM a => t1 ok [1]
         t0 BEGIN EXCLUSIVE => t0 waits for t1: EXCLUSIVE lock on the database
         t2 SELECT x FROM a => t2 waits for t0: SHARED lock on the database
         t1 COMMIT => t1 ok; t0 ok
         t0 UPDATE a SET x = 5 => t0 ok 1
         t0 COMMIT => t0 ok; t2 ok [5]",
    );
}

#[test]
fn journal_reader_that_wants_to_write_is_refused_not_queued() {
    check(
        Variant::Journal,
        None,
        "t0 BEGIN => t0 ok
         t0 SELECT x FROM a => t0 ok [1]
         t1 BEGIN => t1 ok
         t1 UPDATE a SET x = 2 => t1 ok 1
         t0 UPDATE a SET x = 3 => t0 deadlock 5
         t1 COMMIT => t1 waits for t0: EXCLUSIVE lock on the database
         t0 UPDATE a SET x = 3 => t0 deadlock 5
         t0 SELECT x FROM a => t0 ok [1]
         t0 COMMIT => t0 ok; t1 ok
         t0 SELECT x FROM a => t0 ok [2]",
    );
}

/// With a cache of one page an UPDATE of many pages writes to the file before it ends, and that
/// needs the EXCLUSIVE lock: the statement waits half done, and goes on where it was.
#[test]
fn journal_cache_spill_waits_in_the_middle_of_a_statement() {
    check(
        Variant::Journal,
        None,
        "t0 PRAGMA cache_size = 1 => t0 ok
         t0 INSERT INTO b WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
         WHERE i < 400) SELECT hex(zeroblob(1000)) FROM n => t0 ok 400
         t1 BEGIN => t1 ok
         t1 SELECT count(*) FROM b => t1 ok [400]
         t0 BEGIN => t0 ok
         t0 UPDATE b SET y = y || 'x' => t0 waits for t1: EXCLUSIVE lock on the database
         t2 SELECT count(*) FROM b => t2 waits for t0: SHARED lock on the database
         t1 COMMIT => t1 ok; t0 ok 400
         t0 SELECT min(length(y)), max(length(y)), count(*) FROM b => t0 ok [2001 2001 400]
         t0 ROLLBACK => t0 ok; t2 ok [400]
         t2 SELECT min(length(y)), max(length(y)), count(*) FROM b => t2 ok [2000 2000 400]",
    );
}

#[test]
fn journal_schema_changes_wait_like_writes() {
    check(
        Variant::Journal,
        None,
        "t0 BEGIN => t0 ok
         t0 CREATE TABLE c(z) => t0 ok
         t1 DROP TABLE b => t1 waits for t0: RESERVED lock on the database
         t0 COMMIT => t0 ok; t1 ok
         t1 SELECT name FROM sqlite_schema ORDER BY name => t1 ok [a, c]",
    );
}

#[test]
fn wal_second_writer_waits_and_readers_never_do() {
    check(
        Variant::Wal,
        None,
        "t1 BEGIN => t1 ok
         t1 SELECT x FROM a => t1 ok [1]
         t0 BEGIN => t0 ok
         t0 UPDATE a SET x = 2 => t0 ok 1
         t2 UPDATE a SET x = x + 10 => t2 waits for t0: write lock
         t3 BEGIN IMMEDIATE => t3 waits for t0: write lock
         t0 COMMIT => t0 ok; t2 ok 1; t3 ok
         t1 SELECT x FROM a => t1 ok [1]
         t3 SELECT x FROM a => t3 ok [12]",
    );
}

#[test]
fn wal_write_on_an_old_snapshot_is_a_conflict() {
    check(
        Variant::Wal,
        None,
        "t0 BEGIN => t0 ok
         t0 SELECT x FROM a => t0 ok [1]
         t1 UPDATE a SET x = 2 => t1 ok 1
         t0 UPDATE a SET x = 3 => t0 conflict 517
         t0 SELECT x FROM a => t0 ok [1]
         t0 UPDATE a SET x = 3 => t0 conflict 517
         t0 ROLLBACK => t0 ok
         t0 UPDATE a SET x = 3 => t0 ok 1",
    );
}

#[test]
fn wal_reader_that_wants_to_write_beside_a_writer_is_refused() {
    check(
        Variant::Wal,
        None,
        "t0 BEGIN => t0 ok
         t0 SELECT x FROM a => t0 ok [1]
         t1 BEGIN => t1 ok
         t1 UPDATE a SET x = 2 => t1 ok 1
         t0 UPDATE a SET x = 3 => t0 deadlock 5
         t1 ROLLBACK => t1 ok
         t0 UPDATE a SET x = 3 => t0 ok 1",
    );
}

#[test]
fn shared_cache_locks_tables() {
    check(
        Variant::SharedCache,
        None,
        "t0 BEGIN => t0 ok
         t0 UPDATE a SET x = 2 => t0 ok 1
         t1 SELECT y FROM b => t1 ok []
         t1 SELECT x FROM a => t1 waits for t0: table lock: a
         t2 INSERT INTO b VALUES (1) => t2 waits for t0: table lock: b
         t0 COMMIT => t0 ok; t1 ok [2]; t2 ok 1",
    );
}

#[test]
fn shared_cache_writer_waits_for_readers_and_keeps_new_ones_out() {
    check(
        Variant::SharedCache,
        None,
        "t1 BEGIN => t1 ok
         t1 SELECT x FROM a => t1 ok [1]
         t0 BEGIN => t0 ok
         t0 UPDATE a SET x = 2 => t0 waits for t1: table lock: a
         t2 SELECT y FROM b => t2 waits for t0: table lock: b
         t1 COMMIT => t1 ok; t0 ok 1; t2 ok []
         t0 COMMIT => t0 ok",
    );
}

#[test]
fn shared_cache_schema_change_keeps_everybody_out() {
    check(
        Variant::SharedCache,
        None,
        "t0 BEGIN => t0 ok
         t0 CREATE TABLE c(z) => t0 ok
         t1 SELECT y FROM b => t1 waits for t0: transaction in the shared cache
         t0 ROLLBACK => t0 ok; t1 ok []",
    );
}

#[test]
fn shared_cache_circle_is_a_deadlock() {
    check(
        Variant::SharedCache,
        None,
        "t0 BEGIN => t0 ok
         t0 SELECT x FROM a => t0 ok [1]
         t1 BEGIN => t1 ok
         t1 SELECT y FROM b => t1 ok []
         t0 UPDATE b SET y = 1 => t0 waits for t1: table lock: b
         t1 UPDATE a SET x = 2 => t1 deadlock 262
         t1 ROLLBACK => t1 ok; t0 ok 0",
    );
}

#[test]
fn shared_cache_read_uncommitted_reads_through() {
    check(
        Variant::SharedCache,
        Some(Level::ReadUncommitted),
        "t0 BEGIN => t0 ok
         t0 UPDATE a SET x = 2 => t0 ok 1
         t1 SELECT x FROM a => t1 ok [2]
         t1 UPDATE a SET x = 3 => t1 waits for t0: table lock: a
         t0 ROLLBACK => t0 ok; t1 ok 1",
    );
}
