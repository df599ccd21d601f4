//! Connecting to a server of the PostgreSQL protocol: encryption, the start-up message, authentication.
//!
//! Encryption is requested first, with a separate message that the server answers with one byte. Nothing may follow
//! that byte: more could come from an attacker in between who wants it taken for the server's. Understood are cleartext
//! passwords, MD5 and SCRAM-SHA-256 (without channel binding).

use std::io;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::{backend::Message, frontend};

use super::{PgConnection, message_of};
use crate::encryption_choice::{Refusal, Wish, negotiate};
use crate::endpoint::Endpoint;
use crate::socket::Socket;
use crate::tls::SslMode;
use crate::wait::{INTERRUPTED, is_interrupted, wait_readable};

/// Longest time for opening a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// The server's answer to the request for encryption: now, or not at all.
const WILLING: u8 = b'S';
const UNWILLING: u8 = b'N';

/// SQLSTATE of a login that the server's rules do not provide for.
const INVALID_AUTHORIZATION: &str = "28000";

impl PgConnection {
    /// Connects and logs in. `parameters` are run-time settings for the start-up message.
    pub(crate) fn open(endpoint: &Endpoint, parameters: &[(&str, &str)]) -> Result<Self, Refusal> {
        negotiate(endpoint, |wish| Self::try_to_open(endpoint, parameters, wish))
    }

    fn try_to_open(
        endpoint: &Endpoint,
        parameters: &[(&str, &str)],
        wish: Wish,
    ) -> Result<Self, Refusal> {
        let port = endpoint.port.expect("the driver fills in the port");
        let deadline = Instant::now() + CONNECT_LIMIT;
        let mut socket = Socket::open(endpoint, port, CONNECT_LIMIT).map_err(unreachable)?;
        if wish != Wish::Plain && !socket.is_local() {
            let is_willing = asks_for_tls(&mut socket, deadline).map_err(refused)?;
            if is_willing {
                socket.encrypt(endpoint, deadline).map_err(Refusal::Refused)?;
            } else if wish == Wish::Encrypted {
                return Err(Refusal::NoTls);
            }
        }
        let mut connection = Self {
            socket,
            inbox: BytesMut::with_capacity(8192),
            outbox: BytesMut::new(),
            items: Default::default(),
            rows: None,
            lost: false,
            pid: 0,
            secret: 0,
            server_version: String::new(),
            is_cockroach: false,
        };
        let all = [("user", endpoint.user.as_str()), ("database", endpoint.database.as_str())];
        let all = all.into_iter().chain(parameters.iter().copied());
        frontend::startup_message(all, &mut connection.outbox).map_err(unreachable)?;
        connection.flush().map_err(unreachable)?;
        connection.log_in(endpoint, deadline)?;
        Ok(connection)
    }

    fn log_in(&mut self, endpoint: &Endpoint, deadline: Instant) -> Result<(), Refusal> {
        let mut scram = None;
        loop {
            let Some(message) = self.next_message().map_err(refused)? else {
                wait_until(&self.socket, deadline).map_err(unreachable)?;
                continue;
            };
            match message {
                Message::ErrorResponse(body) => {
                    let error = message_of(body.fields());
                    let mut reason = format!("{} ({})", error.message, error.code);
                    if error.code == INVALID_AUTHORIZATION
                        && endpoint.tls.mode == Some(SslMode::Disable)
                    {
                        reason += "; the server may demand TLS, which sslmode=disable forbids";
                    }
                    return Err(Refusal::Refused(reason));
                }
                Message::BackendKeyData(body) => {
                    self.pid = u64::try_from(body.process_id()).unwrap_or_default();
                    self.secret = body.secret_key();
                }
                Message::ReadyForQuery(_) => return Ok(()),
                other => self.authenticate(other, endpoint, &mut scram)?,
            }
        }
    }

