//! Connecting: the server's greeting, what both sides can do, and authentication.
//!
//! Understood are `mysql_native_password`, `caching_sha2_password` (the fast path, and the full exchange: over
//! TLS and the Unix socket the password itself, over plain TCP with the server's RSA key) and `sha256_password`,
//! also after an authentication switch. A request for the password in clear or in the old hash is refused.
//! Encryption begins after the greeting, with the first half of our answer as the request for it.

use std::io;
use std::time::{Duration, Instant};

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest,
};
use mysql_common::proto::MySerialize;

use super::ServerError;
use super::channel::Channel;
use crate::encryption_choice::{Refusal, Wish, negotiate};
use crate::endpoint::Endpoint;
use crate::socket::Socket;
use crate::tls::SslMode;

const OK_HEADER: u8 = 0x00;
const MORE_DATA_HEADER: u8 = 0x01;
const SWITCH_HEADER: u8 = 0xFE;
const ERR_HEADER: u8 = 0xFF;
/// How long connecting, including authentication, may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// What the server may send in one packet, as announced to it.
const PACKET_BYTES_MAX: u32 = 1 << 30;
/// The character set of the conversation; the session's own is set with it: utf8mb4_general_ci, as in the response.
const CHARACTER_SET: u8 = 45;
/// `Access denied for user`; also MariaDB's answer where its `require_secure_transport` is not met.
const ER_ACCESS_DENIED: u16 = 1045;
/// `Connections using insecure transport are prohibited while --require_secure_transport=ON.`
const ER_SECURE_TRANSPORT_REQUIRED: u16 = 3159;

/// What this client can do. `CLIENT_FOUND_ROWS` is left out on purpose: affected rows are changed rows.
const CAPABILITIES: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH);

/// An authenticated channel.
pub(super) struct Greeted {
    pub channel: Channel,
    pub capabilities: CapabilityFlags,
    pub connection_id: u32,
}

/// Connects and authenticates. `extra` are capabilities beyond the usual ones.
pub(super) fn connect(endpoint: &Endpoint, extra: CapabilityFlags) -> Result<Greeted, Refusal> {
    negotiate(endpoint, |wish| try_to_connect(endpoint, extra, wish))
}

fn try_to_connect(
    endpoint: &Endpoint,
    extra: CapabilityFlags,
    wish: Wish,
) -> Result<Greeted, Refusal> {
    let deadline = Instant::now() + CONNECT_LIMIT;
    let port = endpoint.port.expect("the driver fills in the port");
    let socket = Socket::open(endpoint, port, CONNECT_LIMIT)
        .map_err(|error| Refusal::Unreachable(error.to_string()))?;
    let is_local = socket.is_local();
    let mut channel = Channel::new(socket);
    let packet = channel.receive_until(deadline).map_err(|error| {
        let during = "waiting for the server's greeting (is this a MySQL port?)";
        Refusal::Unreachable(describe(&error, during))
    })?;
    if packet.first() == Some(&ERR_HEADER) {
        // Sent before the capabilities are known, hence in the oldest form. It is not about encryption.
        let reason = refusal_words(&packet, CapabilityFlags::empty());
        return Err(Refusal::Unreachable(reason));
    }
    let greeting: HandshakePacket<'_> = ParseBuf(&packet).parse(()).map_err(|error| {
        Refusal::Unreachable(format!("the greeting is not of the MySQL protocol: {error}"))
    })?;
    let mut capabilities = (CAPABILITIES | extra) & greeting.capabilities();
    if !capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
        let reason = "the server is too old: it does not speak protocol 4.1";
        return Err(Refusal::Unreachable(reason.to_owned()));
    }
    if wish != Wish::Plain && !is_local {
        if greeting.capabilities().contains(CapabilityFlags::CLIENT_SSL) {
            capabilities |= CapabilityFlags::CLIENT_SSL;
            encrypt(&mut channel, endpoint, capabilities, deadline).map_err(Refusal::Refused)?;
        } else if wish == Wish::Encrypted {
            return Err(Refusal::NoTls);
        }
    }
    let exchange = Exchange {
        password: endpoint.password().as_bytes(),
        nonce: greeting.nonce(),
        is_local,
        is_encrypted: channel.is_encrypted(),
    };
    // A plugin that is not supported here may not be the account's own: the server will switch.
    let plugin = greeting.auth_plugin().filter(|plugin| is_safe(plugin));
    let plugin = plugin.unwrap_or(AuthPlugin::MysqlNativePassword);
    authenticate(&mut channel, endpoint, capabilities, plugin, exchange, deadline)?;
    Ok(Greeted { channel, capabilities, connection_id: greeting.connection_id() })
}

/// Asks the server for encryption, which it has offered, and begins it.
fn encrypt(
    channel: &mut Channel,
    endpoint: &Endpoint,
    capabilities: CapabilityFlags,
    deadline: Instant,
) -> Result<(), String> {
    let request = SslRequest::new(capabilities, PACKET_BYTES_MAX, CHARACTER_SET);
    let mut packet = Vec::new();
    request.serialize(&mut packet);
    channel.send(&packet).map_err(|error| describe(&error, "asking for TLS"))?;
    channel.encrypt(endpoint, deadline)
}

