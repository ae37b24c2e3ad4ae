//! Undoes the codings of a body for whoever looks at it; what is passed on stays as it was sent.
//!
//! Decision: the threat is a body that is small on its way and endless when it is decoded. What
//! comes out has a limit, and decoding ends there.

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, Write};

/// What a body's bytes are coded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Nothing.
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstandard,
    /// One that is not known, or more than one.
    Unknown,
}

impl Coding {
    /// The coding that headers name (RFC 9110 §8.4).
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let Some(value) = values.next() else {
            return Self::Identity;
        };
        if values.next().is_some() {
            return Self::Unknown;
        }
        match value.to_str().unwrap_or("?").trim() {
            "" => Self::Identity,
            name if name.eq_ignore_ascii_case("identity") => Self::Identity,
            name if name.eq_ignore_ascii_case("gzip") => Self::Gzip,
            name if name.eq_ignore_ascii_case("x-gzip") => Self::Gzip,
            name if name.eq_ignore_ascii_case("deflate") => Self::Deflate,
            name if name.eq_ignore_ascii_case("br") => Self::Brotli,
            name if name.eq_ignore_ascii_case("zstd") => Self::Zstandard,
            _ => Self::Unknown,
        }
    }
}

/// What was decoded; takes no more than its limit.
struct Sink {
    bytes: Vec<u8>,
    left: usize,
}

impl Sink {
    fn new(left: usize) -> Self {
        Self {
            bytes: Vec::new(),
            left,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.left);
        self.bytes.extend_from_slice(&bytes[..taken]);
        self.left -= taken;
        if taken < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Inner {
    Identity(Sink),
    Gzip(Box<GzDecoder<Sink>>),
    Zlib(Box<ZlibDecoder<Sink>>),
    Raw(Box<DeflateDecoder<Sink>>),
    /// Its first bytes tell whether it is zlib, as the standard has it, or bare, as some send it.
    Deflate(Sink),
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstandard(Zstandard),
    /// It cannot be decoded, or was decoded as far as the limit goes.
    Over(Sink),
}

/// Decoded when all of it has come: its decoder gives nothing of a frame's last megabytes before
/// that. What is waiting is no more than may come out.
struct Zstandard {
    waiting: Vec<u8>,
    sink: Sink,
}

impl Zstandard {
    fn write(&mut self, part: &[u8]) -> io::Result<()> {
        if self.waiting.len() + part.len() > self.sink.left {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.waiting.extend_from_slice(part);
        Ok(())
    }

    /// Decodes block by block: a block of four bytes can stand for 128 KiB.
    fn finish(&mut self) -> io::Result<()> {
        let mut source = &*std::mem::take(&mut self.waiting);
        let wrong = |_| io::Error::from(io::ErrorKind::InvalidData);
        let mut blocks = 0;
        while !source.is_empty() {
            // One that was used before takes the memory that a frame asks for, at once.
            let mut decoder = FrameDecoder::new();
            decoder.init(&mut source).map_err(wrong)?;
            while !decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                decoder.decode_blocks(&mut source, one).map_err(wrong)?;
                decoder.collect_to_writer(&mut self.sink)?;
                blocks += 1;
                if blocks > MAX_BLOCKS {
                    return Err(io::ErrorKind::StorageFull.into());
                }
            }
            decoder.collect_to_writer(&mut self.sink)?;
        }
        Ok(())
    }
}

/// Blocks of a body, each of which holds up to 128 KiB until its frame's window has passed.
const MAX_BLOCKS: usize = 512;

/// Decodes as parts come.
pub(crate) struct Decoder {
    inner: Inner,
    /// Whether something was left out: at the limit, or because it is not what it says it is.
    cut: bool,
}

impl Decoder {
    /// A decoder of which no more than `limit` bytes come.
    pub(crate) fn new(coding: Coding, limit: usize) -> Self {
        let sink = Sink::new(limit);
        let inner = match coding {
            Coding::Identity => Inner::Identity(sink),
            Coding::Gzip => Inner::Gzip(Box::new(GzDecoder::new(sink))),
            Coding::Deflate => Inner::Deflate(sink),
            Coding::Brotli => Inner::Brotli(Box::new(DecompressorWriter::new(sink, 4096))),
            Coding::Zstandard => Inner::Zstandard(Zstandard {
                waiting: Vec::new(),
                sink,
            }),
            Coding::Unknown => Inner::Over(sink),
        };
        Self {
            cut: coding == Coding::Unknown,
            inner,
        }
    }

    /// Takes a part, and gives what is new.
    pub(crate) fn decode(&mut self, part: &[u8]) -> Vec<u8> {
        if let Inner::Deflate(sink) = &mut self.inner
            && let Some(first) = part.first()
        {
            let sink = std::mem::replace(sink, Sink::new(0));
            // The method and the window's size of zlib (RFC 1950 §2.2).
            self.inner = match first & 0x0f == 8 && first >> 4 <= 7 {
                true => Inner::Zlib(Box::new(ZlibDecoder::new(sink))),
                false => Inner::Raw(Box::new(DeflateDecoder::new(sink))),
            };
        }
        /// Writes, and has what can be known come out.
        fn write(decoder: &mut impl Write, part: &[u8]) -> io::Result<()> {
            decoder.write_all(part).and_then(|()| decoder.flush())
        }
        let done = match &mut self.inner {
            Inner::Identity(sink) => sink.write_all(part),
            Inner::Gzip(decoder) => write(decoder, part),
            Inner::Zlib(decoder) => write(decoder, part),
            Inner::Raw(decoder) => write(decoder, part),
            Inner::Brotli(decoder) => write(decoder, part),
            Inner::Zstandard(decoder) => decoder.write(part),
            Inner::Deflate(_) => Ok(()),
            Inner::Over(_) if part.is_empty() => Ok(()),
            Inner::Over(_) => Err(io::ErrorKind::StorageFull.into()),
        };
        self.take(done)
    }

    /// What comes when no more parts do.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let done = match &mut self.inner {
            Inner::Gzip(decoder) => decoder.try_finish(),
            Inner::Zlib(decoder) => decoder.try_finish(),
            Inner::Raw(decoder) => decoder.try_finish(),
            Inner::Zstandard(decoder) => decoder.finish(),
            _ => Ok(()),
        };
        self.take(done)
    }

    fn take(&mut self, done: io::Result<()>) -> Vec<u8> {
        let new = std::mem::take(&mut self.sink().bytes);
        if done.is_err() {
            self.cut = true;
            self.inner = Inner::Over(Sink::new(0));
        }
        new
    }

    /// Whether something was left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    fn sink(&mut self) -> &mut Sink {
        match &mut self.inner {
            Inner::Identity(sink) | Inner::Deflate(sink) | Inner::Over(sink) => sink,
            Inner::Gzip(decoder) => decoder.get_mut(),
            Inner::Zlib(decoder) => decoder.get_mut(),
            Inner::Raw(decoder) => decoder.get_mut(),
            Inner::Brotli(decoder) => decoder.get_mut(),
            Inner::Zstandard(decoder) => &mut decoder.sink,
        }
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
