//! One encrypted session over a stream that never waits.
//!
//! Idea: callers wait for answers on the socket. So nothing that was decrypted may stay in here: everything that
//! arrives is decrypted and passed on at once, and "nothing more" is returned only when the socket also has nothing
//! more. What is left here then is at most a part of a record, whose rest makes the socket readable.

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

    /// Passes on everything that has arrived; returns whether there was anything.
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
                    // The connection ended without a closing message; what came before counts.
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

    /// Encrypts and sends everything; waits only for space in the socket's buffer.
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
            // The server is told why; whether that arrives no longer matters.
            let _ = self.session.write_tls(stream);
            return Err(io::Error::other(explain(&error, &self.host)));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::Tls;
    use rustls::crypto::ring::default_provider;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection};
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(30);

    /// The server's end, on a thread of its own until the keys are agreed on.
    struct Server {
        session: ServerConnection,
        stream: UnixStream,
    }

    impl Server {
        /// A server for `localhost`, whose certificate is written to the file.
        fn new(stream: UnixStream, certificate: &Path) -> Self {
            let names = vec!["localhost".to_owned()];
            let made = rcgen::generate_simple_self_signed(names).unwrap();
            std::fs::write(certificate, made.cert.pem()).unwrap();
            let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
            let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![made.cert.der().clone()], key)
                .unwrap();
            let mut session = ServerConnection::new(Arc::new(config)).unwrap();
            session.set_buffer_limit(None);
            Self { session, stream }
        }

        fn shake_hands(mut self) -> io::Result<Self> {
            while self.session.is_handshaking() || self.session.wants_write() {
                self.session.complete_io(&mut self.stream)?;
            }
            Ok(self)
        }

        /// Puts texts into one record each and sends all of them at once.
        fn say(&mut self, texts: &[&[u8]]) {
            let mut records = Vec::new();
            for text in texts {
                self.session.writer().write_all(text).unwrap();
                while self.session.wants_write() {
                    self.session.write_tls(&mut records).unwrap();
                }
            }
            self.stream.write_all(&records).unwrap();
        }
    }

    /// Both ends, with the client's settings; the certificate's file is `CERTIFICATE`.
    fn connect(
        host: &str,
        parameters: &[(&str, &str)],
    ) -> Result<(Encryption, UnixStream, Server), String> {
        let folder = tempfile::tempdir().unwrap();
        let certificate = folder.path().join("server.pem");
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let server = Server::new(theirs, &certificate);
        let mut tls = Tls::default();
        for (name, value) in parameters {
            tls.set(name, &value.replace("CERTIFICATE", certificate.to_str().unwrap())).unwrap();
        }
        let thread = std::thread::spawn(|| server.shake_hands());
        let begun = Encryption::begin(tls.client()?, host, &mut ours, Instant::now() + LIMIT);
        let served = thread.join().unwrap();
        Ok((begun?, ours, served.unwrap()))
    }

    #[test]
    fn what_was_decrypted_does_not_wait_for_the_socket() {
        let (mut ours, mut stream, mut server) = connect("localhost", &[]).unwrap();
        let long = vec![b'x'; 10_000];
        server.say(&[b"first", &long, b"last"]);
        wait_readable(&[stream.as_fd()], LIMIT);
        // A small chunk, so that one record takes several reads.
        let (mut incoming, mut chunk) = (BytesMut::new(), [0; 1000]);
        while ours.take_in(&mut stream, &mut incoming, &mut chunk).unwrap() {}
        assert_eq!(incoming.len(), "first".len() + long.len() + "last".len());
        assert!(incoming.ends_with(b"last"));
        // Half a record is nothing yet; its other half makes the socket readable.
        server.session.writer().write_all(b"more").unwrap();
        let mut record = Vec::new();
        server.session.write_tls(&mut record).unwrap();
        let (head, tail) = record.split_at(record.len() / 2);
        server.stream.write_all(head).unwrap();
        incoming.clear();
        assert!(!ours.take_in(&mut stream, &mut incoming, &mut chunk).unwrap());
        server.stream.write_all(tail).unwrap();
        wait_readable(&[stream.as_fd()], LIMIT);
        assert!(ours.take_in(&mut stream, &mut incoming, &mut chunk).unwrap());
        assert_eq!(&incoming[..], b"more");
        // The end of the connection comes after what was said before it.
        server.say(&[b"bye"]);
        server.session.send_close_notify();
        server.say(&[]);
        drop(server);
        incoming.clear();
        assert!(ours.take_in(&mut stream, &mut incoming, &mut chunk).unwrap());
        assert_eq!(&incoming[..], b"bye");
        let end = ours.take_in(&mut stream, &mut incoming, &mut chunk).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn whom_each_mode_believes() {
        let trusted = ("sslrootcert", "CERTIFICATE");
        for (host, parameters, expected) in [
            ("elsewhere", vec![("sslmode", "require")], Ok(())),
            ("elsewhere", vec![("sslmode", "verify-ca"), trusted], Ok(())),
            ("localhost", vec![("sslmode", "verify-full"), trusted], Ok(())),
            (
                "elsewhere",
                vec![("sslmode", "verify-full"), trusted],
                Err("not for the host 'elsewhere'"),
            ),
            ("localhost", vec![("sslmode", "verify-ca")], Err("sslrootcert=FILE")),
            ("localhost", vec![("sslcert", "CERTIFICATE")], Err("belong together")),
        ] {
            let result = connect(host, &parameters).map(drop);
            match expected {
                Ok(()) => assert_eq!(result, Ok(()), "{host} {parameters:?}"),
                Err(words) => {
                    let told = result.unwrap_err();
                    assert!(told.contains(words), "{host} {parameters:?}: {told}");
                }
            }
        }
    }
}
