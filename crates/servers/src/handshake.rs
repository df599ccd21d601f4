//! Whether a server answers on the wire, and its version, determined without running any statement.
//!
//! Idea: MySQL's protocol begins with a greeting of the server that carries its version. PostgreSQL's server
//! answers a start-up message with its parameters, the version among them, and then says that it is ready
//! for queries, or that it is still starting.
//! Assumption: the port is the server's (see `port`), and it asks for no password.
//! Blind spot: a MySQL greeting says nothing about whether the account may log in, nor does a PostgreSQL server
//! whose rules demand TLS, which is not spoken here; a caller that has a driver should check with that.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::{Endpoint, catalog, limits};

/// The first byte of a MySQL error packet, and of a greeting.
const ERROR_PACKET: u8 = 0xff;
const GREETING: u8 = 10;
/// MariaDB 10 puts this in front of its version, for old clients.
const MARIADB_DISGUISE: &str = "5.5.5-";

/// Version 3.0 of PostgreSQL's protocol.
const PROTOCOL_3: u32 = 3 << 16;
/// SQLSTATE of a login that the server's rules do not provide for, for instance because it is not encrypted.
const INVALID_AUTHORIZATION: &str = "28000";
/// A start-up answer is a few hundred bytes; anything that claims to be longer is not one.
const LONGEST_MESSAGE: u32 = 1 << 16;

/// Whether the server answers; gives the version in its own words.
pub fn greets(endpoint: &Endpoint) -> Result<String, String> {
    let address: SocketAddr = format!("{}:{}", endpoint.host, endpoint.port)
        .parse()
        .map_err(|error| format!("'{}' is not an address: {error}", endpoint.host))?;
    let say = |error: io::Error| error.to_string();
    let mut stream = TcpStream::connect_timeout(&address, limits::HANDSHAKE).map_err(say)?;
    stream.set_read_timeout(Some(limits::HANDSHAKE)).map_err(say)?;
    stream.set_write_timeout(Some(limits::HANDSHAKE)).map_err(say)?;
    let database = &endpoint.product.descriptor().connection.database;
    match &catalog::server(endpoint.product).version_parameter {
        Some(parameter) => start_up(&mut stream, &endpoint.user, database, parameter),
        None => {
            let mut header = [0; 4];
            stream.read_exact(&mut header).map_err(say)?;
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
            let mut packet = vec![0; usize::try_from(length).unwrap_or(0)];
            stream.read_exact(&mut packet).map_err(say)?;
            version_of_greeting(&packet)
        }
    }
}

fn version_of_greeting(packet: &[u8]) -> Result<String, String> {
    match packet.split_first() {
        Some((&GREETING, rest)) => {
            let version = text(rest.split(|byte| *byte == 0).next().unwrap_or_default());
            Ok(version.strip_prefix(MARIADB_DISGUISE).unwrap_or(&version).to_owned())
        }
        Some((&ERROR_PACKET, rest)) => Err(text(rest.get(2..).unwrap_or_default())),
        _ => Err("this is not the greeting of a MySQL server".to_owned()),
    }
}

/// Goes through PostgreSQL's start-up until the server is ready, and leaves again.
fn start_up(
    stream: &mut (impl Read + Write),
    user: &str,
    database: &str,
    version_parameter: &str,
) -> Result<String, String> {
    let say = |error: io::Error| error.to_string();
    let mut body = PROTOCOL_3.to_be_bytes().to_vec();
    for word in ["user", user, "database", database, ""] {
        body.extend_from_slice(word.as_bytes());
        body.push(0);
    }
    let length = u32::try_from(body.len() + 4).map_err(|error| error.to_string())?;
    stream.write_all(&[&length.to_be_bytes()[..], &body].concat()).map_err(say)?;
    let mut version = String::new();
    loop {
        let (kind, body) = message(stream).map_err(say)?;
        match kind {
            b'R' if body != [0; 4] => return Err("the server asks for a password".to_owned()),
            b'S' => {
                let mut words = body.split(|byte| *byte == 0).map(text);
                if words.next().as_deref() == Some(version_parameter) {
                    version = words.next().unwrap_or_default();
                }
            }
            // It is ready enough to apply its rules about who may log in, and how.
            b'E' if field(&body, b'C').as_deref() == Some(INVALID_AUTHORIZATION) => {
                return Ok(version);
            }
            b'E' => {
                let unknown = || "an error without a message".to_owned();
                return Err(field(&body, b'M').unwrap_or_else(unknown));
            }
            b'Z' => {
                // It is ready; saying goodbye is a courtesy.
                let _ = stream.write_all(&[b'X', 0, 0, 0, 4]);
                return Ok(version);
            }
            _ => {}
        }
    }
}

/// One message: its kind and its body.
fn message(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 5];
    stream.read_exact(&mut header)?;
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
    if !(4..LONGEST_MESSAGE).contains(&length) {
        return Err(io::Error::other("this is not an answer of a PostgreSQL server"));
    }
    let mut body = vec![0; usize::try_from(length - 4).unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok((header[0], body))
}

/// A field of an error.
fn field(body: &[u8], kind: u8) -> Option<String> {
    let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&kind))?;
    Some(text(&field[1..]))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_carries_the_version() {
        let table: [(&[u8], Result<&str, &str>); 5] = [
            (b"\x0a9.7.4-2\0\x08\0\0\0", Ok("9.7.4-2")),
            (b"\x0a5.5.5-10.11.19-MariaDB\0\x08\0", Ok("10.11.19-MariaDB")),
            (b"\xff\x10\x04Too many connections", Err("Too many connections")),
            (b"HTTP/1.1 400", Err("this is not the greeting of a MySQL server")),
            (b"", Err("this is not the greeting of a MySQL server")),
        ];
        for (packet, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(version_of_greeting(packet), expected);
        }
    }

    /// A server that has its answers ready.
    struct Script(io::Cursor<Vec<u8>>);

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Script {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answers(messages: &[(u8, &[u8])]) -> Result<String, String> {
        let mut bytes = Vec::new();
        for (kind, body) in messages {
            bytes.push(*kind);
            bytes.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
            bytes.extend_from_slice(body);
        }
        start_up(&mut Script(io::Cursor::new(bytes)), "postgres", "postgres", "server_version")
    }

    #[test]
    fn a_start_up_ends_with_the_version_or_the_reason() {
        let ready: &[(u8, &[u8])] = &[
            (b'R', &[0; 4]),
            (b'S', b"TimeZone\0GMT\0"),
            (b'S', b"server_version\x0015.20\0"),
            (b'K', &[0; 8]),
            (b'Z', b"I"),
        ];
        assert_eq!(answers(ready), Ok("15.20".to_owned()));
        let starting = b"SFATAL\0C57P03\0Mthe database system is starting up\0\0";
        assert_eq!(
            answers(&[(b'E', starting)]),
            Err("the database system is starting up".to_owned())
        );
        let encrypted_only = b"SFATAL\0C28000\0Mno pg_hba.conf entry for host, no encryption\0\0";
        assert_eq!(answers(&[(b'E', encrypted_only)]), Ok(String::new()));
        assert!(answers(&[(b'R', &[0, 0, 0, 5])]).unwrap_err().contains("password"));
        assert!(answers(&[]).is_err());
        assert!(
            start_up(&mut Script(io::Cursor::new(b"HTTP/1.1".to_vec())), "u", "d", "v").is_err()
        );
    }
}
