//! With or without encryption: what is tried, in which order, and the error if nothing works.
//!
//! Source: libpq's rules. If a server is reached and refuses (its rules may allow only the other way), or encryption
//! cannot be negotiated, the other way is tried if the mode allows both. A server that was not reached is not tried
//! again.

use crate::TargetError;
use crate::endpoint::Endpoint;
use crate::tls::SslMode;

/// What an attempt should do about encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Do not encrypt.
    Plain,
    /// Encrypt if the server offers it.
    IfOffered,
    /// Encrypt or fail.
    Encrypted,
}

/// Why an attempt to connect failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing answers there, or not with the right protocol.
    Unreachable(String),
    /// The server has no encryption, and it was asked for.
    NoTls,
    /// The server does not let us in, or encryption failed.
    Refused(String),
    /// The server wants a password, and there is none.
    PasswordWanted(String),
}

impl Refusal {
    fn reason(&self) -> &str {
        match self {
            Self::Unreachable(reason) | Self::Refused(reason) | Self::PasswordWanted(reason) => {
                reason
            }
            Self::NoTls => "the server does not support TLS",
        }
    }

    /// The error, with the place.
    pub(crate) fn at(self, endpoint: &Endpoint) -> TargetError {
        let (endpoint, reason) = (endpoint.to_string(), self.reason().to_owned());
        match self {
            Self::PasswordWanted(_) => TargetError::PasswordWanted { endpoint, reason },
            _ => TargetError::Connect { endpoint, reason },
        }
    }
}

/// Tries what the endpoint's mode allows, in its order.
pub(crate) fn negotiate<T>(
    endpoint: &Endpoint,
    mut attempt: impl FnMut(Wish) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let (first, second) = wishes(endpoint);
    let refusal = match (attempt(first), second) {
        (Err(refusal), Some(second)) if !matches!(refusal, Refusal::Unreachable(_)) => {
            match attempt(second) {
                Err(other) => both(second, refusal, other),
                Ok(connection) => return Ok(connection),
            }
        }
        (result, _) => return result,
    };
    Err(refusal)
}

fn wishes(endpoint: &Endpoint) -> (Wish, Option<Wish>) {
    let mode = endpoint.tls.effective_mode(endpoint.is_loopback());
    match (mode, endpoint.tls.settled) {
        (SslMode::Disable, _) => (Wish::Plain, None),
        (SslMode::Allow | SslMode::Prefer, Some(true)) => (Wish::Encrypted, None),
        (SslMode::Allow | SslMode::Prefer, Some(false)) => (Wish::Plain, None),
        (SslMode::Allow, None) => (Wish::Plain, Some(Wish::Encrypted)),
        (SslMode::Prefer, None) => (Wish::IfOffered, Some(Wish::Plain)),
        _ => (Wish::Encrypted, None),
    }
}

/// Two failures as one: the encrypted attempt's reason, with the other one added if it differs.
fn both(second: Wish, first: Refusal, other: Refusal) -> Refusal {
    let (encrypted, plain) =
        if second == Wish::Encrypted { (other, first) } else { (first, other) };
    if encrypted == Refusal::NoTls {
        return plain;
    }
    if plain.reason() == encrypted.reason() {
        return encrypted;
    }
    let reason = format!("{}; without TLS: {}", encrypted.reason(), plain.reason());
    match (&encrypted, &plain) {
        (Refusal::PasswordWanted(_), _) | (_, Refusal::PasswordWanted(_)) => {
            Refusal::PasswordWanted(reason)
        }
        _ => Refusal::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(host: &str, mode: Option<SslMode>) -> Endpoint {
        let mut endpoint = Endpoint::parse(&format!("postgres://{host}")).unwrap();
        endpoint.tls.mode = mode;
        endpoint
    }

    /// The attempts against a server that refuses everything.
    fn tried(endpoint: &Endpoint) -> Vec<Wish> {
        let mut wishes = Vec::new();
        let result: Result<(), _> = negotiate(endpoint, |wish| {
            wishes.push(wish);
            Err(Refusal::Refused("no".to_owned()))
        });
        assert_eq!(result, Err(Refusal::Refused("no".to_owned())));
        wishes
    }

    #[test]
    fn each_mode_has_its_order() {
        use Wish::{Encrypted, IfOffered, Plain};
        for (mode, expected) in [
            (Some(SslMode::Disable), &[Plain][..]),
            (Some(SslMode::Allow), &[Plain, Encrypted]),
            (Some(SslMode::Prefer), &[IfOffered, Plain]),
            (None, &[IfOffered, Plain]),
            (Some(SslMode::Require), &[Encrypted]),
            (Some(SslMode::VerifyCa), &[Encrypted]),
            (Some(SslMode::VerifyFull), &[Encrypted]),
        ] {
            assert_eq!(tried(&endpoint("db.example", mode)), expected, "{mode:?}");
        }
        assert_eq!(tried(&endpoint("localhost", None)), [Plain, Encrypted]);
        assert_eq!(tried(&endpoint("127.0.0.1", Some(SslMode::Prefer))), [IfOffered, Plain]);
    }

    #[test]
    fn what_the_first_connection_found_out_holds_for_the_others() {
        let mut settled = endpoint("db.example", None);
        settled.tls.settle(true);
        assert_eq!(tried(&settled), [Wish::Encrypted]);
        settled.tls.settle(false);
        assert_eq!(tried(&settled), [Wish::Plain]);
        let mut strict = endpoint("db.example", Some(SslMode::VerifyFull));
        strict.tls.settle(false);
        assert_eq!(tried(&strict), [Wish::Encrypted]);
    }

    #[test]
    fn a_server_that_is_not_there_is_not_tried_twice() {
        let mut tries = 0;
        let result: Result<(), _> = negotiate(&endpoint("db.example", None), |_| {
            tries += 1;
            Err(Refusal::Unreachable("nobody".to_owned()))
        });
        assert_eq!((tries, result.is_err()), (1, true));
    }

    #[test]
    fn that_there_is_no_tls_is_no_reason_where_it_was_not_demanded() {
        let refuse = |wish| -> Result<(), _> {
            Err(match wish {
                Wish::Plain => Refusal::PasswordWanted("who are you".to_owned()),
                _ => Refusal::NoTls,
            })
        };
        let told = Refusal::PasswordWanted("who are you".to_owned());
        assert_eq!(negotiate(&endpoint("localhost", None), refuse), Err(told));
        let strict = endpoint("localhost", Some(SslMode::Require));
        let error = negotiate(&strict, refuse).unwrap_err().at(&strict).to_string();
        assert!(error.ends_with("the server does not support TLS"), "{error}");
    }

    #[test]
    fn both_reasons_are_told_if_they_differ() {
        let result: Result<(), _> = negotiate(&endpoint("localhost", None), |wish| {
            Err(match wish {
                Wish::Plain => Refusal::Refused("insecure".to_owned()),
                _ => Refusal::PasswordWanted("who are you".to_owned()),
            })
        });
        let told = "who are you; without TLS: insecure".to_owned();
        assert_eq!(result, Err(Refusal::PasswordWanted(told)));
    }
}
