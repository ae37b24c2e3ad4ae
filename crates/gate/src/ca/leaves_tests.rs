use super::*;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

fn host(text: &str) -> Host {
    text.parse().expect("a host")
}

fn leaves() -> Leaves {
    let state = tempfile::tempdir().expect("a folder");
    let authority = Authority::open(state.path()).expect("an authority");
    Leaves::new(Arc::new(authority)).expect("a key")
}

#[derive(Debug)]
struct One(Arc<CertifiedKey>);

impl ResolvesServerCert for One {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Whether a client that trusts an authority takes a certificate for a machine.
fn is_taken(authority: &Authority, certified: Arc<CertifiedKey>, name: &str) -> Result<(), String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots
        .add(authority.certificate().clone())
        .map_err(|e| e.to_string())?;
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(One(certified)));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut &*bytes).unwrap();
        server.process_new_packets().map_err(|e| e.to_string())?;
        bytes.clear();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &*bytes;
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

#[test]
fn a_client_that_trusts_the_authority_takes_a_leaf_for_its_machine_and_no_other() {
    let leaves = leaves();
    let long = format!("{}.{}.example.com", "a".repeat(63), "b".repeat(63));
    for name in [
        "example.com",
        "xn--bcher-kva.example",
        "127.0.0.1",
        "::1",
        &long,
    ] {
        let leaf = leaves.of(&host(name)).unwrap();
        assert_eq!(
            is_taken(leaves.authority(), Arc::clone(&leaf), name),
            Ok(()),
            "{name}"
        );
        for other in ["other.test", "sub.example.com", "127.0.0.2"] {
            assert!(is_taken(leaves.authority(), Arc::clone(&leaf), other).is_err());
        }
    }
    let other = self::leaves();
    let leaf = other.of(&host("example.com")).unwrap();
    let said = is_taken(leaves.authority(), leaf, "example.com").unwrap_err();
    assert!(said.contains("UnknownIssuer"), "{said}");
}

#[test]
fn a_leaf_is_kept_until_it_is_nearly_over() {
    let leaves = leaves();
    let now = OffsetDateTime::now_utc();
    let at = |days| {
        leaves
            .at(&host("a.test"), now + Duration::days(days))
            .unwrap()
    };
    let first = at(0);
    assert!(Arc::ptr_eq(&first, &at(22)));
    let next = at(24);
    assert!(!Arc::ptr_eq(&first, &next));
    assert!(Arc::ptr_eq(&next, &at(40)));
    assert_ne!(first.cert, next.cert, "another number and another time");
}

#[test]
fn no_more_are_kept_than_there_is_room_for() {
    let leaves = leaves();
    for n in 0..KEPT + 10 {
        leaves.of(&host(&format!("h{n}.test"))).unwrap();
        assert!(leaves.kept.lock().unwrap().len() <= KEPT);
    }
}

#[test]
fn leaves_have_numbers_of_their_own() {
    let leaves = leaves();
    let one = leaves.of(&host("a.test")).unwrap();
    let two = leaves.of(&host("b.test")).unwrap();
    assert_ne!(one.cert, two.cert);
    let bytes = serial().unwrap().to_bytes();
    assert_eq!((bytes.len(), bytes[0] & 0x80), (16, 0));
}
