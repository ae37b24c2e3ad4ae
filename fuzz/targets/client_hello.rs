//! The first bytes of a TLS connection: what is read as a name is the name that a TLS server
//! (rustls) reads, and what is malformed or ambiguous to us may be anything to others.
#![no_main]

use bailiwick_gate::fuzzing::{Hello, client_hello, opening};
use libfuzzer_sys::fuzz_target;
use rustls::server::Acceptor;

fuzz_target!(|data: &[u8]| {
    let ours = client_hello(data);
    if data.starts_with(&[22, 3]) {
        let read = match &ours {
            Hello::Incomplete => None,
            Hello::Malformed => Some("bad tls"),
            Hello::Complete(_) => Some("tls"),
        };
        assert_eq!(opening(data, false), read);
        assert_eq!(opening(data, true), Some("bad tls"));
    }
    // A reading stands from the byte at which it was made; nothing that follows changes it.
    let first = (0..=data.len()).find(|n| client_hello(&data[..*n]) != Hello::Incomplete);
    match first {
        Some(n) => assert_eq!(client_hello(&data[..n]), ours, "changed after {n} bytes"),
        None => assert_eq!(ours, Hello::Incomplete),
    }
    if let Hello::Complete(name) = &ours {
        assert_eq!(slow(data).as_ref(), Some(name), "the slow reader's name");
    }
    match (by_rustls(data), ours) {
        // Not for rustls, or not for us: nothing passes under a name that it has not.
        (None, _) | (_, Hello::Malformed | Hello::Incomplete) => {}
        (Some(Some(theirs)), Hello::Complete(Some(name))) => {
            let name = String::from_utf8_lossy(&name).to_ascii_lowercase();
            assert_eq!(name.trim_end_matches('.'), theirs.trim_end_matches('.'));
        }
        (Some(Some(theirs)), Hello::Complete(None)) => panic!("{theirs:?} was not seen"),
        // rustls tells no name that is no DNS name.
        (Some(None), Hello::Complete(_)) => {}
    }
});

/// The name that rustls reads; none where it takes the bytes for no ClientHello.
fn by_rustls(mut bytes: &[u8]) -> Option<Option<String>> {
    let mut acceptor = Acceptor::default();
    loop {
        let read = acceptor.read_tls(&mut bytes).ok()?;
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let hello = accepted.client_hello();
                return Some(hello.server_name().map(str::to_ascii_lowercase));
            }
            Ok(None) if read == 0 => return None,
            Ok(None) => {}
            Err(_) => return None,
        }
    }
}

/// The name of a hello that is whole, read without any of the checks: all records are laid one
/// after the other, then every extension is looked at.
fn slow(mut bytes: &[u8]) -> Option<Option<Vec<u8>>> {
    let number = |bytes: &[u8], at: usize, n: usize| -> Option<usize> {
        let bytes = bytes.get(at..at + n)?;
        Some(bytes.iter().fold(0, |sum, b| sum << 8 | usize::from(*b)))
    };
    let mut message = Vec::new();
    while let Some(length) = number(bytes, 3, 2) {
        let end = bytes.len().min(5 + length);
        message.extend_from_slice(&bytes[5..end]);
        bytes = &bytes[end..];
    }
    let body = message.get(4..4 + number(&message, 1, 3)?)?;
    let mut at = 34;
    at += 1 + number(body, at, 1)?;
    at += 2 + number(body, at, 2)?;
    at += 1 + number(body, at, 1)?;
    if at == body.len() {
        return Some(None);
    }
    at += 2;
    let mut names = Vec::new();
    while at < body.len() {
        let (kind, length) = (number(body, at, 2)?, number(body, at + 2, 2)?);
        let data = body.get(at + 4..at + 4 + length)?;
        if kind == 0 {
            names.push(data.get(5..5 + number(data, 3, 2)?)?.to_vec());
        }
        at += 4 + length;
    }
    match &names[..] {
        [] => Some(None),
        [name] => Some(Some(name.clone())),
        _ => None,
    }
}
