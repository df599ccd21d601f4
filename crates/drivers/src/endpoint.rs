//! Where a server is and who we are there: `scheme://user:password@host:port/database?sslmode=…`.
//!
//! Only what the targets need of a URL is read; anything else is an error with a reason, including parameters: the user
//! would rely on a parameter that is silently dropped. The password stays inside: [`Endpoint`]'s `Display` and `Debug`
//! never show it. `Display` gives a URL that leads to the same place.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use anchorite_model::Product;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::tls::Tls;

/// What is written as %XX in a part of a URL.
const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// A parsed target URL.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `mysql`, `postgres`: what descriptors list.
    pub scheme: String,
    /// Empty if the URL has none: the driver chooses its product's usual administrator.
    pub user: String,
    /// `None` where the URL has none; an empty one (`user:@host`) is one that was given.
    pub password: Option<String>,
    /// Name or address.
    pub host: String,
    /// `None` = the product's usual port.
    pub port: Option<u16>,
    /// Empty where there is none.
    pub database: String,
    /// Whether and how the connection is encrypted.
    pub tls: Tls,
    /// The storage engine, where another one than the product's usual one is meant.
    pub engine: Option<String>,
    /// The server's Unix socket, once it has reported one. Not part of a URL.
    pub socket: Option<PathBuf>,
}

/// A text that is not a target URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "bad target URL: expected SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?NAME=VALUE&…], {0}"
)]
pub struct BadUrl(pub(crate) String);

impl Endpoint {
    /// Reads a URL. The error never repeats the text, which may hold a password.
    pub fn parse(url: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| BadUrl("found no '://'".to_owned()))?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let (host, port) = split_port(address)?;
        if host.is_empty() {
            return Err(BadUrl("found no host".to_owned()));
        }
        let mut endpoint = Self {
            scheme: scheme.to_lowercase(),
            user: decode(user, "user")?,
            password: password.map(|password| decode(password, "password")).transpose()?,
            host: host.to_owned(),
            port,
            database: decode(database, "database")?,
            tls: Tls::default(),
            engine: None,
            socket: None,
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let name = decode(name, "name of a parameter")?;
            let value = decode(value, &name)?;
            match name.as_str() {
                "engine" => endpoint.engine = Some(value.to_lowercase()),
                _ => endpoint.tls.set(&name, &value).map_err(BadUrl)?,
            }
        }
        Ok(endpoint)
    }

    /// The user's password; empty where there is none.
    pub fn password(&self) -> &str {
        self.password.as_deref().unwrap_or_default()
    }

    /// The product that the scheme names; the server may be another one.
    pub fn product(&self) -> Option<Product> {
        Product::of_scheme(&self.scheme)
    }

    /// Fills in what the URL leaves out with the product's usual values.
    pub fn fill_in(&mut self) {
        let Some(product) = self.product() else { return };
        let usual = &product.descriptor().connection;
        self.port.get_or_insert(usual.port);
        let parts = [(&mut self.user, &usual.user), (&mut self.database, &usual.database)];
        for (part, usual) in parts {
            if part.is_empty() {
                usual.clone_into(part);
            }
        }
    }

    /// Whether the connection does not leave this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }
}

/// A target as it may be stored and used again: a URL without its password, any other text unchanged.
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
        let encoded = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
        write!(f, "{}://", self.scheme)?;
        if !self.user.is_empty() {
            write!(f, "{}@", encoded(&self.user))?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
        if !self.database.is_empty() {
            write!(f, "/{}", encoded(&self.database))?;
        }
        let mut sign = '?';
        let engine = self.engine.iter().map(|engine| ("engine", engine.clone()));
        for (name, value) in engine.chain(self.tls.parameters()) {
            write!(f, "{sign}{name}={}", encoded(&value))?;
            sign = '&';
        }
        Ok(())
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
        assert_eq!((url.password(), url.host.as_str()), ("p:w", "::1"));
        assert_eq!((url.port, url.database.as_str()), (Some(3307), "db"));
        let url = Endpoint::parse("postgres://localhost").unwrap();
        assert_eq!((url.user.as_str(), url.port, url.password), ("", None, None));
        let url = Endpoint::parse("postgres://me:@localhost").unwrap();
        assert_eq!(url.password.as_deref(), Some(""));
    }

    #[test]
    fn what_is_shown_leads_to_the_same_place() {
        for url in [
            "postgres://localhost",
            "mysql://ro%40ot@[::1]:3307/d%20b",
            "postgres://me@db.example:5432/app?sslmode=verify-full&sslrootcert=/etc/my%20ca.pem",
            "mariadb://db?sslmode=require&sslcert=a.pem&sslkey=b.pem",
            "mariadb://root@db?engine=rocksdb&sslmode=require",
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!(endpoint.to_string(), url);
        }
        let vendor = Endpoint::parse("mysql://h?ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem").unwrap();
        assert_eq!(vendor.to_string(), "mysql://h?sslmode=verify-full&sslrootcert=ca.pem");
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
        let url = Endpoint::parse("mysql://root:s3cret@h:1?sslmode=require").unwrap();
        assert!(!format!("{url} {url:?}").contains("s3cret"));
        for bad in [
            "s3cret@h",
            "mysql://root:s3cret@",
            "mysql://root:s3cret@h:x1",
            "mysql://root:s3cret@h?password=s3cret",
            "mysql://h?sslmode=s3cret",
        ] {
            assert!(!Endpoint::parse(bad).unwrap_err().to_string().contains("s3cret"), "{bad}");
        }
    }

    #[test]
    fn unknown_parameters_are_refused() {
        let told = |url| Endpoint::parse(url).unwrap_err().to_string();
        let message = told("postgres://h?connect_timeout=3");
        assert!(message.contains("'connect_timeout'") && message.contains("sslrootcert"));
        assert!(told("postgres://h?sslmode=on").contains("verify-full"));
    }
}
