//! Packets over a socket that never blocks.
//!
//! A packet is a length, a sequence number and a payload; payloads of 16 MiB and more are split. Reading takes what has
//! arrived and returns `None` if that is not a complete packet yet. Only writing may wait, for space in the socket's
//! buffer: a server that waits for a command reads it without taking any lock.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use mysql_common::proto::codec::PacketCodec;

use crate::endpoint::Endpoint;
use crate::socket::Socket;
use crate::wait::{INTERRUPTED, is_interrupted, wait_readable};

/// The largest packet that the protocol allows at all.
const PACKET_BYTES_MAX: usize = 1 << 30;

pub(super) struct Channel {
    socket: Socket,
    codec: PacketCodec,
    incoming: BytesMut,
    /// The packet that is being put together, or was handed out last.
    packet: Vec<u8>,
    handed_out: bool,
}

impl Channel {
    pub(super) fn new(socket: Socket) -> Self {
        let mut codec = PacketCodec::default();
        codec.max_allowed_packet = PACKET_BYTES_MAX;
        Self { socket, codec, incoming: BytesMut::new(), packet: Vec::new(), handed_out: false }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Encrypts from here on. The server sends nothing at this point: anything that arrived before could be an
    /// attacker's.
    pub(super) fn encrypt(&mut self, endpoint: &Endpoint, deadline: Instant) -> Result<(), String> {
        if !self.incoming.is_empty() {
            return Err("the server sent something before TLS began".to_owned());
        }
        self.socket.encrypt(endpoint, deadline)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.socket.is_encrypted()
    }

    /// Sends the first packets of commands, one after another.
    pub(super) fn send_commands(&mut self, command: u8, arguments: &[&str]) -> io::Result<()> {
        let mut outgoing = BytesMut::new();
        for argument in arguments {
            self.codec.reset_seq_id();
            let first = [command];
            let mut payload = Buf::chain(&first[..], argument.as_bytes());
            self.codec.encode(&mut payload, &mut outgoing).map_err(io::Error::other)?;
        }
        self.socket.send(&outgoing)
    }

    /// The answer to the next of several commands sent together follows.
    pub(super) fn expect_next_answer(&mut self) -> io::Result<()> {
        self.codec.reset_seq_id();
        // The command had the first number.
        self.codec.encode(&mut &[][..], &mut BytesMut::new()).map_err(io::Error::other)
    }

    /// Sends a packet within a conversation.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut outgoing = BytesMut::with_capacity(payload.len() + 4);
        self.codec.encode(&mut &*payload, &mut outgoing).map_err(io::Error::other)?;
        self.socket.send(&outgoing)
    }

    /// The next packet, if it has arrived completely.
    pub(super) fn receive(&mut self) -> io::Result<Option<&[u8]>> {
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
            if !self.socket.take_in(&mut self.incoming)? {
                return Ok(None);
            }
        }
    }

    /// The last packet that has arrived, whatever it answers: a server that shuts down tells its clients so, even idle
    /// ones. For a connection that is being abandoned.
    pub(super) fn last_packet(&mut self) -> Option<Vec<u8>> {
        while let Ok(true) = self.socket.take_in(&mut self.incoming) {}
        // A packet with an unexpected number was taken apart before it was refused.
        let mut last = (!self.handed_out).then(|| std::mem::take(&mut self.packet));
        while let [low, middle, high, _, rest @ ..] = &self.incoming[..]
            && let Some(payload) =
                rest.get(..u32::from_le_bytes([*low, *middle, *high, 0]) as usize)
        {
            last = Some(payload.to_vec());
            let length = payload.len();
            self.incoming.advance(4 + length);
        }
        last.filter(|packet| !packet.is_empty())
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
            if is_interrupted() {
                return Err(io::Error::other(INTERRUPTED));
            }
            wait_readable(&[self.fd()], left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Endpoint;
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    /// An unsolicited error: the first packet of a conversation, where an answer would be the second.
    const UNASKED: &[u8] = b"\x0d\0\0\0\xff\x1d\x04#08S01bye!";

    #[test]
    fn what_a_server_says_before_it_hangs_up_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let endpoint = Endpoint::parse("mysql://root@127.0.0.1").unwrap();
        let endpoint = Endpoint { socket: Some(path), ..endpoint };
        for is_read_first in [false, true] {
            let socket = Socket::open(&endpoint, 1, Duration::from_secs(5)).unwrap();
            let mut channel = Channel::new(socket);
            let (mut server, _) = listener.accept().unwrap();
            server.write_all(UNASKED).unwrap();
            drop(server);
            if is_read_first {
                channel.expect_next_answer().unwrap();
                assert!(channel.receive().is_err(), "it is no answer");
            } else {
                assert!(channel.send_commands(3, &["SELECT 1"]).is_err(), "nobody listens");
            }
            assert_eq!(channel.last_packet().as_deref(), Some(&UNASKED[4..]));
            assert_eq!(channel.last_packet(), None);
        }
    }
}
