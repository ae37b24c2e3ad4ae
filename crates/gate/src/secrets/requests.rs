//! Where secrets stand in requests and answers.

use super::{Replacer, Secret};
use crate::destination::Destination;
use bailiwick_event::Host;
use bailiwick_policy::SecretPlace;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
    UPGRADE,
};
use hyper::{Request, Uri};

/// Those that a machine may have: what stands in its answers is looked for.
pub(crate) fn bound<'s>(
    secrets: &'s [Secret],
    to: &Destination,
) -> impl Iterator<Item = &'s Secret> + Clone {
    let (host, port, secure) = (server(to).clone(), to.port, to.secure.is_some());
    secrets
        .iter()
        .filter(move |secret| secret.is_for(&host, port, secure))
}

/// The machine that a connection was certified or dialled for.
fn server(to: &Destination) -> &Host {
    to.secure.as_ref().map_or(&to.host, |secure| &secure.name)
}

/// Whether a request may carry a secret: the machine may have it, and the one that the request asks
/// for. Behind one certificate there can be servers of many owners.
pub(crate) fn may_carry(secret: &Secret, to: &Destination, asked: &Host) -> bool {
    let secure = to.secure.is_some();
    let all = [server(to), asked];
    all.into_iter()
        .all(|host| secret.is_for(host, to.port, secure))
}

/// The secret whose stand-in a request's head carries to a machine that may not have it.
pub(crate) fn misplaced<'s>(
    secrets: &'s [Secret],
    to: &Destination,
    asked: &Host,
    path: &str,
    headers: &HeaderMap,
) -> Option<&'s Secret> {
    let mut strange = secrets
        .iter()
        .filter(|secret| !may_carry(secret, to, asked));
    strange.find(|secret| {
        let text = secret.stand_in.as_str();
        let encoded = percent(text);
        let in_path = path.contains(text) || path.contains(&encoded);
        in_path || in_values(headers, text)
    })
}

/// Whether a header holds a text, as it is or within the Basic scheme.
pub(crate) fn in_values(headers: &HeaderMap, text: &str) -> bool {
    headers.values().any(|value| holds(value, text))
}

fn holds(value: &HeaderValue, text: &str) -> bool {
    let plain = memchr::memmem::find(value.as_bytes(), text.as_bytes()).is_some();
    plain || basic(value).is_some_and(|login| login.contains(text))
}

/// The user name and password of the Basic scheme (RFC 7617 §2).
fn basic(value: &HeaderValue) -> Option<String> {
    let (scheme, login) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    String::from_utf8(STANDARD.decode(login.trim()).ok()?).ok()
}

/// What stands for a text in a URL (RFC 3986 §2.1).
pub(crate) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// What a request was decided by, or how its connection goes on: sent as it was read.
const DECIDED: [HeaderName; 5] = [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, UPGRADE];

/// Puts the secrets that a machine may have into a request's head; gives which, and where.
pub(crate) fn inject<'s, B>(
    secrets: impl IntoIterator<Item = &'s Secret>,
    request: &mut Request<B>,
) -> Vec<(&'s Secret, SecretPlace)> {
    let mut shown = Vec::new();
    for secret in secrets {
        let mut put = |place| shown.push((secret, place));
        if secret.may_stand_in(SecretPlace::Header) {
            let mut any = false;
            for (name, value) in request.headers_mut() {
                if !DECIDED.contains(name)
                    && let Some(new) = with_secret(value, secret)
                {
                    *value = new;
                    value.set_sensitive(true);
                    any = true;
                }
            }
            if any {
                put(SecretPlace::Header);
            }
        }
        if secret.may_stand_in(SecretPlace::Query)
            && let Some(uri) = in_query(request.uri(), secret)
        {
            *request.uri_mut() = uri;
            put(SecretPlace::Query);
        }
    }
    shown
}

fn with_secret(value: &HeaderValue, secret: &Secret) -> Option<HeaderValue> {
    let (from, to) = (secret.stand_in.as_str(), secret.value.as_str());
    if let Some(login) = basic(value).filter(|login| login.contains(from)) {
        let coded = STANDARD.encode(login.replace(from, to));
        return HeaderValue::from_str(&format!("Basic {coded}")).ok();
    }
    memchr::memmem::find(value.as_bytes(), from.as_bytes())?;
    let new = Replacer::new([(from, to)]).whole(value.as_bytes());
    HeaderValue::from_bytes(&new).ok()
}

fn in_query(uri: &Uri, secret: &Secret) -> Option<Uri> {
    let text = uri.to_string();
    let (before, query) = text.split_once('?')?;
    let value = percent(&secret.value);
    let coded = percent(&secret.stand_in);
    let new = query
        .replace(&secret.stand_in, &value)
        .replace(&coded, &value);
    (new != query).then(|| format!("{before}?{new}").parse().ok())?
}
