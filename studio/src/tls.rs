//! What proves to a browser on another machine that it has reached this one: a certificate with its
//! key, as PEM.
//!
//! Only TLS 1.3, which every browser has had since 2018. The certificate also says under which names
//! the studio may be asked for, so a foreign name that resolves to this machine opens nothing.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{Error as TlsError, InconsistentKeys, ServerConfig, ServerConnection};
use webpki::EndEntityCert;

use crate::failure::StartError;

/// A certificate and its key.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl fmt::Debug for Tls {
    /// Without the key.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the chain of certificates, the own one first, and the key.
    ///
    /// # Errors
    /// A file that cannot be read, or is no such file; a key of another certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, StartError> {
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| refused(certificate, "certificate", &error))?;
        let Some(own) = chain.first().cloned() else {
            return Err(refused(certificate, "certificate", &PemError::NoItemsFound));
        };
        if let Err(error) = EndEntityCert::try_from(&own) {
            return Err(StartError::file(certificate, format!("this is no certificate: {error}")));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| refused(key, "key", &e))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
        let mut config = config.map_err(|error| match error {
            TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                StartError::file(key, format!("this is not the key of {}", certificate.display()))
            }
            error => StartError::file(key, format!("this key cannot be used: {error}")),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), certificate: own })
    }

    pub(crate) fn connection(&self) -> Result<ServerConnection, TlsError> {
        ServerConnection::new(Arc::clone(&self.config))
    }

    /// Whether the certificate is for a name or an address.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        let Ok(name) = ServerName::try_from(host) else { return false };
        self.own().is_some_and(|own| own.verify_is_valid_for_subject_name(&name).is_ok())
    }

    /// The first name of the certificate that is one.
    pub(crate) fn name(&self) -> Option<String> {
        let own = self.own()?;
        own.valid_dns_names().find(|name| !name.contains('*')).map(str::to_owned)
    }

    fn own(&self) -> Option<EndEntityCert<'_>> {
        EndEntityCert::try_from(&self.certificate).ok()
    }
}

/// A name as an address has it: of an address of version 6 without its brackets.
pub(crate) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// The opposite of [`bare`].
pub(crate) fn bracketed(host: &str) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

/// Why a file of PEM cannot be used.
fn refused(path: &Path, what: &str, error: &PemError) -> StartError {
    let reason = match error {
        PemError::Io(error) => error.to_string(),
        PemError::NoItemsFound => format!("there is no {what} in it, as PEM"),
        error => format!("this is no PEM: {error}"),
    };
    StartError::file(path, reason)
}
