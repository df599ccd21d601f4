//! One authenticated connection. Statements are sent one at a time, or several whose answers come in order.
//!
//! A statement is written exactly once. When the connection breaks, before, during or after that, the
//! outstanding statement is answered with [`WireError::Lost`], and so is every later one.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use anchorite_model::Answer;
use mysql_common::constants::CapabilityFlags;

use super::ServerError;
use super::channel::Channel;
use super::handshake;
use super::response::Response;
use crate::TargetError;
use crate::endpoint::Endpoint;
use crate::wait::{INTERRUPTED, is_interrupted, wait_readable};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;

/// Why a statement did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// The server answered an error.
    #[error("{} (error {})", .0.message, .0.code)]
    Server(ServerError),
    /// The connection is gone; the text says how.
    #[error("{0}")]
    Lost(String),
}

/// A connection that is ready for statements.
pub(crate) struct Connection {
    channel: Channel,
    capabilities: CapabilityFlags,
    connection_id: u32,
    outstanding: VecDeque<Response>,
    lost: Option<String>,
}

impl Connection {
    /// Connects for single statements.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self, TargetError> {
        Self::open_with(endpoint, CapabilityFlags::empty())
    }

    /// Connects so that one command may contain several statements separated by `;`.
    pub(crate) fn open_multi(endpoint: &Endpoint) -> Result<Self, TargetError> {
        Self::open_with(endpoint, CapabilityFlags::CLIENT_MULTI_STATEMENTS)
    }

    fn open_with(endpoint: &Endpoint, extra: CapabilityFlags) -> Result<Self, TargetError> {
        let greeted =
            handshake::connect(endpoint, extra).map_err(|refusal| refusal.at(endpoint))?;
        Ok(Self {
            channel: greeted.channel,
            capabilities: greeted.capabilities,
            connection_id: greeted.connection_id,
            outstanding: VecDeque::new(),
            lost: None,
        })
    }

    /// The id in the server's greeting; TiDB's real ids may be longer.
    pub(crate) fn greeted_id(&self) -> u32 {
        self.connection_id
    }

    /// Whether one command may contain several statements.
    pub(crate) fn takes_several(&self) -> bool {
        self.capabilities.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS)
    }

    /// Whether the connection is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.channel.is_encrypted()
    }

    /// Whether a statement has not been answered yet.
    pub(crate) fn is_busy(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// What to wait on for the answer.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    /// Sends a statement. The previous one must have been answered.
    pub(crate) fn submit(&mut self, sql: &str) {
        self.submit_several(&[sql]);
    }

    /// Sends statements one after another; their answers arrive in order.
    pub(crate) fn submit_several(&mut self, statements: &[&str]) {
        debug_assert!(!self.is_busy(), "a statement is still outstanding");
        let response = |_: &&str| Response::new(self.capabilities);
        self.outstanding = statements.iter().map(response).collect();
        if self.lost.is_some() {
            return;
        }
        let sent = self.channel.send_commands(COM_QUERY, statements);
        let sent = sent.and_then(|()| match statements {
            // One statement may have taken several packets: the numbers continue from there.
            [_] => Ok(()),
            _ => self.channel.expect_next_answer(),
        });
        if let Err(error) = sent {
            self.lose(&error);
        }
    }

    /// Abandons the connection. The server's last message says more than the system's.
    fn lose(&mut self, error: &io::Error) {
        let said = self.channel.last_packet();
        let said = said.and_then(|packet| ServerError::parse(&packet, self.capabilities).ok());
        self.lost = Some(match said {
            Some(said) => {
                format!("the server closed the connection: {} (error {})", said.message, said.code)
            }
            None => describe(error),
        });
    }

    /// The next answer, if it has arrived.
    pub(crate) fn poll(&mut self) -> Option<Result<Answer, WireError>> {
        loop {
            let response = self.outstanding.front_mut()?;
            if let Some(reason) = &self.lost {
                self.outstanding.pop_front();
                return Some(Err(WireError::Lost(reason.clone())));
            }
            let fed = match self.channel.receive() {
                Ok(Some(packet)) => response.feed(packet),
                Ok(None) => return None,
                Err(error) => Err(error),
            };
            match fed {
                Ok(None) => {}
                Ok(Some(reply)) => {
                    self.outstanding.pop_front();
                    if let Err(error) = self.channel.expect_next_answer() {
                        self.lose(&error);
                    }
                    return Some(reply.map_err(WireError::Server));
                }
                Err(error) => self.lose(&error),
            }
        }
    }

    /// Sends a statement and waits for its answer. A connection that does not answer within the limit is abandoned.
    pub(crate) fn query(&mut self, sql: &str, limit: Duration) -> Result<Answer, WireError> {
        let deadline = Instant::now() + limit;
        self.submit(sql);
        loop {
            if let Some(reply) = self.poll() {
                return reply;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.lost = Some(format!("no answer within {} ms", limit.as_millis()));
            } else if is_interrupted() {
                self.lost = Some(INTERRUPTED.to_owned());
            } else {
                wait_readable(&[self.fd()], left);
            }
        }
    }
}

/// Sends a quit command if nothing is under way, so that the server does not log an aborted connection.
impl Drop for Connection {
    fn drop(&mut self) {
        if self.lost.is_none() && !self.is_busy() {
            let _ = self.channel.send_commands(COM_QUIT, &[""]);
        }
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        _ => format!("the connection broke: {error}"),
    }
}
