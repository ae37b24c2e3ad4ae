//! Reads the name that a TLS client asks for out of its ClientHello (RFC 8446 §4.1.2, RFC 6066
//! §3). The bytes are hostile: what two readers could read in two ways (a name given twice, an
//! extension given twice, bytes left over) is malformed, so that the gate never decides by
//! another name than the server answers to.

/// The longest ClientHello, in bytes; far above what post-quantum key shares need.
const MAX_HELLO: usize = 16 * 1024;

/// What the first bytes of a TLS connection hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// A proper beginning of one.
    Incomplete,
    /// Bytes that are no ClientHello, or an ambiguous one.
    Malformed,
    /// A whole one; the name as it stood, if it named one.
    Complete(Option<Vec<u8>>),
}

/// Reads a ClientHello from the start of a connection; bytes after it are ignored.
pub(crate) fn parse(bytes: &[u8]) -> Hello {
    match handshake(bytes) {
        Ok(Some(message)) => server_name(&message).map_or(Hello::Malformed, Hello::Complete),
        Ok(None) => Hello::Incomplete,
        Err(Malformed) => Hello::Malformed,
    }
}

struct Malformed;

/// The body of the first handshake message, put together from its records.
fn handshake(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut message = Vec::new();
    loop {
        // The header is checked as far as it has come, so that what is no TLS fails at once.
        let header = &bytes[..bytes.len().min(5)];
        if header.first().is_some_and(|t| *t != 22) || header.get(1).is_some_and(|v| *v != 3) {
            return Err(Malformed);
        }
        let [_, _, _, hi, lo] = *header else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([hi, lo]));
        if length == 0 || length > 1 << 14 {
            return Err(Malformed);
        }
        let rest = &bytes[5..];
        let fragment = &rest[..length.min(rest.len())];
        message.extend_from_slice(fragment);
        if message.first().is_some_and(|t| *t != 1) {
            return Err(Malformed);
        }
        if let [_, a, b, c, ..] = message[..] {
            let want = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if want > MAX_HELLO {
                return Err(Malformed);
            }
            if message.len() >= 4 + want {
                message.truncate(4 + want);
                message.drain(..4);
                return Ok(Some(message));
            }
        }
        if fragment.len() < length {
            return Ok(None);
        }
        bytes = &rest[length..];
    }
}

/// The host name of a ClientHello's body; `None` where the body is malformed.
#[allow(
    clippy::option_option,
    reason = "malformed, without a name, with a name"
)]
fn server_name(body: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut body = Reader(body);
    body.take(2 + 32)?;
    body.vector8()?;
    body.vector16()?;
    body.vector8()?;
    if body.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Reader(body.vector16()?);
    if !body.0.is_empty() {
        return None;
    }
    let mut seen = Vec::new();
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number16()?;
        let data = extensions.vector16()?;
        if seen.contains(&kind) {
            return None;
        }
        seen.push(kind);
        // Bounds the search above; no client sends a quarter as many.
        if seen.len() > 128 {
            return None;
        }
        if kind == 0 {
            name = Some(host_name(data)?);
        }
    }
    Some(name)
}

/// The one host name of a server_name extension.
fn host_name(data: &[u8]) -> Option<Vec<u8>> {
    let mut data = Reader(data);
    let mut list = Reader(data.vector16()?);
    let [kind] = *list.take(1)? else { return None };
    let name = list.vector16()?;
    let alone = data.0.is_empty() && list.0.is_empty();
    (alone && kind == 0 && !name.is_empty()).then(|| name.to_vec())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn number16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn vector8(&mut self) -> Option<&'a [u8]> {
        let n = self.take(1)?[0];
        self.take(usize::from(n))
    }

    fn vector16(&mut self) -> Option<&'a [u8]> {
        let n = self.number16()?;
        self.take(usize::from(n))
    }
}

#[cfg(test)]
#[path = "client_hello_tests.rs"]
mod tests;
