//! A request of HTTP/1.1 as httparse and a slow reading of RFC 9112 see it.

use bailiwick_event::Host;
use bailiwick_gate::fuzzing::{Request, http};

/// The most headers of a request of HTTP/1 that the gate reads.
pub const MOST: usize = 100;

/// A request's head as httparse reads it.
#[derive(Debug)]
pub struct Head {
    pub method: String,
    pub target: String,
    pub version: u8,
    pub headers: Vec<(String, Vec<u8>)>,
    pub length: usize,
}

impl Head {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        // No head has more headers than lines.
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let mut headers = vec![httparse::EMPTY_HEADER; lines];
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

    pub fn values(&self, name: &str) -> Vec<&[u8]> {
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
    pub fn host(&self) -> Option<(Host, Option<u16>)> {
        let headers = self.values("host");
        assert!(headers.len() <= 1, "several hosts");
        let header = headers.first().map(|h| String::from_utf8_lossy(h));
        let (authority, _) = self.split();
        assert!(
            header.is_some() || self.version == 0,
            "HTTP/1.1 without a host"
        );
        let text = authority.or(header.as_deref())?;
        let (host, port) = host_and_port(text).unwrap_or_else(|| panic!("no host: {text:?}"));
        if let (Some(_), Some(header)) = (authority, &header) {
            assert!(may_be(header, &host), "{header:?} for {host}");
        }
        Some((host, port))
    }

    pub fn path(&self) -> String {
        path(self.split().1)
    }

    /// The body by RFC 9112 §6.3, and what is left.
    pub fn body<'a>(&self, bytes: &'a [u8]) -> (Vec<u8>, &'a [u8]) {
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

    /// The body of one that may say more than that: extensions of chunks, a length beside them, or
    /// the same length again.
    pub fn said_body(&self, bytes: &[u8]) -> Vec<u8> {
        if !self.values("transfer-encoding").is_empty() {
            return said_chunks(bytes);
        }
        // The same number, which may be written in two ways (RFC 9110 §8.6: by its value).
        let lengths = self.values("content-length").into_iter().map(|length| {
            let text = std::str::from_utf8(length).expect("digits");
            text.parse::<usize>().expect("a length")
        });
        let lengths: Vec<_> = lengths.collect();
        assert!(lengths.windows(2).all(|two| two[0] == two[1]), "{self:?}");
        bytes[..lengths.first().copied().unwrap_or(0)].to_vec()
    }
}

/// The bytes that a server gets are one request, for that host.
pub fn is_one(request: &Request, host: &(Host, Option<u16>), default: u16, sent: &[u8]) -> Head {
    let shown = String::from_utf8_lossy(sent);
    let head = Head::read(sent).unwrap_or_else(|| panic!("no request: {shown:?}"));
    assert_eq!(head.method, request.method);
    assert_eq!(head.target, request.path, "{shown:?}");
    assert_eq!(head.target, head.path(), "{shown:?}");
    assert_eq!(head.version, 1);
    let sent_host = head.host().unwrap_or_else(|| panic!("no host: {shown:?}"));
    assert_eq!(sent_host.0, host.0, "decided for another host: {shown:?}");
    let port = |port: Option<u16>| port.unwrap_or(default);
    assert_eq!(port(sent_host.1), port(host.1), "{shown:?}");
    let (body, rest) = head.body(&sent[head.length..]);
    assert_eq!(body, head.said_body(&sent[head.length..]), "{shown:?}");
    assert_eq!(Some(body), request.body, "{shown:?}");
    assert!(rest.is_empty(), "a second request: {shown:?}");
    head
}

/// What was sent would be decided in the same way, and sent as it is.
pub fn stays(request: &Request, host: &Host, sent: &[u8]) {
    let shown = String::from_utf8_lossy(sent);
    let again = http(sent, false).unwrap_or_else(|| panic!("refused itself: {shown:?}"));
    assert_eq!(again.method, request.method);
    assert_eq!(again.path, request.path);
    assert_eq!(again.host.map(|(host, _)| host).as_ref(), Some(host));
    assert_eq!(again.body, request.body);
    // In another order, perhaps, and with other white space.
    let parts = |bytes: &[u8]| {
        let mut head = Head::read(bytes)?;
        head.headers.sort();
        Some((head.headers, bytes[head.length..].to_vec()))
    };
    let again = again.sent.as_deref().and_then(parts);
    assert!(again.is_some(), "not sent again: {shown:?}");
    assert_eq!(again, parts(sent), "changed when sent again");
}

/// `host`, `host:port` or `[v6]:port`.
pub fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
    let colon = text.rfind(':').filter(|at| !text[*at..].contains(']'));
    let (host, port) = colon.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
    Some((Host::parse(host).ok()?, port.parse().ok()))
}

/// Whether a Host header can name `host`, by its text alone.
pub fn may_be(header: &str, host: &Host) -> bool {
    let name = header.to_ascii_lowercase();
    let numeric = host.ip().is_some();
    numeric || name.starts_with(&host.to_string()) || !name.is_ascii() || name.contains("xn--")
}

/// What a rule is asked about for a target's path.
pub fn path(target: &str) -> String {
    let path = target.split('#').next().unwrap_or_default();
    match path.starts_with(['/', '*']) {
        true => path.to_owned(),
        false => format!("/{path}"),
    }
}

fn line<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let end = bytes.windows(2).position(|w| w == b"\r\n").expect("a line");
    let (line, rest) = bytes.split_at(end);
    *bytes = &rest[2..];
    line
}

/// The data of chunks, whatever else stands in their lines and behind the last.
fn said_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let said = String::from_utf8_lossy(line(&mut bytes)).into_owned();
        let size = said.split(';').next().unwrap_or_default();
        let size = size.trim_end_matches([' ', '\t']);
        assert!(size.bytes().all(|b| b.is_ascii_hexdigit()), "{said:?}");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[..size]);
        assert_eq!(&bytes[size..size + 2], b"\r\n");
        bytes = &bytes[size + 2..];
    }
}

/// Chunks and trailers (RFC 9112 §7.1), and what is left.
fn chunks(mut bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut body = Vec::new();
    loop {
        let size = std::str::from_utf8(line(&mut bytes)).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&bytes[..size]);
        assert_eq!(&bytes[size..size + 2], b"\r\n");
        bytes = &bytes[size + 2..];
    }
    loop {
        let trailer = line(&mut bytes);
        if trailer.is_empty() {
            return (body, bytes);
        }
        let mut parsed = [httparse::EMPTY_HEADER; 1];
        let whole = [trailer, b"\r\n\r\n"].concat();
        let read = httparse::parse_headers(&whole, &mut parsed).expect("a trailer");
        assert!(read.is_complete() && !parsed[0].name.is_empty());
        // Nothing that says where a message goes or ends comes behind it.
        let name = parsed[0].name.to_ascii_lowercase();
        let forbidden = ["host", "content-length", "transfer-encoding"];
        assert!(!forbidden.contains(&name.as_str()), "a trailer {name}");
    }
}
