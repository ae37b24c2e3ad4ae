//! The certificate authority of one run of the bench. It certifies the origin and nothing else, its key
//! never leaves this process, and it is the one thing that a direct client and a client behind the
//! gate see differently: who certified the server says whether the gate looked into the connection.

use crate::load::hex;
use bailiwick_event::Failure;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

/// The name that the origin has.
pub(crate) const NAME: &str = "bench.test";

/// The authority's certificate, and what the origin shows.
pub(crate) struct TestAuthority {
    /// In PEM.
    pub certificate: String,
    /// How the origin speaks TLS.
    pub server: Arc<ServerConfig>,
}

fn fault(error: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("the benchmark's certificates: {error}"))
}

impl TestAuthority {
    /// A new one, with a certificate for the origin.
    pub(crate) fn make() -> Result<Self, Failure> {
        let key = KeyPair::generate().map_err(fault)?;
        let mut params = CertificateParams::new(Vec::new()).map_err(fault)?;
        params
            .distinguished_name
            .push(DnType::CommonName, "Bailiwick benchmark");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&key).map_err(fault)?;
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate().map_err(fault)?;
        let leaf = CertificateParams::new(vec![NAME.to_owned()]).map_err(fault)?;
        let leaf = leaf.signed_by(&key, &issuer).map_err(fault)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(fault)?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .map_err(fault)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            certificate: certificate.pem(),
            server: Arc::new(server),
        })
    }
}

/// The name of the authority that a PEM certificate is of, as the load client reports issuers.
pub(crate) fn subject(pem: &str) -> Result<String, Failure> {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(fault)?;
    let anchor = webpki::anchor_from_trusted_cert(&certificate).map_err(fault)?;
    Ok(hex(&anchor.subject))
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
