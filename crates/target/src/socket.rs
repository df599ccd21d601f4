//! A connection to a server that never waits for answers: over TCP, or through the server's Unix socket.
//!
//! Idea: a server on this machine is spoken to through its Unix socket where it has one, which takes about half
//! the processor time of TCP on loopback; with thousands of tiny statements per second that is felt. Which
//! socket it is, the server itself tells (the product's file asks, and makes sure that the same server answers
//! there). Assumption: a socket's path does not change while a target is open; where nothing answers on it any
//! more, TCP is used.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use crate::endpoint::Endpoint;
use crate::wait::wait_writable;

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;
/// How long the server may take to accept what is sent.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How long a single wait for room in the socket's buffer lasts.
const WRITE_SLICE: Duration = Duration::from_millis(50);

pub(crate) struct Socket {
    stream: Stream,
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
                // A statement is one small packet and its answer is awaited: gathering gains nothing.
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Stream::Tcp(stream)
            }
        };
        Ok(Self { stream, chunk: vec![0; READ_BYTES].into_boxed_slice() })
    }

    /// Sends a few bytes over a second connection and waits until the server closes it.
    pub(crate) fn tell_apart(&self, message: &[u8], limit: Duration) -> io::Result<()> {
        let peer = match &self.stream {
            Stream::Tcp(stream) => Peer::Tcp(stream.peer_addr()?),
            Stream::Unix(_, path) => Peer::Unix(path.clone()),
        };
        let mut side = Self::dial(&peer, limit)?;
        side.send(message)?;
        crate::wait_readable(&[side.fd()], limit);
        Ok(())
    }

    /// Whether it stays on this machine, so that a password cannot be read underway.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.stream, Stream::Unix(..))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream, _) => stream.as_fd(),
        }
    }

    /// Adds what has arrived; whether there was anything.
    pub(crate) fn take_in(&mut self, incoming: &mut BytesMut) -> io::Result<bool> {
        loop {
            let read = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(&mut self.chunk),
                Stream::Unix(stream, _) => stream.read(&mut self.chunk),
            };
            match read {
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

    /// Sends all; waits only for room in the socket's buffer.
    pub(crate) fn send(&mut self, mut rest: &[u8]) -> io::Result<()> {
        let start = Instant::now();
        while !rest.is_empty() {
            let written = match &mut self.stream {
                Stream::Tcp(stream) => stream.write(rest),
                Stream::Unix(stream, _) => stream.write(rest),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if start.elapsed() > WRITE_LIMIT {
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

/// What a server says about itself: its port, its Unix sockets, and what no other server has.
pub(crate) struct Card {
    pub port: u16,
    pub sockets: Vec<PathBuf>,
    pub identity: String,
}

/// The endpoint with the server's Unix socket, if it is on this machine, listens on the very port (nothing is
/// in between), and introduces itself as the same server there. `card` is what it says on the way that is known.
pub(crate) fn come_closer(
    endpoint: &Endpoint,
    port: u16,
    card: impl FnOnce() -> Option<Card>,
    introduce: impl Fn(&Endpoint) -> Option<Card>,
) -> Endpoint {
    let is_loopback = endpoint.host == "localhost"
        || endpoint.host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    // Whoever is elsewhere is not asked.
    let card = if is_loopback { card() } else { None };
    let nearer = card.filter(|card| card.port == port).and_then(|card| {
        let through = |path| Endpoint { socket: Some(path), ..endpoint.clone() };
        let is_same = |nearer: &Endpoint| {
            introduce(nearer).is_some_and(|other| other.identity == card.identity)
        };
        card.sockets.into_iter().filter(|path| path.exists()).map(through).find(is_same)
    });
    nearer.unwrap_or_else(|| endpoint.clone())
}
