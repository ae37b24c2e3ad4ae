//! A slow reader of HPACK (RFC 7541).

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

/// What a connection's header blocks refer to.
pub struct Table {
    entries: VecDeque<(Vec<u8>, Vec<u8>)>,
    most: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            most: 4096,
        }
    }
}

/// A block that is read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// §5.1; `first` has been read.
    fn integer(&mut self, first: u8, bits: u32) -> Option<usize> {
        let mask = (1_u16 << bits) - 1;
        let mut value = usize::from(u16::from(first) & mask);
        if value < usize::from(mask) {
            return Some(value);
        }
        for shift in (0..28).step_by(7) {
            let byte = self.next()?;
            value += usize::from(byte & 127) << shift;
            if byte & 128 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// §5.2.
    fn string(&mut self) -> Option<Vec<u8>> {
        let first = self.next()?;
        let length = self.integer(first, 7)?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        match first & 128 {
            0 => Some(bytes.to_vec()),
            _ => plain(bytes),
        }
    }
}

impl Table {
    /// The fields of one block; none where they cannot be read, after which nothing can.
    pub fn read(&mut self, block: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let (mut bytes, mut fields) = (Bytes(block), Vec::new());
        while let Some(first) = bytes.next() {
            if first & 128 != 0 {
                fields.push(self.get(bytes.integer(first, 7)?)?);
                continue;
            }
            if first & 0xe0 == 0x20 {
                self.most = bytes.integer(first, 5).filter(|size| *size <= 4096)?;
                self.evict();
                continue;
            }
            let (added, bits) = if first & 64 != 0 {
                (true, 6)
            } else {
                (false, 4)
            };
            let name = match bytes.integer(first, bits)? {
                0 => bytes.string()?,
                at => self.get(at)?.0,
            };
            let field = (name, bytes.string()?);
            if added {
                self.entries.push_front(field.clone());
                self.evict();
            }
            fields.push(field);
        }
        Some(fields)
    }

    fn get(&self, at: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let at = at.checked_sub(1)?;
        match STATIC.get(at) {
            Some((name, value)) => Some((name.as_bytes().to_vec(), value.as_bytes().to_vec())),
            None => self.entries.get(at - STATIC.len()).cloned(),
        }
    }

    fn evict(&mut self) {
        let size = |(name, value): &(Vec<u8>, Vec<u8>)| name.len() + value.len() + 32;
        while self.entries.iter().map(size).sum::<usize>() > self.most {
            self.entries.pop_back();
        }
    }
}

/// The Huffman code's words by their length, which come in the order of lengths and bytes (appendix
/// B).
static WORDS: LazyLock<HashMap<(u8, u32), usize>> = LazyLock::new(|| {
    let mut order: Vec<usize> = (0..LENGTHS.len()).collect();
    order.sort_by_key(|symbol| LENGTHS[*symbol]);
    let (mut code, mut length) = (0_u32, LENGTHS[order[0]]);
    let words = order.into_iter().map(|symbol| {
        code <<= LENGTHS[symbol] - length;
        length = LENGTHS[symbol];
        code += 1;
        ((length, code - 1), symbol)
    });
    words.collect()
});

/// Undoes the Huffman code.
fn plain(coded: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut word, mut length) = (Vec::new(), 0_u32, 0_u8);
    let bits = |byte: &u8| {
        let byte = *byte;
        (0..8).rev().map(move |n| u32::from(byte >> n & 1))
    };
    for bit in coded.iter().flat_map(bits) {
        (word, length) = (word << 1 | bit, length + 1);
        if let Some(symbol) = WORDS.get(&(length, word)) {
            // The word for the end is for nobody.
            out.push(u8::try_from(*symbol).ok()?);
            (word, length) = (0, 0);
        }
        if length > 30 {
            return None;
        }
    }
    // What is left over is the beginning of that word.
    (length < 8 && word == (1 << length) - 1).then_some(out)
}

/// Bits of the word for each byte, and for the end.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// Appendix A.
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
    (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
    (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
    ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
    ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
    ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
    ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
    ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""),
    ("via", ""), ("www-authenticate", ""),
];
