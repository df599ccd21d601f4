//! Whether a connection is encrypted, and how the server proves who it is: the settings in a URL.
//!
//! The names are PostgreSQL's (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`); those of the MySQL clients
//! (`ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key`, with their values) mean the same, whatever the product.
//! The encryption itself is rustls: TLS 1.2 and 1.3.
//!
//! Default: `prefer`, as libpq and MySQL's clients have it, but on loopback `allow`: what does not leave this
//! machine is encrypted only if the server insists, because encrypting costs time and protects nothing there.
//!
//! Blind spots: servers that know only TLS 1.0 or 1.1; certificate revocation lists; a certificate that names
//! its host only in its common name is refused by `verify-full`.

mod client;
mod session;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

pub(crate) use client::{Client, Trust};
pub(crate) use session::Encryption;

/// Stands for the CA certificates of this machine instead of a file.
const SYSTEM: &str = "system";

/// How much encryption is required, as libpq defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Never.
    Disable,
    /// Only if the server refuses unencrypted connections.
    Allow,
    /// If the server supports it.
    Prefer,
    /// Always; the server need not prove anything, unless CA certificates are given.
    Require,
    /// Always, and the server's certificate must be signed by a known CA.
    VerifyCa,
    /// The same, and it must be the certificate of the host in the URL.
    VerifyFull,
}

impl SslMode {
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Disable, "disable", "disabled"),
        (Self::Allow, "allow", "allow"),
        (Self::Prefer, "prefer", "preferred"),
        (Self::Require, "require", "required"),
        (Self::VerifyCa, "verify-ca", "verify-ca"),
        (Self::VerifyFull, "verify-full", "verify-identity"),
    ];

    fn parse(text: &str) -> Option<Self> {
        let text = text.to_lowercase().replace('_', "-");
        let found = Self::ALL.iter().find(|(_, ours, other)| text == *ours || text == *other);
        found.map(|(mode, ..)| *mode)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(mode, ..)| *mode == self).map_or("", |(_, name, _)| name)
    }
}

/// The settings of one endpoint.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// `None` = the default, which depends on where the server is.
    pub mode: Option<SslMode>,
    /// CA certificates (PEM); `system` means those of this machine.
    pub root: Option<PathBuf>,
    /// Our own certificate (PEM).
    pub certificate: Option<PathBuf>,
    /// Its key (PEM).
    pub key: Option<PathBuf>,
    /// What the first connection negotiated, so that later ones need not try: encrypted or not.
    pub(crate) settled: Option<bool>,
    /// Read from the files at the first connection; shared, so that sessions can be resumed.
    client: Arc<OnceLock<Result<Client, String>>>,
}

/// The same settings.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        let all =
            |tls: &Self| (tls.mode, tls.root.clone(), tls.certificate.clone(), tls.key.clone());
        all(self) == all(other)
    }
}

impl Eq for Tls {}

