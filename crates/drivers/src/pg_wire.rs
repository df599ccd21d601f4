//! A PostgreSQL connection that never waits once it is open.
//!
//! The simple query protocol, so that the server sees exactly our text, read message by message: command tags (a
//! `COMMIT` that answers `ROLLBACK`), the transaction status after each statement, type ids of columns and the
//! positions of NOTICEs are all visible, which ready-made clients hide. Messages and authentication are handled by the
//! `postgres-protocol` crate; connecting is in `login`.
//!
//! Blind spot: `COPY FROM STDIN` is refused, because a case has no data to send.

mod login;

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use anchorite_model::Value;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::{backend, backend::Message, frontend};

use crate::socket::Socket;

/// An error or a notice with the fields that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgMessage {
    /// `ERROR`, `FATAL`, `NOTICE`, ...
    pub severity: String,
    /// SQLSTATE.
    pub code: String,
    /// Primary message.
    pub message: String,
    /// Detail, or empty.
    pub detail: String,
    /// Hint, or empty.
    pub hint: String,
}

/// What arrives on a connection, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum PgItem {
    /// A NOTICE, WARNING, ...
    Notice(PgMessage),
    /// An asynchronous notification.
    Notification {
        /// Backend that sent it.
        pid: u64,
        /// Channel.
        channel: String,
        /// Payload.
        payload: String,
    },
    /// A statement's rows, complete.
    Rows(PgRows),
    /// A statement without rows is complete.
    Command(String),
    /// The statement failed.
    Error(PgMessage),
    /// Everything is answered; the transaction status: `I` idle, `T` in a transaction, `E` in a failed one.
    Ready(u8),
    /// The connection is gone; why.
    Lost(String),
}

/// A result set in the server's text form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PgRows {
    /// Name and type id of each column.
    pub columns: Vec<(String, u32)>,
    /// Texts; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// The command tag that closed it.
    pub tag: String,
}

impl PgRows {
    /// The row's values in the types of the columns.
    pub fn typed(&self, row: usize) -> Vec<Value> {
        let cells = self.rows[row].iter().zip(&self.columns);
        cells
            .map(|(text, (_, oid))| text.as_ref().map_or(Value::Null, |t| typed(*oid, t)))
            .collect()
    }
}

