//! Certificates for the machines that a sandbox speaks with, made when they are asked for.
//!
//! Decision: all leaves have one key, which is made for the session and dies with it: to make a key
//! for each would cost more than the certificate. What is kept is bounded; under a rule for `*.a.test`
//! a program can ask for any number of names.

use super::{Authority, AuthorityError};
use bailiwick_event::Host;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType, SerialNumber,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use time::{Duration, OffsetDateTime};

/// How many are kept.
const KEPT: usize = 1024;
/// How long one is valid. Clients refuse more than 398 days.
const VALID: Duration = Duration::days(30);
/// How long before it was made it is valid: clocks differ.
const BEFORE: Duration = Duration::days(1);
/// What is left of one that is made anew.
const LEFT: Duration = Duration::days(7);

/// Makes and keeps them.
pub struct Leaves {
    authority: Arc<Authority>,
    key: KeyPair,
    signing: Arc<dyn rustls::sign::SigningKey>,
    kept: Mutex<HashMap<Host, Kept>>,
}

struct Kept {
    certified: Arc<CertifiedKey>,
    until: OffsetDateTime,
}

impl std::fmt::Debug for Leaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Leaves").field(&self.authority).finish()
    }
}

impl Leaves {
    /// Those of an authority.
    ///
    /// # Errors
    /// [`AuthorityError::Certificate`] where no key can be made.
    pub fn new(authority: Arc<Authority>) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(AuthorityError::of)?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signing = rustls::crypto::ring::sign::any_supported_type(&der)
            .map_err(|e| AuthorityError::Certificate(e.to_string()))?;
        Ok(Self {
            authority,
            key,
            signing,
            kept: Mutex::default(),
        })
    }

    /// The authority that issues them.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The certificate of a machine and its key.
    ///
    /// # Errors
    /// [`AuthorityError::Certificate`] where none can be made for such a name.
    pub fn of(&self, host: &Host) -> Result<Arc<CertifiedKey>, AuthorityError> {
        self.at(host, OffsetDateTime::now_utc())
    }

    fn at(&self, host: &Host, now: OffsetDateTime) -> Result<Arc<CertifiedKey>, AuthorityError> {
        // What is behind it is whole at every moment at which a thread could have died.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = kept.get(host).filter(|there| now + LEFT < there.until) {
            return Ok(Arc::clone(&there.certified));
        }
        let certified = Arc::new(self.make(host, now)?);
        if kept.len() >= KEPT {
            kept.clear();
        }
        let there = Kept {
            certified: Arc::clone(&certified),
            until: now + VALID,
        };
        kept.insert(host.clone(), there);
        Ok(certified)
    }

    fn make(&self, host: &Host, now: OffsetDateTime) -> Result<CertifiedKey, AuthorityError> {
        let mut params = CertificateParams::new(Vec::new()).map_err(AuthorityError::of)?;
        let name = match host {
            Host::Ip(address) => SanType::IpAddress(*address),
            Host::Name(name) => {
                let name = name.as_str().try_into().map_err(AuthorityError::of)?;
                SanType::DnsName(name)
            }
        };
        params.subject_alt_names.push(name);
        // Clients go by the alternative names; what people see in a dialogue is this (RFC 9525 §6.3).
        let mut subject = DistinguishedName::new();
        let shown: String = host.to_string().chars().take(64).collect();
        subject.push(DnType::CommonName, shown);
        params.distinguished_name = subject;
        params.not_before = now - BEFORE;
        params.not_after = now + VALID;
        params.serial_number = Some(serial()?);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&self.key, self.authority.issuer());
        let leaf = leaf.map_err(AuthorityError::of)?;
        // The authority itself is with whoever trusts it.
        let chain = vec![leaf.der().clone()];
        Ok(CertifiedKey::new(chain, Arc::clone(&self.signing)))
    }
}

/// A random number that is positive (RFC 5280 §4.1.2.2).
fn serial() -> Result<SerialNumber, AuthorityError> {
    let mut bytes = super::file::random::<16>()?;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

#[cfg(test)]
#[path = "leaves_tests.rs"]
mod tests;
