//! The authority's key and certificate.

use super::file::{self, AuthorityError};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData,
};
use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fmt::Write as _;
use std::path::Path;
use time::{Duration, OffsetDateTime};

/// How long an authority is valid.
const YEARS: i64 = 10;
/// How long before it was made it is valid: clocks differ.
const BEFORE: Duration = Duration::days(1);

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    /// The certificate, as it is given away.
    pem: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Nothing of the key.
        f.debug_tuple("Authority")
            .field(&self.fingerprint())
            .finish()
    }
}

/// What an authority's certificate says, which follows from its key: so that the key alone is enough
/// to issue under its name.
fn params(key: &KeyPair) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(AuthorityError::of)?;
    let mut name = DistinguishedName::new();
    // Two installations on one machine are two authorities, and a client tells them apart by name.
    let number = hex(&digest(&SHA256, key.der_bytes()).as_ref()[..4], "");
    name.push(DnType::CommonName, format!("Bailiwick authority {number}"));
    params.distinguished_name = name;
    // It issues leaves and no other authority (RFC 5280 §4.2.1.9).
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn hex(bytes: &[u8], between: &str) -> String {
    let mut text = String::new();
    for (n, byte) in bytes.iter().enumerate() {
        let _ = write!(text, "{}{byte:02X}", if n > 0 { between } else { "" });
    }
    text
}

impl Authority {
    /// The authority of a state folder; made where there is none. Of two that make it at once one
    /// prevails, for both.
    ///
    /// # Errors
    /// [`AuthorityError`] where its file cannot be read or written, others can read it, or it holds
    /// none.
    pub fn open(state: &Path) -> Result<Self, AuthorityError> {
        if let Some(text) = file::read(state)? {
            return Self::read(&text);
        }
        let (_, text) = Self::make()?;
        file::add(state, &text)?;
        match file::read(state)? {
            Some(text) => Self::read(&text),
            None => Err(AuthorityError::Io(
                "the file of the authority is gone".into(),
            )),
        }
    }

    /// The authority of a state folder, if there is one.
    ///
    /// # Errors
    /// As [`Authority::open`].
    pub fn find(state: &Path) -> Result<Option<Self>, AuthorityError> {
        file::read(state)?.map(|text| Self::read(&text)).transpose()
    }

    /// Makes another one in the place of the one that is there, which nothing trusts any more then.
    ///
    /// # Errors
    /// As [`Authority::open`].
    pub fn rotate(state: &Path) -> Result<Self, AuthorityError> {
        let (authority, text) = Self::make()?;
        file::replace(state, &text)?;
        Ok(authority)
    }

    fn make() -> Result<(Self, String), AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(AuthorityError::of)?;
        let mut params = params(&key)?;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - BEFORE;
        params.not_after = now + Duration::days(365 * YEARS);
        let certificate = params.self_signed(&key).map_err(AuthorityError::of)?;
        let text = format!("{}{}", key.serialize_pem(), certificate.pem());
        Ok((Self::read(&text)?, text))
    }

    /// Reads a key and the certificate that belongs to it.
    fn read(text: &str) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pem(text).map_err(|_| AuthorityError::Unreadable("a key"))?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|_| AuthorityError::Unreadable("a certificate"))?;
        let anchor = webpki::anchor_from_trusted_cert(&certificate)
            .map_err(|_| AuthorityError::Unreadable("a certificate"))?;
        if !anchor
            .subject_public_key_info
            .as_ref()
            .ends_with(key.der_bytes())
        {
            return Err(AuthorityError::Unreadable("the certificate of its key"));
        }
        let start = text.find("-----BEGIN CERTIFICATE-----").unwrap_or(0);
        Ok(Self {
            pem: text[start..].to_owned(),
            certificate: certificate.into_owned(),
            issuer: Issuer::new(params(&key)?, key),
        })
    }

    /// The certificate as PEM: what a program is told to trust. The key is not in it.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificate.
    #[must_use]
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The SHA-256 of the certificate, as tools show it: `AB:CD:…`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex(digest(&SHA256, &self.certificate).as_ref(), ":")
    }

    pub(crate) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
