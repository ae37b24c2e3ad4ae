//! The bundle as Java reads it: a key store of the kind "JKS", which every version since 1.2 takes for
//! its `cacerts`, whatever its own is. The format is that of
//! `sun.security.provider.JavaKeyStore` in OpenJDK.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where installations of Java lie.
const INSTALLED: [&str; 3] = ["/usr/lib/jvm", "/usr/java", "/opt/java"];
/// Where one of them keeps its store.
const WITHIN: [&str; 2] = ["lib/security/cacerts", "jre/lib/security/cacerts"];
/// The password that everybody's `cacerts` has; it only protects from mistakes.
const PASSWORD: &str = "changeit";

/// Where the stores of this machine could be.
pub(super) fn stores() -> impl Iterator<Item = PathBuf> {
    let below = INSTALLED.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    });
    let home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let homes = below.chain(home.filter(|home| home.is_absolute()));
    let own = homes.flat_map(|home| WITHIN.map(|within| home.join(within)));
    [Path::new("/etc/ssl/certs/java/cacerts").to_path_buf()]
        .into_iter()
        .chain(own)
}

/// A store with the certificates of a bundle.
pub(super) fn store(bundle: &[u8]) -> Vec<u8> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(bundle).flatten().collect();
    let mut store = Vec::with_capacity(bundle.len());
    let number = |store: &mut Vec<u8>, n: usize| {
        store.extend(u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes());
    };
    let text = |store: &mut Vec<u8>, text: &str| {
        store.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        store.extend(text.as_bytes());
    };
    number(&mut store, 0xFEED_FEED);
    number(&mut store, 2);
    number(&mut store, certificates.len());
    for (n, certificate) in certificates.iter().enumerate() {
        // A certificate that is trusted, without a key.
        number(&mut store, 2);
        text(&mut store, &n.to_string());
        // When it was added, in milliseconds; the same for the same bundle.
        store.extend(0_u64.to_be_bytes());
        text(&mut store, "X.509");
        number(&mut store, certificate.len());
        store.extend_from_slice(certificate);
    }
    let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for unit in PASSWORD.encode_utf16() {
        digest.update(&unit.to_be_bytes());
    }
    digest.update(b"Mighty Aphrodite");
    digest.update(&store);
    store.extend_from_slice(digest.finish().as_ref());
    store
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_holds_every_certificate_of_the_bundle() {
        let folder = tempfile::tempdir().unwrap();
        let make = || bailiwick_gate::ca::Authority::rotate(folder.path()).unwrap();
        let (one, two) = (make(), make());
        let store = store(format!("# both\n{}{}", one.pem(), two.pem()).as_bytes());
        assert_eq!(
            store[..12],
            [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 2]
        );
        for authority in [one, two] {
            let der = authority.certificate();
            assert!(store.windows(der.len()).any(|part| part == &**der));
        }
        assert_eq!(super::store(b"").len(), 12 + 20);
    }
}
