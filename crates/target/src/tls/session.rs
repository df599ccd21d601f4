//! One encrypted session over a stream that never waits.
//!
//! Idea: whoever waits for answers waits on the socket. So nothing that was decrypted may stay in here: what
//! arrives is decrypted and handed over at once, all of it, and "nothing more" is said only when the socket, too,
//! has nothing more. What is left here then is at most a part of a record, whose rest makes the socket readable.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rustls::ClientConnection;

use super::client::{Client, explain};
use crate::wait::{INTERRUPTED, is_interrupted, wait_readable, wait_writable};

/// How long a single wait for room in the socket's buffer lasts.
const WRITE_SLICE: Duration = Duration::from_millis(50);

pub(crate) struct Encryption {
    session: Box<ClientConnection>,
    host: String,
    client: Client,
}

impl Encryption {
    /// Agrees on keys with the server of this name.
    pub(crate) fn begin<S: Read + Write + AsFd>(
        client: &Client,
        host: &str,
        stream: &mut S,
        deadline: Instant,
    ) -> Result<Self, String> {
        let session = Box::new(client.begin(host)?);
        let mut this = Self { session, host: host.to_owned(), client: client.clone() };
        this.shake_hands(stream, deadline).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server broke TLS off".to_owned(),
            io::ErrorKind::TimedOut => "no answer while agreeing on TLS".to_owned(),
            _ => error.to_string(),
        })?;
        Ok(this)
    }

    /// The same with another stream to the same server.
    pub(crate) fn again<S: Read + Write + AsFd>(
        &self,
        stream: &mut S,
        deadline: Instant,
    ) -> Result<Self, String> {
        Self::begin(&self.client, &self.host, stream, deadline)
    }

    fn shake_hands<S: Read + Write + AsFd>(
        &mut self,
        stream: &mut S,
        deadline: Instant,
    ) -> io::Result<()> {
        loop {
            self.flush(stream, deadline)?;
            if !self.session.is_handshaking() {
                return Ok(());
            }
            if !self.read_records(stream)? {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                if is_interrupted() {
                    return Err(io::Error::other(INTERRUPTED));
                }
                wait_readable(&[stream.as_fd()], left);
            }
        }
    }

    /// Hands over all that has arrived; whether there was anything.
    pub(crate) fn take_in<S: Read + Write>(
        &mut self,
        stream: &mut S,
        incoming: &mut BytesMut,
        chunk: &mut [u8],
    ) -> io::Result<bool> {
        loop {
            let mut found = false;
            loop {
                match self.session.reader().read(chunk) {
                    Ok(0) if found => return Ok(true),
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(read) => {
                        incoming.extend_from_slice(&chunk[..read]);
                        found = true;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The connection ended without a goodbye; what came before counts.
                    Err(_) if found => break,
                    Err(error) => return Err(error),
                }
            }
            if found {
                return Ok(true);
            }
            if !self.read_records(stream)? {
                return Ok(false);
            }
        }
    }

    /// Encrypts and sends all; waits only for room in the socket's buffer.
    pub(crate) fn send<S: Read + Write + AsFd>(
        &mut self,
        stream: &mut S,
        mut rest: &[u8],
        deadline: Instant,
    ) -> io::Result<()> {
        while !rest.is_empty() {
            // It takes only as much as it may keep.
            let taken = self.session.writer().write(rest)?;
            rest = &rest[taken..];
            self.flush(stream, deadline)?;
        }
        Ok(())
    }

    fn flush<S: Write + AsFd>(&mut self, stream: &mut S, deadline: Instant) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(stream) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > deadline {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    wait_writable(stream.as_fd(), WRITE_SLICE);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads and decrypts once; whether there was anything to read.
    fn read_records<S: Read + Write>(&mut self, stream: &mut S) -> io::Result<bool> {
        match self.session.read_tls(stream) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        }
        if let Err(error) = self.session.process_new_packets() {
            // The server is told why; whether that arrives does not matter any more.
            let _ = self.session.write_tls(stream);
            return Err(io::Error::other(explain(&error, &self.host)));
        }
        Ok(true)
    }
}
