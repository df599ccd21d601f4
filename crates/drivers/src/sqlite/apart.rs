//! SQLite with every session in a process of its own, so that sessions can be killed as a crash would do it.
//!
//! Idea: the caller names a command that calls [`serve`]; it gets one end of a socket as its standard input, over which
//! statements and answers go as lines of JSON. All processes together are the database: when they are killed, the file
//! is what SQLite finds after a crash. Write-ahead log, `synchronous = FULL`, and SQLite's own busy timeout, which is
//! set before anything else, because even the first statement of a connection may find the file locked.
//!
//! Source: <https://www.sqlite.org/pragma.html#pragma_synchronous>, <https://www.sqlite.org/wal.html>. A process whose
//! socket is closed ends by itself, so none outlives us. Blind spot: what a machine loses with its power.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anchorite_model::{Answer, DbError, Level, Product, StatementKind, TargetInfo, Value};
use rusqlite::Connection;

use super::error::{Failure, Refusal, connection_lost, db_error};
use super::folder::Folder;
use super::{Variant, marked, worker};
use crate::{
    ConnectionId, OpenedSession, Reply, Schema, Session, SessionOptions, Target, TargetError,
    Upkeep, Watcher, execute,
};

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// For the first answer of a process.
const START: Duration = Duration::from_secs(30);

/// Makes the command whose process serves a session on this file.
type Program = Arc<dyn Fn(&Path) -> Command + Send + Sync>;

/// The processes that run, by their numbers.
type Processes = Arc<Mutex<BTreeMap<u32, Child>>>;

fn lock(processes: &Processes) -> MutexGuard<'_, BTreeMap<u32, Child>> {
    processes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The engine, each session in a process of its own.
pub struct SqliteApart {
    info: TargetInfo,
    program: Program,
    processes: Processes,
}

impl SqliteApart {
    /// Sessions are served by this command, which calls [`serve`] with the same file.
    pub fn new(program: impl Fn(&Path) -> Command + Send + Sync + 'static) -> Self {
        let info = TargetInfo {
            product: Product::named("sqlite"),
            version: rusqlite::version().to_owned(),
            variant: Variant::Wal.name().to_owned(),
        };
        Self { info, program: Arc::new(program), processes: Processes::default() }
    }

    /// Kills all sessions at once.
    pub fn kill(&self) {
        let mut processes = lock(&self.processes);
        processes.values_mut().for_each(|process| drop(process.kill()));
        processes.values_mut().for_each(|process| drop(process.wait()));
        processes.clear();
    }
}

impl Target for SqliteApart {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn levels(&self) -> &[Level] {
        Variant::Wal.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        let failed =
            |reason: String| TargetError::Prepare { target: self.info.to_string(), reason };
        let folder = marked::create().map_err(|error| failed(error.to_string()))?;
        let folder = Arc::new(Folder::of(folder));
        let wal = Connection::open(folder.database()).and_then(|connection| {
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "journal_mode", "wal")
        });
        wal.map_err(|error| failed(error.to_string()))?;
        Ok(Box::new(Apart {
            info: self.info.clone(),
            name: folder.database().display().to_string(),
            folder,
            program: Arc::clone(&self.program),
            processes: Arc::clone(&self.processes),
        }))
    }
}

/// One database file.
struct Apart {
    info: TargetInfo,
    name: String,
    folder: Arc<Folder>,
    program: Program,
    processes: Processes,
}

impl Apart {
    fn start(&self) -> std::io::Result<ApartSession> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = (self.program)(&self.folder.database());
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        let id = child.id();
        lock(&self.processes).insert(id, child);
        Ok(ApartSession {
            id,
            stream: ours,
            arrived: Vec::new(),
            is_lost: false,
            processes: Arc::clone(&self.processes),
            _folder: Arc::clone(&self.folder),
        })
    }
}

