//! Packets over a socket that never blocks.
//!
//! A packet is a length, a sequence number and a payload; payloads of 16 MiB and more are split. Reading
//! takes what has arrived and says `None` when that is no whole packet yet. Only writing may wait, for
//! room in the socket's buffer: a server that awaits a command reads it without taking any lock.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use mysql_common::proto::codec::PacketCodec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::wait_readable;

/// The largest packet that the protocol allows at all.
const PACKET_BYTES_MAX: usize = 1 << 30;
/// How much is read from the socket at once.
const READ_BYTES: usize = 16 * 1024;
/// How long the server may take to accept a packet.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How long a single wait for room in the socket's buffer lasts.
const WRITE_SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

pub(super) struct Channel {
    stream: TcpStream,
    codec: PacketCodec,
    incoming: BytesMut,
    /// The packet that is being put together, or was handed out last.
    packet: Vec<u8>,
    handed_out: bool,
}

impl Channel {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        // A statement is one small packet and its answer is awaited: nothing to be gained by gathering.
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut codec = PacketCodec::default();
        codec.max_allowed_packet = PACKET_BYTES_MAX;
        Ok(Self { stream, codec, incoming: BytesMut::new(), packet: Vec::new(), handed_out: false })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Sends the first packets of commands, one behind the other.
    pub(super) fn send_commands(&mut self, command: u8, arguments: &[&str]) -> io::Result<()> {
        let mut outgoing = BytesMut::new();
        for argument in arguments {
            self.codec.reset_seq_id();
            let first = [command];
            let mut payload = Buf::chain(&first[..], argument.as_bytes());
            self.codec.encode(&mut payload, &mut outgoing).map_err(io::Error::other)?;
        }
        self.write(&outgoing)
    }

    /// The answer to the next command that was sent together with others is to come.
    pub(super) fn expect_next_answer(&mut self) -> io::Result<()> {
        self.codec.reset_seq_id();
        // The command had the first number.
        self.codec.encode(&mut &[][..], &mut BytesMut::new()).map_err(io::Error::other)
    }

    /// Sends a packet within a conversation.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut outgoing = BytesMut::with_capacity(payload.len() + 4);
        self.codec.encode(&mut &*payload, &mut outgoing).map_err(io::Error::other)?;
        self.write(&outgoing)
    }

    fn write(&mut self, outgoing: &[u8]) -> io::Result<()> {
        let start = Instant::now();
        let mut rest = outgoing;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if start.elapsed() > WRITE_LIMIT {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    let mut writable = [PollFd::new(&self.stream, PollFlags::OUT)];
                    let _ = poll(&mut writable, Some(&WRITE_SLICE));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next packet, if it has arrived whole.
    pub(super) fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        let mut chunk = [0; READ_BYTES];
        // The first part of a split packet must survive a call that ends before the last part is there.
        if self.handed_out {
            self.packet.clear();
            self.handed_out = false;
        }
        loop {
            if self.codec.decode(&mut self.incoming, &mut self.packet).map_err(io::Error::other)? {
                self.handed_out = true;
                return Ok(Some(&self.packet));
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.incoming.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next packet, waited for until the deadline.
    pub(super) fn receive_until(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        loop {
            if let Some(packet) = self.receive()? {
                return Ok(packet.to_vec());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            wait_readable(&[self.fd()], left);
        }
    }
}
