//! Every connection and every request, as the server saw them.

use hyper::http::request::Parts;
use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Mutex;

/// A request with everything that must not depend on whether the gate looked into it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) host: String,
    /// Path and query.
    pub(crate) path: String,
    /// `h2`, `http/1.1` or `none`.
    pub(crate) alpn: String,
    /// What it was really spoken in.
    pub(crate) version: String,
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    /// Of the whole body; none where it did not end.
    pub(crate) body: Option<String>,
    /// Its bytes.
    pub(crate) sent: u64,
    /// Of the answer.
    pub(crate) status: u16,
}

impl Request {
    /// As rows of the ledger are written here.
    pub(crate) fn line(&self) -> String {
        // Some clients name the port, which the ledger has by itself.
        let host = self.host.trim_end_matches(":443");
        format!("{} https://{host}{}", self.method, self.path)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body.as_deref().unwrap_or("does not end");
        let (line, alpn, version) = (self.line(), &self.alpn, &self.version);
        writeln!(f, "{line} by {version}, ALPN {alpn}, body {body}")?;
        for (name, values) in &self.headers {
            writeln!(f, "    {name}: {}", values.join(" | "))?;
        }
        Ok(())
    }
}

/// Instead of a name, where a connection ended before it had one.
pub(crate) const NOTHING_SAID: &str = "(nothing said)";

#[derive(Default)]
pub(crate) struct Log(Mutex<(Vec<String>, Vec<Request>)>);

impl Log {
    pub(super) fn connection(&self, name: &str) {
        self.0.lock().unwrap().0.push(name.to_owned());
    }

    /// Before it is answered; the number is for [`Log::body`].
    pub(super) fn request(&self, alpn: String, parts: &Parts) -> usize {
        let mut headers = BTreeMap::<_, Vec<_>>::new();
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.entry(name.to_string()).or_default().push(value);
        }
        // In HTTP/2 it is a part of the URI.
        let host = parts.uri.authority().map(ToString::to_string);
        let host = host.or_else(|| headers.remove("host").map(|hosts| hosts.join(" | ")));
        let request = Request {
            method: parts.method.to_string(),
            host: host.unwrap_or_default(),
            path: parts.uri.path_and_query().unwrap().to_string(),
            alpn,
            version: format!("{:?}", parts.version),
            headers,
            body: None,
            sent: 0,
            status: 0,
        };
        let requests = &mut self.0.lock().unwrap().1;
        requests.push(request);
        requests.len() - 1
    }

    pub(super) fn body(&self, number: usize, body: &[u8]) {
        let request = &mut self.0.lock().unwrap().1[number];
        request.body = Some(sha256(body));
        request.sent = body.len() as u64;
    }

    pub(super) fn status(&self, number: usize, status: u16) {
        self.0.lock().unwrap().1[number].status = status;
    }

    /// The names that were asked for in TLS, once for each connection; sorted.
    pub(crate) fn connections(&self) -> Vec<String> {
        let mut names = self.0.lock().unwrap().0.clone();
        names.sort();
        names
    }

    /// Sorted: a client may send them at the same time.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let mut requests = self.0.lock().unwrap().1.clone();
        requests.sort();
        requests
    }
}

/// In hexadecimal digits, as every client can say it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