/// Built-in type ids that are not shown as text: stable since PostgreSQL 7, the same on CockroachDB.
fn typed(oid: u32, text: &str) -> Value {
    const BOOL: u32 = 16;
    const BYTEA: u32 = 17;
    const INT8: u32 = 20;
    const INT2: u32 = 21;
    const INT4: u32 = 23;
    const OID: u32 = 26;
    const FLOAT4: u32 = 700;
    const FLOAT8: u32 = 701;
    const NUMERIC: u32 = 1700;
    let plain = || Value::Text(text.to_owned());
    match oid {
        BOOL => Value::Bool(text == "t"),
        INT2 | INT4 | INT8 | OID => text.parse().map_or_else(|_| plain(), Value::Int),
        FLOAT4 | FLOAT8 => text.parse().map_or_else(|_| plain(), Value::Float),
        NUMERIC => Value::Decimal(text.to_owned()),
        BYTEA => text.strip_prefix("\\x").and_then(unhex).map_or_else(plain, Value::Bytes),
        _ => plain(),
    }
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// One open connection.
pub struct PgConnection {
    socket: Socket,
    inbox: BytesMut,
    outbox: BytesMut,
    items: VecDeque<PgItem>,
    rows: Option<PgRows>,
    lost: bool,
    /// Backend process id.
    pub pid: u64,
    secret: i32,
    /// `server_version` as the server reported it at the start.
    pub server_version: String,
    /// Whether the server called itself CockroachDB at the start.
    pub is_cockroach: bool,
}

impl PgConnection {
    /// Sends a text of one or more statements.
    pub fn send(&mut self, sql: &str) {
        self.send_several(&[sql]);
    }

    /// Sends texts one after another; each gets its own [`PgItem::Ready`].
    pub fn send_several(&mut self, texts: &[&str]) {
        let queued = texts.iter().try_for_each(|sql| frontend::query(sql, &mut self.outbox));
        if let Err(error) = queued.and_then(|()| self.flush()) {
            self.lose(&error.to_string());
        }
    }

    /// The next item that has arrived. Never waits.
    pub fn next_item(&mut self) -> Option<PgItem> {
        while self.items.is_empty() {
            match self.next_message() {
                Ok(Some(message)) => self.take_in(message),
                Ok(None) => break,
                Err(error) => self.lose(&error.to_string()),
            }
        }
        self.items.pop_front()
    }

    /// What becomes readable when something arrives.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Asks the server, over a second connection, to cancel the running statement.
    pub fn cancel(&self) {
        let mut request = BytesMut::new();
        let pid = i32::try_from(self.pid).unwrap_or_default();
        frontend::cancel_request(pid, self.secret, &mut request);
        // If the server cannot be reached, the caller that waits for the statement notices.
        let _ = login::tell_apart(&self.socket, &request);
    }

    /// Whether the connection is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.socket.is_encrypted()
    }

    fn take_in(&mut self, message: Message) {
        let item = match message {
            Message::RowDescription(body) => {
                let columns = body.fields().map(|f| Ok((f.name().to_owned(), f.type_oid())));
                let columns = columns.collect().unwrap_or_default();
                self.rows = Some(PgRows { columns, ..PgRows::default() });
                return;
            }
            Message::DataRow(body) => {
                let buffer = body.buffer();
                let text = |range: Option<std::ops::Range<usize>>| {
                    Ok(range.map(|range| String::from_utf8_lossy(&buffer[range]).into_owned()))
                };
                let row = body.ranges().map(text).collect().unwrap_or_default();
                self.rows.get_or_insert_default().rows.push(row);
                return;
            }
            Message::CommandComplete(body) => {
                let tag = body.tag().unwrap_or_default().to_owned();
                match self.rows.take() {
                    Some(rows) => PgItem::Rows(PgRows { tag, ..rows }),
                    None => PgItem::Command(tag),
                }
            }
            Message::EmptyQueryResponse => PgItem::Command(String::new()),
            Message::ErrorResponse(body) => {
                self.rows = None;
                PgItem::Error(message_of(body.fields()))
            }
            Message::NoticeResponse(body) => PgItem::Notice(message_of(body.fields())),
            Message::NotificationResponse(body) => PgItem::Notification {
                pid: u64::try_from(body.process_id()).unwrap_or_default(),
                channel: body.channel().unwrap_or_default().to_owned(),
                payload: body.message().unwrap_or_default().to_owned(),
            },
            Message::ReadyForQuery(body) => PgItem::Ready(body.status()),
            Message::CopyInResponse(_) => {
                let refusal = "a case has no data for COPY FROM STDIN";
                let sent = frontend::copy_fail(refusal, &mut self.outbox);
                if let Err(error) = sent.and_then(|()| self.flush()) {
                    self.lose(&error.to_string());
                }
                return;
            }
            _ => return,
        };
        self.items.push_back(item);
    }

    fn next_message(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some(message) = Message::parse(&mut self.inbox)? {
                return Ok(Some(message));
            }
            if self.lost {
                return Ok(None);
            }
            if !self.socket.take_in(&mut self.inbox)? {
                return Ok(None);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let sent = self.socket.send(&self.outbox);
        self.outbox.clear();
        sent
    }

    fn lose(&mut self, why: &str) {
        if !self.lost {
            self.lost = true;
            self.inbox.clear();
        }
        self.items.push_back(PgItem::Lost(why.to_owned()));
    }
}

fn message_of(mut fields: backend::ErrorFields<'_>) -> PgMessage {
    let mut message = PgMessage {
        severity: String::new(),
        code: String::new(),
        message: String::new(),
        detail: String::new(),
        hint: String::new(),
    };
    while let Ok(Some(field)) = fields.next() {
        let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'S' => message.severity = text(),
            b'C' => message.code = text(),
            b'M' => message.message = text(),
            b'D' => message.detail = text(),
            b'H' => message.hint = text(),
            _ => {}
        }
    }
    message
}