impl Tls {
    /// Takes in a parameter of a URL. The error says what was expected and does not repeat the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let plain = name.to_lowercase().replace(['-', '_'], "");
        let file = Some(PathBuf::from(value));
        match plain.as_str() {
            "sslmode" => {
                let modes = SslMode::ALL.map(|(_, name, _)| name).join(", ");
                let mode = SslMode::parse(value);
                self.mode = Some(mode.ok_or_else(|| format!("{name}: expected one of {modes}"))?);
            }
            "sslrootcert" | "sslca" => self.root = file,
            "sslcert" => self.certificate = file,
            "sslkey" => self.key = file,
            _ => {
                return Err(format!(
                    "found the parameter '{name}': known are engine, sslmode, sslrootcert, sslcert and sslkey"
                ));
            }
        }
        self.client = Arc::default();
        Ok(())
    }

    /// The settings as parameters of a URL.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'static str, String)> {
        let file = |file: &Option<PathBuf>| file.as_ref().map(|file| file.display().to_string());
        let all = [
            ("sslmode", self.mode.map(|mode| mode.name().to_owned())),
            ("sslrootcert", file(&self.root)),
            ("sslcert", file(&self.certificate)),
            ("sslkey", file(&self.key)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }

    /// The mode, or a default if the URL does not say: with CA certificates they are used, and with a client
    /// certificate it is presented.
    pub(crate) fn effective_mode(&self, is_loopback: bool) -> SslMode {
        let open = match (&self.root, &self.certificate) {
            (Some(root), _) if root.as_os_str() == SYSTEM => SslMode::VerifyFull,
            (Some(_), _) => SslMode::VerifyCa,
            (None, None) if is_loopback => SslMode::Allow,
            (None, _) => SslMode::Prefer,
        };
        self.mode.unwrap_or(open)
    }

    /// Whether the user insists on encryption.
    pub(crate) fn is_demanded(&self) -> bool {
        self.effective_mode(false) >= SslMode::Require
    }

    /// Remembers how the first connection was made, if the mode leaves it open.
    pub(crate) fn settle(&mut self, is_encrypted: bool) {
        self.settled = Some(is_encrypted);
    }

    /// Whether the files that are named can be used.
    pub fn check(&self) -> Result<(), String> {
        let is_used = self.root.is_some() || self.certificate.is_some() || self.key.is_some();
        if is_used || self.mode >= Some(SslMode::VerifyCa) {
            self.client()?;
        }
        Ok(())
    }

    /// What encrypts, made of the files at the first call.
    pub(crate) fn client(&self) -> Result<&Client, String> {
        let make = || Client::new(self.trust()?, self.certificate.as_deref(), self.key.as_deref());
        self.client.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// Which servers to trust. As with libpq, CA certificates that are given are used.
    fn trust(&self) -> Result<Trust, String> {
        let mode = self.effective_mode(false);
        match &self.root {
            // Those CAs sign for anyone, so the name is what matters.
            Some(root) if root.as_os_str() == SYSTEM => Trust::signed(None, true),
            Some(root) => Trust::signed(Some(root), mode == SslMode::VerifyFull),
            None if mode >= SslMode::VerifyCa => Err(format!(
                "sslmode={} needs the CA's certificates: sslrootcert=FILE, or sslrootcert={SYSTEM} for \
                 those of this machine",
                mode.name()
            )),
            None => Ok(Trust::Anybody),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_both_families_are_understood() {
        for (text, mode) in [
            ("disable", SslMode::Disable),
            ("DISABLED", SslMode::Disable),
            ("PREFERRED", SslMode::Prefer),
            ("Require", SslMode::Require),
            ("VERIFY_CA", SslMode::VerifyCa),
            ("verify-full", SslMode::VerifyFull),
            ("VERIFY_IDENTITY", SslMode::VerifyFull),
        ] {
            for name in ["sslmode", "ssl-mode", "ssl_mode"] {
                let mut tls = Tls::default();
                tls.set(name, text).unwrap();
                assert_eq!(tls.mode, Some(mode), "{name}={text}");
            }
        }
        assert!(Tls::default().set("sslmode", "on").unwrap_err().contains("prefer"));
    }

    #[test]
    fn what_the_url_leaves_open_is_chosen() {
        let mode = |parameters: &[(&str, &str)], is_loopback| {
            let mut tls = Tls::default();
            parameters.iter().for_each(|(name, value)| tls.set(name, value).unwrap());
            tls.effective_mode(is_loopback)
        };
        assert_eq!(mode(&[], false), SslMode::Prefer);
        assert_eq!(mode(&[], true), SslMode::Allow);
        assert_eq!(mode(&[("sslmode", "prefer")], true), SslMode::Prefer);
        assert_eq!(mode(&[("sslcert", "c.pem")], true), SslMode::Prefer);
        assert_eq!(mode(&[("ssl-ca", "ca.pem")], true), SslMode::VerifyCa);
        assert_eq!(mode(&[("sslrootcert", SYSTEM)], false), SslMode::VerifyFull);
        assert_eq!(mode(&[("sslrootcert", "a"), ("sslmode", "prefer")], true), SslMode::Prefer);
    }

    #[test]
    fn verifying_needs_certificates_to_compare_with() {
        let mut tls = Tls::default();
        tls.set("sslmode", "verify-ca").unwrap();
        assert!(tls.client().err().unwrap().contains("sslrootcert=FILE"));
        tls.set("sslrootcert", "/nowhere/ca.pem").unwrap();
        assert!(tls.client().err().unwrap().contains("/nowhere/ca.pem"));
    }
}
