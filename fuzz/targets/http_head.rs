//! The first request of a connection (`P` for the proxy, `O` for a server that was dialled, and
//! the bytes). What the gate decides is what httparse reads, and what it sends is one request that
//! would be decided in the same way.
#![no_main]

#[path = "../reference/request.rs"]
mod request;

use bailiwick_event::Host;
use bailiwick_gate::fuzzing::{Request, http, opening};
use libfuzzer_sys::fuzz_target;
use request::{Head, MOST, is_one, stays};

/// The host that was dialled, where the request does not say one.
const CONNECTED: &str = "connected.test";

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = data.split_first() else {
        return;
    };
    let proxied = *mode == b'P';
    let Some(request) = http(bytes, proxied) else {
        return;
    };
    let head = Head::read(bytes).expect("httparse reads what the gate takes");
    assert_eq!(request.method, head.method);
    assert_eq!(request.host, head.host(), "{head:?}");
    assert_eq!(request.path, head.path(), "{head:?}");
    if let Some(body) = &request.body
        && request.method != "CONNECT"
    {
        assert_eq!(*body, head.said_body(&bytes[head.length..]), "{head:?}");
    }
    // No bytes that are a request pass as something else.
    if request.method.len() <= 128 {
        assert_eq!(opening(bytes, true), Some("http"), "{head:?}");
        assert_eq!(opening(bytes, false), Some("http"), "{head:?}");
    }
    let Some(sent) = &request.sent else { return };
    is_the_same(&request, sent);
});

/// The bytes that a server gets are one request and mean what was decided.
fn is_the_same(request: &Request, sent: &[u8]) {
    let host = request.host.clone().unwrap_or_else(|| {
        let host = Host::parse(CONNECTED).expect("a host");
        (host, Some(80))
    });
    let head = is_one(request, &host, 80, sent);
    if head.headers.len() <= MOST {
        stays(request, &host.0, sent);
    }
}
