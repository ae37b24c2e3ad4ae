//! Undoes the codings of a body for whoever looks at it; what is passed on stays as it was sent.
//!
//! Decision: the threat is a body that is small on its way and endless when it is decoded. What
//! comes out has a limit, and decoding ends there; it comes in small steps, between which others have
//! their turn; and what a decoder keeps is taken of the room for all.

mod brotli;
mod zstandard;

use crate::share::Share;
use brotli::Brotli;
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};
use hyper::body::{Buf as _, Bytes};
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use std::io::{self, Write};
use std::sync::Arc;
use tokio::sync::Semaphore;
use zstandard::Zstandard;

/// Bytes that come of one step, at most.
pub(crate) const STEP: usize = 64 * 1024;
/// What a decoder of Deflate keeps.
const DEFLATE: usize = 128 * 1024;

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

/// What was decoded in one step; what is more waits for the next.
#[derive(Default)]
struct Sink(Vec<u8>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len().min(STEP - self.0.len()) {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            n => {
                self.0.extend_from_slice(&bytes[..n]);
                Ok(n)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Inner {
    Identity,
    Gzip(Box<GzDecoder<Sink>>),
    Zlib(Box<ZlibDecoder<Sink>>),
    Raw(Box<DeflateDecoder<Sink>>),
    /// Its first bytes tell whether it is zlib, as the standard has it, or bare, as some send it.
    Deflate,
    Brotli(Box<Brotli>),
    Zstandard(Box<Zstandard>),
    /// It cannot be decoded, or was decoded as far as the limit goes.
    Over,
}

/// Has a decoder take what it can of a part; whether there is more to do.
fn feed(decoder: &mut impl Write, part: &mut Bytes) -> io::Result<bool> {
    let mut feed = || {
        while !part.is_empty() {
            match decoder.write(part)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                n => part.advance(n),
            }
        }
        // What can be known comes out.
        decoder.flush()
    };
    waits(feed())
}

/// Whether what was not done waits for the next step.
fn waits(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

impl Inner {
    fn new(coding: Coding) -> Self {
        match coding {
            Coding::Identity => Self::Identity,
            Coding::Gzip => Self::Gzip(Box::new(GzDecoder::new(Sink::default()))),
            Coding::Deflate => Self::Deflate,
            Coding::Brotli => Self::Brotli(Box::new(Brotli::new())),
            Coding::Zstandard => Self::Zstandard(Box::default()),
            Coding::Unknown => Self::Over,
        }
    }

    /// Bytes that it keeps.
    fn size(&self) -> usize {
        match self {
            Self::Identity | Self::Deflate | Self::Over => 0,
            Self::Gzip(_) | Self::Zlib(_) | Self::Raw(_) => DEFLATE,
            Self::Brotli(decoder) => decoder.size(),
            Self::Zstandard(decoder) => decoder.size(),
        }
    }

    /// Decodes some of a part; whether there is more to do.
    fn step(&mut self, part: &mut Bytes, is_end: bool, new: &mut Vec<u8>) -> io::Result<bool> {
        if let (Self::Deflate, Some(first)) = (&self, part.first()) {
            // The method and the window's size of zlib (RFC 1950 §2.2).
            *self = match first & 0x0f == 8 && first >> 4 <= 7 {
                true => Self::Zlib(Box::new(ZlibDecoder::new(Sink::default()))),
                false => Self::Raw(Box::new(DeflateDecoder::new(Sink::default()))),
            };
        }
        macro_rules! deflate {
            ($decoder:expr) => {{
                let more = match feed(&mut **$decoder, part) {
                    Ok(false) if is_end => waits($decoder.try_finish()),
                    other => other,
                };
                *new = std::mem::take(&mut $decoder.get_mut().0);
                more
            }};
        }
        match self {
            Self::Gzip(decoder) => deflate!(decoder),
            Self::Zlib(decoder) => deflate!(decoder),
            Self::Raw(decoder) => deflate!(decoder),
            Self::Brotli(decoder) => decoder.step(part, is_end, new),
            Self::Zstandard(decoder) => decoder.step(part, is_end, new),
            Self::Identity | Self::Deflate => Ok(false),
            Self::Over if part.is_empty() => Ok(false),
            Self::Over => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

/// Decodes as parts come.
pub(crate) struct Decoder {
    inner: Inner,
    /// What it may still give.
    left: usize,
    /// What is not decoded yet of the part that was taken.
    part: Bytes,
    /// There is something to do.
    more: bool,
    /// No more parts come.
    is_end: bool,
    /// Whether something was left out: at the limit, because it is not what it says it is, or because
    /// there was no room to decode it.
    cut: bool,
    /// What it keeps.
    share: Share,
}

impl Decoder {
    /// A decoder of which no more than `limit` bytes come, and which keeps what it must in `room`.
    pub(crate) fn new(coding: Coding, limit: usize, room: &Arc<Semaphore>) -> Self {
        Self {
            inner: Inner::new(coding),
            left: limit,
            part: Bytes::new(),
            more: false,
            is_end: false,
            cut: coding == Coding::Unknown,
            share: Share::of(room),
        }
    }

    /// Takes a part, whose steps come next.
    pub(crate) fn take(&mut self, part: &Bytes) {
        self.part = match self.part.is_empty() {
            true => part.clone(),
            false => [&self.part[..], part].concat().into(),
        };
        self.more = true;
    }

    /// No more parts come; steps give what is left.
    pub(crate) fn end(&mut self) {
        (self.is_end, self.more) = (true, true);
    }

    /// Whether there is something to do.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }

    /// Does one step: what is new, at most [`STEP`] bytes where they were coded; none where nothing is
    /// to be done.
    pub(crate) fn step(&mut self) -> Option<Bytes> {
        if !std::mem::take(&mut self.more) {
            return None;
        }
        if let Inner::Identity = self.inner {
            // What came is there already.
            let new = std::mem::take(&mut self.part);
            return Some(self.within_limit(new));
        }
        let mut new = Vec::new();
        match self.inner.step(&mut self.part, self.is_end, &mut new) {
            Ok(more) if self.share.hold(self.inner.size()) => self.more = more,
            _ => self.give_up(),
        }
        Some(self.within_limit(new.into()))
    }

    fn within_limit(&mut self, mut new: Bytes) -> Bytes {
        if new.len() > self.left {
            new.truncate(self.left);
            self.give_up();
        }
        self.left -= new.len();
        new
    }

    fn give_up(&mut self) {
        self.cut = true;
        self.more = false;
        self.inner = Inner::Over;
        self.part = Bytes::new();
        self.share.hold(0);
    }

    /// Whether something was left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
