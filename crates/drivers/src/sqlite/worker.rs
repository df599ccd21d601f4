//! The thread of one session: it owns the connection and runs its statements, one at a time.
//!
//! Idea: when SQLite calls the busy handler, the statement waits; the handler reports that and stays until the
//! shared_state says what to do (see the page of the parent module). With a shared cache the refused
//! statement is run again after the wait.
//!
//! Limit: a statement that runs for longer than [`STATEMENT_LIMIT`], waits not counted, is interrupted, so
//! that no thread runs for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anchorite_model::{Answer, Rows, StatementKind, Value};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};

use super::Variant;
use super::error::{Failure, Refusal, db_error};
use super::holding::{FileLock, Holding, Need, TableLocks, Transaction};
use super::shared_state::{Order, SharedState};
use crate::{ConnectionId, Reply};

/// A statement is interrupted when it has run for this long.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

/// After how many instructions of its virtual machine SQLite checks the clock.
const INSTRUCTIONS_BETWEEN_LOOKS: i32 = 10_000;

/// A connection with what its handlers need.
pub(super) struct Worker {
    connection: Connection,
    context: Arc<Context>,
    variant: Variant,
    reads_uncommitted: bool,
    /// Table locks of the open transaction (shared cache).
    tables: TableLocks,
    exclusive: bool,
}

/// What the thread shares with the handlers that SQLite calls.
struct Context {
    shared_state: Arc<SharedState>,
    id: ConnectionId,
    database: Database,
    /// When the running statement must end, in milliseconds after `started`.
    deadline_ms: AtomicU64,
    started: Instant,
    /// The running statement's wait was ended.
    gave_up: AtomicBool,
}

impl Context {
    fn set_deadline(&self) {
        let deadline = self.started.elapsed() + STATEMENT_LIMIT;
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        self.deadline_ms.store(deadline_ms, Ordering::Relaxed);
    }

    fn is_overdue(&self) -> bool {
        let deadline_ms = self.deadline_ms.load(Ordering::Relaxed);
        self.started.elapsed() > Duration::from_millis(deadline_ms)
    }

    /// Waits, and returns the result.
    fn wait(&self, holding: Holding, need: Need) -> Order {
        let order = self.shared_state.wait(self.id, holding, need);
        self.gave_up.store(order == Order::GiveUp, Ordering::Relaxed);
        self.set_deadline();
        order
    }
}

/// The connection's handle, for the questions that only SQLite's C functions answer.
#[derive(Clone, Copy)]
struct Database(*mut ffi::sqlite3);

// SAFETY: the handle is only used by the thread that owns the connection, between its calls or from inside
// the busy handler that SQLite calls on this thread, and never after the connection is closed.
unsafe impl Send for Database {}
// SAFETY: as above: sharing the context never leads to two threads using the handle.
unsafe impl Sync for Database {}

impl Database {
    /// Transaction state and file lock.
    fn holding(self) -> Holding {
        let mut lock: std::ffi::c_int = 0;
        // SAFETY: the handle is valid (see above), the name is a C string, and both calls only read
        // the state of the connection, which is allowed inside a busy handler too.
        let state = unsafe {
            ffi::sqlite3_file_control(
                self.0,
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_LOCKSTATE,
                std::ptr::from_mut(&mut lock).cast(),
            );
            ffi::sqlite3_txn_state(self.0, c"main".as_ptr())
        };
        let transaction = match state {
            ffi::SQLITE_TXN_READ => Transaction::Read,
            ffi::SQLITE_TXN_WRITE => Transaction::Write,
            _ => Transaction::None,
        };
        let file_lock = match lock {
            ffi::SQLITE_LOCK_SHARED => FileLock::Shared,
            ffi::SQLITE_LOCK_RESERVED => FileLock::Reserved,
            ffi::SQLITE_LOCK_PENDING => FileLock::Pending,
            ffi::SQLITE_LOCK_EXCLUSIVE => FileLock::Exclusive,
            _ => FileLock::None,
        };
        Holding { transaction, file_lock, ..Holding::default() }
    }
}

impl Worker {
    /// Takes over a connection whose level is set.
    pub(super) fn new(
        connection: Connection,
        shared_state: Arc<SharedState>,
        id: ConnectionId,
        variant: Variant,
        reads_uncommitted: bool,
    ) -> rusqlite::Result<Self> {
        // SAFETY: the handle is kept beside the connection and dropped with it.
        let database = Database(unsafe { connection.handle() });
        let context = Arc::new(Context {
            shared_state,
            id,
            database,
            deadline_ms: AtomicU64::new(u64::MAX),
            started: Instant::now(),
            gave_up: AtomicBool::new(false),
        });
        let (tables, exclusive) = (TableLocks::new(), false);
        let mut worker =
            Self { connection, context, variant, reads_uncommitted, tables, exclusive };
        worker.install_busy_handler()?;
        let context = Arc::clone(&worker.context);
        let overdue = move || context.is_overdue();
        worker.connection.progress_handler(INSTRUCTIONS_BETWEEN_LOOKS, Some(overdue))?;
        Ok(worker)
    }

    fn install_busy_handler(&mut self) -> rusqlite::Result<()> {
        let context = Arc::clone(&self.context);
        let handler =
            move |_| context.wait(context.database.holding(), Need::default()) == Order::TryAgain;
        self.connection.busy_handler(Some(handler))
    }

