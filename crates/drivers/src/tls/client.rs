//! Encryption: rustls with `ring`, and which certificates it trusts.
//!
//! Idea: the modes differ only in the certificate's verifier. `require` without CA certificates trusts any server, as
//! libpq and MySQL's clients do: it protects against eavesdroppers, not impostors. `verify-ca` accepts any name. A
//! certificate that is itself among the trusted ones is accepted even if it is marked as a CA: PostgreSQL's manual
//! creates servers' certificates in this way.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

/// Begins encrypted sessions.
#[derive(Debug, Clone)]
pub(crate) struct Client(Arc<ClientConfig>);

impl Client {
    /// Reads our own certificate and its key, if there are any.
    pub(crate) fn new(
        trust: Trust,
        certificate: Option<&Path>,
        key: Option<&Path>,
    ) -> Result<Self, String> {
        let provider = Arc::new(default_provider());
        let verifier = Verifier { trust, provider: Arc::clone(&provider) };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match (certificate, key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let secret = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| format!("sslkey={}: {error}", key.display()))?;
                builder
                    .with_client_auth_cert(certificates(certificate, "sslcert")?, secret)
                    .map_err(|error| format!("sslcert={}: {error}", certificate.display()))?
            }
            _ => return Err("sslcert and sslkey belong together".to_owned()),
        };
        Ok(Self(Arc::new(config)))
    }

    /// A session with the server of this name.
    pub(crate) fn begin(&self, host: &str) -> Result<ClientConnection, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("'{host}' cannot be the name of a server with TLS"))?;
        ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| error.to_string())
    }
}

/// Which servers to trust.
#[derive(Debug)]
pub(crate) enum Trust {
    /// All.
    Anybody,
    /// Those with a certificate from one of these CAs, and with `check_name` one for this host.
    Signed {
        verifier: Arc<WebPkiServerVerifier>,
        roots: Vec<CertificateDer<'static>>,
        check_name: bool,
    },
}

impl Trust {
    /// Trusts what the CAs of a file, or of this machine, have signed.
    pub(crate) fn signed(file: Option<&Path>, check_name: bool) -> Result<Self, String> {
        let roots = match file {
            Some(file) => certificates(file, "sslrootcert")?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
            .build()
            .map_err(|error| format!("sslrootcert: no CA certificate can be used: {error}"))?;
        Ok(Self::Signed { verifier, roots, check_name })
    }
}

fn certificates(file: &Path, parameter: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let say = |error: &dyn std::fmt::Display| format!("{parameter}={}: {error}", file.display());
    let all = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| say(&error))?;
    if all.is_empty() { Err(say(&"found no certificate (PEM)")) } else { Ok(all) }
}

/// Verifies as far as the mode requires.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Trust::Signed { verifier, roots, check_name } = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        if roots.contains(end_entity) {
            if *check_name {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is checked last: everything else is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !check_name => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.trust {
            Trust::Anybody => Ok(HandshakeSignatureValid::assertion()),
            Trust::Signed { verifier, .. } => {
                verifier.verify_tls12_signature(message, certificate, signature)
            }
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.trust {
            Trust::Anybody => Ok(HandshakeSignatureValid::assertion()),
            Trust::Signed { verifier, .. } => {
                verifier.verify_tls13_signature(message, certificate, signature)
            }
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A failure of the encryption in words for users.
pub(super) fn explain(error: &Error, host: &str) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the server's certificate is not signed by any CA of sslrootcert".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("the server's certificate is not for the host '{host}' (sslmode=verify-full)"),
        Error::InvalidCertificate(reason) => {
            format!("the server's certificate cannot be trusted: {reason}")
        }
        Error::AlertReceived(alert) => format!("the server broke TLS off: {alert:?}"),
        error => format!("TLS: {error}"),
    }
}
