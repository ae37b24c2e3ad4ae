//! Bytes without end or beginning in a program: where a stream of the host's leads that only asks how
//! fast the channel is.

use crate::bench::known::{Known, PAGE};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use std::fs::File;
use std::io::{self, Write as _};

/// Pages that are made at once.
const PAGES: usize = 256;

/// Known bytes, made once for all who ask for as many.
#[derive(Default)]
pub(crate) struct Load(Option<(u64, OwnedFd)>);

impl Load {
    /// A file of so many bytes that `crate::bench` knows: whole blocks of its pages.
    pub(crate) fn source(&mut self, bytes: u64) -> io::Result<OwnedFd> {
        let file = match self.0.take() {
            Some((length, file)) if length == bytes => file,
            _ => made(bytes)?,
        };
        // Each reader has a place of its own in it.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = open(path, flags, Mode::empty());
        self.0 = Some((bytes, file));
        Ok(opened?)
    }
}

fn made(bytes: u64) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("load", MemfdFlags::CLOEXEC)?);
    let mut known = Known::new();
    for block in 0..bytes / (PAGES * PAGE) as u64 {
        file.write_all(known.pages(block * PAGES as u64, PAGES))?;
    }
    Ok(file.into())
}

/// What drops everything.
pub(crate) fn sink() -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(open(c"/dev/null", flags, Mode::empty())?)
}
