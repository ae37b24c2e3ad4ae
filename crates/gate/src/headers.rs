//! Which headers pass. The gate ends one connection and begins another, so what speaks about a
//! connection is the gate's to say; what speaks about the message is not its business, and
//! nothing is added: a server does not learn that it is asked through a gate.

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HeaderMap, HeaderName, HeaderValue, TE, TRANSFER_ENCODING,
    UPGRADE,
};

/// Headers that a client says to a proxy and not to the server.
const TO_PROXY: [&str; 4] = [
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
];

/// The protocols that a request wants to change to, without those that would carry requests
/// which nobody decides: HTTP/2 in the clear, and TLS.
fn upgrades(headers: &HeaderMap) -> Vec<String> {
    let asked = listed(headers, CONNECTION).any(|t| t == "upgrade");
    listed(headers, UPGRADE)
        .filter(|_| asked)
        .filter(|p| !["h2", "http", "tls"].iter().any(|bad| p.starts_with(bad)))
        .collect()
}

fn listed(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = String> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|token| token.trim().to_ascii_lowercase())
        .filter(|token| !token.is_empty())
}

/// Makes a request's headers those of the next connection; whether it still wants to change the
/// protocol.
pub(crate) fn clean_request(headers: &mut HeaderMap, proxied: bool) -> bool {
    // The gate has answered an expectation when it began to read the body, and frames the body
    // itself.
    headers.remove(EXPECT);
    let chunked = headers.remove(TRANSFER_ENCODING).is_some();
    headers.remove("http2-settings");
    let upgrades = upgrades(headers).join(", ");
    headers.remove(UPGRADE);
    keep_framing(headers);
    if proxied {
        remove_hop_by_hop(headers);
    }
    if chunked {
        // Said again, because a GET would lose its body without it.
        headers.remove(CONTENT_LENGTH);
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    match HeaderValue::from_str(&upgrades) {
        Ok(value) if !upgrades.is_empty() => {
            headers.insert(UPGRADE, value);
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            true
        }
        _ => false,
    }
}

/// What decides about a request, and where it ends, is not named as something that a server between
/// may take away (RFC 9110 §7.6.1): behind it the body would be another request.
fn keep_framing(headers: &mut HeaderMap) {
    let decides = [
        "host",
        "content-length",
        "transfer-encoding",
        "http2-settings",
    ];
    let named: Vec<String> = listed(headers, CONNECTION).collect();
    if !named.iter().any(|name| decides.contains(&&**name)) {
        return;
    }
    headers.remove(CONNECTION);
    let kept: Vec<_> = named
        .into_iter()
        .filter(|name| !decides.contains(&&**name))
        .collect();
    if let Ok(value) = HeaderValue::from_str(&kept.join(", "))
        && !kept.is_empty()
    {
        headers.insert(CONNECTION, value);
    }
}

/// Makes an answer's headers those of the client's connection.
pub(crate) fn clean_response(headers: &mut HeaderMap, proxied: bool) {
    headers.remove(TRANSFER_ENCODING);
    if proxied {
        remove_hop_by_hop(headers);
    }
}

/// Removes what stands for one connection only (RFC 9110 §7.6.1).
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<String> = listed(headers, CONNECTION).collect();
    // Without it an answer has no trailers.
    let trailers = listed(headers, TE).any(|t| t == "trailers");
    for name in named.iter().map(String::as_str).chain(TO_PROXY) {
        // The names that decide about the request may not be taken away by the client's word.
        if !["host", "content-length"].contains(&name) {
            headers.remove(name);
        }
    }
    headers.remove(CONNECTION);
    headers.remove(TE);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
