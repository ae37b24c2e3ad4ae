//! Much data: what comes out of a machine and what it writes into the workspace is what it was.
//!
//! Decision: known bytes of a generator instead of a hash of unknown ones: whoever reads them knows at
//! once where they differ, and neither side needs them in memory. The host has the same generator
//! (crates/bailiwick/src/doctor/known.rs).

use super::check::{Check, Outcome, said};
use super::world::{World, told};
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;

/// Bytes that are made at a time.
const PIECE: usize = 256 * 1024;

pub(super) const CHECKS: &[Check] = &[Check {
    name: "bulk.workspace",
    expected: "a large file in the workspace reads as it was written",
    remedy: "look at the free space of the host and at limits.disk of the policy; else report it",
    probe: large,
}];

/// The known bytes, from the first on.
struct Known(u64);

impl Known {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn fill(&mut self, piece: &mut [u8]) {
        for word in piece.chunks_exact_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            word.copy_from_slice(&self.0.to_le_bytes());
        }
    }
}

/// Writes so many known bytes, a multiple of 8.
fn write(to: &mut impl Write, bytes: u64) -> io::Result<()> {
    let mut known = Known::new();
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let part = piece.get_mut(..length).unwrap_or_default();
        known.fill(part);
        to.write_all(part)?;
        left -= length as u64;
    }
    Ok(())
}

/// Reads to the end and compares; how many bytes there were, or where they differ.
fn compare(from: &mut impl Read) -> Result<u64, String> {
    let mut known = Known::new();
    let (mut expected, mut found) = (vec![0; PIECE], vec![0; PIECE]);
    let mut read = 0_u64;
    loop {
        let mut length = 0;
        while length < PIECE {
            let rest = found.get_mut(length..).unwrap_or_default();
            match from
                .read(rest)
                .map_err(|e| format!("after {read} bytes: {}", said(&e)))?
            {
                0 => break,
                more => length += more,
            }
        }
        known.fill(&mut expected);
        let same = expected
            .iter()
            .zip(found.iter().take(length))
            .take_while(|(a, b)| a == b);
        let same = same.count();
        if same < length {
            return Err(format!("byte {} is another", read + same as u64));
        }
        read += length as u64;
        if length < PIECE {
            return Ok(read);
        }
    }
}

fn large(world: &dyn World) -> Outcome {
    let (path, bytes) = (told(world, "large-at")?, told(world, "large")?);
    let bytes: u64 = bytes
        .parse()
        .map_err(|_| format!("large={bytes} is no number"))?;
    let place = world.at(&path);
    let written = File::create(&place).and_then(|mut file| {
        write(&mut file, bytes)?;
        file.sync_all()
    });
    written.map_err(|e| format!("{path}: {}", said(&e)))?;
    let mut file = File::open(&place).map_err(|e| format!("{path}: {}", said(&e)))?;
    let read = compare(&mut file)?;
    match read == bytes {
        true => Ok(format!("{bytes} bytes, each as it was written")),
        false => Err(format!("{read} of {bytes} bytes")),
    }
}

/// See [`super::stream`].
pub(super) fn stream(mut words: impl Iterator<Item = String>) -> ExitCode {
    let bytes = words.next().and_then(|word| word.parse().ok());
    let Some(bytes) = bytes else {
        eprintln!("bailiwick-guest stream: how many bytes?");
        return ExitCode::from(2);
    };
    match write(&mut io::stdout().lock(), bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bailiwick-guest stream: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_changed_is_found_and_so_is_one_that_is_missing() {
        let mut bytes = Vec::new();
        write(&mut bytes, 1_000_000).unwrap();
        assert_eq!(compare(&mut bytes.as_slice()), Ok(1_000_000));
        assert_eq!(compare(&mut &bytes[..999_999]), Ok(999_999));
        bytes[765_432] ^= 1;
        assert_eq!(
            compare(&mut bytes.as_slice()),
            Err("byte 765432 is another".to_owned())
        );
    }
}
