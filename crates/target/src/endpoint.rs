//! Where a server is and who we are there: `scheme://user:password@host:port/database`.
//!
//! Only what the targets need of a URL is read; anything else is an error with a reason. The password
//! stays inside: [`Endpoint`]'s `Display` and `Debug` never show it.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// A parsed target URL.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `mysql`, `mariadb`, `tidb`, `postgres`, `cockroach`.
    pub scheme: String,
    /// Empty where the URL has none: the driver chooses its product's usual administrator.
    pub user: String,
    /// Empty where there is none.
    pub password: String,
    /// Name or address.
    pub host: String,
    /// `None` = the product's usual port.
    pub port: Option<u16>,
    /// Empty where there is none.
    pub database: String,
    /// The server's Unix socket, once it told of one. No part of a URL.
    pub socket: Option<PathBuf>,
}

/// A text that is no target URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad target URL: expected SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE], {0}")]
pub struct BadUrl(String);

impl Endpoint {
    /// Reads a URL. The error never repeats the text, which may hold a password.
    pub fn parse(url: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| BadUrl("found no '://'".to_owned()))?;
        let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = split_port(address)?;
        if host.is_empty() {
            return Err(BadUrl("found no host".to_owned()));
        }
        Ok(Self {
            scheme: scheme.to_lowercase(),
            user: decode(user, "user")?,
            password: decode(password, "password")?,
            host: host.to_owned(),
            port,
            database: decode(database, "database")?,
            socket: None,
        })
    }
}

/// A target as it may be written down and used again: a URL loses its password and keeps all else, any other text is
/// what it was.
pub fn without_password(on: &str) -> String {
    let Some((scheme, rest)) = on.split_once("://") else { return on.to_owned() };
    let (place, options) = match rest.split_once('?') {
        Some((place, options)) => (place, options),
        None => (rest, ""),
    };
    let (authority, database) = match place.find('/') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user = login.split(':').next().unwrap_or_default();
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    let harmless = |option: &&str| !option.to_lowercase().contains("pass");
    let options: Vec<&str> = options.split('&').filter(harmless).collect();
    let options = options.join("&");
    let options = if options.is_empty() { options } else { format!("?{options}") };
    format!("{scheme}://{user}{address}{database}{options}")
}

fn split_port(address: &str) -> Result<(&str, Option<u16>), BadUrl> {
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, after)) => (host, after.strip_prefix(':')),
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = port
        .map(|text| text.parse().map_err(|_| BadUrl(format!("found the port '{text}'"))))
        .transpose()?;
    Ok((host, port))
}

fn decode(text: &str, part: &str) -> Result<String, BadUrl> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| BadUrl(format!("the {part} is not UTF-8")))
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if !self.user.is_empty() {
            write!(f, "{}@", self.user)?;
        }
        f.write_str(&self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_parts() {
        let url = Endpoint::parse("MySQL://ro%40ot:p%3Aw@[::1]:3307/db").unwrap();
        assert_eq!((url.scheme.as_str(), url.user.as_str()), ("mysql", "ro@ot"));
        assert_eq!((url.password.as_str(), url.host.as_str()), ("p:w", "::1"));
        assert_eq!((url.port, url.database.as_str()), (Some(3307), "db"));
        let url = Endpoint::parse("postgres://localhost").unwrap();
        assert_eq!((url.user.as_str(), url.port), ("", None));
    }

    #[test]
    fn what_is_written_down_lacks_nothing_but_the_password() {
        for (on, written) in [
            ("mysql://root:s3cret@h:1/db", "mysql://root@h:1/db"),
            ("mysql://ro%40ot:s%2F3@[::1]:3307", "mysql://ro%40ot@[::1]:3307"),
            ("postgres://:s3cret@h/", "postgres://h/"),
            ("postgres://a:s@cret@h/d?sslmode=require", "postgres://a@h/d?sslmode=require"),
            ("postgres://h/d?password=s3cret&a=b", "postgres://h/d?a=b"),
            ("mariadb@10.11", "mariadb@10.11"),
            ("sqlite:wal", "sqlite:wal"),
        ] {
            assert_eq!(without_password(on), written);
            let again =
                |url: &str| Endpoint::parse(url).map(|e| (e.user, e.host, e.port, e.database));
            assert_eq!(again(on).is_ok(), again(written).is_ok());
            assert_eq!(again(on).ok(), again(written).ok());
        }
    }

    #[test]
    fn never_shows_the_password() {
        let url = Endpoint::parse("mysql://root:s3cret@h:1").unwrap();
        assert!(!format!("{url} {url:?}").contains("s3cret"));
        for bad in ["s3cret@h", "mysql://root:s3cret@", "mysql://root:s3cret@h:x1"] {
            assert!(!Endpoint::parse(bad).unwrap_err().to_string().contains("s3cret"));
        }
    }
}
