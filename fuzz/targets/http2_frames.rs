//! The frames of a connection of HTTP/2. Each request that the gate takes is what a slow reading of
//! one stream says, and what is sent, by HTTP/1.1 or HTTP/2, is one request for the host and path
//! that were decided.
#![no_main]

#[path = "../reference/http2.rs"]
mod http2;
#[path = "../reference/request.rs"]
mod request;

use bailiwick_event::Host;
use bailiwick_gate::fuzzing::{self, Request};
use http2::{Asked, Stream, is_field, streams};
use libfuzzer_sys::fuzz_target;
use request::{MOST, host_and_port, is_one, stays};

/// What the gate takes of a head, by the count of RFC 9113 §6.5.2.
const MAX_HEAD: usize = 64 * 1024;
/// What a length that the gate adds may take.
const ADDED: usize = 128;
/// What a server of HTTP/2 takes of a body before it has said anything.
const WINDOW: usize = 65_535;
/// The preface, whose next bytes are frames.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fuzz_target!(|data: &[u8]| {
    let said = streams(data);
    let mut rest = said.iter();
    for request in fuzzing::http2(data) {
        // Streams are taken in the order in which they are begun.
        let asked = rest.find_map(|stream| {
            let asked = stream.asked()?;
            is_of(&request, stream, &asked).then_some(asked)
        });
        let asked = asked.unwrap_or_else(|| panic!("asked by none: {request:?}\n{said:?}"));
        let (Some(sent), Some(sent_http2)) = (&request.sent, &request.sent_http2) else {
            assert_eq!(request.body, None, "not sent: {request:?}");
            continue;
        };
        let head = is_one(&request, &asked.host, 443, sent);
        assert!(
            head.values("cookie").len() <= 1,
            "RFC 9113 §8.2.3: {head:?}"
        );
        if head.headers.len() <= MOST && sent.len() < MAX_HEAD {
            stays(&request, &asked.host.0, sent);
        }
        by_http2(&request, &asked.host, sent_http2);
    }
});

/// Whether a request is what that stream asks for.
fn is_of(request: &Request, stream: &Stream, asked: &Asked) -> bool {
    let whole = || stream.ended && request.body.as_ref() == Some(&stream.body);
    request.method == asked.method
        && request.host.as_ref() == Some(&asked.host)
        && request.path == asked.path
        && (request.body.is_none() || whole())
}

/// The frames that a server gets are one request and mean what was decided.
fn by_http2(request: &Request, host: &(Host, Option<u16>), sent: &[u8]) {
    let frames = sent.strip_prefix(PREFACE).expect("the preface");
    let streams = streams(frames);
    let [stream] = &streams[..] else {
        panic!("not one request: {streams:?}");
    };
    assert!(stream.is_proper(), "{stream:?}");
    assert!(stream.trailers.iter().all(is_field), "{stream:?}");
    let size = |(name, value): &(Vec<u8>, Vec<u8>)| name.len() + value.len() + 32;
    let size = stream.fields.iter().map(size).sum::<usize>();
    assert!(size <= MAX_HEAD + ADDED, "a head of {size} bytes");
    let [method, scheme, authority, path] = stream.pseudo();
    assert_eq!(method, Some(request.method.as_str()));
    assert_eq!(scheme, Some("https"));
    assert_eq!(path, Some(request.path.as_str()));
    let authority = authority.and_then(host_and_port).expect("an authority");
    assert_eq!(authority.0, host.0, "decided for another host: {stream:?}");
    assert_eq!(authority.1.unwrap_or(443), host.1.unwrap_or(443));
    let body = request.body.as_deref().unwrap_or_default();
    let regular = || {
        stream
            .fields
            .iter()
            .filter(|(name, _)| !name.starts_with(b":"))
    };
    assert!(regular().all(|(name, _)| name != b"host"), "{stream:?}");
    for (_, length) in regular().filter(|(name, _)| name == b"content-length") {
        assert_eq!(length, body.len().to_string().as_bytes());
    }
    if body.len() <= WINDOW {
        assert_eq!(stream.body, body);
        assert!(stream.ended, "{stream:?}");
    } else {
        assert!(body.starts_with(&stream.body));
    }
}
