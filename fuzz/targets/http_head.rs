//! The first request of a connection (`P` for the proxy, `O` for a server that was dialled, and
//! the bytes). What the gate decides is what httparse reads, and what it sends is one request that
//! would be decided in the same way.
#![no_main]

use bailiwick_event::Host;
use bailiwick_gate::fuzzing::{Request, http, opening};
use libfuzzer_sys::fuzz_target;

/// The host that was dialled, where the request does not say one.
const CONNECTED: &str = "connected.test";
/// The most headers that the gate reads; it may add one.
const MOST: usize = 100;

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
    let shown = String::from_utf8_lossy(sent);
    let head = Head::read(sent).unwrap_or_else(|| panic!("no request: {shown:?}"));
    assert_eq!(head.method, request.method);
    assert_eq!(head.target, request.path, "{shown:?}");
    assert_eq!(head.version, 1);
    let host = request.host.clone().unwrap_or_else(|| {
        let host = Host::parse(CONNECTED).expect("a host");
        (host, Some(80))
    });
    let sent_host = head.host().unwrap_or_else(|| panic!("no host: {shown:?}"));
    assert_eq!(sent_host.0, host.0, "decided for another host: {shown:?}");
    let port = |port: Option<u16>| port.unwrap_or(80);
    assert_eq!(port(sent_host.1), port(host.1), "{shown:?}");
    let (body, rest) = head.body(&sent[head.length..]);
    assert_eq!(Some(body), request.body, "{shown:?}");
    assert!(rest.is_empty(), "a second request: {shown:?}");
    if head.headers.len() > MOST {
        return;
    }
    let again = http(sent, false).unwrap_or_else(|| panic!("refused itself: {shown:?}"));
    assert_eq!(again.method, request.method);
    assert_eq!(again.path, request.path);
    assert_eq!(again.host.map(|(host, _)| host), Some(host.0));
    assert_eq!(again.body, request.body);
    // In another order, perhaps.
    let sorted = |bytes: &[u8]| {
        let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    let again = again.sent.as_deref().map(sorted);
    assert_eq!(again, Some(sorted(sent)), "changed when sent again");
}

/// A request's head as httparse reads it.
#[derive(Debug)]
struct Head {
    method: String,
    target: String,
    version: u8,
    headers: Vec<(String, Vec<u8>)>,
    length: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MOST + 1];
        let mut request = httparse::Request::new(&mut headers);
        let httparse::Status::Complete(length) = request.parse(bytes).ok()? else {
            return None;
        };
        Some(Self {
            method: request.method?.to_owned(),
            target: request.path?.to_owned(),
            version: request.version?,
            headers: request
                .headers
                .iter()
                .map(|h| (h.name.to_ascii_lowercase(), h.value.to_vec()))
                .collect(),
            length,
        })
    }

    fn values(&self, name: &str) -> Vec<&[u8]> {
        let of = self.headers.iter().filter(|(n, _)| n == name);
        of.map(|(_, value)| value.as_slice()).collect()
    }

    /// The authority in the target, and what follows it.
    fn split(&self) -> (Option<&str>, &str) {
        if self.method == "CONNECT" {
            return (Some(&self.target), "");
        }
        let scheme = self.target.get(..7);
        if scheme.is_some_and(|s| s.eq_ignore_ascii_case("http://")) {
            let rest = &self.target[7..];
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            return (Some(&rest[..end]), &rest[end..]);
        }
        (None, &self.target)
    }

    /// The one host that the request names.
    fn host(&self) -> Option<(Host, Option<u16>)> {
        let headers = self.values("host");
        assert!(headers.len() <= 1, "several hosts");
        let header = headers.first().map(|h| String::from_utf8_lossy(h));
        let (authority, _) = self.split();
        assert!(
            header.is_some() || self.version == 0,
            "HTTP/1.1 without a host"
        );
        let text = authority.or(header.as_deref())?;
        let colon = text.rfind(':').filter(|at| !text[*at..].contains(']'));
        let (host, port) = colon.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        let host = Host::parse(host).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        if let (Some(_), Some(header)) = (authority, &header) {
            let name = header.to_ascii_lowercase();
            let numeric = host.ip().is_some();
            let begins = name.starts_with(&host.to_string());
            assert!(begins || numeric || !name.is_ascii() || name.contains("xn--"));
        }
        Some((host, port.parse().ok()))
    }

    fn path(&self) -> String {
        let (_, rest) = self.split();
        let path = rest.split('#').next().unwrap_or_default();
        match path.starts_with(['/', '*']) {
            true => path.to_owned(),
            false => format!("/{path}"),
        }
    }

    /// The body by RFC 9112 §6.3, and what is left.
    fn body<'a>(&self, bytes: &'a [u8]) -> (Vec<u8>, &'a [u8]) {
        let (lengths, codings) = (
            self.values("content-length"),
            self.values("transfer-encoding"),
        );
        match (&lengths[..], &codings[..]) {
            ([], []) => (Vec::new(), bytes),
            ([length], []) => {
                let text = std::str::from_utf8(length).expect("digits");
                assert!(text.bytes().all(|b| b.is_ascii_digit()), "{text:?}");
                let (body, rest) = bytes.split_at(text.parse().expect("a length"));
                (body.to_vec(), rest)
            }
            ([], [coding]) => {
                assert_eq!(*coding, b"chunked");
                chunks(bytes)
            }
            _ => panic!("two framings: {self:?}"),
        }
    }
}

fn chunks(mut bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|w| w == b"\r\n").expect("a size");
        let size = std::str::from_utf8(&bytes[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        bytes = &bytes[end + 2..];
        body.extend_from_slice(&bytes[..size]);
        assert_eq!(&bytes[size..size + 2], b"\r\n");
        bytes = &bytes[size + 2..];
        if size == 0 {
            return (body, bytes);
        }
    }
}