    /// Runs statements until the session is closed.
    pub(super) fn run(mut self) {
        let shared_state = Arc::clone(&self.context.shared_state);
        let id = self.context.id;
        let _end = EndOnDrop { shared_state: &shared_state, id };
        while let Some(sql) = shared_state.next_statement(id) {
            let reply = self.execute(&sql);
            shared_state.answer(id, self.holding(), reply);
        }
        drop(self);
    }

    /// What the session holds between two statements.
    fn holding(&self) -> Holding {
        let asked = self.context.database.holding();
        Holding { tables: self.tables.clone(), exclusive: self.exclusive, ..asked }
    }

    fn execute(&mut self, sql: &str) -> Reply {
        let was_in_transaction = !self.connection.is_autocommit();
        self.context.gave_up.store(false, Ordering::Relaxed);
        self.context.set_deadline();
        let kind = StatementKind::of(sql);
        let result = self.run_until_unlocked(sql, &kind);
        if kind == StatementKind::SetCommand {
            // PRAGMA busy_timeout replaces our handler with its own.
            self.install_busy_handler().map_err(|error| {
                db_error(error.into(), Refusal::GaveUp, was_in_transaction, was_in_transaction)
            })?;
        }
        result.map_err(|(failure, refusal)| {
            db_error(failure, refusal, was_in_transaction, !self.connection.is_autocommit())
        })
    }

    /// Runs the statement; again for as long as a table lock of the shared cache is waited for.
    fn run_until_unlocked(
        &mut self,
        sql: &str,
        kind: &StatementKind,
    ) -> Result<Answer, (Failure, Refusal)> {
        loop {
            // Asked each time: while the schema is locked, SQLite cannot tell what a statement needs.
            let need = self.need(sql);
            let result = run_once(&self.connection, sql, kind);
            let refused = result.as_ref().is_err_and(Failure::is_table_lock);
            self.note_locks(if refused { Need::default() } else { need.clone() });
            let failure = match result {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let gave_up = self.context.gave_up.load(Ordering::Relaxed);
            let refusal = if gave_up { Refusal::GaveUp } else { Refusal::Deadlock };
            if !refused {
                return Err((failure, refusal));
            }
            match self.context.wait(self.holding(), need) {
                Order::TryAgain => {}
                Order::GiveUp => return Err((failure, Refusal::GaveUp)),
                Order::Deadlock => return Err((failure, Refusal::Deadlock)),
            }
        }
    }

    /// The locks that the statement's program takes first. Only a shared cache has them.
    fn need(&self, sql: &str) -> Need {
        let mut need = Need::default();
        if self.variant == Variant::SharedCache {
            // A statement that cannot be explained now (its schema is locked) is explained by its error.
            let _ = self.explain(sql, &mut need);
        }
        need
    }

    fn explain(&self, sql: &str, need: &mut Need) -> rusqlite::Result<()> {
        let mut program = self.connection.prepare(&format!("EXPLAIN {sql}"))?;
        let mut instructions = program.raw_query();
        while let Some(instruction) = instructions.next()? {
            let opcode: String = instruction.get("opcode")?;
            match opcode.as_str() {
                "Transaction" => {
                    let mode: i64 = instruction.get("p2")?;
                    let wanted = if mode > 0 { Transaction::Write } else { Transaction::Read };
                    need.transaction = need.transaction.max(wanted);
                    need.exclusive |= mode > 1;
                }
                "TableLock" => {
                    let writes = instruction.get::<_, i64>("p3")? != 0;
                    if writes || !self.reads_uncommitted {
                        *need.tables.entry(instruction.get("p4")?).or_default() |= writes;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Table locks stay until the transaction ends.
    fn note_locks(&mut self, need: Need) {
        if self.variant != Variant::SharedCache {
            return;
        }
        if self.context.database.holding().transaction == Transaction::None {
            self.tables.clear();
            self.exclusive = false;
            return;
        }
        self.exclusive |= need.exclusive;
        for (table, writes) in need.tables {
            *self.tables.entry(table).or_default() |= writes;
        }
    }
}

/// Runs a statement once, as it is.
pub(super) fn run_once(
    connection: &Connection,
    sql: &str,
    kind: &StatementKind,
) -> Result<Answer, Failure> {
    let mut statement = connection.prepare(sql)?;
    let columns = |statement: &rusqlite::Statement<'_>| -> Vec<String> {
        statement.column_names().map(str::to_owned).collect()
    };
    let mut table = Rows { columns: columns(&statement), rows: Vec::new() };
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        // Another connection may have changed the table since this one last looked: SQLite notices at the first
        // step, and prepares the statement again.
        if table.rows.is_empty() {
            table.columns = columns(row.as_ref());
        }
        let cells = (0..table.columns.len()).map(|column| row.get_ref(column).map(typed));
        table.rows.push(cells.collect::<rusqlite::Result<_>>()?);
    }
    Ok(Answer {
        results: if table.columns.is_empty() { Vec::new() } else { vec![table] },
        affected: kind.writes().then(|| connection.changes()),
        tag: None,
        notices: Vec::new(),
        in_transaction: Some(!connection.is_autocommit()),
    })
}

/// However the thread ends, nothing waits for it in vain.
struct EndOnDrop<'a> {
    shared_state: &'a SharedState,
    id: ConnectionId,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.shared_state.end(self.id);
    }
}

fn typed(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::Int(integer.into()),
        ValueRef::Real(real) => Value::Float(real),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            // SQLite stores any bytes as text; what is not valid text is not converted here.
            Err(_) => Value::Bytes(bytes.to_owned()),
        },
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    }
}
