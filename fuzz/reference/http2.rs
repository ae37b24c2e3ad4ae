//! A slow reading of HTTP/2 (RFC 9113): what each stream of a connection asks for.
//!
//! It is as patient as can be, and stops where the connection has to end: whether a stream is
//! refused for another reason (windows, numbers, resets) is not its business. What it holds for no
//! request may never be taken as one.

#[path = "hpack.rs"]
mod hpack;

use super::request::{host_and_port, may_be, path};
use bailiwick_event::Host;

/// The headers that speak about a connection (§8.2.2).
const OF_CONNECTION: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// What was said on a stream.
#[derive(Debug, Default)]
pub struct Stream {
    id: u32,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    pub trailers: Vec<(Vec<u8>, Vec<u8>)>,
    pub body: Vec<u8>,
    /// No more was to come.
    pub ended: bool,
    /// The head came in several frames.
    fragmented: bool,
}

/// What a stream asks for.
#[derive(Debug, PartialEq)]
pub struct Asked {
    pub method: String,
    pub host: (Host, Option<u16>),
    pub path: String,
}

/// The streams of a connection in their order, by what follows the preface.
pub fn streams(mut bytes: &[u8]) -> Vec<Stream> {
    let (mut streams, mut table) = (Vec::new(), hpack::Table::default());
    while let Some(frame) = Frame::read(&mut bytes) {
        if frame.add(&mut bytes, &mut streams, &mut table).is_none() {
            break;
        }
    }
    streams
}

struct Frame<'a> {
    kind: u8,
    flags: u8,
    id: u32,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// §4.1.
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (payload, rest) = rest.split_at_checked(length as usize)?;
        *bytes = rest;
        Some(Self {
            kind: head[3],
            flags: head[4],
            id: u32::from_be_bytes([head[5] & 127, head[6], head[7], head[8]]),
            payload,
        })
    }

    /// The payload without padding.
    fn inner(&self) -> Option<&'a [u8]> {
        if self.flags & 8 == 0 {
            return Some(self.payload);
        }
        let (padding, rest) = self.payload.split_first()?;
        let end = rest.len().checked_sub(usize::from(*padding))?;
        Some(&rest[..end])
    }

    /// None where the connection ends.
    fn add(
        &self,
        bytes: &mut &'a [u8],
        streams: &mut Vec<Stream>,
        table: &mut hpack::Table,
    ) -> Option<()> {
        let known = streams.iter_mut().find(|stream| stream.id == self.id);
        match self.kind {
            0 => {
                let data = self.inner()?;
                if let Some(stream) = known.filter(|stream| !stream.ended) {
                    stream.body.extend_from_slice(data);
                    stream.ended = self.flags & 1 != 0;
                }
            }
            1 | 5 => {
                let mut block = self.inner()?.to_vec();
                let promise = self.kind == 5;
                if promise {
                    block = block.get(4..)?.to_vec();
                } else if self.flags & 32 != 0 {
                    let (priority, rest) = block.split_at_checked(5)?;
                    let on = u32::from_be_bytes([
                        priority[0] & 127,
                        priority[1],
                        priority[2],
                        priority[3],
                    ]);
                    if on == self.id {
                        // h2 skips the block; the fields behind it are read without it.
                        return Some(());
                    }
                    block = rest.to_vec();
                }
                let mut whole = self.flags & 4 != 0;
                let fragmented = !whole;
                while !whole {
                    let mut behind = *bytes;
                    let next = Self::read(&mut behind)?;
                    if next.kind != 9 || next.id != self.id {
                        // h2 does not wait for the rest of a head that it knows to be malformed.
                        let stream = Stream {
                            fields: table.read(&block)?,
                            ..Stream::default()
                        };
                        return (!stream.is_proper()).then_some(());
                    }
                    *bytes = behind;
                    block.extend_from_slice(next.payload);
                    whole = next.flags & 4 != 0;
                }
                let fields = table.read(&block)?;
                if promise {
                    // A client promises nothing; h2 looks at what is malformed first.
                    let stream = Stream {
                        fields,
                        ..Stream::default()
                    };
                    return (!stream.is_proper()).then_some(());
                }
                let ended = self.flags & 1 != 0;
                match known {
                    Some(stream) if !stream.ended => {
                        (stream.trailers, stream.ended) = (fields, ended);
                    }
                    Some(_) => {}
                    None => streams.push(Stream {
                        id: self.id,
                        fields,
                        ended,
                        fragmented,
                        ..Stream::default()
                    }),
                }
            }
            // It follows what it continues.
            9 => return None,
            _ => {}
        }
        Some(())
    }
}

/// Whether a field may be in a message of HTTP/2 (§8.2).
pub fn is_field((name, value): &(Vec<u8>, Vec<u8>)) -> bool {
    let text = String::from_utf8_lossy(name);
    !name.is_empty()
        && name
            .iter()
            .all(|b| b.is_ascii_graphic() && !b.is_ascii_uppercase() && *b != b':')
        && !value.iter().any(|b| [b'\r', b'\n', 0].contains(b))
        && !OF_CONNECTION.contains(&&*text)
        && (text != "te" || value == b"trailers")
}

impl Stream {
    fn all(&self, name: &str) -> Vec<&str> {
        let of = self.fields.iter().filter(|(n, _)| n == name.as_bytes());
        of.filter_map(|(_, value)| std::str::from_utf8(value).ok())
            .collect()
    }

    /// The values of the pseudo-headers `:method`, `:scheme`, `:authority` and `:path`.
    pub fn pseudo(&self) -> [Option<&str>; 4] {
        [":method", ":scheme", ":authority", ":path"].map(|name| self.all(name).first().copied())
    }

    /// Whether its head is well-formed (§8.2, §8.3).
    pub fn is_proper(&self) -> bool {
        let pseudo = self
            .fields
            .iter()
            .take_while(|(name, _)| name.starts_with(b":"));
        let (pseudo, regular) = self.fields.split_at(pseudo.count());
        let known = pseudo.iter().enumerate().all(|(at, (name, _))| {
            let known: [&[u8]; 4] = [b":method", b":scheme", b":authority", b":path"];
            known.contains(&&name[..]) && pseudo[..at].iter().all(|(other, _)| other != name)
        });
        known && regular.iter().all(is_field)
    }

    /// What may be taken of it; none where it is no request for one host by `https`.
    pub fn asked(&self) -> Option<Asked> {
        // In a head of several frames h2 leaves out some of what is malformed, instead of refusing
        // it: a pseudo-header that comes again or late, and what speaks about the connection.
        if !self.is_proper() && !self.fragmented {
            return None;
        }
        let [method, scheme, authority, target] = self.pseudo();
        let (method, hosts) = (method?, self.all("host"));
        // Without an authority h2 does not say the scheme; it is `https` to every server.
        if method == "CONNECT" || hosts.len() > 1 || (authority.is_some() && scheme? != "https") {
            return None;
        }
        let target = target.unwrap_or("/");
        let (host, port) = host_and_port(authority.or(hosts.first().copied())?)?;
        if let (Some(_), Some(header)) = (authority, hosts.first()) {
            let other = host_and_port(header)?;
            let same = other.1.unwrap_or(443) == port.unwrap_or(443);
            if other.0 != host || !same || !may_be(header, &host) {
                return None;
            }
        }
        if authority.is_some_and(|authority| authority.contains('@')) {
            return None;
        }
        if !(target.starts_with(['/', '?', '#']) || target == "*") {
            return None;
        }
        Some(Asked {
            method: method.to_owned(),
            host: (host, port),
            path: path(target),
        })
    }
}
