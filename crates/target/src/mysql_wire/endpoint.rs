//! Where to connect and as whom: `mysql://user:password@host:port`, `mariadb://…`, `tidb://…`.
//!
//! User and password are percent-decoded, an IPv6 host stands in brackets, a path is accepted and not
//! used (a run only touches schemas that it creates itself). Neither `Display` nor `Debug` nor an error
//! ever shows the password.

use std::fmt;
use std::time::Duration;

use crate::TargetError;

/// What the URL claims the product to be; the server's version has the last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Mysql,
    Mariadb,
    Tidb,
}

impl Scheme {
    const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Tidb => "tidb",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Mysql | Self::Mariadb => 3306,
            Self::Tidb => 4000,
        }
    }
}

/// A parsed URL.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub scheme: Scheme,
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Vec<u8>,
    /// How long connecting, including authentication, may take.
    pub connect_limit: Duration,
}

/// How long connecting may take unless said otherwise.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

impl Endpoint {
    /// Parses a URL; the error names what is wrong with it.
    pub(crate) fn parse(url: &str) -> Result<Self, TargetError> {
        let bad = |reason: &str| TargetError::Connect {
            endpoint: without_password(url),
            reason: reason.to_owned(),
        };
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| bad("expected mysql://user:password@host:port"))?;
        let scheme = match scheme {
            "mysql" => Scheme::Mysql,
            "mariadb" => Scheme::Mariadb,
            "tidb" => Scheme::Tidb,
            _ => return Err(bad("expected a URL with mysql://, mariadb:// or tidb://")),
        };
        // A password may contain '/' and '?' unescaped, so the user part is cut off first.
        let (account, place) = match rest.rsplit_once('@') {
            Some((account, place)) => (Some(account), place),
            None => (None, rest),
        };
        if place.contains('?') {
            return Err(bad("options after '?' are not supported"));
        }
        let authority = place.split_once('/').map_or(place, |(authority, _path)| authority);
        let (host, port) = split_port(authority).ok_or_else(|| bad("the port is not a number"))?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        let (user, password) = match account {
            Some(account) => account.split_once(':').unwrap_or((account, "")),
            None => ("root", ""),
        };
        let user = percent_decode(user)
            .and_then(|user| String::from_utf8(user).ok())
            .ok_or_else(|| bad("the user name is not properly percent-encoded"))?;
        let password = percent_decode(password)
            .ok_or_else(|| bad("the password is not properly percent-encoded"))?;
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port: port.unwrap_or(scheme.default_port()),
            user,
            password,
            connect_limit: CONNECT_LIMIT,
        })
    }
}

/// The endpoint without its password.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        let Self { scheme, host, port, user, .. } = self;
        write!(f, "{}://{user}@{open}{host}{close}:{port}", scheme.name())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// A URL that could not be parsed, for the error message: what stands before the last `@` is cut at the
/// first `:` after the scheme, because whatever follows may be a password.
fn without_password(url: &str) -> String {
    let Some((head, place)) = url.rsplit_once('@') else { return url.to_owned() };
    let (scheme, account) = head.split_once("://").unwrap_or(("", head));
    let user = account.split(':').next().unwrap_or_default();
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{user}@{place}")
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`; `None` if the port is no port.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        (host, after.strip_prefix(':'))
    } else {
        match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    match port {
        None => Some((host, None)),
        Some(port) => port.parse().ok().map(|port| (host, Some(port))),
    }
}

fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (url, shown, password) in [
            ("mysql://root@127.0.0.1:3307", "mysql://root@127.0.0.1:3307", ""),
            ("mariadb://u:p%40%2f@db.example", "mariadb://u@db.example:3306", "p@/"),
            ("tidb://root:@localhost/test", "tidb://root@localhost:4000", ""),
            ("mysql://a%20b:x:y@[::1]:33/db", "mysql://a b@[::1]:33", "x:y"),
            ("mysql://u:p@ss/w?rd@h", "mysql://u@h:3306", "p@ss/w?rd"),
            ("mysql://localhost", "mysql://root@localhost:3306", ""),
        ] {
            let endpoint = Endpoint::parse(url).expect(url);
            assert_eq!(endpoint.to_string(), shown);
            assert_eq!(format!("{endpoint:?}"), format!("Endpoint({shown})"));
            assert_eq!(endpoint.password, password.as_bytes(), "{url}");
        }
    }

    #[test]
    fn a_bad_url_is_named_without_its_password() {
        for (url, reason) in [
            ("mysql:/u:secret@h", "expected mysql://"),
            ("pg://u:secret@h", "mariadb:// or tidb://"),
            ("mysql://u:secret@", "the host is missing"),
            ("mysql://u:secret@h:port", "the port is not a number"),
            ("mysql://u:secret%zz@h", "the password is not properly"),
            ("mysql://u%ff:secret@h", "the user name is not properly"),
            ("mysql://u:secret@h?tls=1", "options after '?'"),
        ] {
            let message = Endpoint::parse(url).expect_err(url).to_string();
            assert!(message.contains(reason), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