impl Schema for Apart {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let available = Variant::Wal.levels();
        if let Some(level) = options.level.filter(|level| !available.contains(level)) {
            return Err(TargetError::unsupported(&self.info, level, available));
        }
        let failed = |reason: String| TargetError::Prepare {
            target: self.info.to_string(),
            reason: format!("cannot open a session: {reason}"),
        };
        let mut session = self.start().map_err(|error| failed(error.to_string()))?;
        let answer = execute(&mut session, "PRAGMA journal_mode", START);
        let answer = answer.map_err(|error| failed(error.message))?;
        let mode = answer.results.first().and_then(|set| set.rows.first()?.first());
        if mode != Some(&Value::Text("wal".to_owned())) {
            return Err(failed("it has no write-ahead log".to_owned()));
        }
        let level_read_back = format!("{} (write-ahead log)", Level::Serializable);
        Ok(OpenedSession { session: Box::new(session), level_read_back })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        let reason = "its sessions are in other processes".to_owned();
        Err(TargetError::Prepare { target: self.info.to_string(), reason })
    }

    fn upkeep(&self) -> Upkeep {
        Upkeep::default()
    }

    fn tables(&self, _: &mut dyn Session, _: Duration) -> Result<Vec<String>, DbError> {
        Ok(Vec::new())
    }

    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// A session in another process.
struct ApartSession {
    id: u32,
    stream: UnixStream,
    arrived: Vec<u8>,
    is_lost: bool,
    processes: Processes,
    /// The database file stays as long as it is open somewhere.
    _folder: Arc<Folder>,
}

impl ApartSession {
    fn receive(&mut self) -> std::io::Result<()> {
        let mut part = [0; 1 << 16];
        self.stream.set_nonblocking(true)?;
        match self.stream.read(&mut part) {
            Ok(0) => self.is_lost = true,
            Ok(count) => self.arrived.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.is_lost = true,
        }
        Ok(())
    }
}

impl Session for ApartSession {
    fn id(&self) -> ConnectionId {
        self.id.into()
    }

    fn submit(&mut self, sql: &str) {
        let line = format!("{}\n", serde_json::Value::from(sql));
        let sent = self
            .stream
            .set_nonblocking(false)
            .and_then(|()| self.stream.write_all(line.as_bytes()));
        self.is_lost |= sent.is_err();
    }

    fn poll(&mut self) -> Option<Reply> {
        if !self.arrived.contains(&b'\n') && !self.is_lost {
            self.is_lost |= self.receive().is_err();
        }
        let end = self.arrived.iter().position(|byte| *byte == b'\n');
        let Some(end) = end else { return self.is_lost.then(|| Err(connection_lost())) };
        let line: Vec<u8> = self.arrived.drain(..=end).collect();
        Some(serde_json::from_slice(&line).unwrap_or_else(|_| Err(connection_lost())))
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }

    /// Nothing else ends a statement of another process.
    fn cancel(&mut self) {
        if let Some(process) = lock(&self.processes).get_mut(&self.id) {
            let _ = process.kill();
        }
    }
}

/// Whatever it was executing has been done, or never will be.
impl Drop for ApartSession {
    fn drop(&mut self) {
        if let Some(mut process) = lock(&self.processes).remove(&self.id) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Serves a session: the life of a process that [`SqliteApart`] has started. Standard input is the socket.
pub fn serve(file: &Path) -> std::io::Result<()> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut answers = UnixStream::from(socket);
    let statements = BufReader::new(answers.try_clone()?);
    let opened = open(file);
    for line in statements.lines() {
        let sql: String = serde_json::from_str(&line?)?;
        let reply: Reply = match &opened {
            Ok(connection) => answer(connection, &sql),
            Err(failure) => Err(db_error(failure.clone(), Refusal::GaveUp, false, false)),
        };
        answers.write_all(format!("{}\n", serde_json::to_string(&reply)?).as_bytes())?;
    }
    Ok(())
}

fn open(file: &Path) -> Result<Connection, Failure> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

fn answer(connection: &Connection, sql: &str) -> Result<Answer, DbError> {
    let was_inside = !connection.is_autocommit();
    worker::run_once(connection, sql, &StatementKind::of(sql)).map_err(|failure| {
        db_error(failure, Refusal::GaveUp, was_inside, !connection.is_autocommit())
    })
}
