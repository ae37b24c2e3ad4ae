//! Zstandard (RFC 8878), block by block. Decision: a block is decoded when all of it has come, and what
//! comes of it is given when the frame's window has passed over it; no more is kept for that than the
//! largest window that HTTP allows (RFC 9659), whatever a frame asks for.

use super::STEP;
use hyper::body::Bytes;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, Read as _};

/// Bytes that are kept of a frame.
const MAX_WINDOW: usize = 8 * 1024 * 1024;
/// Bytes that come of a block, at most (§3.1.1.2.4).
const MAX_BLOCK: usize = 128 * 1024;
/// Frames and blocks at one time: there are some of which nothing comes.
const UNITS: usize = 16;
/// What a frame's decoder keeps beside its window: a block, its literals and its tables.
const TABLES: usize = 512 * 1024;

/// What decodes it.
#[derive(Default)]
pub(super) struct Zstandard {
    /// What came and was not decoded, from `at` on: less than a block, and the part.
    waiting: Vec<u8>,
    at: usize,
    frame: Option<Frame>,
}

struct Frame {
    decoder: FrameDecoder,
    window: usize,
    has_checksum: bool,
    /// Blocks that were decoded.
    blocks: usize,
}

/// What a frame says at its beginning (§3.1.1.1).
struct Header {
    length: usize,
    window: u64,
    has_checksum: bool,
}

fn wrong<E>(_: E) -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl Header {
    /// Of a frame that begins so; none where more must come.
    fn of(bytes: &[u8]) -> Option<Self> {
        let descriptor = *bytes.get(4)?;
        let is_single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let content = match descriptor >> 6 {
            0 => usize::from(is_single),
            flag => 1 << flag,
        };
        let length = 5 + usize::from(!is_single) + dictionary + content;
        let bytes = bytes.get(..length)?;
        let window = if is_single {
            let said = bytes[length - content..].iter().rev();
            let said = said.fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
            // Of two bytes it is what is above 256.
            said.saturating_add(if content == 2 { 256 } else { 0 })
        } else {
            let base = 1_u64 << (10 + (bytes[5] >> 3));
            base + base / 8 * u64::from(bytes[5] & 7)
        };
        Some(Self {
            length,
            window,
            has_checksum: descriptor & 4 != 0,
        })
    }
}

impl Frame {
    fn new(header: &Header, mut bytes: &[u8]) -> io::Result<Self> {
        // One that was used before takes the memory that a frame asks for, at once.
        let mut decoder = FrameDecoder::new();
        decoder.init(&mut bytes).map_err(wrong)?;
        Ok(Self {
            decoder,
            window: usize::try_from(header.window).map_err(wrong)?,
            has_checksum: header.has_checksum,
            blocks: 0,
        })
    }

    /// The length of the block that begins so, with what is behind a frame's last (§3.1.1.2); none
    /// where more must come.
    fn block(&self, bytes: &[u8]) -> Option<usize> {
        let [a, b, c] = *bytes.first_chunk::<3>()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let content = match header >> 1 & 3 {
            // One byte, repeated.
            1 => 1,
            _ => header as usize >> 3,
        };
        let is_last = header & 1 != 0;
        let length = 3 + content + if is_last && self.has_checksum { 4 } else { 0 };
        (bytes.len() >= length).then_some(length)
    }

    /// Bytes that are kept of it, at most.
    fn kept(&self) -> usize {
        self.window.min(self.blocks * MAX_BLOCK)
    }

    fn decode(&mut self, block: &[u8]) -> io::Result<()> {
        if self.kept() > MAX_WINDOW {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let one = BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(block, one).map_err(wrong)?;
        self.blocks += 1;
        Ok(())
    }

    /// What is ready, as far as there is space for it.
    fn read(&mut self, new: &mut Vec<u8>) -> io::Result<()> {
        new.resize(STEP, 0);
        let mut length = 0;
        while length < new.len() {
            match self.decoder.read(&mut new[length..]).map_err(wrong)? {
                0 => break,
                n => length += n,
            }
        }
        new.truncate(length);
        Ok(())
    }
}

impl Zstandard {
    /// Bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        let frame = self.frame.as_ref().map_or(0, |frame| {
            (frame.kept() + MAX_BLOCK).next_power_of_two() + TABLES
        });
        self.waiting.capacity() + frame
    }

    /// Decodes some of a part; whether there is more to do.
    pub(super) fn step(
        &mut self,
        part: &mut Bytes,
        is_end: bool,
        new: &mut Vec<u8>,
    ) -> io::Result<bool> {
        if !part.is_empty() {
            self.waiting.drain(..std::mem::take(&mut self.at));
            self.waiting.extend_from_slice(&std::mem::take(part));
        }
        for _ in 0..UNITS {
            if let Some(frame) = &mut self.frame {
                frame.read(new)?;
                if !new.is_empty() {
                    return Ok(true);
                }
                if frame.decoder.is_finished() {
                    self.frame = None;
                }
            }
            let rest = &self.waiting[self.at..];
            if rest.is_empty() && self.frame.is_none() {
                (self.waiting, self.at) = (Vec::new(), 0);
                return Ok(false);
            }
            let used: Option<io::Result<usize>> = match &mut self.frame {
                None => Header::of(rest).map(|header| {
                    self.frame = Some(Frame::new(&header, rest)?);
                    Ok(header.length)
                }),
                Some(frame) => frame
                    .block(rest)
                    .map(|length| frame.decode(&rest[..length]).map(|()| length)),
            };
            match used {
                Some(used) => self.at += used?,
                None if is_end => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_its_decoder_reads_it() {
        for descriptor in 0..=255_u8 {
            // One bit is reserved, and no dictionary is known.
            if descriptor & 0x0b != 0 {
                continue;
            }
            for byte in [0, 1, 0x58] {
                let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, descriptor];
                bytes.extend([byte; 3]);
                bytes.extend([0; 10]);
                let (mut decoder, mut source) = (FrameDecoder::new(), &bytes[..]);
                decoder.set_max_window_size(u64::MAX);
                let header = Header::of(&bytes).unwrap();
                decoder.init(&mut source).unwrap();
                assert_eq!(header.length, bytes.len() - source.len(), "{descriptor}");
                assert!(Header::of(&bytes[..header.length - 1]).is_none());
                if descriptor & 0x20 != 0 {
                    assert_eq!(header.window, decoder.content_size());
                }
            }
        }
    }
}