    fn authenticate(
        &mut self,
        message: Message,
        endpoint: &Endpoint,
        scram: &mut Option<sasl::ScramSha256>,
    ) -> Result<(), Refusal> {
        let password = endpoint.password().as_bytes();
        let out = &mut self.outbox;
        let written = match message {
            Message::AuthenticationCleartextPassword
            | Message::AuthenticationMd5Password(_)
            | Message::AuthenticationSasl(_)
                if password.is_empty() =>
            {
                let reason = "the server asks for a password, and none was given: it can stand in PGPASSWORD, in \
                              ~/.pgpass or PGPASSFILE, in a file (--password-file FILE), or be asked for (--password)";
                return Err(Refusal::PasswordWanted(reason.to_owned()));
            }
            Message::AuthenticationCleartextPassword => frontend::password_message(password, out),
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(endpoint.user.as_bytes(), password, body.salt());
                frontend::password_message(hash.as_bytes(), out)
            }
            Message::AuthenticationSasl(_) => {
                let exchange =
                    sasl::ScramSha256::new(password, sasl::ChannelBinding::unsupported());
                let sent =
                    frontend::sasl_initial_response(sasl::SCRAM_SHA_256, exchange.message(), out);
                *scram = Some(exchange);
                sent
            }
            Message::AuthenticationSaslContinue(body) => match scram {
                Some(exchange) => exchange
                    .update(body.data())
                    .and_then(|()| frontend::sasl_response(exchange.message(), out)),
                None => Err(io::Error::other("the server continued a login that never began")),
            },
            Message::AuthenticationSaslFinal(body) => match scram {
                Some(exchange) => exchange.finish(body.data()),
                None => Ok(()),
            },
            Message::ParameterStatus(body) => {
                match body.name().unwrap_or_default() {
                    "server_version" => {
                        self.server_version = body.value().unwrap_or_default().to_owned();
                    }
                    "crdb_version" => self.is_cockroach = true,
                    _ => {}
                }
                Ok(())
            }
            Message::AuthenticationOk | Message::NoticeResponse(_) => Ok(()),
            _ => {
                let reason = "the server asked for a way to log in that is not supported";
                return Err(Refusal::Refused(reason.to_owned()));
            }
        };
        written.and_then(|()| self.flush()).map_err(refused)
    }
}

/// Asks the server for encryption; returns whether it agrees.
fn asks_for_tls(socket: &mut Socket, deadline: Instant) -> io::Result<bool> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.send(&request)?;
    let mut answer = BytesMut::new();
    while !socket.take_in(&mut answer)? {
        wait_until(socket, deadline)?;
    }
    match answer[..] {
        [WILLING] => Ok(true),
        [UNWILLING] => Ok(false),
        _ => Err(io::Error::other("what answers to the wish for TLS is no PostgreSQL server")),
    }
}

/// Sends a few bytes over a second connection, encrypted like this one, and waits until the server closes it.
pub(super) fn tell_apart(socket: &Socket, message: &[u8]) -> Result<(), String> {
    let deadline = Instant::now() + CONNECT_LIMIT;
    let say = |error: io::Error| error.to_string();
    let mut side = socket.apart(CONNECT_LIMIT).map_err(say)?;
    if socket.is_encrypted() && asks_for_tls(&mut side, deadline).map_err(say)? {
        side.encrypt_like(socket, deadline)?;
    }
    side.send(message).map_err(say)?;
    // The server closes when it has read the request.
    let mut nothing = BytesMut::new();
    while side.take_in(&mut nothing).is_ok() {
        wait_until(&side, deadline).map_err(say)?;
    }
    Ok(())
}

fn wait_until(socket: &Socket, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        let message = format!("no answer within {} s", CONNECT_LIMIT.as_secs());
        return Err(io::Error::new(io::ErrorKind::TimedOut, message));
    }
    if is_interrupted() {
        return Err(io::Error::other(INTERRUPTED));
    }
    wait_readable(&[socket.fd()], left);
    Ok(())
}

fn unreachable(error: io::Error) -> Refusal {
    Refusal::Unreachable(words(&error))
}

fn refused(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::TimedOut => unreachable(error),
        _ => Refusal::Refused(words(&error)),
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        _ => error.to_string(),
    }
}