fn authenticate(
    channel: &mut Channel,
    endpoint: &Endpoint,
    capabilities: CapabilityFlags,
    plugin: AuthPlugin<'_>,
    mut exchange: Exchange<'_>,
    deadline: Instant,
) -> Result<(), Refusal> {
    let broken = |error: io::Error| Refusal::Refused(describe(&error, "authenticating"));
    let mut procedure = plugin.init().map_err(|error| Refusal::Refused(error.to_string()))?;
    let first = exchange.step(&mut procedure, None)?;
    let response = HandshakeResponse::new(
        first.data(),
        (8, 0, 0),
        Some(endpoint.user.as_bytes()),
        None::<&[u8]>,
        Some(plugin),
        capabilities,
        None,
        PACKET_BYTES_MAX,
    );
    let mut packet = Vec::new();
    response.serialize(&mut packet);
    channel.send(&packet).map_err(broken)?;
    loop {
        let packet = channel.receive_until(deadline).map_err(broken)?;
        let reply = match packet.split_first() {
            Some((&OK_HEADER, _)) => return Ok(()),
            Some((&ERR_HEADER, _)) => return Err(refusal(&packet, capabilities, endpoint)),
            Some((&MORE_DATA_HEADER, data)) => exchange.step(&mut procedure, Some(data))?,
            Some((&SWITCH_HEADER, [])) => return Err(unsafe_plugin("mysql_old_password")),
            Some((&SWITCH_HEADER, _)) => {
                let switch: AuthSwitchRequest<'_> = ParseBuf(&packet).parse(()).map_err(broken)?;
                let plugin = switch.auth_plugin();
                if !is_safe(&plugin) {
                    return Err(unsafe_plugin(&String::from_utf8_lossy(plugin.as_bytes())));
                }
                procedure = plugin.init().map_err(|error| Refusal::Refused(error.to_string()))?;
                exchange.nonce = switch.plugin_data().to_vec();
                exchange.step(&mut procedure, None)?
            }
            _ => {
                let reason = "unexpected packet while authenticating";
                return Err(Refusal::Refused(reason.to_owned()));
            }
        };
        if let Some(data) = reply.data() {
            channel.send(data).map_err(broken)?;
        }
    }
}

/// The password and the server's latest challenge.
struct Exchange<'a> {
    password: &'a [u8],
    nonce: Vec<u8>,
    is_local: bool,
    is_encrypted: bool,
}

impl Exchange<'_> {
    /// One step of the procedure, on further data from the server or on the challenge itself.
    fn step(&self, procedure: &mut AuthProc, data: Option<&[u8]>) -> Result<Response, Refusal> {
        procedure
            .run(self, data.unwrap_or(&self.nonce))
            .map_err(|error| Refusal::Refused(format!("authentication failed: {error}")))
    }
}

impl Context for &Exchange<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.is_local
    }

    fn is_tls_transport(&self) -> bool {
        self.is_encrypted
    }

    fn scramble(&self) -> &[u8] {
        &self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

/// Whether the plugin is supported and keeps the password unreadable on a plain connection.
fn is_safe(plugin: &AuthPlugin<'_>) -> bool {
    matches!(
        plugin,
        AuthPlugin::MysqlNativePassword
            | AuthPlugin::CachingSha2Password
            | AuthPlugin::Sha256Password
    )
}

fn unsafe_plugin(name: &str) -> Refusal {
    Refusal::Refused(format!(
        "the account's authentication plugin {name} is not supported; supported are \
         mysql_native_password, caching_sha2_password and sha256_password"
    ))
}

fn refusal(packet: &[u8], capabilities: CapabilityFlags, endpoint: &Endpoint) -> Refusal {
    let mut words = refusal_words(packet, capabilities);
    let code = ServerError::parse(packet, capabilities).map(|error| error.code).unwrap_or(0);
    let may_be_about_tls = [ER_ACCESS_DENIED, ER_SECURE_TRANSPORT_REQUIRED].contains(&code);
    if may_be_about_tls && endpoint.tls.mode == Some(SslMode::Disable) {
        words += "; the server may demand TLS, which sslmode=disable forbids";
    }
    if code == ER_ACCESS_DENIED && endpoint.password().is_empty() {
        words += "; no password was given: it can stand in ~/.my.cnf, in MYSQL_PWD, in a file \
                  (--password-file FILE), or be asked for (--password)";
        return Refusal::PasswordWanted(words);
    }
    Refusal::Refused(words)
}

/// The server's message.
fn refusal_words(packet: &[u8], capabilities: CapabilityFlags) -> String {
    match ServerError::parse(packet, capabilities) {
        Ok(error) => format!("{} (error {})", error.message, error.code),
        Err(error) => describe(&error, "reading the server's refusal"),
    }
}

fn describe(error: &io::Error, during: &str) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => format!("no answer while {during}"),
        io::ErrorKind::UnexpectedEof => format!("the server closed the connection while {during}"),
        _ => format!("{error} while {during}"),
    }
}
