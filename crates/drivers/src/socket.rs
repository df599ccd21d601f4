//! A connection to a server that never waits for answers: over TCP, or through the server's Unix socket.
//!
//! Idea: a server on this machine is reached through its Unix socket if it has one, which takes about half the
//! processor time of TCP on loopback; with thousands of tiny statements per second that matters. The server itself
//! reports its socket (the product's file asks, and makes sure that the same server answers there). Assumption: a
//! socket's path does not change while a target is open; if nothing answers on it any more, TCP is used. What goes over
//! TCP can be encrypted ([`Socket::encrypt`]), at the moment that the product's protocol has for it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use crate::endpoint::Endpoint;
use crate::tls::Encryption;
use crate::wait::wait_writable;

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;
/// How long the server may take to accept what is sent.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How long a single wait for room in the socket's buffer lasts.
const WRITE_SLICE: Duration = Duration::from_millis(50);

pub(crate) struct Socket {
    stream: Stream,
    encryption: Option<Encryption>,
    /// Kept, because clearing it for each read would take longer than reading.
    chunk: Box<[u8]>,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream, PathBuf),
}

/// Where a socket leads.
enum Peer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Socket {
    /// Connects to the endpoint's socket, or to its host.
    pub(crate) fn open(endpoint: &Endpoint, port: u16, limit: Duration) -> io::Result<Self> {
        if let Some(path) = &endpoint.socket
            && let Ok(socket) = Self::dial(&Peer::Unix(path.clone()), limit)
        {
            return Ok(socket);
        }
        let deadline = Instant::now() + limit;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (endpoint.host.as_str(), port).to_socket_addrs()? {
            let left = deadline.saturating_duration_since(Instant::now());
            match Self::dial(&Peer::Tcp(address), left.max(Duration::from_millis(1))) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn dial(peer: &Peer, limit: Duration) -> io::Result<Self> {
        let stream = match peer {
            Peer::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Stream::Unix(stream, path.clone())
            }
            Peer::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, limit)?;
                // A statement is one small packet and its answer is awaited: delaying it gains nothing.
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Stream::Tcp(stream)
            }
        };
        let chunk = vec![0; READ_BYTES].into_boxed_slice();
        Ok(Self { stream, encryption: None, chunk })
    }

    /// A second connection to the same server, not encrypted yet.
    pub(crate) fn apart(&self, limit: Duration) -> io::Result<Self> {
        let peer = match &self.stream {
            Stream::Tcp(stream) => Peer::Tcp(stream.peer_addr()?),
            Stream::Unix(_, path) => Peer::Unix(path.clone()),
        };
        Self::dial(&peer, limit)
    }

    /// Encrypts from here on. Nothing that the server sent before may be left unread.
    pub(crate) fn encrypt(&mut self, endpoint: &Endpoint, deadline: Instant) -> Result<(), String> {
        let client = endpoint.tls.client()?;
        let begun = Encryption::begin(client, &endpoint.host, &mut self.stream, deadline)?;
        self.encryption = Some(begun);
        Ok(())
    }

    /// Encrypts in the way of another connection to the same server.
    pub(crate) fn encrypt_like(&mut self, other: &Self, deadline: Instant) -> Result<(), String> {
        let like = other.encryption.as_ref();
        self.encryption = like.map(|like| like.again(&mut self.stream, deadline)).transpose()?;
        Ok(())
    }

    /// Whether what is sent cannot be read on the way.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    /// Whether it stays on this machine, so that a password cannot be read on the way.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.stream, Stream::Unix(..))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Adds what has arrived; whether there was anything. After "nothing" the descriptor becomes readable with
    /// the next byte; nothing is held back, encrypted or not.
    pub(crate) fn take_in(&mut self, incoming: &mut BytesMut) -> io::Result<bool> {
        if let Some(encryption) = &mut self.encryption {
            return encryption.take_in(&mut self.stream, incoming, &mut self.chunk);
        }
        loop {
            match self.stream.read(&mut self.chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    incoming.extend_from_slice(&self.chunk[..read]);
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends everything; waits only for space in the socket's buffer.
    pub(crate) fn send(&mut self, mut rest: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + WRITE_LIMIT;
        if let Some(encryption) = &mut self.encryption {
            return encryption.send(&mut self.stream, rest, deadline);
        }
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > deadline {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    wait_writable(self.fd(), WRITE_SLICE);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream, _) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream, _) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream, _) => stream.as_fd(),
        }
    }
}

/// What a server says about itself: its port, its Unix sockets, and what no other server has.
pub(crate) struct Identity {
    pub port: u16,
    pub sockets: Vec<PathBuf>,
    pub identity: String,
}

/// The endpoint with the server's Unix socket, if it is on this machine, listens on this port itself (nothing is in
/// between), and identifies itself there as the same server. `identity` is its identity on the existing connection.
pub(crate) fn come_closer(
    endpoint: &Endpoint,
    port: u16,
    identity: impl FnOnce() -> Option<Identity>,
    introduce: impl Fn(&Endpoint) -> Option<Identity>,
) -> Endpoint {
    // A server elsewhere is not asked, and a user who wants encryption has reasons.
    let may_come = endpoint.is_loopback() && !endpoint.tls.is_demanded();
    let identity = if may_come { identity() } else { None };
    let nearer = identity.filter(|identity| identity.port == port).and_then(|identity| {
        let through = |path| Endpoint { socket: Some(path), ..endpoint.clone() };
        let is_same = |nearer: &Endpoint| {
            introduce(nearer).is_some_and(|other| other.identity == identity.identity)
        };
        identity.sockets.into_iter().filter(|path| path.exists()).map(through).find(is_same)
    });
    nearer.unwrap_or_else(|| endpoint.clone())
}
