//! The one way in which the content of a file becomes a name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// How much is read at once.
const BLOCK: usize = 1 << 20;

/// The BLAKE3 of a file in hexadecimal digits.
pub(super) fn file(path: &Path) -> io::Result<String> {
    reader(&mut File::open(path)?)
}

/// The same for what is left to read of an open file.
pub(super) fn reader(file: &mut File) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            read => hasher.update(&block[..read]),
        };
    }
}

/// One hash of several texts, none of which can pass for a piece of its neighbour.
pub(super) fn all<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
